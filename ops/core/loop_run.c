/* loop_run.c -- runs a loop program: each node is computed for a block of lanes at a time, and sums
   loop over their variables around that.

   The output is written row by row along its lane, one block after the other. A node that is asked
   for the lanes low..high-1 of its buffer asks its children for the same lanes; a child without a
   lane has one value. Where a condition is affine in a variable of a sum or in the lane, it
   restricts the range of that variable, so the innermost loops contain no tests.

   A node remembers when it was computed, and is computed again only if a variable that it depends
   on has changed since then. Nodes that are the same in all rows (keep_blocks) remember every
   block. */
#include "ops/core/loop_form.h"
#include <math.h>
#include <string.h>

static void set_value(Loop *l, int variable, int64_t value) {
    if (l->value[variable] == value) return;
    l->value[variable] = value;
    l->changed[variable] = ++l->time;
}

/* ---- integers */

static int64_t register_value(const Loop *, int r);

static int64_t sum_terms(const Loop *l, int64_t c, const LoopTerm *t, int n) {
    for (int j = 0; j < n; j++)
        c += t[j].factor * (t[j].r < LOOP_VARS ? l->value[t[j].r] : register_value(l, t[j].r));
    return c;
}

static int64_t combine_index(const Register *r, int64_t a, int64_t b) {
    switch (r->kind) {
    case LOOP_FLOOR: return integer_floor_div(a, r->m);
    case LOOP_MOD: return a - integer_floor_div(a, r->m) * r->m;
    case LOOP_MIN: return a < b ? a : b;
    default: return a * b;
    }
}

static int64_t register_value(const Loop *l, int number) {
    const Register *r = &l->reg[number - LOOP_VARS];
    return combine_index(r, sum_terms(l, r->a.c, r->a.t, r->a.n),
                         sum_terms(l, r->b.c, r->b.t, r->b.n));
}

static void affine_lanes(const Loop *, const LoopAffine *, int lane, int low, int high, int64_t *y);

static void register_lanes(const Loop *l, int number, int lane, int low, int high, int64_t *y) {
    const Register *r = &l->reg[number - LOOP_VARS];
    int64_t b[LOOP_LANES];
    affine_lanes(l, &r->a, lane, low, high, y);
    if (r->kind == LOOP_MIN || r->kind == LOOP_MUL) affine_lanes(l, &r->b, lane, low, high, b);
    else memset(b, 0, sizeof b);
    for (int j = low; j < high; j++) y[j] = combine_index(r, y[j], b[j]);
}

static void affine_lanes(const Loop *l, const LoopAffine *a, int lane, int low, int high,
                         int64_t *y) {
    int64_t c = a->c, step = 0, more[LOOP_LANES];
    for (int j = 0; j < a->n; j++) {
        const LoopTerm *t = &a->t[j];
        if (t->r == lane) step += t->factor;
        if (t->r < LOOP_VARS || !(l->reg[t->r - LOOP_VARS].uses >> lane & 1))
            c += sum_terms(l, 0, t, 1);
    }
    for (int j = low; j < high; j++) y[j] = c + step * j;
    for (int j = 0; j < a->n; j++) {
        const LoopTerm *t = &a->t[j];
        if (t->r < LOOP_VARS || !(l->reg[t->r - LOOP_VARS].uses >> lane & 1)) continue;
        register_lanes(l, t->r, lane, low, high, more);
        for (int k = low; k < high; k++) y[k] += t->factor * more[k];
    }
}

/* The value of a form at lane 0 of the block, without the registers that differ between lanes. */
static int64_t form_start(const Loop *l, const LoopForm *f, int lane) {
    return sum_terms(l, f->c, f->t, f->n) + (lane < 0 ? 0 : f->lane * l->value[lane]);
}

static void form_lanes(const Loop *l, const LoopForm *f, int lane, int low, int high, int64_t *y) {
    int64_t c = form_start(l, f, lane), more[LOOP_LANES];
    for (int j = low; j < high; j++) y[j] = c + f->lane * j;
    for (int j = f->n; j < f->n + f->nlane; j++) {
        register_lanes(l, f->t[j].r, lane, low, high, more);
        for (int k = low; k < high; k++) y[k] += f->t[j].factor * more[k];
    }
}

/* ---- conditions */

static bool truth(bool eq, int64_t v) { return eq ? v == 0 : v >= 0; }

/* Restricts [*from, *to) to the v for which c + k * v == 0 (eq) or >= 0. */
static void clip(bool eq, int64_t c, int64_t k, int64_t *from, int64_t *to) {
    int64_t low = *from, high = *to;
    if (!k) high = truth(eq, c) ? high : low;
    else if (eq) low = -integer_floor_div(c, k), high = c % k ? low : low + 1;
    else if (k > 0) low = -integer_floor_div(c, k);
    else high = integer_floor_div(c, -k) + 1;
    if (low > *from) *from = low;
    if (high < *to) *to = high;
    if (*to < *from) *from = *to;
}

