/* ops_dnn.c -- tests steps that a version of oneDNN (3.7.2, with AVX-512) computed wrongly or
   crashed on, and which algorithm comes before it. Every choice must agree with the kernels of a
   device without oneDNN and write nothing outside its output. Longer runs of the random cases of
   ops_cpu.c found these steps. */
#include "ops/backend/backend.h"
#include "ops/core/type.h"
#include "ops/backend/view.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 4096, CHOICES = 8 };
static const float UNTOUCHED = 12345;

typedef struct Work {
    Step step;
    View view[3];
    int64_t param[13];
    float values[3][ROOM];
} Work;

static void work_view(Work *w, int i, int rank, const int64_t dim[], const int64_t stride[]) {
    w->view[i] = view_dense(i, DT_FLOAT, rank, dim);
    if (stride) memcpy(w->view[i].stride, stride, sizeof *stride * (size_t)rank);
    for (int j = 0; j < ROOM; j++) w->values[i][j] = (float)((j * 37 + i * 11) % 19 - 9);
}

/* Runs a choice, to which the contents of the inputs in `known` (bit k: view k) are known, and
   stores the result in y. Returns false if there is no such algorithm. */
static bool run_choice(Work *w, const char *options, int choice, int known, float y[ROOM]) {
    const Backend *cpu = backend_open("cpu", NULL);
    char why[300] = "";
    size_t room;
    Device *d = cpu->open(options, why, sizeof why);
    assert_non_null(d);
    const void *weights[3] = {NULL, known & 2 ? w->values[1] : NULL,
                              known & 4 ? w->values[2] : NULL};
    w->step.view = w->view, w->step.param = w->param;
    Kernel *k = cpu->compile(d, &w->step, choice, weights, &room, NULL, why, sizeof why);
    for (int i = 0; i < ROOM; i++) y[i] = UNTOUCHED;
    if (k) {
        void *work = cpu->alloc(d, room), *slot[] = {y, w->values[1], w->values[2]};
        assert_int_equal(cpu->run(k, slot, work), 0);
        cpu->release(d, work);
        cpu->forget(k);
    }
    cpu->close(d);
    return k != NULL;
}
/* Returns how many choices there are, for inputs that are known or not. */
static int check_work(Work *w) {
    float want[ROOM], got[ROOM];
    int ran = 0;
    assert_true(run_choice(w, "dnn=none", 0, 0, want));
    for (int choice = 0; choice < CHOICES; choice++)
        for (int known = 0; known < 8; known += 2) {
            if (!run_choice(w, "", choice, known, got)) continue;
            ran++;
            for (int i = 0; i < ROOM; i++)
                if (fabsf(want[i] - got[i]) > 1e-3f)
                    fail_msg("choice %d, known %d: %g in place of %g at %d", choice, known,
                             (double)got[i], (double)want[i], i);
        }
    assert_true(ran >= 1);
    return ran;
}

static void a_column_with_gaps(void **state) {
    (void)state;
    Work w = {.step = {.kind = S_GEMM, .nview = 3}};
    work_view(&w, 0, 2, (int64_t[]){7, 1}, (int64_t[]){3, 21});
    work_view(&w, 1, 2, (int64_t[]){7, 16}, NULL);
    work_view(&w, 2, 2, (int64_t[]){16, 1}, NULL);
    check_work(&w);
}

/* A convolution with two spatial axes and these sizes of y, x and the kernel; moves: the parameters
   of the step (group, strides, pads at the beginnings, pads at the ends, dilations). */
