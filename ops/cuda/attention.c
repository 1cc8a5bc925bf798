/* attention.c -- writes the operator attention (defined in ops/attention.c) on float32 as one
   kernel, and also the step "sdpa", which is made of two products and a softmax that compute the
   same (graphs/plan/plan_attention.c).

   A thread block takes up to BLOCK queries of one head and goes over the keys, BLOCK at a time. It
   computes their scores in tiles of registers; then the softmax of the keys seen so far, whose
   maximum and sum are corrected as more keys are seen (Milakov and Gimelshein, Online normalizer
   calculation for softmax, 2018); and adds up the weighted values in registers (Dao and others,
   FlashAttention, 2022). Thus the scores need no memory. Scores, and keys and values with the past
   in front, are stored if the step has them as results. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/cuda/generate.h"
#include <math.h>
#include <string.h>

enum { SIDE = 16, BLOCK = 64, TILE = BLOCK / SIDE };
/* The longest vectors of values for which threads have registers: at all, and with TILE queries per
   thread. */
enum { VALUES_MOST = 256, TILE_VALUES = 128 };
typedef struct Attention {
    const Step *step;
    int64_t batch, heads, groups, queries, total, before, d, e;
    int rows; /* rows of scores that one thread computes; they are SIDE apart */
    int shown;
    Unseen unseen;
} Attention;

static bool given(const Step *s, int view) { return view < s->nview && s->view[view].rank >= 0; }

static bool of_products(const Step *s) { return step_is_sdpa(s) && s->nparam == SDPA_PARAMS; }
/* ---- Which steps have such a kernel. */
static bool is_empty(const View *v) {
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] < 1) return true;
    return false;
}
/* Whether the step has this result: a step "sdpa" has only the first one, and a step "attention" no
   present keys and values that nothing reads. */
static bool wanted(const Step *s, int view) { return !is_empty(&s->view[view]); }
static bool may_be_empty(const Step *s, int view) {
    if (view == ATTENTION_PAST_KEY || view == ATTENTION_PAST_VALUE) return true;
    if (view == ATTENTION_SCORES) return of_products(s);
    return view == ATTENTION_PRESENT_KEY || view == ATTENTION_PRESENT_VALUE;
}
static bool types_fit(const Step *s) {
    for (int k = 0; k < s->nview; k++) {
        if (!given(s, k)) continue;
        const View *v = &s->view[k];
        if (is_empty(v) && !may_be_empty(s, k)) return false;
        if (k == ATTENTION_LENGTHS
                ? v->dtype != I32 && v->dtype != I64
                : v->dtype != F32 && (k != ATTENTION_MASK || !source_element_bytes(v->dtype)))
            return false;
    }
    return true;
}
static Attention sizes_of(const Step *s) {
    const View *v = s->view;
    if (of_products(s))
        return (Attention){.step = s,
                           .batch = v[ATTENTION_Q].dim[0],
                           .heads = v[ATTENTION_Q].dim[1],
                           .groups = v[ATTENTION_K].dim[1],
                           .queries = v[ATTENTION_Q].dim[2],
                           .total = v[ATTENTION_K].dim[2],
                           .d = v[ATTENTION_Q].dim[3],
                           .e = v[ATTENTION_V].dim[3],
                           .unseen = (Unseen)s->param[SDPA_UNSEEN]};
    return (Attention){.step = s,
                       .batch = v[ATTENTION_SCORES].dim[0],
                       .heads = v[ATTENTION_SCORES].dim[1],
                       .groups = v[ATTENTION_PRESENT_KEY].dim[1],
                       .queries = v[ATTENTION_SCORES].dim[2],
                       .total = v[ATTENTION_SCORES].dim[3],
                       .before = given(s, ATTENTION_PAST_KEY) ? v[ATTENTION_PAST_KEY].dim[2] : 0,
                       .d = v[ATTENTION_PRESENT_KEY].dim[3],
                       .e = v[ATTENTION_PRESENT_VALUE].dim[3]};
}
static bool is_attention(const Step *s) {
    return of_products(s) ||
           (s->op && !strcmp(s->op, "attention") && s->nparam == ATTENTION_PARAMS &&
            s->param[OP_OUTPUTS] == ATTENTION_OUTPUTS);
}
static bool mask_fits(const Attention *a) {
    const View scores = {.rank = 4, .dim = {a->batch, a->heads, a->queries, a->total}},
               *mask = &a->step->view[ATTENTION_MASK];
    return !given(a->step, ATTENTION_MASK) ||
           (mask->rank >= 1 && mask->rank <= 4 && mask->dim[mask->rank - 1] <= a->total &&
            attention_mask_fits(mask, &scores));
}
int attention_variants(const Step *s) {
    if (!is_attention(s) || s->nview <= ATTENTION_V) return 0;
    for (int k = ATTENTION_Y; k <= ATTENTION_V; k++)
        if (!given(s, k)) return 0;
    if (!types_fit(s)) return 0;
    const Attention a = sizes_of(s);
    if (a.heads % a.groups || a.e > VALUES_MOST || !mask_fits(&a)) return 0;
    return a.queries > SIDE ? 2 : 1;
}

