#!/usr/bin/env bash
# Install what is missing, build, run all tests; ctest's summary is the last thing shown.
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
build "$folder" -DBUILD_TESTING=ON -DKCOUNT_BENCH=ON "$@"
cd "$folder"
ctest --output-on-failure --parallel "$(nproc)"
