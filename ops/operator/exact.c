/* exact.c -- steps for sums of products of 8-bit integers less their zeros. Floats hold such a sum
   exactly, in any order, as long as no more than EXACT_TERMS terms of at most 255 * 255 are added:
   so products and convolutions of floats compute them, a slice of the terms at a time, and slices
   are added as integers. */
#include "ops/operator/op.h"

View place_view(const View *in, const View *like, int axis) {
    View y = *like;
    y.slot = in->slot, y.dtype = in->dtype, y.offset = in->offset, y.format = in->format;
    for (int k = 0; k < y.rank; k++)
        y.stride[k] = k == axis && in->rank == 1 && in->dim[0] > 1 ? in->stride[0] : 0;
    return y;
}
bool exact_floats(StepBuf *b, const View *x, const View *zero, int axis, View *out) {
    static const Scalar code[] = {
        {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_SUB, .a = 0, .b = 1}};
    if (!step_room(b, DT_FLOAT, x->rank, x->dim, out)) return false;
    if (!zero || zero->rank < 0) return step_copy(b, out, x), true;
    const View v[] = {*out, *x, place_view(zero, x, axis)};
    step_code(b, step_add(b, S_EWISE, 3, v), 3, code);
    return true;
}
void exact_round(StepBuf *b, Step *s) {
    step_code(b, s, 2, (const Scalar[]){{.op = C_ACC}, {.op = C_ROUND, .a = 0}});
}
void exact_add(StepBuf *b, const View *y, const View *part) {
    step_code(b, step_add(b, S_EWISE, 3, (const View[]){*y, *y, *part}), 3,
              (const Scalar[]){
                  {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_ADD, .a = 0, .b = 1}});
}
bool exact_collect(StepBuf *b, const View *sums, const View *y, View *whole) {
    if (!whole->slot && !step_room(b, DT_INT32, y->rank, y->dim, whole)) return false;
    step_copy(b, whole, sums);
    exact_add(b, y, whole);
    return true;
}
void exact_quantize(StepBuf *b, const View *y, const View *sums, const View scale[3],
                    const View *zero) {
    static const Scalar code[] = {{.op = C_VIEW, .a = 1},        {.op = C_VIEW, .a = 2},
                                  {.op = C_VIEW, .a = 3},        {.op = C_MUL, .a = 1, .b = 2},
                                  {.op = C_VIEW, .a = 4},        {.op = C_DIV, .a = 3, .b = 4},
                                  {.op = C_MUL, .a = 0, .b = 5}, {.op = C_ROUND, .a = 6},
                                  {.op = C_VIEW, .a = 5},        {.op = C_ADD, .a = 7, .b = 8}};
    const View v[] = {*y, *sums, scale[0], scale[1], scale[2], *zero};
    step_code(b, step_add(b, S_EWISE, 6, v), 10, code);
}