/* ---- Offsets. Views have the axes batch, head, place, number; a view of rank 3 has the heads and
   the numbers in its last axis. */
static const char *spot(Gen *g, int view, int64_t each, const char *const index[4]) {
    const View *v = &g->step->view[view];
    const int64_t apart[] = {v->stride[0], each * v->stride[2], v->stride[1], v->stride[2]},
                  *stride = v->rank == 4 ? v->stride : apart;
    const char *at = "";
    for (int a = 0; a < 4; a++)
        at = say(g, "%s%s(place_t)%lld*(%s)", at, a ? " + " : "", (long long)stride[a], index[a]);
    return at;
}
/* The text of number n of key or value j in group `of`: from the past, or from the new ones. */
static const char *now_or_past(Gen *g, const Attention *a, int now, int past, const char *of) {
    const int64_t each = now == ATTENTION_K ? a->d : a->e;
    const char *const here[] = {"b", of, say(g, "j - %lld", (long long)a->before), "n"},
                      *const there[] = {"b", of, "j", "n"};
    const char *new = say(g, "v%d[%s]", now, spot(g, now, each, here));
    if (!a->before) return new;
    return say(g, "(j < %lld ? v%d[%s] : %s)", (long long)a->before, past,
               spot(g, past, each, there), new);
}

/* ---- Stores keys and values with the past in front; all thread blocks share the work. */
static void present_lines(Gen *g, const Attention *a, int present, int now, int past) {
    const int64_t each = now == ATTENTION_K ? a->d : a->e;
    const char *const index[] = {"b", "of", "j", "n"};
    line(g, "for (count_t item = (count_t)blockIdx.x * %du + threadIdx.x; item < %lluu;", THREADS,
         (unsigned long long)(a->batch * a->groups * a->total * each));
    line(g, "     item += (count_t)gridDim.x * %du) {", THREADS);
    line(g, "count_t r = item;");
    line(g, "const place_t n = (place_t)(r %% %lluu); r /= %lluu;", (unsigned long long)each,
         (unsigned long long)each);
    line(g, "const place_t j = (place_t)(r %% %lluu); r /= %lluu;", (unsigned long long)a->total,
         (unsigned long long)a->total);
    line(g, "const place_t of = (place_t)(r %% %lluu), b = (place_t)(r / %lluu);",
         (unsigned long long)a->groups, (unsigned long long)a->groups);
    line(g, "v%d[%s] = %s;", present, spot(g, present, each, index),
         now_or_past(g, a, now, past, "of"));
    line(g, "}");
}

