/*
 * Damage to what leads to the newest state, and to every byte of small files. Whatever is damaged,
 * reading gives the newest committed state or an error, and never an older state without a warning;
 * what is appended afterwards loses nothing.
 */
#include "store_old.h"

#include "io/store/find.h"
#include "kmer/remedy.h"

enum {
        MAX_RUNS = 3,
        REFS_AT = offsetof(struct kc_store_header, footer),
        REF_NBYTES = sizeof(struct kc_footer_ref),
        HEADER_NBYTES = sizeof(struct kc_store_header),
};

/* A file's bytes, and what it holds. */
struct state {
        uint8_t *bytes;
        size_t nbytes;
        struct pair_set model;
};

static struct pair_set small_set(uint64_t seed)
{
        return make_set(21, false, 12, seed);
}

static struct pair_set copy_set(const struct pair_set *s)
{
        struct pair_set copy = empty_set(s, s->n);
        for (size_t i = 0; i < s->n; i++)
                add_pair(&copy, s->kmers + i * s->nw, s->counts[i]);
        return copy;
}

static void load_state(struct state *state, const struct pair_set *model)
{
        state->bytes = read_file("s.kc", &state->nbytes);
        state->model = copy_set(model);
}

/* States of a file that grows run by run; on request the second run is one of tombstones. */
static void make_states(struct state *states, int nruns, bool tombstones)
{
        struct pair_set model = small_set(1);
        write_set(&model, "s.kc", 1, 5, 1);
        load_state(&states[0], &model);
        for (int r = 1; r < nruns; r++) {
                const bool removes = tombstones && r == 1;
                struct pair_set more = relative(&model, 5, (uint64_t)r);
                append_set("s.kc", &more, removes, 1);
                model_append(&model, &more, removes);
                load_state(&states[r], &model);
                free_set(&more);
        }
        free_set(&model);
}

static void free_states(struct state *states, int n)
{
        for (int i = 0; i < n; i++) {
                free(states[i].bytes);
                free_set(&states[i].model);
        }
        unlink("s.kc");
}

/* ---- what can be read from a file ---- */

static bool is_same(const struct pair_set *a, const struct pair_set *b)
{
        return a->n == b->n && memcmp(a->kmers, b->kmers, a->n * a->nw * sizeof *a->kmers) == 0 &&
               memcmp(a->counts, b->counts, a->n * sizeof *a->counts) == 0;
}

/* All pairs of s.kc; false if they cannot be read. */
static bool read_pairs(struct kc_store *store, struct pair_set *out)
{
        struct kc_cursor *cursor = NULL;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n = 0;
        bool good = kc_cursor_open(&cursor, store, NULL, NULL, NULL) == KC_OK;
        do {
                good = good && kc_cursor_next(cursor, &kmers, &counts, &n, NULL) == KC_OK;
                for (size_t i = 0; good && i < n; i++) {
                        assert_true(out->n < 100);
                        add_pair(out, kmers + i * out->nw, counts[i]);
                }
        } while (good && n > 0);
        kc_cursor_close(cursor);
        return good;
}

static void assert_holds(const struct state *state, enum kc_status checked, const char *what)
{
        struct kc_error err = { 0 };
        struct kc_store *store = open_store("s.kc");
        struct pair_set got = empty_set(&state->model, 100);
        if (!read_pairs(store, &got) || !is_same(&got, &state->model))
                fail_msg("%s: the file does not give the newest state", what);
        const enum kc_status status = kc_store_check(store, 1, NULL, &err);
        if (status != checked)
                fail_msg("%s: check gives %d: %s", what, status, err.message);
        free_set(&got);
        kc_store_close(store);
}

static bool warns(void)
{
        struct kc_store *store = open_store("s.kc");
        const bool warned = kc_store_warning(store) != NULL;
        kc_store_close(store);
        return warned;
}

/* The next append loses nothing, and nothing needs mending after it. */
static void assert_grows(const struct state *state, const char *what)
{
        struct state after = { .model = copy_set(&state->model) };
        struct pair_set more = small_set(77);
        append_set("s.kc", &more, false, 1);
        model_append(&after.model, &more, false);
        assert_holds(&after, KC_OK, what);
        assert_false(warns());
        free_set(&more);
        free_set(&after.model);
}

