#!/usr/bin/env bash
# Build the Debian packages of the last commit in a fresh Debian 12, check them with lintian,
# install them in another one, run their tests (debian/tests) there, and purge them.
# Needs root, debootstrap, autopkgtest and the network; ctest does not run this.
#
# If nvcc is on the PATH, do the same with the CUDA plug-in (packaging/debian-cuda), built with that
# toolkit in place of Debian's, for the architectures in KCOUNT_CUDA_ARCHS, or else for all.
#
#       scripts/check_packages.sh [MIRROR]      MIRROR: a Debian mirror; default: debootstrap's
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
install_packages debootstrap autopkgtest
work=$(mktemp -d)
nvcc=$(command -v nvcc || true)
toolkit=${nvcc:+$(dirname "$(dirname "$(realpath "$nvcc")")")}
[ "$toolkit" != /usr ] || toolkit= # a package: it would hide the chroot's own /usr
clean_up() {
        umount -q "$work"/*/proc "$work/build$toolkit" || true
        rm -rf --one-file-system "$work"
}
trap clean_up EXIT

# logged COMMAND...: show what it prints only if it fails.
logged() {
        "$@" > "$work/log" 2>&1 < /dev/null || {
                tail -n 40 "$work/log" >&2
                return 1
        }
}

# inside ROOT COMMAND...: run it there as root.
inside() {
        chroot "$work/$1" /usr/bin/env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "${@:2}"
}

# unpack NAME: the source package's folder. Its debian/ is made as packaging/debian-cuda says.
unpack() {
        git archive --prefix="$1-$version/" HEAD -- . ':!debian' |
                gzip > "$work/build/root/$1_$version.orig.tar.gz"
        git archive --prefix="$1-$version/" HEAD | tar x -C "$work/build/root"
        [ "$1" = kcount-cuda ] || return 0
        cd "$work/build/root/$1-$version"
        mv debian/copyright packaging/debian-cuda
        rm -r debian
        mv packaging/debian-cuda debian
        cd - > /dev/null
}

# build_source NAME [OPTION...]: options of dpkg-buildpackage
build_source() {
        logged inside build sh -c "cd /root/$1-$version && dpkg-buildpackage -us -uc -tc ${*:2}"
}

echo "unpacking Debian 12 twice"
logged debootstrap --variant=minbase bookworm "$work/clean" ${1:+"$1"}
cp /etc/resolv.conf "$work/clean/etc/"
cp -a "$work/clean" "$work/build"
mount -t proc proc "$work/clean/proc"
mount -t proc proc "$work/build/proc"

version=$(sed -n '1s/.*(\(.*\)-.*/\1/p' debian/changelog)
echo "building the packages of kcount $version"
unpack kcount
logged inside build apt-get install -y --no-install-recommends build-essential lintian
logged inside build sh -c "cd /root/kcount-$version &&
        apt-get build-dep -y --no-install-recommends ./"
build_source kcount
if [ -n "$toolkit" ]; then
        echo "building the package of the CUDA plug-in with $toolkit"
        mkdir -p "$work/build$toolkit"
        mount -o bind,ro "$toolkit" "$work/build$toolkit"
        unpack kcount-cuda
        CUDACXX=$toolkit/bin/nvcc build_source kcount-cuda -d
        umount "$work/build$toolkit"
fi

# Debian has no bug report that this package could close.
inside build sh -c "lintian --allow-root --fail-on error,warning --display-info \
        --suppress-tags initial-upload-closes-no-bugs /root/*.changes"

echo "testing the packages in a fresh Debian"
cp "$work"/build/root/*.deb "$work"
for source in "$work"/build/root/kcount*-"$version"; do
        cp -a "$source" "$work"
        logged autopkgtest --summary-file "$work/summary" "$work"/*.deb \
                "$work/$(basename "$source")/" -- chroot "$work/clean"
        cat "$work/summary"
done

echo "installing and purging them"
cp "$work"/*.deb "$work/clean/root"
logged inside clean sh -c "apt-get install -y --no-install-recommends /root/*.deb"
inside clean kcount --version
logged inside clean apt-get purge -y '?name(kcount)'
rm "$work"/clean/root/*.deb
left=$(find "$work/clean" -xdev -name '*kcount*' -not -path '*/proc/*' -not -path '*/log/*')
if [ -n "$left" ]; then
        echo "not purged: $left" >&2
        exit 1
fi
echo "the packages work"