/* ---- The scores of a tile. */
static void score_lines(Gen *g, const Attention *a) {
    const char *const query[] = {"b", "h", "i", "n"};
    line(g, "float s[%d][%d];", a->rows, TILE);
    line(g, "for (int u = 0; u < %d; u++)", a->rows);
    line(g, "    for (int v = 0; v < %d; v++) s[u][v] = 0;", TILE);
    line(g, "for (place_t d0 = 0; d0 < %lld; d0 += %d) {", (long long)a->d, SIDE);
    line(g, "for (int k = (int)threadIdx.x; k < %d; k += %d) {", SIDE * BLOCK, THREADS);
    line(g, "const int t = k %% %d, r = k / %d;", SIDE, SIDE);
    line(g, "const place_t i = row0 + r, j = first + r, n = d0 + t;");
    line(g, "if (r < %d) qs[t][r] = i < %lld && n < %lld ? v%d[%s] : 0;", SIDE * a->rows,
         (long long)a->queries, (long long)a->d, ATTENTION_Q, spot(g, ATTENTION_Q, a->d, query));
    line(g, "ks[t][r] = j < %lld && n < %lld ? %s : 0;", (long long)a->total, (long long)a->d,
         now_or_past(g, a, ATTENTION_K, ATTENTION_PAST_KEY, "of"));
    line(g, "}");
    line(g, "SYNC();");
    line(g, "UNROLL");
    line(g, "for (int t = 0; t < %d; t++) {", SIDE);
    line(g, "UNROLL");
    line(g, "for (int u = 0; u < %d; u++) {", a->rows);
    line(g, "UNROLL");
    line(g, "for (int v = 0; v < %d; v++) s[u][v] += qs[t][ty + %d * u] * ks[t][tx + %d * v];",
         TILE, SIDE, SIDE);
    line(g, "}");
    line(g, "}");
    line(g, "SYNC();");
    line(g, "}");
}
static void show(Gen *g, const Attention *a, int what, const char *x) {
    const char *const index[] = {"b", "h", "i", "j"};
    if (a->shown == what && wanted(a->step, ATTENTION_SCORES))
        line(g, "if (inside) v%d[%s] = %s;", ATTENTION_SCORES, spot(g, ATTENTION_SCORES, 0, index),
             x);
}
/* Applies the mask to the score x at (b, h, i, j). Keys beyond the end of the mask are not seen. */
static void mask_lines(Gen *g) {
    const View *m = &g->step->view[ATTENTION_MASK];
    static const char *const index[] = {"b", "h", "i", "j"};
    const char *at = "0";
    for (int k = 0; k < m->rank; k++)
        if (m->dim[k] > 1)
            at = say(g, "%s + (place_t)%lld*%s", at, (long long)m->stride[k],
                     index[4 - m->rank + k]);
    line(g, "if (inside && j < %lld) {", (long long)m->dim[m->rank - 1]);
    const char class = class_with('i', m->dtype);
    if (class_real(class)) line(g, "x += %s;", element(g, ATTENTION_MASK, at, 'f'));
    else line(g, "if (!(%s)) x = -INFINITY;", element(g, ATTENTION_MASK, at, class));
    line(g, "}");
    line(g, "else x = -INFINITY;");
}
/* Hides the keys that the position of the query hides, and those that do not exist or do not
   count. */
static void place_lines(Gen *g, const Attention *a) {
    const int64_t *p = a->step->param;
    const char *hidden = "!inside";
    if (given(a->step, ATTENTION_LENGTHS)) hidden = say(g, "%s || j >= length", hidden);
    if (p[ATTENTION_CAUSAL]) hidden = say(g, "%s || j > here", hidden);
    if (p[ATTENTION_LEFT] >= 0)
        hidden = say(g, "%s || here - j > %lldLL", hidden, (long long)p[ATTENTION_LEFT]);
    if (p[ATTENTION_RIGHT] >= 0)
        hidden = say(g, "%s || j - here > %lldLL", hidden, (long long)p[ATTENTION_RIGHT]);
    line(g, "const i64 here = i + offset;");
    line(g, "if (%s) x = -INFINITY;", hidden);
}
static void bias_lines(Gen *g, const Attention *a) {
    const double scale = param_real(a->step->param[ATTENTION_SCALE]),
                 cap = param_real(a->step->param[ATTENTION_CAP]);
    line(g, "UNROLL");
    line(g, "for (int u = 0; u < %d; u++) {", a->rows);
    line(g, "UNROLL");
    line(g, "for (int v = 0; v < %d; v++) {", TILE);
    line(g, "const place_t i = row0 + ty + %d * u, j = first + tx + %d * v;", SIDE, SIDE);
    line(g, "const int inside = i < %lld && j < %lld;", (long long)a->queries, (long long)a->total);
    line(g, "float x = s[u][v] * %s;",
         class_constant(g, scale != 0 ? scale : 1 / sqrt((double)a->d), 'f'));
    show(g, a, SHOW_SCORES, "x");
    if (cap != 0) {
        const char *most = class_constant(g, cap, 'f');
        line(g, "x = %s * tanh_s(x / %s);", most, most);
    }
    show(g, a, SHOW_CAPPED, "x");
    if (given(a->step, ATTENTION_MASK)) mask_lines(g);
    place_lines(g, a);
    show(g, a, SHOW_BIASED, "x");
    line(g, "s[u][v] = x;");
    line(g, "}");
    line(g, "}");
}

