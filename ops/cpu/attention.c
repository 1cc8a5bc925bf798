/* attention.c -- attention of floats (defined in ops/attention.c).

   Past and new keys and values are first put together, if there is a past or the result is read.
   Then, for each head, blocks of queries are
   computed: a product gives their scores, which stay in the cache; one pass over each row adds the
   mask and computes the softmax over the places that the query sees; a second product mixes the
   values. The last block may overlap the block before. Heads are distributed over the threads. */
#include "ops/base/least.h"
#include "ops/core/element.h"
#include "ops/cpu/cpu.h"
#include "ops/operator/op_kernel.h"
#include <math.h>
#include <string.h>

/* BLOCK_ELEMENTS: scores of a block, about. FEW_ROWS, MANY_ROWS: the least and the most queries of
   a block. TOGETHER: rows of scores that are weighed together. */
enum { BLOCK_ELEMENTS = 1 << 17, FEW_ROWS = 32, MANY_ROWS = 256, TOGETHER = 4 };
typedef struct Attention {
    View view[ATTENTION_VIEWS]; /* rank -1: left out; y, q, k and v are [b, heads, places, n] */
    Copy *copy[4];              /* copy keys and values into the present ones */
    int ncopy, parts, shown;    /* shown: SHOW_.., which scores are an output */
    /* groups: heads of keys; total, before: places of all keys, of past keys; rows: queries of a
       block */
    int64_t batch, heads, groups, queries, total, before, rows, left, right;
    bool causal, alone; /* alone: blocks of one query, whose rows lie in order */
    float scale;
    float cap; /* scores become cap * tanh(score / cap); 0: they stay as they are */
    Kernel product[TEAM_MOST][2];
    size_t block[TEAM_MOST], line[TEAM_MOST], work[TEAM_MOST][2]; /* offsets into the scratch
                                                                     memory */
} Attention;
typedef struct AttentionRun {
    const Attention *a;
    void *const *slot;
    char *work;
    const Simd *simd;
} AttentionRun;
typedef struct Rows { /* the queries of a block, which begin with query `first` of head h */
    int64_t b, h, first, length;
    float *scores, *line;
} Rows;

static const View *given(const Attention *a, int k) {
    return a->view[k].rank >= 0 ? &a->view[k] : NULL;
}
static char *place(const AttentionRun *run, int k, int64_t i0, int64_t i1, int64_t i2) {
    const View *v = &run->a->view[k];
    const int64_t at = v->offset + i0 * v->stride[0] + i1 * v->stride[1] + i2 * v->stride[2];
    return (char *)run->slot[v->slot] + at * dtype_size(v->dtype);
}

/* ---- one row of scores */
static void show(const AttentionRun *run, const Rows *r, int64_t i, const float *row) {
    const View *v = &run->a->view[ATTENTION_SCORES];
    run->simd->store[CLASS_FLOAT][DT_FLOAT](place(run, ATTENTION_SCORES, r->b, r->h, r->first + i),
                                            v->stride[3], row, run->a->total);
}
static void cap(const AttentionRun *run, float *row) {
    const Attention *a = run->a;
    for (int64_t j = 0; j < a->total; j++) row[j] /= a->cap;
    run->simd->op[CLASS_FLOAT][C_TANH](row, row, NULL, a->total);
    for (int64_t j = 0; j < a->total; j++) row[j] *= a->cap;
}
static bool says_seen(const View *mask) {
    const char class = dtype_class((DType)mask->dtype);
    return class != 'F';
}
/* Applies the mask to a row of scores: adds numbers, or hides the places where truth values are
   false. Places beyond the end of the mask are hidden. */
