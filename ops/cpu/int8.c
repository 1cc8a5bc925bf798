/* int8.c -- convolutions and products of 8-bit integers, where oneDNN computes them fast and
   exactly. Elsewhere there is no algorithm (0 choices), and the planner leaves such products in
   floats. */
#include "ops/cpu/cpu.h"

static int int8_choices(const Device *d, const Step *s) {
    const View *v = s->view;
    return dtype_is_byte(v[1].dtype) && v[2].dtype == DT_INT8 &&
           (s->kind == S_CONV ? conv_fits(s) : gemm_fits(s)) && view_count(&v[0]) > 0 &&
           view_count(&v[2]) > 0 && dnn_int8_possible(d, s);
}

static bool build_part(Build *b, int choice, Kernel *k) {
    return (void)choice, dnn_int8_build(b, k);
}
static bool int8_build(Build *b, int choice, Kernel *k) {
    const View *y = &b->step->view[0];
    int first = 0;
    while (first < y->rank - 2 && y->dim[first] == 1) first++;
    const int last = y->rank - 1;
    const Cut conv[] = {{0, 1, true}, {first < 2 ? 2 : first, 1, true}},
              gemm[] = {{first, first < last - 1 ? 1 : 16, true}, {last, 64, true}};
    return split_build(b, build_part, choice, b->step->kind == S_CONV ? conv : gemm, 2, k);
}
const Maker int8_maker = {.choices = int8_choices, .build = int8_build};
