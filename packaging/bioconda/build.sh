#!/usr/bin/env bash
# Compile what the outputs of meta.yaml install, for any processor of the platform.
set -euo pipefail
# shellcheck disable=SC2086 # several options
cmake -S . -B build -G Ninja ${CMAKE_ARGS:-} -DCMAKE_PREFIX_PATH="$PREFIX" \
        -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_TESTING=OFF \
        -DKCOUNT_BENCH=OFF -DKCOUNT_CUDA=OFF
cmake --build build --parallel "$CPU_COUNT"
