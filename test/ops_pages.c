/* ops_pages.c -- tests the memory of a CPU device: blocks of all sizes, allocated and released in
   any order, are aligned, do not overlap and are reused; at the end all memory is returned to the
   system. */
#include "ops/backend/backend.h"
#include "ops/base/arena.h"
#include "ops/base/random.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCKS = 60, ROUNDS = 3000 };
typedef struct Held {
    unsigned char *at; /* the block; NULL: not allocated */
    size_t n;          /* its bytes */
    unsigned char mark;
} Held;

/* Writes the mark of the block at its end and at places in between. */
static void fill_held(const Held *h) {
    for (size_t i = 0; i < h->n; i += 4093) h->at[i] = h->mark;
    if (h->n) h->at[h->n - 1] = h->mark;
}
static void check_held(const Held *h) {
    for (size_t i = 0; i < h->n; i += 4093) assert_int_equal(h->at[i], h->mark);
    if (h->n) assert_int_equal(h->at[h->n - 1], h->mark);
}
static size_t draw_size(Random *r) {
    static const uint64_t most[] = {300, 70000, 3 << 20, 40 << 20};
    const uint64_t few = random_below(r, 2), kind = random_below(r, 100) < 97 ? few : 2 + few;
    return (size_t)random_below(r, most[kind]);
}

static void blocks_do_not_overlap(void **state) {
    (void)state;
    const Backend *cpu = backend_open("cpu", NULL);
    Device *d = cpu->open("blas=none,dnn=none", NULL, 0);
    const size_t before = mem_bytes();
    Random r = {.seed = 19};
    Held held[BLOCKS] = {{0}};
    for (int round = 0; round < ROUNDS; round++) {
        Held *h = &held[random_below(&r, BLOCKS)];
        if (h->at) {
            check_held(h);
            cpu->release(d, h->at);
            h->at = NULL;
            continue;
        }
        h->n = draw_size(&r), h->mark = (unsigned char)round;
        assert_non_null(h->at = cpu->alloc(d, h->n));
        assert_int_equal((uintptr_t)h->at % 64, 0);
        fill_held(h);
    }
    for (int k = 0; k < BLOCKS; k++)
        if (held[k].at) check_held(&held[k]), cpu->release(d, held[k].at);
    assert_int_equal(mem_bytes(), before);
    cpu->close(d);
}

/* Every second one of many equal blocks is released: allocating as many again takes no more
   memory. */
static void what_is_free_is_used_again(void **state) {
    (void)state;
    enum { SIZE = 100000 };
    const Backend *cpu = backend_open("cpu", NULL);
    Device *d = cpu->open("blas=none,dnn=none", NULL, 0);
    void *block[BLOCKS];
    for (int k = 0; k < BLOCKS; k++) assert_non_null(block[k] = cpu->alloc(d, SIZE));
    const size_t most = mem_bytes();
    for (int k = 0; k < BLOCKS; k += 2) cpu->release(d, block[k]);
    for (int k = 0; k < BLOCKS; k += 2) assert_non_null(block[k] = cpu->alloc(d, SIZE));
    assert_int_equal(mem_bytes(), most);
    for (int k = 0; k < BLOCKS; k++) cpu->release(d, block[k]);
    cpu->close(d);
}

static bool fails(void) { return true; }
static void no_memory_is_no_crash(void **state) {
    (void)state;
    const Backend *cpu = backend_open("cpu", NULL);
    Device *d = cpu->open("blas=none,dnn=none", NULL, 0);
    const size_t before = mem_bytes();
    for (int64_t n = 1; n < 3; n++) {
        mem_fail_at(n);
        assert_null(cpu->alloc(d, 1000));
    }
    mem_fail_if(fails);
    assert_null(cpu->alloc(d, 5 << 20));
    mem_fail_if(NULL);
    assert_null(cpu->alloc(d, SIZE_MAX - 3));
    assert_int_equal(mem_bytes(), before);
    cpu->close(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_do_not_overlap),
        cmocka_unit_test(what_is_free_is_used_again),
        cmocka_unit_test(no_memory_is_no_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
