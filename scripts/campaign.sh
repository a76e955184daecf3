#!/usr/bin/env bash
# Test kcount with random inputs, options, engines and faults for HOURS. The exit status is 1 if a
# case failed. The files of a failed case are kept, with the command that repeats it.
#
#       scripts/campaign.sh HOURS [--device cpu|cuda|auto] [--seed N] [--build DIR] [--results FILE]
#                                 [--keep DIR] [--jobs N] [--sweeps] [--only-case M]
#
# Needs only bash and python3 besides a build (build/kcount, build/tests/naive); jellyfish, kmc,
# samtools and zstd are used if they are installed. --help lists all options.
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
exec python3 "$(dirname "$0")/../tests/campaign/main.py" "$@"
