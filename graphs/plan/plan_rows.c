/* plan_rows.c -- joins reductions and the element-wise steps around them into one step over rows: a
   softmax with the steps that make its operand and use its result, or a normalization with its
   mean, variance and scale.

   The last step of such a chain is its root. A step is a member of the chain if only members read
   its result and it computes either values of the root's sizes or, by a sum, mean or maximum, one
   value for each row of these; members are added until there are no more. The joined step computes
   in float32, and rounds to 16 bits what a member would have stored in 16 bits. Sizes are compared
   without axes of size 1. The pass applies only to targets that have an algorithm for such
   steps. */
#include "graphs/plan/plan_inner.h"
#include "ops/backend/view.h"
#include "ops/base/arena.h"
#include <string.h>

/* Chains that need more are not joined. A back end may refuse shorter ones (choices). */
enum { MEMBERS = 32, CHAIN_CODE = 150, CHAIN_VIEWS = 32 };
typedef struct RowChain {
    const Plan *plan;
    /* row_rank: how many of the last axes of y form a row; reductions: how many members reduce
       rows. */
    int root, row_rank, nmember, reductions;
    /* Steps; the instruction that computes the result of each, or -1 if there is none yet. */
    int member[MEMBERS], number[MEMBERS];
    View y; /* the result of the root */
    int nview, ncode;
    View view[CHAIN_VIEWS];
    Scalar code[CHAIN_CODE];
    bool full; /* the chain cannot be joined: there is no more room, or an operand does not fit */
} RowChain;

/* ---- views */
/* Whether the sizes of a are the first `rank` ones of b. */
static bool has_leading_sizes(const View *a, int rank, const View *b) {
    return a->rank == rank && !memcmp(a->dim, b->dim, (size_t)rank * sizeof *a->dim);
}
/* Turns a view of one number for each row into one that repeats the numbers for each element.
   Returns false if v is not of this kind. */
static bool spread(const RowChain *h, View *v) {
    const int outer = h->y.rank - h->row_rank;
    if (!has_leading_sizes(v, outer, &h->y)) return false;
    for (int a = outer; a < h->y.rank; a++) v->dim[a] = h->y.dim[a], v->stride[a] = 0;
    v->rank = h->y.rank;
    return true;
}

/* ---- who reads what */
static const Step *step_of(const RowChain *h, int k) { return &h->plan->step[k].step; }
static bool writes_slot(const Step *s, int slot) {
    for (int j = 0; s->nview && j < step_writes(s); j++)
        if (s->view[j].slot == slot) return true;
    return false;
}
/* The last step before step `before` that writes the slot; -1 if there is none. */
static int last_writer(const RowChain *h, int before, int slot) {
    for (int m = before - 1; m >= 0; m--)
        if (writes_slot(step_of(h, m), slot)) return m;
    return -1;
}
static int member_index(const RowChain *h, int k) {
    for (int i = 0; i < h->nmember; i++)
        if (h->member[i] == k) return i;
    return -1;
}

/* Whether it is a float type of 32 or 16 bits. */
static bool is_float(int dtype) {
    const int bits = dtype_bits((DType)dtype);
    return dtype_class((DType)dtype) == 'F' && (bits == 32 || bits == 16);
}
static bool reduces_rows(const RowChain *h, const Step *s) {
    const View y = view_narrow(&s->view[0]), x = s->nview > 1 ? view_narrow(&s->view[1]) : y;
    if (s->kind != S_REDUCE) return false;
    const int64_t kind = s->param[REDUCE_KIND];
    return is_float(s->view[1].dtype) &&
           (kind == REDUCE_SUM || kind == REDUCE_MEAN || kind == REDUCE_MAX) &&
           has_leading_sizes(&x, h->y.rank, &h->y) &&
           has_leading_sizes(&y, h->y.rank - h->row_rank, &h->y);
}
static bool may_join(const RowChain *h, const Step *s) {
    if (!s->nview || !is_float(s->view[0].dtype)) return false;
    for (int j = 1; j < s->nview; j++)
        if (s->view[j].rank < 0 || s->view[j].dtype == DT_DOUBLE) return false;
    const View y = view_narrow(&s->view[0]);
    if (s->kind == S_SOFTMAX)
        return h->row_rank == 1 && has_leading_sizes(&y, h->y.rank, &h->y) &&
               is_float(s->view[1].dtype) && s->view[0].dim[s->view[0].rank - 1] > 1;
    return s->kind == S_EWISE ? has_leading_sizes(&y, h->y.rank, &h->y) : reduces_rows(h, s);
}
/* Whether view j of step k is the result of step m: element for element, or for each row the number
   of that row. */
