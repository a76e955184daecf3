#!/usr/bin/env bash
# Build kcount for aarch64 and run its unit tests, fuzzing corpora and golden files under qemu.
# Needs root, the network and half an hour; ctest does not run this.
#
#       scripts/check_aarch64.sh [MIRROR]       MIRROR: a Debian mirror; default: debootstrap's
#
# The libraries are Debian's for arm64, unpacked into a folder: nothing of another architecture is
# installed. The build folder is build-aarch64/, or the value of KCOUNT_BUILD. qemu runs threads in
# the memory order of the machine that it runs on, so on x86-64 this finds no missing barriers.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh

folder=$(realpath -m "${KCOUNT_BUILD:-build-aarch64}")
sysroot=$folder/sysroot
install_packages "${BUILD_PACKAGES[@]}" python3 debootstrap gcc-aarch64-linux-gnu \
        g++-aarch64-linux-gnu qemu-user-static

# Keep only libraries and headers: if a path such as /proc or /tmp existed in the sysroot, qemu
# would use it instead of the machine's.
unpack_sysroot() {
        local work=$sysroot.part packages package link
        local options=(--arch=arm64 --variant=minbase --download-only)
        packages=$(printf '%s\n' "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" | grep -e '-dev$')
        rm -rf "$work"
        mkdir -p "$work/root"
        debootstrap "${options[@]}" --include="${packages//$'\n'/,}" bookworm "$work/debian" \
                ${1:+"$1"} > "$work/log" || {
                tail "$work/log" >&2
                return 1
        }
        for package in "$work"/debian/var/cache/apt/archives/*.deb; do
                dpkg-deb -x "$package" "$work/root"
        done
        mkdir "$work/kept" "$work/kept/usr"
        mv "$work/root/lib" "$work/kept"
        mv "$work/root/usr/include" "$work/root/usr/lib" "$work/kept/usr"
        find "$work/kept" -type l -lname '/*' | while read -r link; do
                ln -sfn "$sysroot$(readlink "$link")" "$link"
        done
        mv "$work/kept" "$sysroot"
        rm -rf "$work"
}

# run_tests PATTERN: run the tests whose names match.
run_tests() {
        (cd "$folder" && ctest --output-on-failure --parallel "$(nproc)" --timeout 900 -R "$1")
}

[ -e "$sysroot" ] || unpack_sysroot "$@"
export PKG_CONFIG_LIBDIR=$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig
export PKG_CONFIG_SYSROOT_DIR=$sysroot QEMU_LD_PREFIX=$sysroot
build "$folder" -DKCOUNT_WERROR=ON -DKCOUNT_CUDA=OFF -DKCOUNT_BENCH=OFF -DBUILD_TESTING=ON \
        -DCMAKE_C_FLAGS=-DKC_TEST_EMULATED \
        -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
        -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
        -DCMAKE_SYSROOT="$sysroot" \
        -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
        -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64-static
run_tests '^(test|fuzz)_'
# Many aarch64 machines have pages of 64 KiB.
QEMU_PAGESIZE=65536 run_tests '^test_(arena|temp_file|new_file|cpu_|store)'

# On aarch64, kcount must write and read the same files as on x86-64.
emulated=$folder/emulated_kcount
printf '#!/bin/sh\nexec qemu-aarch64-static "%s" "$@"\n' "$folder/kcount" > "$emulated"
chmod +x "$emulated"
python3 tests/cli/golden.py "$emulated" .
