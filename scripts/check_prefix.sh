#!/usr/bin/env bash
# Build and install the last commit with libraries in a folder of their own, as conda does with
# packaging/bioconda, and test the installed program and library. Copies the libraries from the
# system. ctest does not run this.
#
#       scripts/check_prefix.sh
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
mkdir -p "$prefix/include" "$prefix/lib"

for package in zlib1g-dev libhts-dev libdeflate-dev libisal-dev libzstd-dev libbz2-dev \
        liblzma-dev libxxhash-dev libcminpack-dev libssl-dev; do
        dpkg -L "$package" | grep '^/usr/include/.*\.h$' | while read -r header; do
                install -D -m 644 "$header" "$prefix/include/${header#/usr/include/}"
        done
        dpkg -L "$package" | grep '\.so$' | while read -r library; do
                soname=$(objdump -p "$library" | awk '/SONAME/ { print $2 }')
                cp -L "$library" "$prefix/lib/$soname"
                ln -s "$soname" "$prefix/lib/$(basename "$library")"
        done
done

mkdir "$work/source"
git archive HEAD | tar x -C "$work/source"
cd "$work/source"
# A folder without package descriptions, because those that pkg-config finds are the system's.
PREFIX=$prefix CPU_COUNT=$(nproc) PKG_CONFIG_LIBDIR=$work packaging/bioconda/build.sh > "$work/log"
for component in library Unspecified; do
        cmake --install build --component "$component" > "$work/log"
done

ldd "$prefix/bin/kcount" |
        grep -E 'libhts\.|libdeflate|libisal|libzstd|libbz2|liblzma|libxxhash|libz' |
        tee "$work/found"
if grep -v "=> $prefix/lib/" "$work/found" > /dev/null; then
        echo "some libraries come from elsewhere" >&2
        exit 1
fi

export AUTOPKGTEST_TMP=$work
PATH=$prefix/bin:$PATH debian/tests/count
PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib debian/tests/library
echo "the program and the library work"
