#!/usr/bin/env bash
# Install what is missing, build in build/, count the 31-mers of data/phage.fq.gz, show the histogram.
# For a fresh Debian or Ubuntu, as root or with sudo. May be run again at any time.
#
#       scripts/quickstart.sh [--mpi]   --mpi: a kcount that also runs as several processes
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh

mpi=OFF
if [ "${1:-}" = --mpi ]; then
        mpi=ON
        BUILD_PACKAGES+=("${MPI_PACKAGES[@]}")
elif [ $# -gt 0 ]; then
        echo "usage: scripts/quickstart.sh [--mpi]" >&2
        exit 2
fi
install_packages "${BUILD_PACKAGES[@]}"
build build -DBUILD_TESTING=OFF -DKCOUNT_BENCH=OFF -DKCOUNT_MPI=$mpi

echo
echo '$ kcount data/phage.fq.gz -k 31'
build/kcount data/phage.fq.gz -k 31 -o build/phage.kc --force
echo
echo '$ kcount hist --plot phage.kc'
(cd build && ./kcount hist --plot phage.kc)
echo
echo "The program is build/kcount, the counts are in build/phage.kc. Next:"
echo
echo "    export PATH=\$PWD/build:\$PATH"
echo "    kcount help"
