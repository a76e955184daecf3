#!/usr/bin/env bash
# Run the tests that need a CUDA device from a finished build, which may come from another machine:
# neither cmake nor a compiler is needed here, only Python 3 and the libraries that kcount links.
#
#       scripts/test_device.sh [BUILD]                  default: build
#       scripts/test_device.sh BUILD --several [N]      the tests that concern several devices, the
#                                                       short ones N times (20), the others N / 4
#       scripts/test_device.sh BUILD --tool TOOL        the tests of kernels, on small inputs, under
#                                                       compute-sanitizer's memcheck or racecheck
#
# Prints a line for each program and, below it, the tests that took a second or more. If a program
# fails, prints the end of its output. A program that runs longer than KC_TEST_LIMIT seconds
# (default: 600) fails. Exits with 1 if one failed.
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build} mode=${2:-}
SKIPPED=77 TIMED_OUT=124
limit=${KC_TEST_LIMIT:-600}
export PYTHONUNBUFFERED=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npassed=0 nfailed=0 nskipped=0

# Read the output of a program as it appears, and print which of its tests took a second or more.
# cmocka says when a test begins and ends, and tests/cli/lib/tools.py how long it took.
long_tests() {
        local line begin=0 ms
        while IFS= read -r line; do
                case $line in
                "[ RUN      ] "*) begin=${EPOCHREALTIME/./} ;;
                "[       OK ] "*)
                        ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
                        if [ "$ms" -ge 1000 ]; then
                                printf '        %6d ms  %s\n' "$ms" "${line#*] }"
                        fi
                        ;;
                "passed: "*", 0."*) ;;
                "passed: "*) printf '        %s\n' "${line#passed: }" ;;
                esac
        done
}

# test_one NAME COMMAND...
test_one() {
        local name=$1 code verdict failed=no start=$SECONDS
        shift
        timeout -k 10 "$limit" "$@" 2>&1 < /dev/null | tee "$work/log" | long_tests > "$work/times"
        code=${PIPESTATUS[0]}
        case $code in
        0) npassed=$((npassed + 1)) verdict=passed ;;
        "$SKIPPED") nskipped=$((nskipped + 1)) verdict=skipped ;;
        "$TIMED_OUT") failed=yes verdict="FAILED: it did not end within $limit s" ;;
        *) failed=yes verdict="FAILED with exit code $code" ;;
        esac
        printf '%-36s %4d s  %s\n' "$name" $((SECONDS - start)) "$verdict"
        cat "$work/times"
        if [ "$failed" = yes ]; then
                nfailed=$((nfailed + 1))
                tail -n 60 "$work/log"
        fi
}

# test_often N NAME COMMAND...
test_often() {
        local n=$1 name=$2 i
        shift 2
        for ((i = 1; i <= n; i++)); do
                test_one "$name ($i of $n)" "$@"
        done
}

kernel_tests() {
        local program
        for program in "$build"/tests/gpu/test_gpu_device_* "$build"/tests/test_gpu_{ask,tally}; do
                if [ -x "$program" ]; then
                        test_one "$(basename "$program")" "$@" "$program"
                fi
        done
}

tests=tests/cli kcount=$build/kcount
case $mode in
--tool)
        export KC_TEST_SMALL=1
        checker=(compute-sanitizer --tool "${3:?}" --error-exitcode 1 --print-limit 20)
        if [ "$3" = memcheck ]; then
                checker+=(--report-api-errors no) # tests make calls that must fail, and check them
        fi
        kernel_tests "${checker[@]}"
        ;;
--several)
        often=${3:-20}
        sometimes=$(((often + 3) / 4))
        for name in exchange links mappings; do
                test_often "$often" "device_$name" "$build/tests/gpu/test_gpu_device_$name"
        done
        test_often "$often" test_gpu_devices "$build/tests/test_gpu" devices
        for name in combining several; do
                test_often "$sometimes" "device_warpdrive_$name" \
                        "$build/tests/gpu/test_gpu_device_warpdrive_$name"
        done
        test_often "$sometimes" test_gpu_engine "$build/tests/test_gpu" engine
        test_often "$sometimes" app_devices python3 "$tests/app_devices.py" "$kcount" .
        ;;
"")
        kernel_tests
        test_one test_gpu_engine "$build/tests/test_gpu" engine
        test_one test_gpu_devices "$build/tests/test_gpu" devices
        test_one test_gpu_sets "$build/tests/test_gpu_sets"
        test_one test_gpu_joint "$build/tests/test_gpu_joint"
        for part in 0/4 1/4 2/4 3/4 chunks spill quality inputs skew; do
                test_one "matrix_cuda $part" python3 "$tests/matrix.py" "$kcount" \
                        "$build/tests/naive" "$build/bench/simulate" "$part" cuda
        done
        for name in threads lsm app_compare app_signals; do
                test_one "${name}_cuda" python3 "$tests/$name.py" "$kcount" . cuda
        done
        for name in app_devices app_reader app_ask_device; do
                test_one "$name" python3 "$tests/$name.py" "$kcount" .
        done
        if ldd "$kcount" | grep -q libmpi && mpirun=$(command -v mpirun); then
                test_one ranks_cuda python3 "$tests/ranks_devices.py" "$kcount" . "$mpirun"
        fi
        ;;
*)
        echo "usage: scripts/test_device.sh [BUILD [--several [N] | --tool TOOL]]" >&2
        exit 2
        ;;
esac
echo "$npassed passed, $nfailed failed, $nskipped skipped"
[ "$nfailed" = 0 ]