static void add_mask(const AttentionRun *run, const Rows *r, int64_t i, float *row) {
    const Attention *a = run->a;
    const View *m = given(a, ATTENTION_MASK);
    if (!m) return;
    const int64_t at[3] = {r->b, r->h, r->first + i}, width = m->dim[m->rank - 1];
    int64_t from = m->offset;
    for (int k = 0; k < m->rank - 1; k++) {
        const int axis = k + 3 - (m->rank - 1);
        from += m->dim[k] > 1 ? at[axis] * m->stride[k] : 0;
    }
    run->simd->load[CLASS_FLOAT][m->dtype](r->line,
                                           (char *)run->slot[m->slot] + from * dtype_size(m->dtype),
                                           m->stride[m->rank - 1], width);
    if (says_seen(m))
        for (int64_t j = 0; j < width; j++) row[j] = r->line[j] != 0 ? row[j] : -INFINITY;
    else
        for (int64_t j = 0; j < width; j++) row[j] += r->line[j];
    for (int64_t j = width; j < a->total; j++) row[j] = -INFINITY;
}
/* Finds the places low..high-1 that the position of the query allows it to see. */
static void visible(const Attention *a, const Rows *r, int64_t i, int64_t *low, int64_t *high) {
    const int64_t offset = given(a, ATTENTION_PAST_KEY)  ? a->before
                           : given(a, ATTENTION_LENGTHS) ? r->length - a->queries
                                                         : 0,
                  here = r->first + i + offset;
    *low = 0, *high = r->length;
    if (a->causal && *high > here + 1) *high = here + 1;
    if (a->right >= 0 && *high - here - 1 > a->right) *high = here + a->right + 1;
    if (a->left >= 0 && here - *low > a->left) *low = here - a->left;
    if (*high < 0) *high = 0;
    if (*low > *high) *low = *high;
}
static void hide(const Attention *a, float *row, int64_t low, int64_t high, float with) {
    for (int64_t j = 0; j < low; j++) row[j] = with;
    for (int64_t j = high; j < a->total; j++) row[j] = with;
}
/* Whether a row of scores hides everything. */
static bool sees_nothing(const Simd *simd, const float *row, int64_t n) {
    float greatest = -INFINITY;
    if (n > 0 && row[0] > -INFINITY) return false;
    simd->total[CLASS_FLOAT][REDUCE_MAX](&greatest, row, n);
    return greatest == -INFINITY;
}
/* Applies everything to a row of scores that comes before the softmax. It is over the places
   low..high-1, none if the query sees nothing. */
static void prepare_row(const AttentionRun *run, const Rows *r, int64_t i, int64_t *low,
                        int64_t *high) {
    const Attention *a = run->a;
    float *row = r->scores + i * a->total;
    if (a->shown == SHOW_SCORES) show(run, r, i, row);
    if (a->cap != 0) cap(run, row);
    if (a->shown == SHOW_CAPPED) show(run, r, i, row);
    add_mask(run, r, i, row);
    visible(a, r, i, low, high);
    if (a->shown == SHOW_BIASED) hide(a, row, *low, *high, -INFINITY), show(run, r, i, row);
    if (sees_nothing(run->simd, row + *low, *high - *low)) *low = *high = 0;
}
/* Turns `rows` rows from row i on into weights whose sum is 1, or 0 if the query sees nothing. Rows
   that see all places are computed together. */
static void weigh_rows(const AttentionRun *run, const Rows *r, int64_t i, int rows) {
    const Attention *a = run->a;
    float *first = r->scores + i * a->total;
    int64_t low[TOGETHER], high[TOGETHER];
    bool whole = rows > 1;
    for (int k = 0; k < rows; k++) {
        prepare_row(run, r, i + k, &low[k], &high[k]);
        whole = whole && high[k] - low[k] == a->total;
    }
    if (whole) run->simd->softmax[CLASS_FLOAT](first, first, a->total, rows);
    for (int k = 0; k < rows; k++) {
        float *row = first + k * a->total;
        if (!whole)
            run->simd->softmax[CLASS_FLOAT](row + low[k], row + low[k], high[k] - low[k], 1);
        hide(a, row, low[k], high[k], 0);
        if (a->shown == SHOW_WEIGHTS) show(run, r, i + k, row);
    }
}

