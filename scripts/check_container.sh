#!/usr/bin/env bash
# Do what the Dockerfile says, in folders instead of a container, and run kcount in the result.
# Needs root, debootstrap and the network; ctest does not run this.
#
#       scripts/check_container.sh [MIRROR]     MIRROR: of Debian; debootstrap's own if not given
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
clean_up() {
        umount -q "$work"/?/proc || true
        rm -rf --one-file-system "$work"
}
trap clean_up EXIT

# The commands of the RUN lines of stage $1 (1 or 2), one per line.
commands() {
        sed -e ':join' -e '/\\$/N' -e 's/\\\n//' -e 't join' Dockerfile |
                awk -v stage="$1" '/^FROM/ { n++ } n == stage && sub(/^RUN /, "")'
}

run_stage() {
        local command
        mount -t proc proc "$work/$1/proc"
        while read -r command; do
                echo "stage $1: $command"
                chroot "$work/$1" /bin/bash -euo pipefail -c "$command" < /dev/null
        done < <(commands "$1")
}

debootstrap --variant=minbase bookworm "$work/2" ${1:+"$1"} > "$work/log" || {
        tail "$work/log" >&2
        exit 1
}
cp /etc/resolv.conf "$work/2/etc/"
cp -a "$work/2" "$work/1"
mkdir "$work/1/kcount"
git archive HEAD | tar x -C "$work/1/kcount"
(cd "$work/1/kcount" && xargs -I{} rm -rf ./{} < .dockerignore)
run_stage 1
run_stage 2
cp -a "$work/1/image/." "$work/2/"
cp data/phage.fq.gz "$work/2/"
chroot "$work/2" kcount phage.fq.gz -k 31 --device cpu
chroot "$work/2" kcount check phage.kc
echo "the image works: $(du -shx "$work/2" | cut -f 1)"
