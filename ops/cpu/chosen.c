/* chosen.c -- indices as offsets, all of them checked before anything is read or written there. */
#include "ops/cpu/cpu.h"

bool chosen_new(Build *b, const View *x, int axis, int q, int index, int64_t count, Chosen *c) {
    const View *v = &b->step->view[index];
    *c = (Chosen){.q = q, .count = count, .at = build_bytes(b, (size_t)count * sizeof(int64_t))};
    for (int k = 0; k < q; k++) c->dim[k] = x->dim[axis + k], c->stride[k] = x->stride[axis + k];
    if (v->dtype != DT_INT64 || !view_is_dense(v))
        return operand_pack(b, index, DT_INT64, &c->index);
    c->index = operand_as_is(b, index);
    return true;
}
const int64_t *chosen_offsets(const Chosen *c, void *const slot[], void *work) {
    const int64_t *index = operand_at(&c->index, slot, work);
    int64_t *to = (int64_t *)(void *)((char *)work + c->at);
    for (int64_t j = 0; j < c->count; j++) {
        to[j] = 0;
        for (int k = 0; k < c->q; k++) {
            const int64_t i = *index++, folded = i < 0 ? i + c->dim[k] : i;
            if (folded < 0 || folded >= c->dim[k]) return NULL;
            to[j] += folded * c->stride[k];
        }
    }
    return to;
}
