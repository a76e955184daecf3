#!/usr/bin/env bash
# Build and install kcount with libraries in a folder of their own, as in a conda environment, and
# count with the installed program. Copies the libraries from the system. ctest does not run this.
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

# A folder without package descriptions, because those that pkg-config finds are the system's.
PKG_CONFIG_LIBDIR=$work cmake -S . -B "$work/build" -G Ninja -DBUILD_TESTING=OFF \
        -DKCOUNT_BENCH=OFF -DKCOUNT_CUDA=OFF -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_INSTALL_PREFIX="$prefix" > "$work/log"
cmake --build "$work/build" > "$work/log"
cmake --install "$work/build" > "$work/log"

ldd "$prefix/bin/kcount" |
        grep -E 'libhts\.|libdeflate|libisal|libzstd|libbz2|liblzma|libxxhash|libz' |
        tee "$work/found"
if grep -v "=> $prefix/lib/" "$work/found" > /dev/null; then
        echo "some libraries come from elsewhere" >&2
        exit 1
fi
"$prefix/bin/kcount" data/phage.fq.gz -k 31 -o "$work/phage.kc"