/* ---- running */
/* Runs a block of one query: each head's keys and values are read once, in place. */
static void run_alone(const AttentionRun *run, const Rows *r) {
    const Attention *a = run->a;
    const View *key = &a->view[ATTENTION_PRESENT_KEY], *value = &a->view[ATTENTION_PRESENT_VALUE];
    const int64_t group = r->h / (a->heads / a->groups);
    const float *query = (const float *)place(run, ATTENTION_Q, r->b, r->h, r->first);
    run->simd->row_by_columns(r->scores, query,
                              (const float *)place(run, ATTENTION_PRESENT_KEY, r->b, group, 0),
                              key->stride[2], key->dim[3], a->total);
    for (int64_t j = 0; j < a->total; j++) r->scores[j] *= a->scale;
    weigh_rows(run, r, 0, 1);
    run->simd->row_by_rows((float *)place(run, ATTENTION_Y, r->b, r->h, r->first), r->scores,
                           (const float *)place(run, ATTENTION_PRESENT_VALUE, r->b, group, 0),
                           value->stride[2], a->total, value->dim[3]);
}
static int run_block(const AttentionRun *run, const Rows *r, int part) {
    const Attention *a = run->a;
    const int64_t group = r->h / (a->heads / a->groups);
    void *const score[] = {r->scores, place(run, ATTENTION_Q, r->b, r->h, r->first),
                           place(run, ATTENTION_PRESENT_KEY, r->b, group, 0)};
    void *const mix[] = {place(run, ATTENTION_Y, r->b, r->h, r->first), r->scores,
                         place(run, ATTENTION_PRESENT_VALUE, r->b, group, 0)};
    const Kernel *product = a->product[part];
    if (product[0].run(&product[0], score, run->work + a->work[part][0])) return -1;
    for (int64_t i = 0; i < a->rows; i += TOGETHER)
        weigh_rows(run, r, i, (int)int64_least(a->rows - i, TOGETHER));
    return product[1].run(&product[1], mix, run->work + a->work[part][1]);
}
/* Runs the heads of a part. The result of run_block is ignored because a product of floats cannot
   fail once it is built. */
static void run_heads(void *job, int part) {
    const AttentionRun *run = job;
    const Attention *a = run->a;
    const View *lengths = given(a, ATTENTION_LENGTHS);
    const int64_t all = a->batch * a->heads, end = all * (part + 1) / a->parts;
    for (int64_t k = all * part / a->parts; k < end; k++) {
        Rows r = {.b = k / a->heads,
                  .h = k % a->heads,
                  .length = a->total,
                  .scores = (float *)(run->work + a->block[part]),
                  .line = (float *)(run->work + a->line[part])};
        if (lengths)
            r.length = element_integer((DType)lengths->dtype, run->slot[lengths->slot],
                                       lengths->offset + r.b * lengths->stride[0]);
        for (int64_t at = 0; at < a->queries; at += a->rows) {
            r.first = at + a->rows <= a->queries ? at : a->queries - a->rows;
            if (a->alone) run_alone(run, &r);
            else (void)run_block(run, &r, part);
        }
    }
}
static bool lengths_fit(const AttentionRun *run) {
    const Attention *a = run->a;
    const View *v = given(a, ATTENTION_LENGTHS);
    for (int64_t b = 0; v && b < a->batch; b++) {
        const int64_t n =
            element_integer((DType)v->dtype, run->slot[v->slot], v->offset + b * v->stride[0]);
        if (n < 0 || n > a->total) return false;
    }
    return true;
}
static int attention_run(const Kernel *k, void *const slot[], void *work) {
    const Attention *a = k->self;
    AttentionRun run = {a, slot, work, k->device->simd};
    if (!lengths_fit(&run)) return -1;
    for (int j = 0; j < a->ncopy; j++) copy_run(a->copy[j], slot, work);
    team_run(k->device->team, a->parts, run_heads, &run);
    return 0;
}

