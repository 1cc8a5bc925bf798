/* plan_attention.c -- joins a product, a softmax of its result and the product of that with a third
   tensor into one step of attention, which is how exporters spell it.

   In between, the scores may be multiplied by a number, and one tensor may be added to them. A
   factor of the queries or keys becomes a factor of the scores. A copy of the result to another
   layout becomes part of the step. Everything is float32, and nothing else reads the intermediate
   results. The new step is S_OP "sdpa" (scaled dot-product attention). It has the views and
   parameters of the operator attention, whose further results are empty, and one more parameter
   (isomer_op_steps.h). What matches is joined only if the target has an algorithm for it. */
#include "graphs/plan/plan_inner.h"
#include "ops/backend/isomer_op_steps.h"
#include "ops/backend/view.h"
#include "ops/base/arena.h"
#include <string.h>

typedef struct Affine { /* scale * scores + mask */
    double scale;
    const View *mask; /* NULL: none */
} Affine;
typedef struct AttentionMatch {
    PlanBuild *b;
    SlotUses uses;
    /* Numbers of steps; -1: none. */
    int scores_step, softmax_step, values_step, scale_step[2], copy_step;
    Affine affine;
    Unseen unseen;
    View view[SDPA_VIEWS]; /* the views of the new step */
} AttentionMatch;

static const Step *step_at(const AttentionMatch *m, int k) { return &m->b->plan->step[k].step; }

/* ---- views */
/* Turns v into a view with the axes of `like`. Returns false if its sizes differ in more than axes
   of size 1. */
static bool widened(const View *like, const View *v, View *out) {
    const View n = view_narrow(v);
    int at = 0;
    *out = *v;
    out->rank = like->rank;
    for (int a = 0; a < like->rank; a++) {
        const bool one = like->dim[a] == 1;
        if (!one && (at == n.rank || n.dim[at] != like->dim[a])) return false;
        out->dim[a] = like->dim[a], out->stride[a] = one ? 0 : n.stride[at++];
    }
    return at == n.rank;
}
static bool same_elements(const View *a, const View *b) {
    View w;
    return widened(b, a, &w) && view_same(&w, b);
}
/* The view with four axes: [batch, heads, positions, numbers]. */
static View four_axes(const View *v) {
    const int more = 4 - v->rank;
    View out = *v;
    for (int a = 0; a < 4; a++) {
        out.dim[a] = a < more ? 1 : v->dim[a - more];
        out.stride[a] = a < more ? 0 : v->stride[a - more];
    }
    return out.rank = 4, out;
}

/* ---- steps */
static bool is_float(const Step *s) {
    for (int j = 0; j < s->nview; j++)
        if (s->view[j].rank >= 0 && (s->view[j].dtype != DT_FLOAT || s->view[j].format))
            return false;
    return s->nview > 0;
}
/* The step of floats that makes view j of step k, if step k alone reads this result, only by this
   view, and nothing else keeps it; -1 otherwise. */
static int maker(const AttentionMatch *m, int k, int j) {
    const int made = view_maker(m->b->plan, &m->uses, k, j);
    return made >= 0 && made < k && is_float(step_at(m, made)) ? made : -1;
}
/* Whether the step is a product whose operands and result have the same batch axes. */
static bool is_product(const Step *s) {
    if (s->kind != S_GEMM || s->nparam || !is_float(s) || s->view[0].rank > 4) return false;
    for (int a = 0; a < s->view[0].rank - 2; a++)
        if (s->view[1].dim[a] != s->view[0].dim[a] || s->view[2].dim[a] != s->view[0].dim[a])
            return false;
    return true;
}

/* ---- programs */
/* What an instruction computes: a number, an affine function of the scores, or a tensor. */
typedef struct AttentionPart {
    enum { NUMBER, SCORE, TENSOR } is;
    Affine score;
    double number;
    const View *tensor;
} AttentionPart;
/* Applies an instruction to two parts. Returns false if the result is not an affine function of the
   scores. */
static bool apply_scalar(int op, const AttentionPart *x, const AttentionPart *y,
                         AttentionPart *out) {
    if ((x->is == SCORE) == (y->is == SCORE)) return false;
    if (op != C_DIV && y->is == SCORE) return apply_scalar(op, y, x, out);
    *out = *x;
    if (x->is != SCORE) return false;
    if (op == C_ADD) {
        if (y->is != TENSOR || x->score.mask) return false;
        return out->score.mask = y->tensor, true;
    }
    if (y->is != NUMBER || x->score.mask) return false;
    if (op == C_MUL) out->score.scale *= y->number;
    else out->score.scale /= y->number;
    return op == C_MUL || op == C_DIV;
}
/* Finds the affine function that the first n instructions compute from the accumulator or, in a
   program without one, from view 1. */
