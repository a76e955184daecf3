#!/bin/sh
# Make the files of one kind of footer: make.sh KCOUNT PREFIX FOLDER, from the folder of this
# script.
set -e
kcount=$1 to=$(cd "$3" && pwd)/$2
cd inputs
count() { "$kcount" count --quiet --device cpu "$@"; }
add() { "$kcount" add --quiet --device cpu "$@"; }

count a.fa -k 21 -o "$to-one-k21.kc"
count a.fa b.fa -k 32 --min 2 --max 30 -o "$to-filtered-k32.kc"
count a.fa -k 21 --min 2 --max 30 -o "$to-mixed-k21.kc"
add "$to-mixed-k21.kc" b.fa 2>/dev/null # it warns of what --min dropped
"$kcount" compact --quiet --device cpu "$to-mixed-k21.kc"
count dense.fa -k 6 --stranded -o "$to-blocks-k6.kc"
count long.fa -k 255 -o "$to-one-k255.kc"
count a.fa -k 13 --hpc -o "$to-hpc-k13.kc"
count a.fa -k 17 --only b.fa -o "$to-only-k17.kc"

count a.fa -k 21 -o "$to-two-k21.kc"
add "$to-two-k21.kc" b.fa
count a.fa -k 33 --stranded -o "$to-two-k33.kc"
add "$to-two-k33.kc" b.fa

count a.fa -k 15 -o "$to-tombstones-k15.kc"
"$kcount" remove --quiet "$to-tombstones-k15.kc" -f gone.fa
add "$to-tombstones-k15.kc" b.fa
count middle.fa -k 129 -o "$to-tombstones-k129.kc"
add "$to-tombstones-k129.kc" middle_b.fa
"$kcount" remove --quiet "$to-tombstones-k129.kc" -f middle_b.fa
