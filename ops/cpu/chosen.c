/* chosen.c -- converts indices into offsets, and checks all of them before anything is read or
   written. */
#include "ops/cpu/cpu.h"

bool chosen_new(Build *b, const View *x, int axis, int q, int index, int64_t count, Chosen *c) {
    const View *v = &b->step->view[index];
    *c = (Chosen){.q = q,
                  .count = count,
                  .fold = b->device->simd->fold,
                  .at = build_bytes(b, (size_t)count * sizeof(int64_t))};
    for (int k = 0; k < q; k++) c->dim[k] = x->dim[axis + k], c->stride[k] = x->stride[axis + k];
    if (v->dtype != DT_INT64 || !view_is_dense(v))
        return operand_pack(b, index, DT_INT64, &c->index);
    c->index = operand_as_is(b, index);
    return true;
}
/* q is a constant at each call, so that the compiler unrolls the inner loop. */
static inline bool offsets_of(const Chosen *c, const int64_t *index, int64_t *to, int q) {
    uint64_t wrong = 0;
    for (int64_t j = 0; j < c->count; j++, index += q) {
        int64_t at = 0;
        for (int k = 0; k < q; k++) {
            const int64_t place = index[k] + (index[k] < 0 ? c->dim[k] : 0);
            wrong |= (uint64_t)place >= (uint64_t)c->dim[k];
            at += (int64_t)((uint64_t)place * (uint64_t)c->stride[k]);
        }
        to[j] = at;
    }
    return !wrong;
}
const int64_t *chosen_offsets(const Chosen *c, void *const slot[], void *work) {
    const int64_t *index = operand_at(&c->index, slot, work);
    int64_t *to = (int64_t *)(void *)((char *)work + c->at);
    bool bad = false;
    if (c->q == 1) c->fold(to, index, c->dim[0], c->stride[0], c->count, &bad);
    else
        bad = c->q == 2   ? !offsets_of(c, index, to, 2)
              : c->q == 3 ? !offsets_of(c, index, to, 3)
                          : !offsets_of(c, index, to, c->q);
    return bad ? NULL : to;
}
