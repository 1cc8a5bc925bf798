/* plan_norms.c -- turns a sum of the squares or of the absolute values that the step before
   computes into one reduction of the elements themselves, where the device has an algorithm for it.
   The pass comes after plan_rows.c, which joins such sums with more of their neighbours. */
#include "graphs/plan/plan_inner.h"

/* The reduction that sums what this element-wise step computes from the elements of its only
   operand; REDUCE_SUM: it computes something else. */
static ReduceKind norm_of(const Step *s) {
    const Scalar *last = s->ncode > 0 ? &s->code[s->ncode - 1] : NULL;
    if (s->kind != S_EWISE || s->nview != 2 || !last || s->view[1].dtype != s->view[0].dtype)
        return REDUCE_SUM;
    for (int i = 0; i < s->ncode - 1; i++)
        if (s->code[i].op != C_VIEW) return REDUCE_SUM;
    return last->op == C_MUL ? REDUCE_SQUARES : last->op == C_ABS ? REDUCE_MAGNITUDES : REDUCE_SUM;
}
/* Sets *v, a view of the dense result of s, to the view of its operand that has the same elements.
   False: v does not walk along the axes of the result. */
static bool view_operand(const Step *s, View *v) {
    const View *y = &s->view[0], *x = &s->view[1];
    if (v->offset != y->offset || v->dtype != y->dtype) return false;
    for (int a = 0; a < v->rank; a++) {
        int of = 0;
        if (v->dim[a] == 1) continue;
        while (of < y->rank && (y->stride[of] != v->stride[a] || y->dim[of] != v->dim[a])) of++;
        if (of == y->rank) return false;
        v->stride[a] = x->stride[of];
    }
    v->slot = x->slot, v->offset = x->offset;
    return true;
}
/* Makes step k such a reduction. Returns the step that it replaces, or -1. */
static int take_norm(PlanBuild *b, const SlotUses *u, int k) {
    Plan *p = b->plan;
    Step *s = &p->step[k].step, joined = *s;
    if (s->kind != S_REDUCE || s->param[REDUCE_KIND] != REDUCE_SUM) return -1;
    const int made = view_maker(p, u, k, 1);
    const int64_t kind = made < 0 ? REDUCE_SUM : (int64_t)norm_of(&p->step[made].step);
    if (kind == REDUCE_SUM) return -1;
    View *view = arena_copy(b->arena, s->view, (size_t)s->nview * sizeof *view);
    if (!view_operand(&p->step[made].step, &view[1])) return -1;
    joined.view = view, joined.param = arena_copy(b->arena, &kind, sizeof kind);
    if (b->device->backend->choices(b->device->device, &joined) <= 0) return -1;
    *s = joined;
    return made;
}
void plan_norms(PlanBuild *b) {
    Plan *p = b->plan;
    if (!b->device) return;
    ArenaMark mark = arena_mark(b->w->scratch);
    const SlotUses uses = slot_uses_new(p, b->w->scratch, 0);
    for (int k = 0; k < p->nstep; k++) {
        const int made = take_norm(b, &uses, k);
        if (made >= 0) p->step[made].step.nview = 0; /* gone */
    }
    plan_drop_gone(p);
    arena_reset(b->w->scratch, mark);
}
