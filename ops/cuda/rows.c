/* rows.c -- writes kernels for reductions and softmax. A row is what one element of a reduction, or
   one line of a softmax, reads. It is computed by one thread, by a warp that exchanges registers,
   or by a thread block through shared memory. The order in which partial sums are added depends
   only on the sizes, so that the bytes are the same every time. */
#include "ops/cuda/generate.h"

static int64_t row_length(const Step *s) {
    const View *x = &s->view[1];
    return dims_product(x, s->kind == S_SOFTMAX ? x->rank - 1 : s->view[0].rank, x->rank);
}
/* Whether neighbouring rows are contiguous while the elements of one row are not. */
static bool rows_abreast(const Step *s) {
    const View *x = &s->view[1];
    const int from = s->kind == S_SOFTMAX ? x->rank - 1 : s->view[0].rank;
    bool abreast = false;
    for (int a = 0; a < x->rank; a++) {
        const bool contiguous = x->stride[a] == 1 && x->dim[a] > 1;
        if (contiguous && a >= from) return false;
        abreast = abreast || (contiguous && x->dim[a] >= WARP);
    }
    return abreast;
}
static Team likely(const Step *s) {
    const int64_t n = row_length(s);
    return n <= 8 || rows_abreast(s) ? BY_THREAD : n <= 1024 ? BY_WARP : BY_BLOCK;
}
int rows_variants(const Step *s) {
    (void)s;
    return TEAMS;
}

/* ---- One combination of a reduction, and its start value. */
const char *team_fold(Gen *g, ReduceKind kind, char class, const char *a, const char *b) {
    switch (kind) {
    case REDUCE_MAX: return say(g, "max_%c(%s, %s)", class, a, b);
    case REDUCE_MIN: return say(g, "min_%c(%s, %s)", class, a, b);
    case REDUCE_PROD: return say(g, "%s * %s", a, b);
    default: return say(g, "%s + %s", a, b);
    }
}
const char *team_start(ReduceKind kind, char class) {
    const bool real = class_real(class), natural = class == 'u';
    switch (kind) {
    case REDUCE_MAX: return real ? "-INFINITY" : natural ? "0" : "-9223372036854775807LL - 1";
    case REDUCE_MIN: return real ? "INFINITY" : natural ? "~0ULL" : "9223372036854775807LL";
    case REDUCE_PROD: return "1";
    default: return "0";
    }
}

/* ---- teams */
void team_rows(Gen *g, Team team, int64_t rows) {
    static const int members[] = {1, WARP, THREADS};
    const int each = THREADS / members[team];
    const int64_t blocks = (rows + each - 1) / each;
    g->out->block = THREADS;
    g->out->grid = (unsigned)(blocks < 1 << 20 ? blocks : 1 << 20);
    line(g, "const place_t me = threadIdx.x %% %du;", members[team]);
    line(g, "for (count_t turn = blockIdx.x; turn < %lluu; turn += gridDim.x) {",
         (unsigned long long)blocks);
    line(g, "const count_t row = turn * %du + threadIdx.x / %du;", each, members[team]);
    line(g, "if (row < %lluu) {", (unsigned long long)rows);
}
int team_members(Team team) { return team == BY_THREAD ? 1 : team == BY_WARP ? WARP : THREADS; }

void team_combine(Gen *g, Team team, ReduceKind kind, char class, const char *value) {
    if (team == BY_THREAD) return;
    for (int d = WARP / 2; d; d /= 2)
        line(g, "%s = %s;", value,
             team_fold(g, kind, class, value, say(g, "SHUFFLE(%s, %d)", value, d)));
    if (team == BY_WARP) return;
    line(g, "if (me %% %d == 0) part[me / %d] = %s;", WARP, WARP, value);
    line(g, "SYNC();");
    line(g, "%s = part[0];", value);
    for (int w = 1; w < THREADS / WARP; w++)
        line(g, "%s = %s;", value, team_fold(g, kind, class, value, say(g, "part[%d]", w)));
    line(g, "SYNC();");
}
void team_shared(Gen *g, Team team, char class) {
    if (team == BY_BLOCK) line(g, "SHARED %s part[%d];", class_name(class), THREADS / WARP);
}