/* ---- making */
/* Views q, k, v or y as [b, heads, places, n]; the view may have heads and numbers in one axis. */
static View by_heads(const View *v, int64_t heads) {
    if (v->rank != 3) return *v;
    View w = *v;
    w.rank = 4;
    w.dim[1] = heads, w.dim[2] = v->dim[1], w.dim[3] = heads ? v->dim[2] / heads : 0;
    w.stride[1] = w.dim[3] * v->stride[2], w.stride[2] = v->stride[1], w.stride[3] = v->stride[2];
    return w;
}
static bool may_be_empty(int view) {
    return view == ATTENTION_PAST_KEY || view == ATTENTION_PAST_VALUE ||
           view == ATTENTION_PRESENT_KEY || view == ATTENTION_PRESENT_VALUE;
}
static bool take_views(const Step *s, Attention *a) {
    for (int k = 0; k < ATTENTION_VIEWS; k++) {
        const bool there = k < s->nview && s->view[k].rank >= 0;
        a->view[k] = there ? s->view[k] : (View){.slot = -1, .rank = -1};
        if (!there) {
            if (k <= ATTENTION_V) return false;
            continue;
        }
        const View *v = &a->view[k];
        if (view_count(v) == 0 && !may_be_empty(k)) return false;
        if (k == ATTENTION_MASK ? !dtype_numeric(v->dtype) || says_seen(v) != (v->dtype != DT_FLOAT)
                                : k != ATTENTION_LENGTHS && v->dtype != DT_FLOAT)
            return false;
    }
    a->groups = a->view[ATTENTION_PRESENT_KEY].dim[1], a->heads = a->view[ATTENTION_SCORES].dim[1];
    a->batch = a->view[ATTENTION_SCORES].dim[0], a->queries = a->view[ATTENTION_SCORES].dim[2];
    a->total = a->view[ATTENTION_SCORES].dim[3];
    const View *past = given(a, ATTENTION_PAST_KEY), *mask = given(a, ATTENTION_MASK);
    a->before = past ? past->dim[2] : 0;
    for (int k = ATTENTION_Y; k <= ATTENTION_V; k++)
        if (k == ATTENTION_Y || k >= ATTENTION_Q)
            a->view[k] = by_heads(&a->view[k], k <= ATTENTION_Q ? a->heads : a->groups);
    /* What is left out is read where it is. */
    for (int j = 0; j < 2; j++)
        if (view_count(&a->view[ATTENTION_PRESENT_KEY + j]) == 0)
            a->view[ATTENTION_PRESENT_KEY + j] = a->view[ATTENTION_K + j];
    return a->groups > 0 && a->heads % a->groups == 0 &&
           (!mask || (mask->dim[mask->rank - 1] <= a->total &&
                      attention_mask_fits(mask, &a->view[ATTENTION_SCORES])));
}
/* Whether the numbers of each query, key and value lie one after another. */
static bool in_order(const Attention *a) {
    static const int of[] = {ATTENTION_Y, ATTENTION_Q, ATTENTION_PRESENT_KEY,
                             ATTENTION_PRESENT_VALUE};
    bool ordered = true;
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        ordered &= a->view[of[k]].dim[3] == 1 || a->view[of[k]].stride[3] == 1;
    return ordered;
}
/* Adds a copy of the view `from`, if it exists, into the present keys or values, from place `first`
   on. */
