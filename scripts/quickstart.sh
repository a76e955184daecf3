#!/usr/bin/env bash
# Install what is missing, build in build/, count the 31-mers of data/phage.fq.gz, show the
# histogram. For a fresh Debian or Ubuntu, as root or with sudo. May be run again at any time.
#
#       scripts/quickstart.sh [--mpi] [CMAKE OPTION]...
#
# --mpi: a kcount that also runs as several processes. -DKCOUNT_CUDA=OFF: without the GPU engine,
# which takes most of the time to build where nvcc is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh

if [ "${1:-}" = --mpi ]; then
        BUILD_PACKAGES+=("${MPI_PACKAGES[@]}")
        shift
        set -- -DKCOUNT_MPI=ON "$@"
else
        set -- -DKCOUNT_MPI=OFF "$@"
fi
install_packages "${BUILD_PACKAGES[@]}"
build build -DBUILD_TESTING=OFF -DKCOUNT_BENCH=OFF "$@"

show() {
        printf '\n$ %s\n' "$*"
        "$@"
}
show build/kcount data/phage.fq.gz -k 31 -o build/phage.kc --force
show build/kcount hist --plot build/phage.kc
echo
echo "The program is build/kcount, the counts are in build/phage.kc. Next:"
echo
echo "    export PATH=\$PWD/build:\$PATH"
echo "    kcount help"