static void make_conv(Work *w, const int64_t y[4], const int64_t x[4], const int64_t k[4],
                      const int64_t *k_stride, const int64_t moves[9]) {
    *w = (Work){.step = {.kind = S_CONV, .nview = 3, .nparam = 9}};
    work_view(w, 0, 4, y, NULL);
    work_view(w, 1, 4, x, NULL);
    work_view(w, 2, 4, k, k_stride);
    memcpy(w->param, moves, sizeof *moves * 9);
}
static void one_window_along_an_axis(void **state) {
    (void)state;
    Work w;
    make_conv(&w, (int64_t[]){1, 13, 5, 1}, (int64_t[]){1, 1, 6, 1}, (int64_t[]){13, 1, 3, 4}, NULL,
              (int64_t[]){1, 1, 3, 0, 2, 1, 2, 1, 1});
    check_work(&w);
}
static int choices(Work *w, const char *options) {
    const Backend *cpu = backend_open("cpu", NULL);
    Device *d = cpu->open(options, NULL, 0);
    assert_non_null(d);
    w->step.view = w->view, w->step.param = w->param;
    const int n = cpu->choices(d, &w->step);
    cpu->close(d);
    return n;
}
/* oneDNN sometimes crashed here by reading far outside the input, so it is not used at all. */
static void windows_in_the_padding_alone(void **state) {
    (void)state;
    Work w;
    make_conv(&w, (int64_t[]){2, 8, 13, 2}, (int64_t[]){2, 20, 12, 1}, (int64_t[]){8, 5, 4, 1},
              NULL, (int64_t[]){4, 1, 2, 2, 1, 2, 1, 1, 1});
    check_work(&w);
    assert_int_equal(choices(&w, ""), choices(&w, "dnn=none"));
}
static void weights_with_gaps(void **state) {
    (void)state;
    Work w;
    make_conv(&w, (int64_t[]){1, 2, 1, 8}, (int64_t[]){1, 2, 1, 7}, (int64_t[]){2, 2, 1, 3},
              (int64_t[]){12, 2, 12, 4}, (int64_t[]){1, 1, 1, 0, 2, 0, 1, 1, 1});
    check_work(&w);
}
/* What oneDNN does not read with gaps is copied first, whether its contents are known or not. */
static void images_with_gaps(void **state) {
    (void)state;
    const int64_t gaps[] = {720, 45, 9, 1};
    Work w;
    make_conv(&w, (int64_t[]){1, 16, 3, 6}, (int64_t[]){1, 16, 5, 8}, (int64_t[]){16, 16, 3, 3},
              NULL, (int64_t[]){1, 1, 1, 0, 0, 0, 0, 1, 1});
    const int dense = check_work(&w);
    memcpy(w.view[1].stride, gaps, sizeof gaps);
    assert_int_equal(check_work(&w), dense);
}

/* The scratch memory that the algorithm of a choice needs, which tells algorithms apart. */
static size_t room_of(Work *w, int choice) {
    const Backend *cpu = backend_open("cpu", NULL);
    Device *d = cpu->open("", NULL, 0);
    const void *weights[3] = {NULL, NULL, w->values[2]};
    size_t room = 0;
    assert_non_null(d);
    w->step.view = w->view, w->step.param = w->param;
    Kernel *k = cpu->compile(d, &w->step, choice, weights, &room, NULL, NULL, 0);
    if (k) cpu->forget(k);
    cpu->close(d);
    return k ? room : SIZE_MAX;
}
/* A depthwise convolution along one axis, channels last, runs by the same algorithms where the
   image has another axis of length 1, be it the first or the last one. */
static void an_axis_of_length_1(void **state) {
    (void)state;
    enum { CHANNELS = 32, PLACES = 20, TAPS = 3 };
    for (int last = 0; last < 2; last++) {
        Work line, plane;
        line = (Work){.step = {.kind = S_CONV, .nview = 3, .nparam = 5}};
        work_view(&line, 0, 3, (int64_t[]){1, CHANNELS, PLACES},
                  (int64_t[]){CHANNELS * PLACES, 1, CHANNELS});
        work_view(&line, 1, 3, (int64_t[]){1, CHANNELS, PLACES},
                  (int64_t[]){CHANNELS * PLACES, 1, CHANNELS});
        work_view(&line, 2, 3, (int64_t[]){CHANNELS, 1, TAPS}, NULL);
        memcpy(line.param, (int64_t[]){CHANNELS, 1, 1, 1, 1}, 5 * sizeof(int64_t));
        plane = line;
        plane.step.nparam = 9;
        for (int i = 0; i < 3; i++) {
            View *v = &plane.view[i];
            v->rank = 4, v->dim[3 - last] = v->dim[2], v->stride[3 - last] = v->stride[2];
            v->dim[2 + last] = 1;
            v->stride[2 + last] = v->stride[2] * (last ? 1 : v->dim[3]);
        }
        memcpy(plane.param, (int64_t[]){CHANNELS, 1, 1, last, !last, last, !last, 1, 1},
               9 * sizeof(int64_t));
        const int n = choices(&line, "");
        assert_int_equal(choices(&plane, ""), n);
        for (int choice = 0; choice < n; choice++)
            assert_true(room_of(&plane, choice) == room_of(&line, choice));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_with_gaps),  cmocka_unit_test(one_window_along_an_axis),
        cmocka_unit_test(an_axis_of_length_1), cmocka_unit_test(windows_in_the_padding_alone),
        cmocka_unit_test(weights_with_gaps),   cmocka_unit_test(images_with_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
