#include "app/version.h"

#include "app/cli/json.h"
#include "app/model/least_squares.h"
#include "app/report/checksum.h"
#include "gpu/gpu.h"
#include "kmer/kmer.h"
#include "ranks/ranks.h"

#include <bzlib.h>
#include <htslib/hts.h>
#include <isa-l.h>
#include <libdeflate.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

/* The text up to its first comma. Returns its length. */
static size_t put_first(struct json *json, const char *key, const char *text)
{
        char first[40];
        const size_t n = strcspn(text, ",");
        snprintf(first, sizeof first, "%.*s", (int)n, text);
        json_string(json, key, first);
        return n;
}

static void put_numbers(struct json *json, const char *key, unsigned major, unsigned minor,
                        unsigned patch)
{
        char text[40];
        snprintf(text, sizeof text, "%u.%u.%u", major, minor, patch);
        json_string(json, key, text);
}

/* Versions at run time, which may be newer than the headers'. libdeflate and ISA-L tell none. */
static void put_libraries(struct json *json)
{
        const unsigned xxhash = XXH_versionNumber();
        json_begin(json, "libraries", '{');
        json_string(json, "htslib", hts_version());
        json_string(json, "libdeflate", LIBDEFLATE_VERSION_STRING);
        put_numbers(json, "isal", ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION);
        json_string(json, "zstd", ZSTD_versionString());
        put_first(json, "bzip2", BZ2_bzlibVersion()); /* "1.0.8, 13-Jul-2019" */
        json_string(json, "liblzma", lzma_version_string());
        put_numbers(json, "xxhash", xxhash / 10000, xxhash / 100 % 100, xxhash % 100);
        json_string(json, "zlib", zlibVersion());
        json_end(json, '}');
}

/* archs: of the CUDA engine; "": there is none */
static void put_engines(struct json *json, const char *archs)
{
        static const char *const names[] = { "cpu", "cuda" };
        json_strings(json, "engines", names, *archs != '\0' ? 2 : 1);
        json_begin(json, "cuda_archs", '[');
        while (*archs != '\0') {
                archs += put_first(json, NULL, archs);
                archs += *archs == ',';
        }
        json_end(json, ']');
}

static void put_json(struct text_out *out)
{
        const char *archs = kc_gpu_archs();
        struct json json = { .out = out };
        json_begin(&json, NULL, '{');
        json_string(&json, "program", "kcount");
        json_string(&json, "version", KCOUNT_VERSION);
        put_engines(&json, archs);
        json_bool(&json, "mpi", kc_ranks_in_build());
        json_bool(&json, "cminpack", least_squares_exist());
        json_bool(&json, "libcrypto", checksums_exist());
        put_libraries(&json);
        json_number(&json, "max_k", KC_MAX_K);
        json_number(&json, "max_k_cuda", *archs != '\0' ? KC_GPU_ENGINE_MAX_K : 0);
        json_number(&json, "max_count", UINT32_MAX);
        json_end(&json, '}');
}

void version_print(struct text_out *out, bool as_json)
{
        if (as_json)
                put_json(out);
        else
                text_out_puts(out, "kcount " KCOUNT_VERSION "\n");
}
