/* Chunks of the arena, and who makes the kernel provide their memory. */
#include "cpu/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NCHUNKS = 8192, NWORKERS = 2, SLAB_NCHUNKS = (2 << 20) / KC_CHUNK_NBYTES };

/* How many chunks a worker can take. */
static size_t take_all(struct kc_arena *arena, int worker, struct kc_arena_chunk **taken)
{
        struct kc_arena_chunk *chunk;
        size_t n = 0;
        for (*taken = NULL; (chunk = kc_arena_take(arena, worker)) != NULL; n++) {
                chunk->next = *taken;
                *taken = chunk;
        }
        return n;
}

static void a_stock_is_made_once_and_used(void **state)
{
        struct kc_arena arena;
        struct kc_error err = { 0 };
        (void)state;
        assert_int_equal(kc_arena_init(&arena, NCHUNKS, NWORKERS, &err), KC_OK);
        for (int i = 0; i < 100; i++)
                kc_arena_stock(&arena);
        const size_t stocked = atomic_load(&arena.used_nbytes);
        assert_in_range(stocked, SLAB_NCHUNKS * KC_CHUNK_NBYTES, arena.nbytes / 2);
        for (size_t i = 0; i < stocked / KC_CHUNK_NBYTES; i++)
                assert_non_null(kc_arena_take(&arena, 0));
        assert_int_equal(atomic_load(&arena.used_nbytes), stocked); /* no slab was cut for that */
        kc_arena_free(&arena);
}

/* Every chunk can be taken, even if the stock was filled up at the end. */
static void nothing_is_lost(void **state)
{
        struct kc_arena arena;
        struct kc_arena_chunk *taken;
        struct kc_error err = { 0 };
        (void)state;
        assert_int_equal(kc_arena_init(&arena, NCHUNKS, NWORKERS, &err), KC_OK);
        for (int i = 0; i < NCHUNKS; i++) {
                kc_arena_stock(&arena);
                assert_non_null(kc_arena_take(&arena, i % NWORKERS));
        }
        kc_arena_stock(&arena);
        assert_null(kc_arena_take(&arena, 0));
        kc_arena_free(&arena);

        assert_int_equal(kc_arena_init(&arena, NCHUNKS, NWORKERS, &err), KC_OK);
        kc_arena_stock(&arena);
        assert_int_equal(take_all(&arena, 0, &taken), NCHUNKS);
        kc_arena_stock(&arena);
        assert_int_equal(kc_arena_give(&arena, 0, taken), NCHUNKS);
        assert_int_equal(take_all(&arena, 0, &taken), NCHUNKS);
        kc_arena_free(&arena);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_stock_is_made_once_and_used),
                cmocka_unit_test(nothing_is_lost),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
