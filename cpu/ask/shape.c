#include "cpu/ask/shape.h"

#include "cpu/ask/lists.h"

enum {
        PART_NKMERS = 16 << 10, /* a part of the table and its index fit into an L2 cache */
        PARTS_PER_THREAD = 8,   /* so that threads end together */
        MIN_PIECE_NKMERS = 16 << 10,
        MAX_PIECE_NKMERS = 1 << 20,
        GROUP_NKMERS = 4 << 20,
        MIN_CHUNK_NLINES = 4, /* of a chunk's memory, the head is at most a fifth */
        MIN_SLAB_NBYTES = 64 << 10,
        MAX_SLAB_NBYTES = 1 << 20,
};

/* How many k-mers a round asks for if memory allows: so many that decoding the table once is a
 * small part of its work, but not more, because in smaller rounds memory is used again sooner. */
enum { MIN_ROUND_NKMERS = 4 << 20, FULL_ROUND_NKMERS = 32 << 20 };

static uint64_t min_u64(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

static uint64_t round_nkmers(uint64_t ndistinct)
{
        const uint64_t small = min_u64(2 * ndistinct, FULL_ROUND_NKMERS);
        return min_u64(max_u64(max_u64(small, ndistinct / 2), MIN_ROUND_NKMERS), UINT32_C(1) << 31);
}

static size_t line_nbytes(int nwords)
{
        return KC_ASK_LINE_NKMERS * (size_t)nwords * sizeof(uint64_t);
}

static size_t min_chunk_nbytes(int nwords)
{
        size_t nbytes = KC_ASK_MIN_CHUNK_NBYTES;
        while (nbytes < sizeof(struct kc_ask_chunk) + MIN_CHUNK_NLINES * line_nbytes(nwords))
                nbytes *= 2;
        return nbytes;
}

/* Every list of every thread has a chunk that is not full. If these take too much memory, chunks
 * become smaller, and if that is not enough, there are fewer lists. */
static void choose_parts(struct kc_ask_shape *shape, const struct kc_ask_table *table,
                         const struct kc_ask_setup *setup)
{
        const int nwords = kc_kmer_nwords(table->k);
        const uint64_t nthreads = (uint64_t)setup->nthreads;
        uint64_t nparts = max_u64(table->ndistinct / PART_NKMERS,
                                  nthreads > 1 ? PARTS_PER_THREAD * nthreads : 1);
        nparts = min_u64(nparts, KC_ASK_MAX_PARTS);
        shape->chunk_nbytes = KC_ASK_MAX_CHUNK_NBYTES;
        while (shape->chunk_nbytes > min_chunk_nbytes(nwords) &&
               nthreads * nparts * shape->chunk_nbytes > setup->memory_nbytes / 8)
                shape->chunk_nbytes /= 2;
        while (nparts > 1 && nthreads * nparts * (shape->chunk_nbytes + line_nbytes(nwords)) >
                                     setup->memory_nbytes / 4)
                nparts /= 2;
        shape->nparts = (uint32_t)nparts;
}

/* Bytes of a piece and its index for each k-mer, with what may be allocated beyond them. */
static uint64_t piece_nbytes(int nwords)
{
        return 4 * ((size_t)nwords * sizeof(uint64_t) + sizeof(uint32_t));
}

static void choose_pieces(struct kc_ask_shape *shape, const struct kc_ask_table *table,
                          const struct kc_ask_setup *setup)
{
        const uint64_t nbytes = setup->memory_nbytes / 4 / (uint64_t)setup->nthreads;
        const uint64_t n = nbytes / piece_nbytes(kc_kmer_nwords(table->k));
        shape->piece_nkmers = (uint32_t)min_u64(max_u64(n, MIN_PIECE_NKMERS), MAX_PIECE_NKMERS);
        shape->group_nkmers = (uint32_t)min_u64(
                max_u64(nbytes / sizeof(uint32_t), MIN_PIECE_NKMERS), GROUP_NKMERS);
}

static void choose_limit(struct kc_ask_shape *shape, const struct kc_ask_table *table,
                         const struct kc_ask_setup *setup)
{
        const int nwords = kc_kmer_nwords(table->k);
        const uint64_t nthreads = (uint64_t)setup->nthreads;
        const uint64_t part = table->ndistinct / shape->nparts;
        const uint64_t lists = (line_nbytes(nwords) + 40) * shape->nparts,
                       piece = min_u64(part + part / 2, shape->piece_nkmers) * piece_nbytes(nwords);
        const uint64_t fixed = nthreads * (lists + piece);
        const uint64_t most = setup->memory_nbytes;
        const uint64_t round = round_nkmers(table->ndistinct) *
                                       ((size_t)nwords * sizeof(uint64_t) + sizeof(uint16_t)) +
                               nthreads * shape->nparts * shape->chunk_nbytes;
        const uint64_t limit = min_u64(most - min_u64(fixed, most / 2), round);
        shape->slab_nbytes = MAX_SLAB_NBYTES;
        while (shape->slab_nbytes > MIN_SLAB_NBYTES && 8 * nthreads * shape->slab_nbytes > limit)
                shape->slab_nbytes /= 2;
        /* each thread may exceed the limit by a slab */
        shape->limit_nbytes =
                max_u64(limit, 2 * nthreads * shape->slab_nbytes) - nthreads * shape->slab_nbytes;
}

struct kc_ask_shape kc_ask_shape(const struct kc_ask_table *table, const struct kc_ask_setup *setup,
                                 const struct kc_cpu_ask_tuning *tuning)
{
        struct kc_ask_shape shape = { 0 };
        choose_parts(&shape, table, setup);
        if (tuning != NULL && tuning->nparts > 0)
                shape.nparts = tuning->nparts;
        if (tuning != NULL && tuning->chunk_nbytes > 0)
                shape.chunk_nbytes = tuning->chunk_nbytes;
        choose_pieces(&shape, table, setup);
        if (tuning != NULL && tuning->piece_nkmers > 0)
                shape.piece_nkmers = tuning->piece_nkmers;
        if (tuning != NULL && tuning->group_nkmers > 0)
                shape.group_nkmers = tuning->group_nkmers;
        choose_limit(&shape, table, setup);
        return shape;
}
