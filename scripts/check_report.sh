#!/usr/bin/env bash
# Open pages of reports in a headless Chromium: pictures, keyboard, widths, contrast, saving, paper.
#
#       scripts/check_report.sh [BUILD] [PICTURES [--record]]
#
# Screenshots go to the folder PICTURES and are compared with those in docs/images; with --record,
# they go to docs/images.
#
# It needs Debian's chromium and Python 3, nothing else. cli_report_page tests without a browser.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build}
pictures=${2:-$build/report-pictures}
cmake --build "$build" --target report_pages
export PYTHONDONTWRITEBYTECODE=1
python3 tests/page/check.py "$build/tests/report_pages" . "$pictures" "${@:3}"
