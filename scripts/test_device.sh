#!/usr/bin/env bash
# Run the tests that need a CUDA device from a finished build, which may come from another machine:
# neither cmake nor a compiler is needed here, only Python 3 and the libraries that kcount links.
#
#       scripts/test_device.sh [BUILD]                  default: build
#       scripts/test_device.sh BUILD --tool TOOL        the tests of kernels, on small inputs, under
#                                                       compute-sanitizer's TOOL: memcheck, racecheck
#
# Prints a line for each test, and the output of those that fail. Ends with 1 if one failed.
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build} tool=""
if [ "${2:-}" = --tool ]; then
        tool=${3:?}
fi
SKIPPED=77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npassed=0 nfailed=0 nskipped=0

# test_one NAME COMMAND...
test_one() {
        local name=$1 code verdict failed=no start=$SECONDS
        shift
        "$@" > "$work/log" 2>&1 < /dev/null
        code=$?
        case $code in
        0) npassed=$((npassed + 1)) verdict=passed ;;
        "$SKIPPED") nskipped=$((nskipped + 1)) verdict=skipped ;;
        *) nfailed=$((nfailed + 1)) verdict="FAILED with exit code $code" failed=yes ;;
        esac
        printf '%-36s %4d s  %s\n' "$name" $((SECONDS - start)) "$verdict"
        if [ "$failed" = yes ]; then
                tail -n 60 "$work/log"
        fi
}

kernel_tests() {
        local program
        for program in "$build"/tests/gpu/test_gpu_device_*; do
                if [ -x "$program" ]; then
                        test_one "$(basename "$program")" "$@" "$program"
                fi
        done
}

if [ -n "$tool" ]; then
        export KC_TEST_SMALL=1
        kernel_tests compute-sanitizer --tool "$tool" --error-exitcode 1 --print-limit 20
else
        tests=tests/cli kcount=$build/kcount
        kernel_tests
        test_one test_gpu_engine "$build/tests/test_gpu" engine
        test_one test_gpu_devices "$build/tests/test_gpu" devices
        test_one test_gpu_sets "$build/tests/test_gpu_sets"
        for part in 0/4 1/4 2/4 3/4 chunks spill quality inputs skew; do
                test_one "matrix_cuda $part" python3 "$tests/matrix.py" "$kcount" \
                        "$build/tests/naive" "$build/bench/simulate" "$part" cuda
        done
        for name in threads lsm app_signals; do
                test_one "${name}_cuda" python3 "$tests/$name.py" "$kcount" . cuda
        done
        for name in app_devices app_reader; do
                test_one "$name" python3 "$tests/$name.py" "$kcount" .
        done
        if ldd "$kcount" | grep -q libmpi && mpirun=$(command -v mpirun); then
                test_one ranks_cuda python3 "$tests/ranks_devices.py" "$kcount" . "$mpirun"
        fi
fi
echo "$npassed passed, $nfailed failed, $nskipped skipped"
[ "$nfailed" = 0 ]