static bool checks(const Loop *l, const DecodedNode *x, int level) {
    for (int j = 0; j < x->nlit; j++) {
        const DecodedLiteral *t = &x->lit[j];
        if (t->use == LIT_CHECK && t->level == level && !truth(t->eq, form_start(l, &t->form, -1)))
            return false;
    }
    return true;
}

/* The range of a sum's variable under the conditions that clip it. */
static void limits(const Loop *l, const DecodedNode *x, int level, int64_t *from, int64_t *to) {
    *from = 0;
    *to = l->end[x->var[level]];
    for (int j = 0; j < x->nlit; j++) {
        const DecodedLiteral *t = &x->lit[j];
        if (t->use == LIT_CLIP && t->level == level)
            clip(t->eq, sum_terms(l, t->form.c, t->form.t, t->form.n), t->form.lane, from, to);
    }
}

/* An iteration over the lanes low..high-1 in runs where the condition is constantly true or
   false. */
typedef struct Runs {
    int at, high;
    int64_t from, to; /* the condition is false outside [from, to) */
    bool masked;
    uint8_t mask[LOOP_LANES];
} Runs;

static void mask_lanes(const Loop *l, const DecodedLiteral *t, int lane, Runs *r) {
    int64_t v[LOOP_LANES];
    if (!r->masked) memset(r->mask, 1, sizeof r->mask);
    r->masked = true;
    form_lanes(l, &t->form, lane, r->at, r->high, v);
    for (int j = r->at; j < r->high; j++) r->mask[j] &= truth(t->eq, v[j]);
}

static void runs_begin(const Loop *l, const DecodedNode *x, int lane, int low, int high, Runs *r) {
    r->at = low, r->high = high, r->from = low, r->to = high, r->masked = false;
    for (int j = 0; j < x->nlit; j++) {
        const DecodedLiteral *t = &x->lit[j];
        if (t->use != LIT_LANES) continue;
        if (t->form.nlane) mask_lanes(l, t, lane, r);
        else clip(t->eq, form_start(l, &t->form, lane), t->form.lane, &r->from, &r->to);
    }
}

static bool runs_next(Runs *r, int *from, int *to, bool *yes) {
    if (r->at == r->high) return false;
    *from = r->at;
    *yes = r->at >= r->from && r->at < r->to;
    int end = r->at < r->from ? (int)r->from : r->at < r->to ? (int)r->to : r->high, k = r->at;
    if (*yes && r->masked) {
        *yes = r->mask[k];
        while (k < end && r->mask[k] == *yes) k++;
        end = k;
    }
    *to = r->at = end;
    return true;
}

/* ---- nodes */

static void loop_visit(Loop *, int node, int low, int high);

static BlockOperand node_operand(const Loop *l, int node, int low) {
    const DecodedNode *x = &l->node[node];
    return (BlockOperand){x->buffer + (x->lane < 0 ? 0 : (size_t)low * l->block->size),
                          x->lane >= 0};
}

static void read_elements(Loop *l, DecodedNode *x, int low, int high, char *y) {
    const View *v = &l->view[x->word + 1];
    const void *data = l->data[x->word + 1];
    int64_t offset[LOOP_LANES];
    if (!x->form.nlane) {
        int64_t at = v->offset + form_start(l, &x->form, x->lane) + x->form.lane * low;
        l->block->load(v->dtype, data, at, x->form.lane, y, high - low);
        return;
    }
    form_lanes(l, &x->form, x->lane, low, high, offset);
    for (int j = low; j < high; j++) offset[j] += v->offset;
    l->block->load_at(v->dtype, data, offset + low, y, high - low);
}

static void run_choice(Loop *l, DecodedNode *x, int low, int high) {
    Runs r;
    int from, to;
    bool yes, any = checks(l, x, -1);
    runs_begin(l, x, x->lane, low, high, &r);
    while (runs_next(&r, &from, &to, &yes)) {
        int child = any && yes ? x->a : x->b;
        loop_visit(l, child, from, to);
        l->block->copy(x->buffer + (size_t)from * l->block->size, node_operand(l, child, from),
                       to - from);
    }
}

static void copy_lane(Loop *l, DecodedNode *x, int child, int j) {
    l->block->copy(x->buffer + (size_t)j * l->block->size, node_operand(l, child, j), 1);
}
static double lane_value(const Loop *l, int child, int j) {
    return l->block->approx(l->num, node_operand(l, child, j).v);
}

