#!/usr/bin/env bash
# Count the instructions that a base costs in each stage of counting, of asking, of joint histograms
# and of models on the CPU, and compare them with the last figures in
# bench/results/instructions-ARCHITECTURE.txt: fails if a stage has grown by over 3 %. Exits with 77
# where it cannot compare, and says why.
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
[[ $("$build/kcount" --version --json) = *'"cminpack": true'* ]] || skip "this build has no models"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C # the printed text and the order of sorted words depend on it

# profile NAME PROGRAM [ARGUMENT]...
profile() {
        local name=$1
        shift
        valgrind -q --tool=callgrind --compress-strings=no --compress-pos=no \
                --callgrind-out-file="$work/$name" "$@" > /dev/null 2> "$work/stderr" ||
                { cat "$work/stderr" >&2 && exit 1; } # no progress for a terminal, which takes time
}

# count NAME [ARGUMENT]...
count() {
        profile "$@" -t 1 -m 1G --device cpu --quiet -o "$work/$1.kc"
}

gzip -dc data/phage.fq.gz > "$work/phage.fq"
gzip -dc data/worm.fa.gz > "$work/worm.fa"
count reads-31 "$build/kcount" count "$work/phage.fq" -k 31
count reads-55 "$build/kcount" count "$work/phage.fq" -k 55
count genome-31 "$build/kcount" count "$work/worm.fa" -k 31
profile inflating "$build/bench/bench_inflate" data/phage.fq.gz 1

# The reads and some of their k-mers, in another order than in the .kc file, are looked up in their
# own counts, which are compared with those of half of the reads, and fitted.
counts=$work/reads-31.kc
sed -n 2~4p "$work/phage.fq" > "$work/phage.txt"
"$build/kcount" dump "$counts" | cut -f 1 | rev | sort | rev | sed -n 1,40000p > "$work/kmers.txt"
head -n 20000 "$work/phage.fq" > "$work/half.fq"
"$build/kcount" count "$work/half.fq" -k 31 --device cpu --quiet -o "$work/half.kc"
asking=(-t 1 --device cpu)
profile asking-31 "$build/bench/bench_ask" "$counts" "$work/phage.txt" 1 1024
profile query-31 "$build/kcount" query "$counts" -f "$work/phage.fq" "${asking[@]}"
profile kmers-31 "$build/kcount" query "$counts" -f "$work/kmers.txt" "${asking[@]}"
profile filter-31 "$build/kcount" filter "$counts" "$work/phage.fq" -o "$work/out.fq" "${asking[@]}"
profile joint-31 "$build/kcount" compare "$counts" "$work/half.kc" -t 1
profile model-31 "$build/kcount" model "$counts"
python3 bench/instructions.py "$build" "$work" "${@:2}"
