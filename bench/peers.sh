#!/bin/bash
# Build the programs that kcount is compared with, from their sources, each at a fixed commit.
#
#     bench/peers.sh FOLDER [hysortk|kmc|fastk|gerbil|meryl|genomescope ...]
#
# fetches and builds these, or all, in FOLDER, and copies the programs to FOLDER/bin, which belongs
# on the PATH of bench/all.py, with notes of their versions. What has been fetched or built before
# is used as it is. Debian 12 has all they need:
#
#     apt install git g++ make cmake libopenmpi-dev zlib1g-dev libbz2-dev liblzma-dev \
#         libcurl4-gnutls-dev libboost-{system,thread,filesystem,regex}-dev \
#         r-base-core r-cran-{argparse,jsonlite,minpack.lm}
#
# Settings are those that the authors recommend. HySortK takes some when it is compiled: HYSORTK_K
# is the k to build it for (31), HYSORTK_L the lowest count that it keeps (2).
set -euo pipefail
umask 022
jobs=${JOBS:-$(nproc)}

# NAME URL COMMIT: the sources, with their submodules
fetch() {
    [ -d "$folder/$1" ] || git clone --quiet "$2" "$folder/$1"
    cd "$folder/$1"
    git checkout --quiet --force "$3"
    git submodule --quiet update --init --recursive
}

# Li and Guidi, ICPP 2024. Canonical k-mers; counts from L to 65535, the highest that it can be
# built for; M=17 is the README's for k = 31, T=4 and the rest are the Makefile's. Its main() does
# not call MPI_Finalize, so mpirun ends with an error: sed adds the call.
build_hysortk() {
    fetch hysortk https://github.com/CornellHPC/HySortK f46b28a0f87223ee5b17f6bd351b98017742d2ed
    sed -i 's/^    return 0;/    MPI_Finalize();\n&/' standalone/main.cpp
    make -j "$jobs" standalone COMPILER=mpicxx M=17 U=65535 \
        K="${HYSORTK_K:-31}" L="${HYSORTK_L:-2}"
    install -s hysortk "$bin"
}

build_kmc() {
    fetch kmc https://github.com/refresh-bio/KMC v3.2.4
    make -j "$jobs" kmc
    install -s bin/kmc "$bin/kmc_new" # beside Debian's
}

build_fastk() {
    fetch fastk https://github.com/thegenemyers/FASTK v1.1.0
    make  # its rules do not wait for each other
    install -s FastK Fastrm Histex Tabex "$bin"
}

# It calls itself version 1.12; without CUDA, which it uses only with -g
build_gerbil() {
    fetch gerbil https://github.com/uni-halle/gerbil f6ddc733dded0ca6d920bf0cff1164ccc6fa8f1d
    cmake -S . -B build -DCMAKE_DISABLE_FIND_PACKAGE_CUDA=ON
    make -C build -j "$jobs"
    install -s build/gerbil "$bin"
    install -s build/toFasta "$bin/gerbil-to-fasta"
}

# Merqury's meryl; Debian's is an older program of the same name
build_meryl() {
    fetch meryl https://github.com/marbl/meryl v1.4.1
    make -C src -j "$jobs"
    install -s build/bin/meryl "$bin/meryl2"
}

build_genomescope() {
    fetch genomescope https://github.com/tbenavi1/genomescope2.0 v2.1.0
    mkdir -p library
    R CMD INSTALL --no-docs --library=library .
    printf '#!/bin/sh\nR_LIBS=%q exec Rscript %q "$@"\n' "$PWD/library" "$PWD/genomescope.R" \
        > "$bin/genomescope2"
    chmod +x "$bin/genomescope2"
}

if [ $# = 0 ]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit 2
fi
mkdir -p "$1/bin"
folder=$(cd "$1" && pwd)
bin=$folder/bin
shift
[ $# -gt 0 ] || set -- hysortk kmc fastk gerbil meryl genomescope
for name in "$@"; do
    declare -F "build_$name" > /dev/null || { echo "no program is named $name" >&2 && exit 2; }
    ("build_$name")
    program=$(sed 's/^fastk$/FastK/; s/^kmc$/kmc_new/; s/^meryl$/meryl2/; s/^genomescope$/&2/' \
        <<< "$name")
    git -C "$folder/$name" log -1 --format="%h of %ad" --date=short > "$bin/$program.version"
done
