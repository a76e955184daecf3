#!/bin/bash
# Make files.tar.xz again with the programs that README.md lists:
#
#     tests/foreign/make.sh FOLDER
#
# FOLDER is created; all files stay in it. kmc, kmc_tools, kmc_dump, jellyfish, FastK, Tabex and
# kff-tools must be in PATH.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir "$1" && cd "$1" && mkdir made tmp
python3 "$here/reads.py" > reads.fa

in_order() { LC_ALL=C sort "$1" > "$2"; }
kmc_run() { kmc -ci1 -fa -m2 -t1 -n64 -p5 "$@" tmp > tmp/log 2>&1; }
kmc_dumped() { kmc_dump "made/$1" tmp/dump > tmp/log && in_order tmp/dump "made/$1.dump"; }

make_kmc() { # NAME K OPTION...
    kmc_run "-k$2" "${@:3}" reads.fa "made/$1" && kmc_dumped "$1"
}
make_sorted() { # NAME FROM
    kmc_tools -t1 transform "made/$2" sort "made/$1" > tmp/log 2>&1 && kmc_dumped "$1"
}
make_kff() { # NAME K OPTION...
    make_kmc "$@" && rm "made/$1".kmc_*
    kmc_run "-k$2" -okff "${@:3}" reads.fa "made/$1"
}
make_jellyfish() { # NAME K OPTION...
    jellyfish count -m "$2" -s 4k "${@:3}" -o "made/$1.jf" reads.fa
    jellyfish dump -ct "made/$1.jf" > tmp/dump && in_order tmp/dump "made/$1.dump"
    python3 "$here/anonymous.py" "made/$1.jf"
}
make_fastk() { # NAME K OPTION...
    FastK "-k$2" "${@:3}" -M1 "-Nmade/$1" -Ptmp reads.fa > tmp/log 2>&1
    Tabex -A "made/$1" | awk '/^[acgt]/ { print toupper($1) "\t" $NF }' > "made/$1.dump"
    rm "made/$1.hist"
}
make_kff_tools() { # K MINIMIZER
    local name=kfftools-k$1
    cp "made/kmc-k$1.dump" "made/$name.dump"
    tr '\t' ' ' < "made/$name.dump" > tmp/kmers
    kff-tools instr -i tmp/kmers -o "made/$name.kff" -k "$1" -d 4 -m 1
    for step in bucket compact; do
        cp "made/$name.dump" "made/$name-$step-turned.dump"
    done
    kff-tools bucket -i "made/$name.kff" -o "made/$name-bucket-turned.kff" -m "$2"
    kff-tools compact -i "made/$name-bucket-turned.kff" -o "made/$name-compact-turned.kff"
}

for k in 15 21 31 32 41 55 101; do
    make_kmc "kmc-k$k" $k -cs1000000
    make_kmc "kmc-k$k-stranded" $k -cs4294967295 -b
    make_sorted "kmcsorted-k$k" "kmc-k$k"
    make_sorted "kmcsorted-k$k-stranded" "kmc-k$k-stranded"
    make_kff "kff-k$k" $k -cs1000000
    make_kff "kff-k$k-stranded" $k -cs4294967295 -b
    make_jellyfish "jellyfish-k$k" $k -C
    make_jellyfish "jellyfish-k$k-stranded" $k --out-counter-len 3
    make_fastk "fastk-k$k" $k -t1 -T2
    make_kff_tools $k 7 > tmp/log
done
make_kmc kmc-clipped 31
make_kmc kmc-presence 31 -cs1
make_kmc kmc-range 31 -ci3 -cx40
make_kmc kmc-k9 9 -cs1000000
kmc -k25 -ci1 -fa -m2 -t1 reads.fa made/kmc-defaults tmp > tmp/log 2>&1 && kmc_dumped kmc-defaults
make_sorted kmcsorted-clipped kmc-clipped
make_kff kff-clipped 31
make_jellyfish jellyfish-clipped 31 -C --out-counter-len 1
make_jellyfish jellyfish-text 31 -C --text
make_fastk fastk-oneprefix 40 -t3 -T1
awk '{ c = ($2 > 255 ? 255 : $2); print $1 " " c }' made/kmc-k31.dump > tmp/kmers
tr ' ' '\t' < tmp/kmers > made/kfftools-recoded.dump
kff-tools instr -i tmp/kmers -o tmp/bytes.kff -k 31 -d 1 -m 1 > tmp/log
kff-tools translate -i tmp/bytes.kff -o made/kfftools-recoded.kff -e TGCA > tmp/log
awk -v OFS='\t' '{ print $1, 1 }' made/kmc-k31.dump > made/kfftools-nodata.dump
kff-tools data-rm -i tmp/bytes.kff -o made/kfftools-nodata.kff > tmp/log

# Where nothing is clipped, the programs must agree.
for k in 15 21 31 32 41 55 101; do
    cmp "made/kmc-k$k.dump" "made/jellyfish-k$k.dump"
    cmp "made/kmc-k$k-stranded.dump" "made/jellyfish-k$k-stranded.dump"
    awk -v OFS='\t' '{ print $1, ($2 > 32767 ? 32767 : $2) }' "made/kmc-k$k.dump" |
        cmp - "made/fastk-k$k.dump"
done
tar --sort=name --owner=0 --group=0 --mtime=@0 --mode=u=rw,go=r -C made -cf - . |
    xz -9e > files.tar.xz
ls -l files.tar.xz