/* ---- references that are torn ---- */

/* The number of the reference in which the files differ. */
static int changed_ref(const uint8_t *old, const uint8_t *new)
{
        const bool first = memcmp(old + REFS_AT, new + REFS_AT, REF_NBYTES) != 0;
        const bool second =
                memcmp(old + REFS_AT + REF_NBYTES, new + REFS_AT + REF_NBYTES, REF_NBYTES) != 0;
        assert_true(first != second);
        return first ? 0 : 1;
}

/* The last append was killed after it had written nwritten bytes of its reference. */
static void tear(const struct state *old, const struct state *new, size_t nwritten)
{
        char what[64];
        const size_t at = REFS_AT + (size_t)changed_ref(old->bytes, new->bytes) * REF_NBYTES;
        uint8_t *bytes = malloc(new->nbytes);
        assert_non_null(bytes);
        memcpy(bytes, new->bytes, new->nbytes);
        memcpy(bytes + at + nwritten, old->bytes + at + nwritten, REF_NBYTES - nwritten);
        snprintf(what, sizeof what, "%zu bytes of the reference at %zu", nwritten, at);
        write_file("s.kc", bytes, new->nbytes);
        if (memcmp(bytes + at, old->bytes + at, REF_NBYTES) == 0) {
                assert_false(warns()); /* looks like a killed append */
                assert_holds(old, KC_EUNTIDY, what);
                assert_grows(old, what);
        } else {
                const bool complete = memcmp(bytes + at, new->bytes + at, REF_NBYTES) == 0;
                assert_int_equal(warns(), !complete);
                assert_holds(new, complete ? KC_OK : KC_EUNTIDY, what);
                assert_grows(new, what);
        }
        free(bytes);
}

static void test_torn(void **unused)
{
        (void)unused;
        struct state states[MAX_RUNS];
        make_states(states, MAX_RUNS, true);
        for (int r = 1; r < MAX_RUNS; r++)
                for (size_t nwritten = 0; nwritten <= REF_NBYTES; nwritten++)
                        tear(&states[r - 1], &states[r], nwritten);
        free_states(states, MAX_RUNS);
}

/* ---- references that are damaged ---- */

static void assert_mendable(const struct state *state, const uint8_t *bytes, bool grow,
                            const char *what)
{
        write_file("s.kc", bytes, state->nbytes);
        assert_true(warns());
        assert_holds(state, KC_EUNTIDY, what);
        if (grow)
                assert_grows(state, what);
}

static void damage_references(struct state *state)
{
        char what[64];
        for (size_t at = REFS_AT; at < HEADER_NBYTES; at++) {
                const uint8_t good = state->bytes[at];
                for (int bit = 0; bit < 10; bit++) {
                        const uint8_t bad =
                                bit < 8 ? good ^ (uint8_t)(1 << bit) : (bit == 8 ? 0 : 0xff);
                        if (bad == good)
                                continue;
                        state->bytes[at] = bad;
                        snprintf(what, sizeof what, "byte %zu made 0x%02x", at, bad);
                        assert_mendable(state, state->bytes, bit == (int)(at % 8), what);
                }
                state->bytes[at] = good;
        }
}

static void wipe_references(struct state *state)
{
        uint8_t good[2 * REF_NBYTES], *refs = state->bytes + REFS_AT;
        memcpy(good, refs, sizeof good);
        for (int wiped = 1; wiped < 4; wiped++)
                for (int value = 0; value < 512; value += 255) { /* 510: damage one bit instead */
                        for (int i = 0; i < 2; i++)
                                if (wiped >> i & 1 && value < 256)
                                        memset(refs + i * REF_NBYTES, value, REF_NBYTES);
                                else if (wiped >> i & 1)
                                        refs[i * REF_NBYTES + 5] ^= 1;
                        assert_mendable(state, state->bytes, true, "references wiped");
                        memcpy(refs, good, sizeof good);
                }
}