static void choose_by_data(Loop *l, DecodedNode *x, int low, int high) {
    loop_visit(l, x->word, low, high);
    loop_visit(l, x->a, low, high);
    loop_visit(l, x->b, low, high);
    for (int j = low; j < high; j++)
        copy_lane(l, x, lane_value(l, x->word, j) != 0 ? x->a : x->b, j);
}

/* EX_TAKE: each lane has a place of its own, so the body is computed lane by lane. */
static void take_place(Loop *l, DecodedNode *x, int low, int high) {
    int64_t before = l->value[x->word];
    loop_visit(l, x->a, low, high);
    for (int j = low; j < high; j++) {
        int64_t place = ex_place(lane_value(l, x->a, j), l->end[x->word]);
        if (place < 0) {
            l->block->set(l->num, x->buffer + (size_t)j * l->block->size, l->num->real(NAN));
            continue;
        }
        set_value(l, x->word, place);
        loop_visit(l, x->b, j, j + 1);
        copy_lane(l, x, x->b, j);
    }
    set_value(l, x->word, before);
}

static ExKind step_of(const DecodedNode *x) { return x->kind == EX_SUM ? EX_ADD : EX_MAX2; }

/* With all variables fixed, adds lanes low..high-1 of the body to those of the sum. */
static void sum_lanes(Loop *l, DecodedNode *x, int low, int high) {
    Runs r;
    int from, to;
    bool yes;
    runs_begin(l, x, x->lane, low, high, &r);
    while (runs_next(&r, &from, &to, &yes)) {
        if (!yes) continue;
        void *y = x->buffer + (size_t)from * l->block->size;
        loop_visit(l, x->a, from, to);
        l->block->binary(l->num, step_of(x), y, (BlockOperand){y, 1}, node_operand(l, x->a, from),
                         to - from);
    }
}

/* The innermost variable is the lane of the body: folds blocks of the body into one value. */
static void sum_blocks(Loop *l, DecodedNode *x, int64_t first, int64_t last) {
    Runs r;
    int from, to;
    bool yes;
    for (int64_t base = first; base < last; base += LOOP_LANES) {
        set_value(l, x->inner, base);
        runs_begin(l, x, x->inner, 0, last - base < LOOP_LANES ? (int)(last - base) : LOOP_LANES,
                   &r);
        while (runs_next(&r, &from, &to, &yes)) {
            if (!yes) continue;
            loop_visit(l, x->a, from, to);
            l->block->fold(l->num, step_of(x), x->buffer, node_operand(l, x->a, from), to - from);
        }
    }
}

static void sum_loops(Loop *l, DecodedNode *x, int level, int low, int high) {
    int64_t from, to;
    if (level == x->nvar) {
        sum_lanes(l, x, low, high);
        return;
    }
    limits(l, x, level, &from, &to);
    if (x->inner >= 0 && level == x->nvar - 1) {
        sum_blocks(l, x, from, to);
        return;
    }
    for (int64_t v = from; v < to; v++) {
        set_value(l, x->var[level], v);
        if (checks(l, x, level)) sum_loops(l, x, level + 1, low, high);
    }
}

static void run_sum(Loop *l, DecodedNode *x, int low, int high) {
    char *y = x->buffer + (size_t)low * l->block->size;
    l->block->set(l->num, y, x->kind == EX_SUM ? l->num->ratio(0, 1) : l->num->lowest());
    if (high - low > 1) l->block->copy(y + l->block->size, (BlockOperand){y, 0}, high - low - 1);
    if (checks(l, x, -1)) sum_loops(l, x, 0, low, high);
}

static bool result_stands(const Loop *l, const DecodedNode *x, const HeldRange *h, int low,
                          int high) {
    if (low < h->low || high > h->high) return false;
    for (int j = 0; j < x->nkey; j++)
        if (l->changed[x->key[j]] > h->done) return false;
    return true;
}
/* Makes the buffer of the current block the node's buffer, and returns what it holds. */
static HeldRange *held_here(const Loop *l, DecodedNode *x) {
    if (!x->kept) return x->held;
    const int64_t block = (l->value[x->lane] - l->from[x->lane]) / LOOP_LANES;
    x->buffer = x->kept + (size_t)block * LOOP_LANES * l->block->size;
    return &x->held[block];
}
static void compute(Loop *l, DecodedNode *x, int low, int high) {
    int64_t v[LOOP_LANES];
    char *y = x->buffer + (size_t)low * l->block->size;
    switch (x->kind) {
    case EX_NUM:
    case EX_REAL:
    case EX_PARAM: return;
    case EX_SIZE:
        form_lanes(l, &x->form, x->lane, low, high, v),
            l->block->integers(l->num, v + low, y, high - low);
        return;
    case EX_AT: read_elements(l, x, low, high, y); return;
    case EX_FN:
        loop_visit(l, x->a, low, high),
            l->block->call(l->num, (Function)x->word, y, node_operand(l, x->a, low), high - low);
        return;
    case EX_IF: run_choice(l, x, low, high); return;
    case EX_WHERE: choose_by_data(l, x, low, high); return;
    case EX_TAKE: take_place(l, x, low, high); return;
    case EX_SUM:
    case EX_MAXIMUM: run_sum(l, x, low, high); return;
    default: break;
    }
    loop_visit(l, x->a, low, high);
    if (x->b != x->a) loop_visit(l, x->b, low, high);
    l->block->binary(l->num, x->kind, y, node_operand(l, x->a, low), node_operand(l, x->b, low),
                     high - low);
}
static void loop_visit(Loop *l, int node, int low, int high) {
    DecodedNode *x = &l->node[node];
    HeldRange *h = held_here(l, x);
    if (x->lane < 0) low = 0, high = 1;
    if (result_stands(l, x, h, low, high)) return;
    compute(l, x, low, high);
    *h = (HeldRange){low, high, l->time};
}

