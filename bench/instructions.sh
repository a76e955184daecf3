#!/usr/bin/env bash
# Count the instructions that a base costs in each stage of counting and of asking on the CPU, and
# compare them with the last figures in bench/results/instructions-ARCHITECTURE.txt: fails if a
# stage has grown by over 3 %. Exits with 77 where it cannot compare, and says why.
#
#       bench/instructions.sh [BUILD [--record]]        --record: write the file anew
#
# callgrind gives the same figures on any machine, whatever else runs there. It does not support
# AVX-512, so the code for AVX2 runs.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
skip() {
        echo "skipped: $*"
        exit 77
}

command -v valgrind > /dev/null || skip "valgrind is not installed"
if [ "$(uname -m)" = x86_64 ] && ! grep -qw avx2 /proc/cpuinfo; then
        skip "this processor has no AVX2"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# profile NAME PROGRAM [ARGUMENT]...
profile() {
        local name=$1
        shift
        valgrind -q --tool=callgrind --compress-strings=no --compress-pos=no \
                --callgrind-out-file="$work/$name" "$@" > /dev/null
}

# count NAME [ARGUMENT]...
count() {
        profile "$@" -t 1 -m 1G --device cpu --quiet -o "$work/out.kc" --force
}

gzip -dc data/phage.fq.gz > "$work/phage.fq"
gzip -dc data/worm.fa.gz > "$work/worm.fa"
# The reads are looked up in their own counts.
count reads-31 "$build/kcount" count "$work/phage.fq" -k 31
sed -n 2~4p "$work/phage.fq" > "$work/phage.txt"
profile asking-31 "$build/bench/bench_ask" "$work/out.kc" "$work/phage.txt" 1 1024
count reads-55 "$build/kcount" count "$work/phage.fq" -k 55
count genome-31 "$build/kcount" count "$work/worm.fa" -k 31
profile inflating "$build/bench/bench_inflate" data/phage.fq.gz 1
python3 bench/instructions.py "$build" "$work" "${@:2}"