static void test_damaged_references(void **unused)
{
        (void)unused;
        struct state states[MAX_RUNS];
        make_states(states, MAX_RUNS, false);
        for (int r = 0; r < MAX_RUNS; r++) {
                damage_references(&states[r]);
                wipe_references(&states[r]);
        }
        free_states(states, MAX_RUNS);
}

/* ---- bytes after the footer as well ---- */

static void assert_refused(enum kc_status opened)
{
        struct kc_error err = { 0 };
        struct kc_store *store = NULL;
        struct kc_store_writer *w = NULL;
        int k;
        bool stranded;
        size_t nbefore, nafter;
        uint8_t *before = read_file("s.kc", &nbefore), *after;
        assert_int_equal(kc_store_open(&store, "s.kc", &err), opened);
        if (opened == KC_OK) {
                assert_int_equal(kc_store_warning(store)->remedies, KC_REMEDY_RESCUE);
                assert_int_equal(kc_store_check_writable(store, &err), KC_ECORRUPT);
                err = (struct kc_error){ 0 };
                assert_int_equal(kc_store_check(store, 1, NULL, &err), KC_ECORRUPT);
        }
        assert_non_null(strstr(err.message, "s.kc"));
        assert_int_equal(err.remedies, KC_REMEDY_RESCUE);
        kc_store_close(store);
        err = (struct kc_error){ 0 };
        assert_int_equal(kc_store_append(&w, "s.kc", false, &k, &stranded, &err), KC_ECORRUPT);
        assert_int_equal(err.remedies, KC_REMEDY_RESCUE);
        after = read_file("s.kc", &nafter);
        assert_int_equal(nbefore, nafter);
        assert_memory_equal(before, after, nafter);
        free(before);
        free(after);
}

/* A damaged reference and no sound footer: the run that was added last is not cut off. */
static void test_footer_and_reference(void **unused)
{
        (void)unused;
        struct state states[2];
        make_states(states, 2, false);
        struct state *old = &states[0], *new = &states[1];
        const size_t at = REFS_AT + (size_t)changed_ref(old->bytes, new->bytes) * REF_NBYTES;
        struct kc_footer_ref ref;
        memcpy(&ref, new->bytes + at, sizeof ref);
        for (uint64_t byte = ref.offset; byte < ref.offset + ref.nbytes; byte++) {
                write_file("s.kc", new->bytes, new->nbytes);
                new->bytes[byte] ^= 4;
                write_file("s.kc", new->bytes, new->nbytes);
                assert_refused(KC_ECORRUPT); /* the reference is sound, its footer is not */
                new->bytes[at + 3] ^= 1;
                write_file("s.kc", new->bytes, new->nbytes);
                assert_refused(KC_ECORRUPT);
                new->bytes[at + 3] ^= 1;
                new->bytes[byte] ^= 4;
        }
        free_states(states, 2);
}

/* Bytes after the footer that is found: a killed append, or a run whose footer is lost. */
static void test_found_with_tail(void **unused)
{
        (void)unused;
        struct state states[2];
        make_states(states, 2, false);
        uint8_t *bytes = malloc(states[1].nbytes + 40);
        assert_non_null(bytes);
        memcpy(bytes, states[1].bytes, states[1].nbytes);
        memset(bytes + states[1].nbytes, 0xab, 40);
        write_file("s.kc", bytes, states[1].nbytes + 37);
        assert_false(warns());
        assert_holds(&states[1], KC_EUNTIDY, "a tail after two sound references");
        assert_grows(&states[1], "a tail after two sound references");
        bytes[REFS_AT + (size_t)changed_ref(states[0].bytes, states[1].bytes) * REF_NBYTES] ^= 1;
        write_file("s.kc", bytes, states[1].nbytes + 37);
        assert_holds(&states[1], KC_ECORRUPT, "a tail after the footer that is found");
        assert_refused(KC_OK);
        free(bytes);
        free_states(states, 2);
}

/* ---- files of earlier versions ---- */

