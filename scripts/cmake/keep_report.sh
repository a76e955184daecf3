#!/bin/sh
# keep_report.sh COMPILER [ARGUMENT]... -o OBJECT ...: compile; what ptxas reports of each kernel
# (-Xptxas -v) goes to OBJECT.report instead of the terminal.
for word in "$@"; do
        [ "${before:-}" = -o ] && report=$word.report
        before=$word
done
"$@" 2> "$report"
status=$?
grep -v -e '^ptxas info' -e '^ *[0-9]* bytes stack frame' "$report" >&2
exit $status