static bool add_copy(Build *b, Attention *a, int present, int from, int64_t first) {
    View to = a->view[present];
    const View *x = given(a, from);
    if (!x || view_count(x) == 0 || view_same(x, &to)) return true;
    to.offset += first * to.stride[2], to.dim[2] = x->dim[2];
    a->copy[a->ncopy] = copy_new(b, &to, x);
    return a->copy[a->ncopy++] != NULL;
}
/* Views two axes as a matrix in a slot of its own. */
static View matrix(const View *v, int slot, int rows, int columns, int64_t n) {
    View m = {.slot = slot, .dtype = DT_FLOAT, .rank = 2};
    m.dim[0] = n, m.dim[1] = v->dim[columns];
    m.stride[0] = v->stride[rows], m.stride[1] = v->stride[columns];
    return m;
}
static bool add_product(Build *b, Device *one, Attention *a, int part, int which,
                        const Step *step) {
    Kernel *product = &a->product[part][which];
    Build own = *b;
    product->device = one, product->arena = b->arena;
    own.device = one;
    own.kernel = product, own.step = step, own.weights = NULL, own.workspace = 0;
    if (!gemm_maker.choices(own.device, step) || !gemm_maker.build(&own, 0, product)) return false;
    a->work[part][which] = build_bytes(b, own.workspace);
    return true;
}
static bool add_part(Build *b, Device *one, Attention *a, int part) {
    const View *key = &a->view[ATTENTION_PRESENT_KEY], *value = &a->view[ATTENTION_PRESENT_VALUE];
    const View scores = view_dense(0, DT_FLOAT, 2, (const int64_t[]){a->rows, a->total});
    View in = scores;
    in.slot = 1;
    const View score[] = {scores, matrix(&a->view[ATTENTION_Q], 1, 2, 3, a->rows),
                          matrix(key, 2, 3, 2, key->dim[3])},
               mix[] = {matrix(&a->view[ATTENTION_Y], 0, 2, 3, a->rows), in,
                        matrix(value, 2, 2, 3, a->total)};
    const Scalar code[] = {
        {.op = C_ACC}, {.op = C_CONST, .k = a->scale}, {.op = C_MUL, .a = 0, .b = 1}};
    a->block[part] = build_bytes(b, (size_t)(a->rows * a->total) * sizeof(float));
    a->line[part] = build_bytes(b, (size_t)a->total * sizeof(float));
    if (a->alone) return true;
    const Step first = {.kind = S_GEMM, .nview = 3, .view = score, .ncode = 3, .code = code},
               second = {.kind = S_GEMM, .nview = 3, .view = mix};
    return add_product(b, one, a, part, 0, &first) && add_product(b, one, a, part, 1, &second);
}
static void attention_forget(Kernel *k) {
    Attention *a = k->self;
    for (int part = 0; part < a->parts; part++)
        for (int which = 0; which < 2; which++)
            if (a->product[part][which].run) kernel_forget(&a->product[part][which]);
}
bool attention_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Step *s = b->step;
    Attention *a = ARENA_NEW(b->arena, Attention, 1);
    Device *one = ARENA_NEW(b->arena, Device, 1);
    if (!take_views(s, a)) return false;
    const int64_t d = a->view[ATTENTION_PRESENT_KEY].dim[3], fit = BLOCK_ELEMENTS / a->total,
                  rows = fit < FEW_ROWS    ? FEW_ROWS
                         : fit > MANY_ROWS ? MANY_ROWS
                                           : fit;
    a->scale = (float)param_real(s->param[ATTENTION_SCALE]);
    if (a->scale == 0) a->scale = (float)(1 / sqrt((double)d));
    a->rows = rows < a->queries ? rows : a->queries;
    a->alone = a->rows == 1 && in_order(a);
    a->cap = (float)param_real(s->param[ATTENTION_CAP]),
    a->causal = s->param[ATTENTION_CAUSAL] != 0;
    a->left = s->param[ATTENTION_LEFT], a->right = s->param[ATTENTION_RIGHT],
    a->shown = (int)s->param[ATTENTION_SHOWN];
    a->parts = count_parts(b, a->batch * a->heads, view_count(&a->view[ATTENTION_SCORES]),
                           (double)d / 8 + 2);
    *one = *b->device;
    one->team = NULL, one->threads = 1; /* each product is run by the thread of its head */
    k->self = a, k->run = attention_run, k->forget = attention_forget;
    bool ok = add_copy(b, a, ATTENTION_PRESENT_KEY, ATTENTION_PAST_KEY, 0) &&
              add_copy(b, a, ATTENTION_PRESENT_KEY, ATTENTION_K, a->before) &&
              add_copy(b, a, ATTENTION_PRESENT_VALUE, ATTENTION_PAST_VALUE, 0) &&
              add_copy(b, a, ATTENTION_PRESENT_VALUE, ATTENTION_V, a->before);
    for (int part = 0; part < a->parts && ok; part++) ok = add_part(b, one, a, part);
    if (!ok) attention_forget(k);
    return ok;
}