/* s.kc of one run as an earlier version would have written it. */
static void make_old(struct state *state)
{
        struct pair_set s = small_set(1);
        write_set(&s, "s.kc", 1, 5, 1);
        make_file_old("s.kc", KC_OLD_FOOTER_MAGIC);
        load_state(state, &s);
        free_set(&s);
}

/* An old file's second reference is empty; an append writes it first, and may be killed then. */
static void test_old_mended(void **unused)
{
        (void)unused;
        struct state old;
        make_old(&old);
        assert_holds(&old, KC_OK, "an old file");
        assert_false(warns());
        const uint8_t *ref = old.bytes + REFS_AT;
        for (size_t nwritten = 0; nwritten <= REF_NBYTES; nwritten++) {
                uint8_t *bytes = malloc(old.nbytes);
                assert_non_null(bytes);
                memcpy(bytes, old.bytes, old.nbytes);
                memcpy(bytes + REFS_AT + REF_NBYTES, ref, nwritten);
                write_file("s.kc", bytes, old.nbytes);
                const bool torn = nwritten > 0 && nwritten < REF_NBYTES;
                assert_int_equal(warns(), torn);
                assert_holds(&old, torn ? KC_EUNTIDY : KC_OK, "the second reference torn");
                assert_grows(&old, "the second reference torn");
                free(bytes);
        }
        free_states(&old, 1);
}

/* An append to an old file: torn in its reference, and killed before that. */
static void test_old_appended(void **unused)
{
        (void)unused;
        struct state states[2];
        make_old(&states[0]);
        struct pair_set model = copy_set(&states[0].model), more = small_set(9);
        append_set("s.kc", &more, false, 1);
        model_append(&model, &more, false);
        load_state(&states[1], &model);
        const struct state *old = &states[0], *new = &states[1];
        /* the second reference was mended before it was torn */
        struct state mended = { malloc(old->nbytes), old->nbytes, copy_set(&old->model) };
        assert_non_null(mended.bytes);
        memcpy(mended.bytes, old->bytes, old->nbytes);
        memcpy(mended.bytes + REFS_AT + REF_NBYTES, old->bytes + REFS_AT, REF_NBYTES);
        for (size_t nwritten = 0; nwritten <= REF_NBYTES; nwritten++)
                tear(&mended, new, nwritten);

        /* a tail: blocks of an old version's append, or a run whose reference was wiped */
        uint8_t *bytes = malloc(new->nbytes);
        assert_non_null(bytes);
        memcpy(bytes, new->bytes, new->nbytes);
        memcpy(bytes, old->bytes, HEADER_NBYTES);
        write_file("s.kc", bytes, old->nbytes + 16);
        assert_true(warns());
        assert_holds(old, KC_ECORRUPT, "an old file with a tail");
        assert_refused(KC_OK);
        /* with two sound references there is no doubt */
        memcpy(bytes + REFS_AT + REF_NBYTES, bytes + REFS_AT, REF_NBYTES);
        write_file("s.kc", bytes, old->nbytes + 16);
        assert_false(warns());
        assert_holds(old, KC_EUNTIDY, "an old file with a tail");
        assert_grows(old, "an old file with a tail");
        free(bytes);
        free(mended.bytes);
        free_set(&mended.model);
        free_set(&model);
        free_set(&more);
        free_states(states, 2);
}

/* ---- mended before anything is appended ---- */

/* After an append that is killed before its footer is written, it is certain what is in force. */
static void begin_and_kill(const struct state *state)
{
        struct kc_error err = { 0 };
        struct kc_store_writer *w = NULL;
        struct kc_store_header header;
        int k;
        bool stranded;
        size_t nbytes;
        assert_ok(kc_store_append(&w, "s.kc", false, &k, &stranded, &err), err);
        uint8_t *bytes = read_file("s.kc", &nbytes);
        kc_store_abort(w);
        assert_int_equal(nbytes, state->nbytes);
        memcpy(&header, bytes, sizeof header);
        for (int i = 0; i < 2; i++)
                assert_true(kc_footer_ref_is_sound(&header.footer[i]));
        bytes = realloc(bytes, nbytes + 24);
        assert_non_null(bytes);
        memset(bytes + nbytes, 0xcd, 24);
        write_file("s.kc", bytes, nbytes + 24);
        assert_false(warns());
        assert_holds(state, KC_EUNTIDY, "an append that was killed early");
        assert_grows(state, "an append that was killed early");
        free(bytes);
}