/* ---- The softmax of the keys seen so far. */
static void half_warp(Gen *g, ReduceKind kind, const char *value) {
    for (int d = SIDE / 2; d; d /= 2)
        line(g, "%s = %s;", value,
             team_fold(g, kind, 'f', value, say(g, "SHUFFLE(%s, %d)", value, d)));
}
static void softmax_lines(Gen *g, const Attention *a, int columns) {
    line(g, "UNROLL");
    line(g, "for (int u = 0; u < %d; u++) {", a->rows);
    line(g, "float most = %s, sum = 0;", "s[u][0]");
    for (int v = 1; v < TILE; v++) line(g, "most = max_f(most, s[u][%d]);", v);
    half_warp(g, REDUCE_MAX, "most");
    line(g, "most = max_f(top[u], most);");
    line(g, "const float less = most == -INFINITY ? 1 : expf(top[u] - most);");
    line(g, "UNROLL");
    line(g, "for (int v = 0; v < %d; v++) {", TILE);
    line(g, "const float p = most == -INFINITY ? 0 : expf(s[u][v] - most);");
    line(g, "ps[ty + %d * u][tx + %d * v] = p;", SIDE, SIDE);
    line(g, "sum += p;");
    line(g, "}");
    half_warp(g, REDUCE_SUM, "sum");
    line(g, "all[u] = all[u] * less + sum;");
    line(g, "top[u] = most;");
    line(g, "UNROLL");
    line(g, "for (int w = 0; w < %d; w++) acc[u][w] *= less;", columns);
    line(g, "}");
}
static void value_lines(Gen *g, const Attention *a, int columns) {
    line(g, "for (int k0 = 0; k0 < %d; k0 += %d) {", BLOCK, SIDE);
    line(g, "for (int k = (int)threadIdx.x; k < %lld; k += %d) {", (long long)(SIDE * a->e),
         THREADS);
    line(g, "const int t = k / %lld;", (long long)a->e);
    line(g, "const place_t n = k %% %lld, j = first + k0 + t;", (long long)a->e);
    line(g, "vs[t][n] = j < %lld ? %s : 0;", (long long)a->total,
         now_or_past(g, a, ATTENTION_V, ATTENTION_PAST_VALUE, "of"));
    line(g, "}");
    line(g, "SYNC();");
    line(g, "UNROLL");
    line(g, "for (int t = 0; t < %d; t++) {", SIDE);
    line(g, "UNROLL");
    line(g, "for (int u = 0; u < %d; u++) {", a->rows);
    line(g, "const float p = ps[ty + %d * u][k0 + t];", SIDE);
    line(g, "UNROLL");
    line(g, "for (int w = 0; w < %d; w++) acc[u][w] += p * vs[t][tx + %d * w];", columns, SIDE);
    line(g, "}");
    line(g, "}");
    line(g, "SYNC();");
    line(g, "}");
}

