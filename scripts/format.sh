#!/usr/bin/env bash
# Format all C and CUDA sources, and the scripts of the page, with clang-format 14, according to
# .clang-format.
#
#       scripts/format.sh [--check]     --check: change nothing, fail if a file is not formatted
set -euo pipefail
cd "$(dirname "$0")/.."

what=(-i)
if [ "${1:-}" = --check ]; then
        what=(--dry-run --Werror)
fi
find app base bench cpu examples gpu include io kmer python ranks tests -type f \
        \( -name "*.[ch]" -o -name "*.cu" -o -name "*.cuh" -o -name "*.cpp" -o -name "*.js" \) \
        -print0 |
        xargs -0 clang-format-14 "${what[@]}"
