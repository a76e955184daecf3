#!/bin/bash
# Run Merqury itself on the small assemblies of tests/cli/lib/assemblies.py, and compare its files
# with those of 'kcount report --merqury', byte for byte.
#
#   scripts/check_merqury.sh KCOUNT MERQURY MERYL [--record]
#
#   MERQURY   Merqury's folder (github.com/marbl/merqury)
#   MERYL     the folder with the programs of meryl 1.4 (github.com/marbl/meryl)
#   --record  keep Merqury's files in tests/cli/expected/merqury, which tests/cli/app_report.py
#             compares with kcount's
#
# Needs java. R is not needed: Merqury goes on without its pictures.
set -eu

source_dir=$(cd "$(dirname "$0")/.." && pwd)
kcount=$(realpath "$1")
export MERQURY=$(realpath "$2")
PATH=$(realpath "$3"):$PATH
record=${4:-}
expected=$source_dir/tests/cli/expected/merqury
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Run Merqury on the reads and the assemblies named, and put its files in a folder of this name.
run_merqury() {
        local name=$1
        shift
        mkdir "$work/$name"
        cd "$work/$name"
        python3 "$source_dir/tests/cli/lib/assemblies.py" .
        meryl count k=21 threads=1 memory=1 output reads.meryl reads.fa > meryl.log 2>&1
        bash "$MERQURY/merqury.sh" reads.meryl "$@" out > merqury.log 2>&1
        mkdir "$work/$name.merqury"
        cp out.* reads.hist reads.hist.ploidy reads.filt ./*_only.bed ./*_only.wig \
                "$work/$name.merqury"
        rm -f "$work/$name.merqury"/*.png
}

run_kcount() {
        local name=$1 options=() assembly
        shift
        for assembly in "$@"; do
                options+=(--assembly "$assembly")
        done
        cd "$work/$name"
        "$kcount" count reads.fa -k 21 -o reads.kc --quiet
        mkdir "$work/$name.kcount"
        "$kcount" report reads.kc "${options[@]}" --merqury "$work/$name.kcount/out" --quiet
}

check() {
        run_merqury "$@"
        run_kcount "$@"
        diff -r "$work/$1.merqury" "$work/$1.kcount"
        echo "$1: $(ls "$work/$1.kcount" | wc -l) files are the same"
        if [ "$record" = --record ]; then
                mkdir -p "$expected"
                rm -rf "${expected:?}/$1"
                cp -r "$work/$1.merqury" "$expected/$1"
        fi
}

check one hap1.fasta
check two hap1.fasta hap2.fa
