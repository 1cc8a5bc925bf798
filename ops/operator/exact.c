/* exact.c -- steps for sums of products of 8-bit integers minus their zero points, by floats, for
   back ends without an algorithm for such integers (exact_int8.c has the others).

   A float holds such a sum exactly, in whatever order it is added, as long as it has at most
   EXACT_TERMS terms, each of at most 255 * 255. So each step of floats computes a slice of the
   terms, and the sums of slices are added as integers. */
#include "ops/operator/op.h"
#include <string.h>

View per_axis_view(const View *in, const View *like, int axis) {
    View y = *like;
    y.slot = in->slot, y.dtype = in->dtype, y.offset = in->offset, y.format = in->format;
    for (int k = 0; k < y.rank; k++)
        y.stride[k] = k == axis && in->rank == 1 && in->dim[0] > 1 ? in->stride[0] : 0;
    return y;
}
void exact_less(StepBuf *b, const View *y, const View *x, const View *zero, int axis) {
    static const Scalar code[] = {
        {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_SUB, .a = 0, .b = 1}};
    step_code(b, step_add(b, S_EWISE, 3, (const View[]){*y, *x, per_axis_view(zero, x, axis)}), 3,
              code);
}
bool exact_floats(StepBuf *b, const View *x, const View *zero, int axis, View *out) {
    if (!step_buffer(b, DT_FLOAT, x->rank, x->dim, out)) return false;
    if (!zero || zero->rank < 0) return step_copy(b, out, x), true;
    exact_less(b, out, x, zero, axis);
    return true;
}
void exact_round(StepBuf *b, Step *s) {
    step_code(b, s, 2, (const Scalar[]){{.op = C_ACC}, {.op = C_ROUND, .a = 0}});
}
static void exact_add(StepBuf *b, const View *y, const View *part) {
    step_code(b, step_add(b, S_EWISE, 3, (const View[]){*y, *y, *part}), 3,
              (const Scalar[]){
                  {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_ADD, .a = 0, .b = 1}});
}
bool exact_collect(StepBuf *b, const View *sums, const View *y, View *whole) {
    if (!whole->slot && !step_buffer(b, DT_INT32, y->rank, y->dim, whole)) return false;
    step_copy(b, whole, sums);
    exact_add(b, y, whole);
    return true;
}
void exact_quantize(StepBuf *b, const View *y, const View *sums, const View *bias,
                    const View scale[3], const View *zero) {
    enum { SUM = 2 }; /* the instruction that computes the sum with its bias */
    static const Scalar code[] = {
        {.op = C_VIEW, .a = 1},  {.op = C_VIEW, .a = 6},        {.op = C_ADD, .a = 0, .b = 1},
        {.op = C_VIEW, .a = 2},  {.op = C_VIEW, .a = 3},        {.op = C_MUL, .a = 3, .b = 4},
        {.op = C_VIEW, .a = 4},  {.op = C_DIV, .a = 5, .b = 6}, {.op = C_MUL, .a = SUM, .b = 7},
        {.op = C_ROUND, .a = 8}, {.op = C_VIEW, .a = 5},        {.op = C_ADD, .a = 9, .b = 10}};
    enum { CODE = sizeof code / sizeof *code };
    Scalar own[CODE];
    View v[] = {*y, *sums, scale[0], scale[1], scale[2], *zero, bias ? *bias : *zero};
    memcpy(own, code, sizeof own);
    if (!bias) { /* without a bias: the sum alone */
        own[1].a = 5;
        own[SUM] = (Scalar){.op = C_VIEW, .a = 1};
    }
    step_code(b, step_add(b, S_EWISE, bias ? 7 : 6, v), CODE, own);
}