static bool affine_of(const Step *s, int n, Affine *out) {
    AttentionPart part[32];
    *out = (Affine){.scale = 1};
    if (n > (int)(sizeof part / sizeof *part)) return false;
    for (int i = 0; i < n; i++) {
        const Scalar *c = &s->code[i];
        const bool score = c->op == C_ACC || (c->op == C_VIEW && s->kind == S_ROWS && c->a == 1);
        if (score) part[i] = (AttentionPart){.is = SCORE, .score = {.scale = 1}};
        else if (c->op == C_VIEW) part[i] = (AttentionPart){.is = TENSOR, .tensor = &s->view[c->a]};
        else if (c->op == C_CONST) part[i] = (AttentionPart){.is = NUMBER, .number = c->k};
        else if (scalar_values(c->op) != 2 ||
                 !apply_scalar(c->op, &part[c->a], &part[c->b], &part[i]))
            return false;
    }
    if (n) *out = part[n - 1].score;
    return !n || part[n - 1].is == SCORE;
}
/* Whether instruction i is `op a b`. */
static bool instruction(const Step *s, int i, int op, int a, int b) {
    if (i >= s->ncode) return false;
    const Scalar *c = &s->code[i];
    const int values = scalar_values(op);
    return c->op == op && (values < 1 || c->a == a) && (values < 2 || c->b == b);
}
/* Matches the softmax of rows of view 1. *out: the affine function of which it is taken; *unseen:
   what it gives for a row in which everything is masked. */
static bool softmax_of(const Step *s, Affine *out, Unseen *unseen) {
    *unseen = UNSEEN_DIVIDED;
    if (s->kind == S_SOFTMAX) return !s->ncode && affine_of(s, 0, out);
    if (s->kind != S_ROWS || s->param[ROWS_AXES] != 1) return false;
    int r = 0;
    while (r < s->ncode && s->code[r].op != C_ROW_MAX) r++;
    if (!instruction(s, r, C_ROW_MAX, r - 1, 0) || !instruction(s, r + 1, C_SUB, r - 1, r) ||
        !instruction(s, r + 2, C_EXP, r + 1, 0) || !instruction(s, r + 3, C_ROW_SUM, r + 2, 0) ||
        !instruction(s, r + 4, C_DIV, r + 2, r + 3) || !affine_of(s, r, out))
        return false;
    if (s->ncode == r + 5) return true;
    *unseen = UNSEEN_MENDED;
    return s->ncode == r + 8 && instruction(s, r + 5, C_ISNAN, r + 4, 0) &&
           instruction(s, r + 6, C_CONST, 0, 0) && s->code[r + 6].k == 0 &&
           instruction(s, r + 7, C_WHERE, r + 5, r + 6) && s->code[r + 7].c == r + 4;
}

/* ---- what matches */
static bool take_affine(AttentionMatch *m) {
    Affine first, second;
    const Step *s = step_at(m, m->scores_step);
    if (!affine_of(s, s->ncode, &first) ||
        !softmax_of(step_at(m, m->softmax_step), &second, &m->unseen))
        return false;
    if (first.mask && (second.mask || second.scale != 1)) return false;
    m->affine.scale = first.scale * second.scale;
    m->affine.mask = first.mask ? first.mask : second.mask;
    return true;
}
/* If view j of the scores' product is a tensor times a number, makes the number a factor of the
   scores and *v the tensor. */
static void take_factor(AttentionMatch *m, int j, View *v) {
    const int k = maker(m, m->scores_step, j);
    const Step *s = k < 0 ? NULL : step_at(m, k);
    Affine factor;
    m->scale_step[j - 1] = -1;
    if (!s || s->kind != S_EWISE || s->nview != 2 || !view_same(&s->view[0], v)) return;
    Step as_rows = *s;
    as_rows.kind = S_ROWS;
    if (!affine_of(&as_rows, s->ncode, &factor) || factor.mask) return;
    m->affine.scale *= factor.scale;
    m->scale_step[j - 1] = k;
    *v = s->view[1];
}
/* If the only reader of the result copies all of it, *y becomes the view that the copy writes. */
static void take_copy(AttentionMatch *m, View *y) {
    const Plan *p = m->b->plan;
    const Slot *slot = &p->slot[y->slot];
    m->copy_step = -1;
    if (slot->output >= 0 || m->uses.writers[y->slot] != 1 || m->uses.readers[y->slot] != 1) return;
    for (int k = m->values_step + 1; k < p->nstep; k++) {
        const Step *s = step_at(m, k);
        if (s->kind != S_COPY || s->nview != 2 || s->ncode || s->view[1].slot != y->slot) continue;
        View out = s->view[0];
        const View *x = &s->view[1];
        if (!is_float(s) || x->offset != y->offset || view_count(x) != view_count(y)) return;
        out.rank = y->rank;
        for (int a = 0; a < y->rank; a++) {
            int from = 0;
            while (from < x->rank && (x->dim[from] != y->dim[a] || x->stride[from] != y->stride[a]))
                from++;
            if (y->dim[a] > 1 && from == x->rank) return;
            out.dim[a] = y->dim[a];
            out.stride[a] = y->dim[a] > 1 ? s->view[0].stride[from] : 0;
        }
        m->copy_step = k, *y = out;
        return;
    }
}
/* Whether the new step would read what a step makes that it replaces: scores as their own mask, or
   weights as the values too. */