static bool reads_result(const RowChain *h, int k, int j, int m) {
    const View x = view_narrow(&step_of(h, k)->view[j]);
    View y = view_narrow(&step_of(h, m)->view[0]);
    if (reduces_rows(h, step_of(h, m)) && !has_leading_sizes(&x, y.rank, &y) && !spread(h, &y))
        return false;
    return x.offset == y.offset && x.dtype == y.dtype && view_same(&x, &y);
}
/* Whether only members read the result of step m, in the way that reads_result demands. */
static bool only_members_read(const RowChain *h, int m) {
    const View *y = &step_of(h, m)->view[0];
    const Slot *slot = &h->plan->slot[y->slot];
    if (slot->data || slot->input >= 0) return false;
    for (int k = m + 1; k < h->plan->nstep; k++) {
        const Step *s = step_of(h, k);
        for (int j = s->nview ? step_writes(s) : 0; j < s->nview; j++)
            if (s->view[j].slot == y->slot && (member_index(h, k) < 0 || !reads_result(h, k, j, m)))
                return false;
        if (writes_slot(s, y->slot)) return s->view[0].slot == y->slot && view_same(&s->view[0], y);
    }
    return slot->output < 0;
}
static bool add_member(RowChain *h, int k) {
    if (h->nmember == MEMBERS) return false;
    h->number[h->nmember] = -1;
    h->member[h->nmember++] = k;
    h->reductions += step_of(h, k)->kind != S_EWISE;
    return true;
}
static void find_members(RowChain *h) {
    h->nmember = h->reductions = 0;
    add_member(h, h->root);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < h->nmember; i++) {
            const Step *s = step_of(h, h->member[i]);
            for (int j = 1; j < s->nview; j++) {
                const int m = last_writer(h, h->member[i], s->view[j].slot);
                if (m < 0 || member_index(h, m) >= 0 || !may_join(h, step_of(h, m))) continue;
                if (only_members_read(h, m) && add_member(h, m)) more = true;
            }
        }
    }
}

/* ---- the program */
static int add_code(RowChain *h, Scalar c) {
    if (h->ncode == CHAIN_CODE) h->full = true;
    else h->code[h->ncode++] = c;
    return h->ncode - 1;
}
static int add_binary(RowChain *h, int op, int a, int b) {
    return add_code(h, (Scalar){.op = (uint8_t)op, .a = (uint8_t)a, .b = (uint8_t)b});
}
/* Whether what step k reads from outside the chain still exists when the root runs. */
static bool stays(const RowChain *h, int k, const View *v) {
    for (int q = k + 1; q < h->root; q++)
        if (member_index(h, q) < 0 && writes_slot(step_of(h, q), v->slot)) return false;
    return v->slot != h->y.slot || (v->offset == h->y.offset && view_same(v, &h->y));
}
/* Appends the instruction that reads view j of step k, which no member makes. */
static int outside(RowChain *h, int k, int j) {
    View v = view_narrow(&step_of(h, k)->view[j]);
    if (!has_leading_sizes(&v, h->y.rank, &h->y) && !spread(h, &v)) h->full = true;
    if (h->full || !stays(h, k, &v)) return h->full = true, 0;
    int at = 1;
    while (at < h->nview && (h->view[at].slot != v.slot || h->view[at].dtype != v.dtype ||
                             h->view[at].offset != v.offset || !view_same(&h->view[at], &v)))
        at++;
    if (at == CHAIN_VIEWS) return h->full = true, 0;
    if (at == h->nview) h->view[h->nview++] = v;
    return add_code(h, (Scalar){.op = C_VIEW, .a = (uint8_t)at});
}
static int result(RowChain *h, int i);
static int read_view(RowChain *h, int k, int j) {
    const int m = last_writer(h, k, step_of(h, k)->view[j].slot),
              i = m < 0 ? -1 : member_index(h, m);
    return i >= 0 ? result(h, i) : outside(h, k, j);
}
/* Appends the program of step k; its accumulator is instruction `acc`. Returns its last
   instruction. */