/* ---- the output */

static void prepare_loop(Loop *l, void *const slot[], const Number param[]) {
    for (int k = 0; k < l->nview; k++)
        l->data[k] = l->view[k].rank < 0 ? NULL : slot[l->view[k].slot];
    for (int j = 0; j < l->nnode; j++) {
        DecodedNode *x = &l->node[j];
        const int64_t blocks = x->kept ? (l->end[l->lane] + LOOP_LANES - 1) / LOOP_LANES : 1;
        for (int64_t k = 0; k < blocks; k++) x->held[k] = (HeldRange){-1, -1, 0};
        if (x->kind == EX_NUM || x->kind == EX_REAL) l->block->set(l->num, x->buffer, x->number);
        if (x->kind == EX_PARAM) l->block->set(l->num, x->buffer, param[x->word]);
    }
}

/* Wraps those of x[n] that are outside the range of an integer type with `modulus` values.
   Infinity, the maximum or minimum of nothing, stays, and is stored as a limit of the type. */
static void wrap(double x[], int n, bool negative, double modulus) {
    const double low = negative ? -modulus / 2 : 0;
    for (int j = 0; j < n; j++)
        if (isfinite(x[j]) && (x[j] < low || x[j] >= low + modulus))
            x[j] -= modulus * floor((x[j] - low) / modulus);
}

/* Writes the elements along the output's lane; the other axes have values. `at` is the place of
   the element with index 0 on the lane. */
static void write_row(Loop *l, int64_t at) {
    const View *v = &l->view[0];
    int64_t n = l->lane < 0 ? 1 : l->end[l->lane], stride = l->lane < 0 ? 0 : v->stride[l->lane];
    for (int64_t base = l->lane < 0 ? 0 : l->from[l->lane]; base < n; base += LOOP_LANES) {
        int lanes = n - base < LOOP_LANES ? (int)(n - base) : LOOP_LANES;
        if (l->lane >= 0) set_value(l, l->lane, base);
        loop_visit(l, l->root, 0, lanes);
        const BlockOperand y = node_operand(l, l->root, 0);
        const bool as_is = y.step && l->modulus <= 0;
        if (!as_is) l->block->copy(l->row, y, lanes);
        if (l->modulus > 0)
            wrap((double *)l->row, lanes, dtype_class((DType)v->dtype) == 'I', l->modulus);
        l->block->store(v->dtype, l->data[0], at + base * stride, stride, as_is ? y.v : l->row,
                        lanes);
    }
}

void loop_limit(Loop *l, int axis, int64_t from, int64_t to) {
    l->from[axis] = from;
    l->end[axis] = to;
}

void loop_run(Loop *l, void *const slot[], const Number param[]) {
    const View *v = &l->view[0];
    int64_t rows = 1, at = v->offset;
    for (int k = 0; k < l->rank; k++) {
        const int64_t n = l->end[k] - l->from[k];
        set_value(l, k, k == l->lane ? 0 : l->from[k]);
        at += l->value[k] * v->stride[k];
        rows *= k == l->lane ? n > 0 : n;
    }
    if (rows <= 0) return;
    prepare_loop(l, slot, param);
    for (; rows > 0; rows--) {
        write_row(l, at);
        if (l->lane >= 0) set_value(l, l->lane, 0);
        for (int k = l->rank - 1; k >= 0; k--) {
            if (k == l->lane) continue;
            at += v->stride[k];
            set_value(l, k, l->value[k] + 1);
            if (l->value[k] < l->end[k]) break;
            at -= v->stride[k] * (l->end[k] - l->from[k]);
            set_value(l, k, l->from[k]);
        }
    }
}