/* ---- The whole kernel. */
static Attention attention_of(const Step *s, int variant) {
    Attention a = sizes_of(s);
    const bool few = a.queries <= SIDE, wide = a.e > TILE_VALUES;
    a.rows = few || variant ? 1 : wide ? TILE / 2 : TILE;
    a.shown = (int)s->param[ATTENTION_SHOWN];
    return a;
}
static void start_lines(Gen *g, const Attention *a, int columns) {
    const View *n = &g->step->view[ATTENTION_LENGTHS];
    const int size = SIDE * a->rows;
    const int64_t blocks = (a->queries + size - 1) / size;
    const bool past = given(a->step, ATTENTION_PAST_KEY),
               some = !past && given(a->step, ATTENTION_LENGTHS);
    g->out->block = THREADS;
    g->out->grid = (unsigned)(blocks * a->heads * a->batch);
    line(g, "SHARED float qs[%d][%d], ks[%d][%d];", SIDE, size + 1, SIDE, BLOCK + 1);
    line(g, "SHARED float ps[%d][%d], vs[%d][%d];", size, BLOCK + 1, SIDE, SIDE * columns + 1);
    line(g, "const place_t tx = threadIdx.x %% %d, ty = threadIdx.x / %d;", SIDE, SIDE);
    if (wanted(a->step, ATTENTION_PRESENT_KEY))
        present_lines(g, a, ATTENTION_PRESENT_KEY, ATTENTION_K, ATTENTION_PAST_KEY);
    if (wanted(a->step, ATTENTION_PRESENT_VALUE))
        present_lines(g, a, ATTENTION_PRESENT_VALUE, ATTENTION_V, ATTENTION_PAST_VALUE);
    line(g, "count_t q = blockIdx.x;");
    line(g, "const place_t row0 = (place_t)(q %% %lluu) * %d; q /= %lluu;",
         (unsigned long long)blocks, size, (unsigned long long)blocks);
    line(g, "const place_t h = (place_t)(q %% %lluu), b = (place_t)(q / %lluu);",
         (unsigned long long)a->heads, (unsigned long long)a->heads);
    line(g, "const place_t of = h / %lld;", (long long)(a->heads / a->groups));
    if (given(a->step, ATTENTION_LENGTHS))
        line(g, "const i64 length = min_i(max_i(%s, 0), %lldLL);",
             element(g, ATTENTION_LENGTHS, say(g, "(place_t)%lld*b", (long long)n->stride[0]), 'i'),
             (long long)a->total);
    line(g, "const i64 offset = %s;",
         past   ? say(g, "%lldLL", (long long)a->before)
         : some ? say(g, "length - %lldLL", (long long)a->queries)
                : "0");
    line(g, "float top[%d], all[%d], acc[%d][%d];", a->rows, a->rows, a->rows, columns);
    line(g, "for (int u = 0; u < %d; u++) {", a->rows);
    line(g, "top[u] = -INFINITY, all[u] = 0;");
    line(g, "for (int w = 0; w < %d; w++) acc[u][w] = 0;", columns);
    line(g, "}");
}
static void block_open(Gen *g, const Attention *a) {
    line(g, "for (place_t first = 0; first < %lld; first += %d) {", (long long)a->total, BLOCK);
    score_lines(g, a);
    bias_lines(g, a);
}
static void weight_lines(Gen *g, const Attention *a) {
    block_open(g, a);
    line(g, "for (int u = 0; u < %d; u++) {", a->rows);
    line(g, "for (int v = 0; v < %d; v++) {", TILE);
    line(g, "const place_t i = row0 + ty + %d * u, j = first + tx + %d * v;", SIDE, SIDE);
    line(g, "const int inside = i < %lld && j < %lld;", (long long)a->queries, (long long)a->total);
    show(g, a, SHOW_WEIGHTS, "top[u] == -INFINITY ? 0 : expf(s[u][v] - top[u]) / all[u]");
    line(g, "}");
    line(g, "}");
    line(g, "}");
}
static void result_lines(Gen *g, const Attention *a, int columns) {
    static const char *const result[] = {[UNSEEN_ZERO] = "all[u] == 0 ? 0 : acc[u][w] / all[u]",
                                         [UNSEEN_DIVIDED] = "acc[u][w] / all[u]",
                                         [UNSEEN_MENDED] = "all[u] > 0 ? acc[u][w] / all[u] : 0"};
    const char *const index[] = {"b", "h", "i", "n"};
    line(g, "UNROLL");
    line(g, "for (int u = 0; u < %d; u++) {", a->rows);
    line(g, "UNROLL");
    line(g, "for (int w = 0; w < %d; w++) {", columns);
    line(g, "const place_t i = row0 + ty + %d * u, n = tx + %d * w;", SIDE, SIDE);
    line(g, "if (i < %lld && n < %lld) v%d[%s] = %s;", (long long)a->queries, (long long)a->e,
         ATTENTION_Y, spot(g, ATTENTION_Y, a->e, index), result[a->unseen]);
    line(g, "}");
    line(g, "}");
}
void attention_write(Gen *g, int variant) {
    const Attention a = attention_of(g->step, variant);
    const int columns = (int)((a.e + SIDE - 1) / SIDE);
    start_lines(g, &a, columns);
    block_open(g, &a);
    softmax_lines(g, &a, columns);
    value_lines(g, &a, columns);
    line(g, "}");
    if (a.shown == SHOW_WEIGHTS && wanted(a.step, ATTENTION_SCORES)) weight_lines(g, &a);
    result_lines(g, &a, columns);
}
