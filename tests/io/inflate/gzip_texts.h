/*
 * Texts to compress, made from a seed: FASTQ, random bytes, or one byte repeated.
 */
#ifndef KC_TESTS_IO_INFLATE_GZIP_TEXTS_H
#define KC_TESTS_IO_INFLATE_GZIP_TEXTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* must come after those above */

#include "tests/random.h"

struct buffer {
        uint8_t *data;
        size_t n;
        size_t room; /* for put(): allocated bytes; 0 if unknown */
};

/* Zeroed memory, one byte more than nbytes, so that a text is also a string. */
static inline void *alloc(size_t nbytes)
{
        void *memory = calloc(nbytes + 1, 1);
        assert_non_null(memory);
        return memory;
}

static inline void put(struct buffer *b, const void *data, size_t n)
{
        if (b->room < b->n + n + 1) { /* with sanitizers every realloc() copies */
                b->room = 2 * (b->n + n + 1);
                b->data = realloc(b->data, b->room);
                assert_non_null(b->data);
        }
        if (n > 0)
                memcpy(b->data + b->n, data, n);
        b->n += n;
}

static inline void drop(struct buffer *b)
{
        free(b->data);
        *b = (struct buffer){ 0 };
}

/* n bytes of reads of nbases bases each; the last record is cut off. */
static inline void fill_fastq(uint8_t *text, size_t n, int nbases, uint64_t *seed)
{
        char record[512];
        size_t at = 0;
        for (unsigned number = 1; at < n; number++) {
                int length = sprintf(record, "@read.%u/1\n", number);
                for (int i = 0; i < nbases; i++)
                        record[length++] = "ACGT"[next_random(seed) % 4];
                length += sprintf(record + length, "\n+\n");
                for (int i = 0; i < nbases; i++)
                        record[length++] = "IIIIIIIIFFFFF:#"[next_random(seed) % 15];
                record[length++] = '\n';
                size_t take = (size_t)length < n - at ? (size_t)length : n - at;
                memcpy(text + at, record, take);
                at += take;
        }
}

static inline struct buffer make_fastq(size_t n, uint64_t seed)
{
        struct buffer text = { .data = alloc(n), .n = n };
        fill_fastq(text.data, n, 100, &seed);
        return text;
}

/* values 1: all zero; 256: incompressible */
static inline struct buffer make_random(size_t n, uint64_t seed, unsigned values)
{
        struct buffer text = { .data = alloc(n), .n = n };
        for (size_t i = 0; values > 1 && i < n; i++)
                text.data[i] = (uint8_t)(next_random(&seed) % values);
        return text;
}

#endif
