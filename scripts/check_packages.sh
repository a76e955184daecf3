#!/usr/bin/env bash
# Build the Debian packages of the last commit in a fresh Debian 12, check them with lintian,
# install them in another one, run their tests (debian/tests) there, and purge them.
# Needs root, debootstrap, autopkgtest and the network; ctest does not run this.
#
#       scripts/check_packages.sh [MIRROR]      MIRROR: a Debian mirror; default: debootstrap's
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
install_packages debootstrap autopkgtest
work=$(mktemp -d)
clean_up() {
        umount -q "$work"/*/proc || true
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

echo "unpacking Debian 12 twice"
logged debootstrap --variant=minbase bookworm "$work/clean" ${1:+"$1"}
cp /etc/resolv.conf "$work/clean/etc/"
cp -a "$work/clean" "$work/build"
mount -t proc proc "$work/clean/proc"
mount -t proc proc "$work/build/proc"

version=$(sed -n '1s/.*(\(.*\)-.*/\1/p' debian/changelog)
source=kcount-$version
echo "building the packages of kcount $version"
git archive --prefix="$source/" HEAD -- . ':!debian' |
        gzip > "$work/build/root/kcount_$version.orig.tar.gz"
git archive --prefix="$source/" HEAD | tar x -C "$work/build/root"
logged inside build apt-get install -y --no-install-recommends build-essential lintian
logged inside build sh -c "cd /root/$source && apt-get build-dep -y --no-install-recommends ./"
logged inside build sh -c "cd /root/$source && dpkg-buildpackage -us -uc"

# Debian has no bug report that this package could close.
inside build sh -c "lintian --allow-root --fail-on error,warning --display-info \
        --suppress-tags initial-upload-closes-no-bugs /root/*.changes"

echo "testing the packages in a fresh Debian"
cp "$work"/build/root/*.deb "$work"
cp -a "$work/build/root/$source" "$work"
logged autopkgtest --summary-file "$work/summary" "$work"/*.deb "$work/$source/" \
        -- chroot "$work/clean"
cat "$work/summary"

echo "installing and purging them"
cp "$work"/*.deb "$work/clean/root"
logged inside clean sh -c "apt-get install -y --no-install-recommends /root/*.deb"
inside clean kcount --version
logged inside clean apt-get purge -y kcount libkcount0 libkcount-dev python3-kcount
rm "$work"/clean/root/*.deb
left=$(find "$work/clean" -xdev -name '*kcount*' -not -path '*/proc/*' -not -path '*/log/*')
if [ -n "$left" ]; then
        echo "not purged: $left" >&2
        exit 1
fi
echo "the packages work"