static void test_mended_first(void **unused)
{
        (void)unused;
        struct state states[2], old;
        make_old(&old);
        begin_and_kill(&old);
        free_states(&old, 1);
        make_states(states, 2, false);
        for (int damaged = 1; damaged < 4; damaged++) {
                struct kc_store_header *header = (struct kc_store_header *)states[1].bytes;
                const struct kc_store_header good = *header;
                for (int i = 0; i < 2; i++)
                        header->footer[i].nbytes ^= damaged >> i & 1;
                write_file("s.kc", states[1].bytes, states[1].nbytes);
                begin_and_kill(&states[1]);
                *header = good;
        }
        free_states(states, 2);
}

/* ---- every byte ---- */

/* Flip bits of every byte: either the pairs read are right, or reading or checking fails. */
static void flip_everywhere(struct state *state, uint8_t mask, size_t *nunnoticed)
{
        FILE *f;
        write_file("s.kc", state->bytes, state->nbytes);
        assert_non_null(f = fopen("s.kc", "r+b"));
        setvbuf(f, NULL, _IONBF, 0);
        *nunnoticed = 0;
        for (size_t at = 0; at < state->nbytes; at++) {
                fseek(f, (long)at, SEEK_SET);
                fputc(state->bytes[at] ^ mask, f);
                struct kc_store *store = NULL;
                struct pair_set got = empty_set(&state->model, 100);
                enum kc_status status = kc_store_open(&store, "s.kc", NULL);
                if (status == KC_OK) {
                        if (read_pairs(store, &got) && !is_same(&got, &state->model))
                                fail_msg("byte %zu ^ %#x: wrong pairs", at, mask);
                        status = kc_store_check(store, 1, NULL, NULL);
                        if (status == KC_EUNTIDY)
                                assert_true(is_same(&got, &state->model));
                        assert_int_equal(status == KC_EUNTIDY, kc_store_warning(store) != NULL);
                }
                assert_int_equal(status == KC_EUNTIDY, at >= REFS_AT && at < HEADER_NBYTES);
                *nunnoticed += status == KC_OK;
                free_set(&got);
                kc_store_close(store);
                fseek(f, (long)at, SEEK_SET);
                fputc(state->bytes[at], f);
        }
        fclose(f);
}

/* The bytes that are never read: only the footers before the one in force. */
static size_t unused_nbytes(struct state *states, int n)
{
        size_t nbytes = 0;
        for (int i = 0; i + 1 < n; i++) {
                write_file("s.kc", states[i].bytes, states[i].nbytes);
                struct kc_store *store = open_store("s.kc");
                nbytes += store->footer_nbytes;
                kc_store_close(store);
        }
        return nbytes;
}

static void test_every_byte(void **unused)
{
        (void)unused;
        static const uint8_t masks[] = { 0x01, 0x80, 0xff };
        for (int tombstones = 0; tombstones < 2; tombstones++) {
                struct state states[MAX_RUNS];
                size_t nunnoticed;
                make_states(states, MAX_RUNS, tombstones);
                for (int r = tombstones; r < MAX_RUNS; r++) {
                        const size_t nunused = unused_nbytes(states, r + 1);
                        flip_everywhere(&states[r], masks[r], &nunnoticed);
                        assert_int_equal(nunnoticed, nunused);
                }
                free_states(states, MAX_RUNS);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_torn),
                cmocka_unit_test(test_damaged_references),
                cmocka_unit_test(test_footer_and_reference),
                cmocka_unit_test(test_found_with_tail),
                cmocka_unit_test(test_old_mended),
                cmocka_unit_test(test_old_appended),
                cmocka_unit_test(test_mended_first),
                cmocka_unit_test(test_every_byte),
        };
        return cmocka_run_group_tests(tests, enter_memory, leave_folder);
}
