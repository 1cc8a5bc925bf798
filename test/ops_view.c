/* ops_view.c -- tests gathering the elements of views. */
#include "ops/backend/view.h"
#include "ops/base/random.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A view of a dense tensor with its axes in any order, some reversed, some repeated, some with
   every second element only. */
static View drawn(Random *r) {
    int64_t dim[4];
    int axis[4];
    const int rank = (int)random_below(r, 5);
    for (int k = 0; k < rank; k++) dim[k] = 1 + (int64_t)random_below(r, 40), axis[k] = k;
    const View whole = view_dense(0, 0, rank, dim);
    for (int k = rank - 1; k > 0; k--) {
        const int other = (int)random_below(r, (uint64_t)k + 1), kept = axis[k];
        axis[k] = axis[other], axis[other] = kept;
    }
    View v = view_axes(&whole, rank, axis);
    for (int a = 0; a < rank; a++) switch (random_below(r, 4)) {
        case 0: /* reversed */
            v.offset += (v.dim[a] - 1) * v.stride[a];
            v.stride[a] = -v.stride[a];
            break;
        case 1: /* every second element */
            v.dim[a] = (v.dim[a] + 1) / 2;
            v.stride[a] *= 2;
            break;
        case 2: /* one element, repeated */
            if (random_below(r, 2)) v.stride[a] = 0;
            break;
        default: break;
        }
    return v;
}

static void views_are_gathered(void **state) {
    (void)state;
    Random r = {7, 0};
    static const size_t sizes[] = {1, 2, 4, 8, 16};
    for (int try = 0; try < 300; try++) {
        const View v = drawn(&r);
        const size_t size = sizes[try % 5];
        int64_t low, high, n = view_count(&v), index[4] = {0};
        view_extent(&v, &low, &high);
        assert_true(low >= 0);
        unsigned char *x = malloc((size_t)high * size), *y = malloc((size_t)n * size + 1);
        for (size_t k = 0; k < (size_t)high * size; k++)
            x[k] = (unsigned char)random_below(&r, 256);
        y[(size_t)n * size] = 77;
        view_gather(&v, x, size, y);
        for (int64_t k = 0; k < n; k++) {
            int64_t at = v.offset;
            for (int a = 0; a < v.rank; a++) at += index[a] * v.stride[a];
            assert_memory_equal(y + (size_t)k * size, x + (size_t)at * size, size);
            for (int a = v.rank - 1; a >= 0 && ++index[a] == v.dim[a]; a--) index[a] = 0;
        }
        assert_int_equal(y[(size_t)n * size], 77); /* nothing is written beyond the result */
        free(x);
        free(y);
    }
}

static void nothing_is_gathered_of_nothing(void **state) {
    (void)state;
    const View none = view_dense(0, 0, 2, (int64_t[]){3, 0});
    unsigned char y = 5;
    int64_t low, high;
    view_gather(&none, NULL, 4, &y);
    assert_int_equal(y, 5);
    view_extent(&none, &low, &high);
    assert_true(low == high);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_are_gathered),
        cmocka_unit_test(nothing_is_gathered_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