static bool reads_replaced(const AttentionMatch *m) {
    const int part[] = {m->scores_step, m->softmax_step, m->scale_step[0], m->scale_step[1]};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        for (int j = ATTENTION_Q; part[i] >= 0 && j < SDPA_VIEWS; j++)
            if (m->view[j].slot >= 0 && m->view[j].slot == step_at(m, part[i])->view[0].slot)
                return true;
    return false;
}
/* Whether step `values` is the last product of an attention. */
static bool match_attention(AttentionMatch *m, int values) {
    m->values_step = values;
    const Step *last = step_at(m, values);
    if (!is_product(last) || last->ncode || (m->softmax_step = maker(m, values, 1)) < 0)
        return false;
    const Step *soft = step_at(m, m->softmax_step);
    if ((soft->kind != S_SOFTMAX && soft->kind != S_ROWS) ||
        !same_elements(&soft->view[0], &last->view[1]) ||
        (m->scores_step = maker(m, m->softmax_step, 1)) < 0)
        return false;
    const Step *s = step_at(m, m->scores_step);
    const int rank = last->view[0].rank;
    if (!is_product(s) || s->view[0].rank != rank || s->view[0].dim[rank - 1] < 2 ||
        !same_elements(&soft->view[1], &s->view[0]) || !take_affine(m))
        return false;
    View y = last->view[0], q = s->view[1], k = s->view[2], mask;
    if (m->affine.mask && !widened(&s->view[0], m->affine.mask, &mask)) return false;
    if (view_count(&y) < 1 || view_count(&q) < 1) return false;
    take_factor(m, 1, &q);
    take_factor(m, 2, &k);
    take_copy(m, &y);
    const View keys = four_axes(&k);
    m->view[ATTENTION_Y] = four_axes(&y), m->view[ATTENTION_Q] = four_axes(&q),
    m->view[ATTENTION_K] = view_axes(&keys, 4, (const int[]){0, 1, 3, 2});
    m->view[ATTENTION_V] = four_axes(&last->view[2]);
    m->view[ATTENTION_MASK] = m->affine.mask ? four_axes(&mask) : (View){.rank = -1, .slot = -1};
    for (int j = ATTENTION_PRESENT_KEY; j < ATTENTION_OUTPUTS; j++) {
        m->view[j] = m->view[ATTENTION_Y];
        for (int a = 0; a < 4; a++) m->view[j].dim[a] = 0;
    }
    return !reads_replaced(m) && m->affine.scale != 0; /* 0 would stand for 1 / sqrt(d) */
}
static void join_attention(AttentionMatch *m) {
    PlanBuild *b = m->b;
    int64_t param[SDPA_PARAMS] = {[OP_OUTPUTS] = ATTENTION_OUTPUTS,
                                  [ATTENTION_SCALE] = param_of_real(m->affine.scale),
                                  [ATTENTION_CAP] = param_of_real(0),
                                  [ATTENTION_LEFT] = -1,
                                  [ATTENTION_RIGHT] = -1,
                                  [SDPA_UNSEEN] = m->unseen};
    Step s = {
        .kind = S_OP, .nview = m->affine.mask ? SDPA_VIEWS : ATTENTION_MASK, .nparam = SDPA_PARAMS};
    s.view = m->view, s.param = param, s.op = SDPA;
    if (b->device->backend->choices(b->device->device, &s) < 1) return;
    s.view = arena_copy(b->arena, m->view, (size_t)s.nview * sizeof *m->view);
    s.param = arena_copy(b->arena, param, sizeof param);
    const int part[] = {m->scores_step,   m->softmax_step,  m->values_step,
                        m->scale_step[0], m->scale_step[1], m->copy_step};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (part[i] < 0) continue;
        slot_uses_add(&m->uses, b->plan, part[i], -1);
        b->plan->step[part[i]].step.nview = 0; /* gone */
    }
    const int root = m->copy_step < 0 ? m->values_step : m->copy_step;
    b->plan->step[root].step = s;
    slot_uses_add(&m->uses, b->plan, root, 1);
}

static bool has_softmax(const Plan *p) {
    for (int k = 0; k < p->nstep; k++)
        if (p->step[k].step.kind == S_SOFTMAX || p->step[k].step.kind == S_ROWS) return true;
    return false;
}
void plan_attention(PlanBuild *b) {
    Plan *p = b->plan;
    if (!b->device || !has_softmax(p)) return;
    AttentionMatch *m = ARENA_NEW(b->w->scratch, AttentionMatch, 1);
    m->b = b, m->uses = slot_uses_new(p, b->w->scratch, 0);
    for (int k = 0; k < p->nstep; k++)
        if (step_at(m, k)->kind == S_GEMM && match_attention(m, k)) join_attention(m);
    plan_drop_gone(p);
}
