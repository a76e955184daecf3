#!/usr/bin/env bash
# Install what is missing, build, run all tests. What the build and the slowest tests cost is shown;
# ctest's summary comes last.
# For a fresh Debian or Ubuntu, as root or with sudo. May be run again at any time.
#
#       scripts/test.sh [CMAKE OPTION]...       e.g. -DKCOUNT_SANITIZE=address,undefined
#
# The build folder is build/, or the value of KCOUNT_BUILD.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh

folder=${KCOUNT_BUILD:-build}
install_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
install_if_possible "${PEER_PACKAGES[@]}"
TIMEFORMAT='The build took %R s (CPU: %U s user, %S s system).'
time build_tests "$folder" "$@"
# One more than there are processors: some tests wait for a signal, a lock or the disk.
TIMEFORMAT='The tests took %R s (CPU: %U s user, %S s system).'
time (cd "$folder" && ctest --output-on-failure --parallel $(($(nproc) + 1))) |
        python3 scripts/slowest.py
