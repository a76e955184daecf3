#!/usr/bin/env python3
"""Translate CUDA C++ into C++ for a host compiler, preserving line numbers.

    translate.py SOURCE-FOLDER OUTPUT-FOLDER FILE...

    kernel<<<grid, block>>>(a, b);        emulator::launch(emulator::config("kernel", grid, block),
                                                           [=](auto... values) {
                                                                   kernel(values...); })(a, b);
    __shared__ T a[N], b;                 static T a[N], b; and code that fills them in each block
    extern __shared__ T a[];              auto *a = (T *)emulator::dynamic_shared;

A .cu file becomes a .cu.cpp file; a header keeps its name, and is found before the original. The
macros of cuda/cuda_runtime.h do the rest.
"""
import pathlib
import re
import sys

LAUNCH = re.compile(r'\b(\w+)((?:<[\w\s,:]*>)?)(\s*)<<<(.*?)>>>\(', re.DOTALL)
DYNAMIC = re.compile(r'extern __shared__ (?:__align__\(\d+\) )?([\w ]+?) (\w+)\[\];')
STATIC = re.compile(r'__shared__ ([^;]*);')


def translate_launches(text):
    match = LAUNCH.search(text)
    while match:
        kernel, types, space, config = match.groups()
        text = (text[:match.start()] + space +
                f'emulator::launch(emulator::config("{kernel}", {config}), '
                f'[=](auto... values) {{ {kernel}{types}(values...); }})(' + text[match.end():])
        match = LAUNCH.search(text)
    return text


def translate_static(match):
    """Each part between commas ends with a name, or with a name and brackets."""
    names = [re.search(r'(\w+)(\[.*)?$', part).group(1) for part in match.group(1).split(',')]
    return (f'static {match.group(1)}; {{ static uint64_t seen; '
            f'emulator::poison_shared(&seen, {", ".join(names)}); }}')


def translate(text):
    text = DYNAMIC.sub(r'auto *\2 = (\1 *)emulator::dynamic_shared;', text)
    return STATIC.sub(translate_static, translate_launches(text))


def main(source, output, files):
    for name in files:
        path = pathlib.Path(source, name)
        to = pathlib.Path(output, name + '.cpp' if name.endswith('.cu') else name)
        text = (f'#include <cuda_runtime.h> // as nvcc does\n#line 1 "{path}"\n' +
                translate(path.read_text()))
        to.parent.mkdir(parents=True, exist_ok=True)
        if not to.exists() or to.read_text() != text:
            to.write_text(text)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