/* ---- reduce */
static const char *row_element(Gen *g, char class) {
    const View *x = &g->step->view[1];
    const int from = g->step->view[0].rank;
    const char *at = place_of(g, 1, from, "");
    line(g, "count_t r = j;");
    for (int a = x->rank - 1; a >= from; a--) {
        if (x->dim[a] == 1) continue;
        line(g, "const place_t j%d = (place_t)(r %% %lluu); r /= %lluu;", a,
             (unsigned long long)x->dim[a], (unsigned long long)x->dim[a]);
        if (x->stride[a]) at = say(g, "%s + (place_t)%lld*j%d", at, (long long)x->stride[a], a);
    }
    return element(g, 1, at, class);
}
/* Products of floats are computed in double, since partial products may overflow where the whole
   product does not. */
static char reduce_class(const Step *s) {
    const char class = sum_class(s, 1);
    return class == 'f' && s->param[REDUCE_KIND] == REDUCE_PROD ? 'd' : class;
}
static void reduce_write(Gen *g, Team team) {
    const View *y = &g->step->view[0];
    const ReduceKind kind = (ReduceKind)g->step->param[REDUCE_KIND];
    const char class = reduce_class(g->step), *T = class_name(class);
    const long long n = (long long)row_length(g->step);
    team_shared(g, team, class);
    team_rows(g, team, dims_product(y, 0, y->rank));
    index_lines(g, "row", y->rank);
    line(g, "%s acc = %s;", T, team_start(kind, class));
    line(g, "for (count_t j = (count_t)me; j < %lldu; j += %du) {", n, team_members(team));
    const char *e = row_element(g, class);
    line(g, "const %s e = %s;", T, e);
    e = kind == REDUCE_SQUARES ? "(e * e)" : kind == REDUCE_MAGNITUDES ? "(e < 0 ? -e : e)" : "e";
    line(g, "acc = %s;", team_fold(g, kind, class, "acc", e));
    line(g, "}");
    team_combine(g, team, kind, class, "acc");
    if (kind == REDUCE_MEAN) line(g, "acc = acc / (%s)%lld;", T, class_real(class) || n ? n : 1);
    line(g, "if (me == 0) {");
    program_lines(g, "acc", class);
    line(g, "}");
    line(g, "}");
    line(g, "}");
}

/* ---- softmax: three passes over the row, for the maximum, the sum of the exponentials, and the
   quotients. */
static void softmax_write(Gen *g, Team team) {
    const View *y = &g->step->view[0], *x = &g->step->view[1];
    const int last = x->rank - 1;
    const char class = class_with('i', x->dtype), *T = class_name(class),
               *f = class == 'f' ? "f" : "";
    const char *j = say(g, "(place_t)%lld*j", (long long)x->stride[last]);
    const char *e = element(g, 1, place_of(g, 1, last, j), class);
    const char *to = place_of(g, 0, last, say(g, "(place_t)%lld*j", (long long)y->stride[last]));
    const char *loop = say(g, "for (place_t j = me; j < %lld; j += %d)", (long long)x->dim[last],
                           team_members(team));
    team_shared(g, team, class);
    team_rows(g, team, dims_product(y, 0, last));
    index_lines(g, "row", last);
    line(g, "%s top = -INFINITY, sum = 0;", T);
    line(g, "%s top = %s;", loop, team_fold(g, REDUCE_MAX, class, "top", e));
    team_combine(g, team, REDUCE_MAX, class, "top");
    line(g, "%s sum += exp%s(%s - top);", loop, f, e);
    team_combine(g, team, REDUCE_SUM, class, "sum");
    line(g, "%s {", loop);
    element_store(g, to, say(g, "(exp%s(%s - top) / sum)", f, e), class);
    line(g, "}");
    line(g, "}");
    line(g, "}");
}

void rows_write(Gen *g, int variant) {
    const Team team = (Team)((variant + (int)likely(g->step)) % TEAMS);
    if (g->step->kind == S_SOFTMAX) softmax_write(g, team);
    else reduce_write(g, team);
}
