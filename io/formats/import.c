#include "base/new_file.h"
#include "io/formats/import_internal.h"
#include "io/input/damage.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last one reads what no other one recognizes. */
static const struct kc_import_format *const formats[] = { &kc_import_kmc, &kc_import_kff,
                                                          &kc_import_jellyfish, &kc_import_fastk,
                                                          &kc_import_text };

enum { NFORMATS = sizeof formats / sizeof formats[0] };

enum kc_status kc_import_reserve(struct kc_import *import, int worker, size_t nbytes,
                                 struct kc_error *err)
{
        struct kc_import_worker *w = &import->workers[worker];
        if (nbytes <= w->buffer_cap)
                return KC_OK;
        uint8_t *buffer = realloc(w->buffer, nbytes);
        if (buffer == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory to read %s", import->name);
        w->buffer = buffer;
        w->buffer_cap = nbytes;
        return KC_OK;
}

enum kc_status kc_import_set_k(struct kc_import *import, uint64_t k, struct kc_error *err)
{
        if (k < 1 || k > KC_MAX_K)
                return kc_fail(err, KC_EINPUT,
                               "%s holds k-mers of length %" PRIu64 "; kcount reads lengths from 1 "
                               "to %d",
                               import->name, k, KC_MAX_K);
        import->info.k = (int)k;
        return KC_OK;
}

enum kc_status kc_import_read_at(const struct kc_input *in, void *buffer, size_t n, uint64_t offset,
                                 struct kc_error *err)
{
        size_t got;
        enum kc_status status = kc_input_read_at(in, buffer, n, offset, &got, err);
        if (status == KC_OK && got < n)
                status = kc_fail(err, KC_EINPUT,
                                 "%s is truncated: it ends at byte %" PRIu64 KC_DAMAGE_REMEDY,
                                 in->name, offset + got);
        return status;
}

bool kc_import_has_ending(const char *path, const char *ending)
{
        const size_t length = strlen(path), n = strlen(ending);
        return length > n && strcmp(path + length - n, ending) == 0;
}

char *kc_import_join(const char *path, size_t length, const char *ending)
{
        char *name = malloc(length + strlen(ending) + 1);
        if (name != NULL)
                strcpy((char *)memcpy(name, path, length) + length, ending);
        return name;
}

/* ---- opening ---- */

enum kc_status kc_import_open_file(struct kc_import *import, struct kc_input *in, const char *path,
                                   struct kc_error *err)
{
        enum kc_status status = kc_input_open(in, path, err);
        if (status != KC_OK)
                return status;
        char **paths = realloc(import->paths, (import->npaths + 1) * sizeof *paths);
        if (paths != NULL)
                import->paths = paths;
        if (paths == NULL || (paths[import->npaths] = strdup(path)) == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        import->npaths++;
        return KC_OK;
}

size_t kc_import_paths(const struct kc_import *import, const char *const **paths)
{
        *paths = (const char *const *)import->paths;
        return import->npaths;
}

/* The file that path stands for: the endings of KMC's and FastK's files may be left out. */
static char *find_file(const char *path)
{
        static const char *const endings[] = { "", ".kmc_pre", ".ktab" };
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
                char *name = kc_import_join(path, strlen(path), endings[i]);
                if (name == NULL || (access(name, F_OK) == 0 && !kc_path_is_folder(name)))
                        return name;
                free(name);
        }
        return strdup(path);
}

/* Recognize a regular file by its beginning. A pipe is assumed to be text: nothing else can be read
 * from one. */
static enum kc_status recognize(struct kc_import *import, struct kc_error *err)
{
        uint8_t head[KC_IMPORT_HEAD_NBYTES];
        size_t n = 0;
        if (import->in.regular) {
                enum kc_status status = kc_input_peek(&import->in, head, sizeof head, &n, err);
                if (status != KC_OK)
                        return status;
        }
        int i = 0;
        while (i < NFORMATS - 1 && !formats[i]->recognizes(import, head, n))
                i++;
        import->format = formats[i];
        import->info.what = import->format->what;
        return KC_OK;
}

static enum kc_status check_strands(struct kc_import *import, struct kc_error *err)
{
        if (!import->format->declares_strands)
                return KC_OK;
        if (import->strands == KC_IMPORT_STRANDED && !import->info.stranded)
                return kc_fail(err, KC_EUSAGE,
                               "%s holds canonical k-mers, so their original strands are not "
                               "known",
                               import->name);
        if (import->strands == KC_IMPORT_CANONICAL && import->info.stranded) {
                import->info.stranded = false;
                import->info.unique = false; /* a k-mer and its reverse complement become one */
        }
        return KC_OK;
}

static enum kc_status open_all(struct kc_import *import, const char *path, struct kc_error *err)
{
        enum kc_status status;
        import->path = strcmp(path, "-") == 0 ? strdup(path) : find_file(path);
        import->workers = calloc((size_t)import->nworkers, sizeof *import->workers);
        if (import->path == NULL || import->workers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        import->name = kc_input_name(import->path);
        KC_TRY(kc_import_open_file(import, &import->in, import->path, err));
        KC_TRY(recognize(import, err));
        KC_TRY(import->format->open(import, err));
        KC_TRY(check_strands(import, err));
out:
        return status;
}

enum kc_status kc_import_open(struct kc_import **import, const char *path, int nworkers,
                              enum kc_import_strands strands, struct kc_error *err)
{
        struct kc_import *m = calloc(1, sizeof *m);
        *import = NULL;
        if (m == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        m->nworkers = nworkers;
        m->strands = strands;
        m->in.fd = -1;
        pthread_mutex_init(&m->lock, NULL);
        enum kc_status status = open_all(m, path, err);
        if (status == KC_OK)
                *import = m;
        else
                kc_import_close(m);
        return status;
}

void kc_import_close(struct kc_import *import)
{
        if (import == NULL)
                return;
        if (import->format != NULL)
                import->format->close(import->state);
        for (int i = 0; import->workers != NULL && i < import->nworkers; i++)
                free(import->workers[i].buffer);
        kc_input_close(&import->in);
        pthread_mutex_destroy(&import->lock);
        while (import->npaths > 0)
                free(import->paths[--import->npaths]);
        free(import->paths);
        free(import->workers);
        free(import->path);
        free(import);
}

/* ---- reading ---- */

static enum kc_status refuse_noncanonical(const struct kc_import *import, const uint64_t *kmer,
                                          struct kc_error *err)
{
        char text[KC_MAX_K + 1];
        kc_kmer_format(kmer, import->info.k, text);
        text[import->info.k] = '\0';
        return kc_fail(
                err, KC_EINPUT,
                "%s is damaged: it declares its k-mers canonical, but %s is not" KC_DAMAGE_REMEDY,
                import->name, text);
}

/* Make the k-mers canonical, or check whether they are. */
static enum kc_status apply_strands(struct kc_import *import, struct kc_import_worker *w,
                                    struct kc_pair_batch *batch, struct kc_error *err)
{
        const int k = import->info.k, nwords = kc_kmer_nwords(k);
        const bool replace = import->strands == KC_IMPORT_CANONICAL || import->either_form;
        const bool refuse = import->format->declares_strands && !replace;
        uint64_t other[KC_MAX_WORDS], *kmer = batch->kmers;
        if (refuse && import->info.stranded)
                return KC_OK;
        for (size_t i = 0; i < batch->n; i++, kmer += nwords) {
                kc_kmer_reverse_complement(kmer, k, other);
                if (kc_kmer_compare(kmer, other, nwords) <= 0)
                        continue;
                if (refuse)
                        return refuse_noncanonical(import, kmer, err);
                if (replace)
                        memcpy(kmer, other, (size_t)nwords * sizeof *kmer);
                else
                        w->noncanonical = true;
        }
        return KC_OK;
}

/* A .kc file has no k-mers with count 0. */
static void drop_zeros(struct kc_import_worker *w, struct kc_pair_batch *batch, int nwords)
{
        const size_t nw = (size_t)nwords;
        size_t nkept = 0;
        for (size_t i = 0; i < batch->n; i++) {
                if (nkept < i)
                        memmove(batch->kmers + nkept * nw, batch->kmers + i * nw,
                                nw * sizeof *batch->kmers);
                batch->counts[nkept] = batch->counts[i];
                nkept += batch->counts[i] != 0;
        }
        w->totals.nzero += batch->n - nkept;
        batch->n = nkept;
}

static enum kc_status next(void *ctx, int worker, struct kc_pair_batch *batch, struct kc_error *err)
{
        struct kc_import *import = ctx;
        struct kc_import_worker *w = &import->workers[worker];
        enum kc_status status;
        size_t nread;
        do {
                batch->n = 0;
                KC_TRY(import->format->read(import, worker, batch, err));
                nread = batch->n;
                KC_TRY(apply_strands(import, w, batch, err));
                drop_zeros(w, batch, kc_kmer_nwords(import->info.k));
        } while (nread > 0 && batch->n == 0);
out:
        return status;
}

struct kc_pair_source kc_import_source(struct kc_import *import)
{
        return (struct kc_pair_source){ .ctx = import,
                                        .next = next,
                                        .expected_npairs = import->info.expected_npairs };
}

/* ---- results ---- */

void kc_import_get_info(const struct kc_import *import, struct kc_import_info *info)
{
        *info = import->info;
        if (import->format->declares_strands)
                return;
        info->stranded = import->strands == KC_IMPORT_STRANDED;
        for (int i = 0; i < import->nworkers; i++)
                info->stranded |= import->workers[i].noncanonical;
}

void kc_import_get_totals(const struct kc_import *import, struct kc_import_totals *totals)
{
        *totals = (struct kc_import_totals){ 0 };
        for (int i = 0; i < import->nworkers; i++) {
                const struct kc_import_totals *t = &import->workers[i].totals;
                totals->nzero += t->nzero;
                totals->noutside += t->noutside;
                totals->natlimit += t->natlimit;
                totals->nsaturated += t->nsaturated;
        }
        if (totals->nsaturated > KC_IMPORT_MAX_SATURATED)
                totals->nsaturated = KC_IMPORT_MAX_SATURATED; /* whatever the number of threads */
}

static enum kc_status check_unique(const struct kc_import *import, uint64_t npairs,
                                   uint64_t ndistinct, struct kc_error *err)
{
        if (!import->info.unique || npairs == ndistinct)
                return KC_OK;
        return kc_fail(err, KC_EINPUT,
                       "%s is damaged: it should hold each k-mer once, but of its %" PRIu64
                       " k-mers only %" PRIu64 " are distinct" KC_DAMAGE_REMEDY,
                       import->name, npairs, ndistinct);
}

/*
 * The places of n records are as if drawn at random from (0, 1]. So the probability that no place
 * in a whole file is above x is x^n. If that is tiny, the file has probably lost its end. One
 * record is not taken into account, because the place of AAA...A is not random.
 */
static void check_end(struct kc_import *import, uint64_t nrecords)
{
        const double chance = 1e-9, place = import->last_place;
        if (place == 0 || nrecords < 2 || (double)(nrecords - 1) * log(place) >= log(chance))
                return;
        kc_fail(&import->warning, KC_EINPUT,
                "%s is probably truncated: its %" PRIu64
                " records end at %.4g%% of its hash table, and those of a whole file end near "
                "100%%",
                import->name, nrecords, 100 * place);
}

enum kc_status kc_import_check_whole(struct kc_import *import, uint64_t npairs, uint64_t ndistinct,
                                     struct kc_error *err)
{
        struct kc_import_totals totals;
        enum kc_status status;
        KC_TRY(check_unique(import, npairs, ndistinct, err));
        kc_import_get_totals(import, &totals);
        check_end(import, npairs + totals.nzero);
out:
        return status;
}

const struct kc_error *kc_import_warning(const struct kc_import *import)
{
        return import->warning.status != KC_OK ? &import->warning : NULL;
}
