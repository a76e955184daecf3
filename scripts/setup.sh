# shellcheck shell=bash disable=SC2034
# What the other scripts share: packages and the build. Source it from the repository's root.

BUILD_PACKAGES=(gcc libc6-dev cmake ninja-build pkg-config zlib1g-dev libhts-dev libdeflate-dev
        libisal-dev libzstd-dev libbz2-dev liblzma-dev libxxhash-dev
        libcminpack-dev libssl-dev)
TEST_PACKAGES=(libcmocka-dev python3 g++) # g++: the tests of gpu/ on the CPU
FORMAT_PACKAGES=(clang-format-14)
PYTHON_PACKAGES=(python3-dev python3-numpy python3-pytest) # for -DKCOUNT_PYTHON=ON
MPI_PACKAGES=(libopenmpi-dev openmpi-bin) # for -DKCOUNT_MPI=ON
# tests that need these are skipped if they are missing
PEER_PACKAGES=(abigail-tools jellyfish kmc libkmc-dev meryl python3-dna-jellyfish samtools
        valgrind zstd)

# nvcc compiles host code with g++.
if command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
        BUILD_PACKAGES+=(g++)
fi

as_root() {
        if [ "$(id -u)" = 0 ]; then
                "$@"
        else
                sudo "$@"
        fi
}

missing_packages() {
        local package
        for package in "$@"; do
                dpkg-query -W -f '${Status}\n' "$package" 2> /dev/null | grep -q ' installed$' ||
                        echo "$package"
        done
}

# install_packages PACKAGE...: install those that are missing, without asking.
install_packages() {
        local missing
        if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
                echo "No apt-get here. If the build fails, install a C compiler, cmake 3.18 or" \
                        "later, ninja, pkg-config and the development files of zlib, htslib," \
                        "libdeflate, ISA-L, zstd, bzip2, xz (liblzma), xxHash, cminpack and" \
                        "libcrypto; for the tests also cmocka and python3." >&2
                return
        fi
        mapfile -t missing < <(missing_packages "$@")
        if [ ${#missing[@]} = 0 ]; then
                return
        fi
        if [ "$(id -u)" != 0 ] && ! command -v sudo > /dev/null; then
                echo "These packages are missing: ${missing[*]}" >&2
                echo "Neither root nor sudo: ask for them to be installed, then run this again." >&2
                return 1
        fi
        echo "Installing ${missing[*]}"
        if [ -z "${package_lists_are_fresh:-}" ]; then
                as_root apt-get update -qq < /dev/null
                package_lists_are_fresh=yes
        fi
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
                "${missing[@]}" < /dev/null > /dev/null
}

# install_if_possible PACKAGE...: install all together; if that fails, each by itself, report a
# package that fails and go on.
install_if_possible() {
        local package
        install_packages "$@" && return
        for package in "$@"; do
                install_packages "$package" ||
                        echo "$package cannot be installed; going on without it"
        done
}

# build FOLDER [CMAKE OPTION]...
build() {
        local folder=$1
        shift
        if [ ! -e "$folder/CMakeCache.txt" ] && command -v ninja > /dev/null; then
                set -- -G Ninja "$@"
        fi
        cmake -S . -B "$folder" "$@" > "$folder.log" || {
                cat "$folder.log" >&2
                return 1
        }
        grep 'kcount:' "$folder.log" || true
        cmake --build "$folder" --parallel "$(nproc)"
}

# build_tests FOLDER [CMAKE OPTION]...
build_tests() {
        build "$1" -DBUILD_TESTING=ON -DKCOUNT_BENCH=ON "${@:2}"
}