static int add_program(RowChain *h, int k, int acc) {
    const Step *s = step_of(h, k);
    int number[UINT8_MAX + 1], last = acc;
    if (s->ncode > CHAIN_CODE) h->full = true;
    for (int i = 0; i < s->ncode && !h->full; i++) {
        Scalar c = s->code[i];
        if (c.op == C_ACC) last = acc;
        else if (c.op == C_VIEW) last = read_view(h, k, c.a);
        else scalar_renumber(&c, number), last = add_code(h, c);
        number[i] = last;
    }
    return last;
}
static double row_length(const RowChain *h) {
    double n = 1;
    for (int a = h->y.rank - h->row_rank; a < h->y.rank; a++) n *= (double)h->y.dim[a];
    return n;
}
static int softmax_of(RowChain *h, int x) {
    const int top = add_code(h, (Scalar){.op = C_ROW_MAX, .a = (uint8_t)x});
    const int low = add_binary(h, C_SUB, x, top);
    const int e = add_code(h, (Scalar){.op = C_EXP, .a = (uint8_t)low});
    return add_binary(h, C_DIV, e, add_code(h, (Scalar){.op = C_ROW_SUM, .a = (uint8_t)e}));
}
static int result(RowChain *h, int i) {
    const int k = h->member[i];
    const Step *s = step_of(h, k);
    if (h->number[i] >= 0 || h->full) return h->number[i] < 0 ? 0 : h->number[i];
    int x = -1;
    if (s->kind == S_SOFTMAX) x = softmax_of(h, read_view(h, k, 1));
    else if (s->kind == S_REDUCE) {
        const int op = s->param[REDUCE_KIND] == REDUCE_MAX ? C_ROW_MAX : C_ROW_SUM;
        x = add_binary(h, op, read_view(h, k, 1), 0);
        if (s->param[REDUCE_KIND] == REDUCE_MEAN)
            x = add_binary(h, C_DIV, x, add_code(h, (Scalar){.op = C_CONST, .k = row_length(h)}));
    }
    if (s->ncode) x = add_program(h, k, x);
    if (i > 0 && s->view[0].dtype != DT_FLOAT)
        x = add_code(h, (Scalar){.op = C_AS, .a = (uint8_t)x, .b = (uint8_t)s->view[0].dtype});
    return h->number[i] = x;
}

/* ---- search */
static bool target_runs(const PlanBuild *b, const Step *s) {
    return b->device->backend->choices(b->device->device, s) > 0;
}
static bool target_has_rows(const PlanBuild *b) {
    static const View v[] = {
        {.dtype = DT_FLOAT, .rank = 2, .dim = {2, 64}, .stride = {64, 1}},
        {.slot = 1, .dtype = DT_FLOAT, .rank = 2, .dim = {2, 64}, .stride = {64, 1}}};
    static const Scalar code[] = {{.op = C_VIEW, .a = 1}, {.op = C_ROW_SUM}};
    static const int64_t one = 1;
    const Step s = {S_ROWS, 2, 1, 2, v, &one, code, NULL};
    return target_runs(b, &s);
}
static bool join_rows(PlanBuild *b, RowChain *h) {
    Step *root = &b->plan->step[h->root].step;
    h->nview = 1, h->ncode = 0, h->full = false, h->view[0] = h->y;
    const int last = result(h, 0);
    if (h->full || last != h->ncode - 1) return false;
    const int64_t param = h->row_rank;
    const Step s = {S_ROWS, h->nview, 1, h->ncode, h->view, &param, h->code, NULL};
    if (!target_runs(b, &s)) return false;
    for (int i = 1; i < h->nmember; i++) b->plan->step[h->member[i]].step.nview = 0; /* gone */
    *root = s;
    root->view = arena_copy(b->arena, h->view, (size_t)h->nview * sizeof *h->view);
    root->code = arena_copy(b->arena, h->code, (size_t)h->ncode * sizeof *h->code);
    root->param = arena_copy(b->arena, &param, sizeof param);
    return true;
}
static void try_root(PlanBuild *b, RowChain *h, int k) {
    const Step *s = &b->plan->step[k].step;
    if ((s->kind != S_EWISE && s->kind != S_SOFTMAX) || !s->nview) return;
    h->root = k, h->y = view_narrow(&s->view[0]);
    for (h->row_rank = 1; h->row_rank <= h->y.rank; h->row_rank++) {
        if (!may_join(h, s)) continue;
        find_members(h);
        if (h->nmember > 1 && h->reductions > 0 && join_rows(b, h)) return;
    }
}

void plan_rows(PlanBuild *b) {
    Plan *p = b->plan;
    bool any = false;
    for (int k = 0; k < p->nstep; k++)
        any = any || p->step[k].step.kind == S_REDUCE || p->step[k].step.kind == S_SOFTMAX;
    if (!any || !b->device || !target_has_rows(b)) return;
    RowChain *h = ARENA_NEW(b->w->scratch, RowChain, 1);
    h->plan = p;
    for (int k = p->nstep - 1; k >= 0; k--) try_root(b, h, k);
    plan_drop_gone(p);
}
