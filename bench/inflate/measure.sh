#!/bin/sh
# For a first measurement: build bench_gpu_inflate with its variants, and nothing else, in the
# folder $1, and run it on simulated reads and on the files in data/. Takes about half a minute.
set -e
out=${1:-build-inflate}
mkdir -p "$out"
NVCC="nvcc -std=c++17 -arch=sm_90 -O3 -lineinfo -I. -D_GNU_SOURCE"
variants="X(kc_gpu_inflate)"
variant() {
        name=$1
        shift
        $NVCC -Dkc_gpu_inflate="$name" "$@" -c gpu/inflate/inflate.cu -o "$out/$name.o" &
        variants="${variants}X($name)"
}
$NVCC -Xptxas -v -c gpu/inflate/inflate.cu -o "$out/inflate.o" &
variant no_crc -DKC_V_NO_CRC
variant no_text -DKC_V_NO_CRC -DKC_V_NO_EXPAND
variant words7 -DKC_V_WORDS=7 -DKC_V_TOKENS=27
variant bits9 -DKC_V_BITS=9
variant rows8 -DKC_V_ROWS=8
variant rows3 -DKC_V_ROWS=3
$NVCC -DKC_CUDA_ARCHS='"90"' -c gpu/device/device.cu -o "$out/device.o" &
$NVCC -c gpu/device/context.cu -o "$out/context.o" &
$NVCC "-DINFLATE_VARIANTS=$variants" -c bench/inflate/bench_gpu_inflate.cu -o "$out/bench.o" &
for file in bench/bgzf bench/simulate io/input/bgzf_blocks gpu/device/gate base/status base/parallel \
        base/clock base/memory base/job; do
        gcc -O2 -std=gnu11 -I. -D_GNU_SOURCE -c $file.c -o "$out/$(basename $file)_c.o" &
done
wait
gcc -o "$out/simulate" "$out/simulate_c.o" "$out/bgzf_c.o" "$out/parallel_c.o" "$out/status_c.o" \
        "$out/clock_c.o" "$out/memory_c.o" -ldeflate -lpthread -lm
rm "$out/simulate_c.o"
nvcc -arch=sm_90 -o "$out/bench_gpu_inflate" "$out"/*.o -ldeflate -lz -lpthread
"$out/simulate" --genome 1M --coverage 25 -o "$out/reads.fq"
"$out/bench_gpu_inflate" "$out/reads.fq" data/ont.fq.gz data/phage.fq.gz
for n in 1024 4096 16384; do
        "$out/bench_gpu_inflate" -n $n -v kc_gpu_inflate "$out/reads.fq"
done
