/* stage2.c -- tries a lifted rule at random sizes, the second stage proper.

   Programs of operators at fixed sizes are kept across candidates, since sizes are few and
   small. */
#include "generator/lift_inner.h"
#include "generator/values.h"
#include "graphs/needs.h"
#include "ops/base/random.h"
#include <math.h>
#include <string.h>

enum { TRIES = 240, TRIES_LARGE = 160, TRIES_ZERO = 12, SAMPLES_ZERO = 2, SMALL = 600, FEW = 4 };
typedef struct StageSample {
    Lift *l;
    Sizes sizes;
    int64_t *value;
    Lanes **tensor; /* values of the graph, by Value; count: their numbers of elements */
    int64_t *count;
    uint64_t seed;
    bool boundary; /* inputs are small multiples of 1/2, including 0 and 1 */
} StageSample;

/* ---- programs */

static void key_number(Text *t, int64_t v) { text_bytes(t, (const char *)&v, sizeof v); }

static bool key_poly(StageSample *s, Text *t, Poly p) {
    int64_t v;
    if (!poly_eval(s->l->w, p, s->sizes, &v)) return false;
    key_number(t, v);
    return true;
}

/* Makes the key of a program: operator, port, and attributes and sizes as numbers. */
static bool program_key(StageSample *s, const Node *node, int port, Text *t) {
    World *w = s->l->w;
    Attr attr[ATTRS_MAX];
    const SigInfo *i = sig_info(w, node->sig);
    key_number(t, node->op_index * 64 + port * 16 + node->nin);
    sig_attr(w, node->sig, attr);
    for (int k = 0; k < attrs_count(node->op->attrs); k++) {
        key_number(t, attr[k].ints.n * 65536 + attr[k].enum_value);
        for (int j = 0; j < attr[k].ints.n; j++)
            if (!key_poly(s, t, attr[k].ints.v[j])) return false;
        if (attr[k].real) ex_print(w, attr[k].real, t);
    }
    for (int k = 0; k < i->nin; k++) {
        if (!i->in[k]) continue;
        const Type *x = type_get(w, i->in[k]);
        key_number(t, x->dim.n);
        for (int d = 0; d < x->dim.n; d++)
            if (!key_poly(s, t, x->dim.v[d])) return false;
    }
    return true;
}

static Program *program_at(StageSample *s, const Node *node, int port) {
    Lift *l = s->l;
    Text t = text_new(l->arena);
    if (!program_key(s, node, port, &t)) return NULL;
    uint32_t old = intern_count(l->seen), id = intern_put(l->seen, t.data, t.size);
    if ((int)id >= l->program_room) {
        Program **more = ARENA_NEW(l->programs, Program *, l->program_room = 2 * (int)id + 1024);
        if (l->program) memcpy(more, l->program, (size_t)id * sizeof *more);
        l->program = more;
    }
    if (id > old) l->program[id] = program_new(l->w, l->programs, node->sig, port, s->sizes);
    return l->program[id];
}

/* ---- sizes */

static void collect_poly(Lift *l, Poly p, int *n, Symbol out[]) {
    Monomial m;
    for (PolyScan s = poly_scan(l->w, p); poly_next(&s, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            SymbolDef d = symbol_def(l->w, m.symbol[k]);
            for (uint32_t a = 0; a < d.narg; a++) collect_poly(l, d.arg[a], n, out);
            int j = 0;
            while (j < *n && out[j] != m.symbol[k]) j++;
            if (j == *n && d.kind == SYM_NAMED && *n < LIFT_SYMBOLS) out[(*n)++] = m.symbol[k];
        }
}
/* The symbols in the types of inputs and in attributes. With `named`, only those that the text of
   the rule names; the text writes a free list as one name. */
static int collect_symbols(Lift *l, const Graph *g, NodeList live, bool named, Symbol out[]) {
    int n = 0;
    Attr attr[ATTRS_MAX];
    for (int k = 0; k < g->nin; k++)
        for (int d = 0; d < value_type(l->w, g->in[k])->dim.n; d++)
            collect_poly(l, value_type(l->w, g->in[k])->dim.v[d], &n, out);
    for (int k = 0; k < live.n; k++) {
        Node node = node_get(l->w, live.v[k]);
        if (input_name(l->w, node.out)) continue;
        sig_attr(l->w, node.sig, attr);
        for (int a = 0; a < attrs_count(node.op->attrs); a++) {
            const bool list = node.op->attrs[a].kind == A_INTS;
            if (named && list && lift_free_list(l, &attr[a].ints)) continue;
            for (int j = 0; j < attr[a].ints.n; j++) collect_poly(l, attr[a].ints.v[j], &n, out);
        }
    }
    return n;
}

static bool needs_hold(StageSample *s, LitList needs) {
    return lits_hold(s->l->w, needs.n, needs.v, s->sizes);
}

static bool sizes_fit(StageSample *s, NodeList live) {
    World *w = s->l->w;
    int64_t d, total = 0;
    for (int k = 0; k < live.n; k++) {
        Node node = node_get(w, live.v[k]);
        for (Value v = node.out; v < node.out + (Value)node.nout; v++) {
            const Type *t = value_type(w, v);
            int64_t n = 1;
            for (int a = 0; a < t->dim.n; a++) {
                if (!poly_eval(w, t->dim.v[a], s->sizes, &d) || d < 0 || d > 64) return false;
                n *= d;
            }
            s->count[v] = n;
            total += n;
        }
    }
    return total <= SMALL;
}

/* ---- values */

static bool sample_node(StageSample *s, NodeId id) {
    Lift *l = s->l;
    Node node = node_get(l->w, id);
    const Lanes *in[PROGRAM_INPUTS] = {0};
    for (int k = 0; k < node.nin && k < PROGRAM_INPUTS; k++)
        in[k] = !node.in[k] ? NULL : s->tensor[node.in[k]];
    for (int p = 0; p < node.nout; p++) {
        Value v = node.out + (Value)p;
        s->tensor[v] = arena_alloc_raw(l->arena, (size_t)s->count[v] * sizeof(Lanes));
        if (input_name(l->w, v)) {
            lanes_draw_type(s->tensor[v], (int)s->count[v], random_at(s->seed, v),
                            value_type(l->w, v)->dtype, s->boundary, l->reach);
            continue;
        }
        const Program *program = program_at(s, &node, p);
        if (!program) return false;
        Lanes *temp = arena_alloc_raw(l->arena, (size_t)program->ntemp * sizeof *temp);
        l->run.run(program, in, temp, s->tensor[v]);
    }
    return true;
}

/* Whether two values are near each other as doubles, which those with equal residues must be:
   exp(1) has a residue although it is not rational. */
static bool near(const Lanes *a, const Lanes *b) {
    for (int l = 0; l < LANES; l++) {
        double x = a->order[l], y = b->order[l];
        if (isfinite(x) && isfinite(y) && fabs(x - y) > 1e-5 * (1 + fabs(x) + fabs(y)))
            return false;
    }
    return true;
}
/* With one_way, b may be known where a is not. */
static bool same_residues(const StageSample *s, const Lanes *a, const Lanes *b) {
    for (int l = 0; l < LANES; l++)
        if (a->p[l] != b->p[l] && !(s->l->one_way && a->p[l] == RESIDUE_NONE)) return false;
    return true;
}
static bool agree(const StageSample *s, Value a, Value b) {
    if (s->count[a] != s->count[b]) return false;
    for (int64_t k = 0; k < s->count[a]; k++)
        if (!same_residues(s, &s->tensor[a][k], &s->tensor[b][k]) ||
            !near(&s->tensor[a][k], &s->tensor[b][k]))
            return false;
    return true;
}

/* Draws sizes in one of three ways in turn: all small; about half of them 1; few of them larger, so
   that windows fit and there are several groups. */
static void draw_sample_sizes(StageSample *s, int n, const Symbol symbol[], int try) {
    for (int k = 0; k < n; k++) {
        uint64_t r = random_at(s->seed, (uint64_t)k) >> 8;
        bool one = try % 3 == 1 ? r & 64 : try % 3 == 2 && (r & 96);
        s->value[symbol[k]] = one       ? 1
                              : try % 3 ? 2 + (int64_t)(r >> 8) % (try % 3 == 1 ? 2 : 4)
                                        : 1 + (int64_t)(r >> 8) % 3;
    }
}

/* Compares both sides at the current sizes and points. */
static LiftResult try_here(StageSample *s, const Graph *g, NodeList live, LitList needs) {
    if (!needs_hold(s, needs) || !sizes_fit(s, live)) return LIFT_UNTRIED;
    for (int k = 0; k < live.n; k++)
        if (!sample_node(s, live.v[k])) return LIFT_UNTRIED;
    for (int k = 0; k < g->nout; k++)
        if (!lanes_known(s->tensor[g->out[k]], (int)s->count[g->out[k]])) return LIFT_UNTRIED;
    for (int k = 0; k < g->nout / 2; k++)
        if (!agree(s, g->out[k], g->out[k + g->nout / 2])) return LIFT_FALSE;
    return LIFT_TRUE;
}

/* The rule to try: both sides in one graph, its live nodes and needs, and the sizes to draw. */
typedef struct Lifted {
    const Graph *g;
    NodeList live;
    LitList needs;
    int n;
    const Symbol *symbol;
} Lifted;

/* Tries sizes other than 0 until `samples` tries succeeded and each size was more than 1 at least
   once, within limits on the number of tries. */
static LiftResult try_sizes(StageSample *s, const Lifted *x, int samples) {
    const int n = x->n;
    uint64_t many = 0, all = n < 64 ? (1ull << n) - 1 : ~0ull;
    int done = 0;
    for (int try = 0; try < TRIES && (done < samples || (many != all && try < TRIES_LARGE));
         try++) {
        s->seed = random_at(s->l->draw, (uint64_t)try);
        s->boundary = try % 4 == 3;
        draw_sample_sizes(s, x->n, x->symbol, try);
        LiftResult r = try_here(s, x->g, x->live, x->needs);
        if (r == LIFT_FALSE) return r;
        if (r == LIFT_UNTRIED) continue;
        done++;
        for (int k = 0; k < n && k < 64; k++) many |= (uint64_t)(s->value[x->symbol[k]] > 1) << k;
    }
    return done ? LIFT_TRUE : LIFT_UNTRIED;
}

/* Tries with the sizes of the set `zero` at 0 and the others not. Returns false if the rule is
   false there; sets *any if anything could be tried. */
static bool try_zero(StageSample *s, const Lifted *x, uint64_t zero, uint64_t at, bool *any) {
    for (int try = 0, done = 0; try < TRIES_ZERO && done < SAMPLES_ZERO; try++) {
        s->seed = random_at(s->l->draw, TRIES + at * TRIES_ZERO + (uint64_t)try);
        draw_sample_sizes(s, x->n, x->symbol, try);
        for (int k = 0; k < x->n && k < 64; k++)
            if (zero >> k & 1) s->value[x->symbol[k]] = 0;
        LiftResult r = try_here(s, x->g, x->live, x->needs);
        if (r == LIFT_FALSE) return false;
        done += r == LIFT_TRUE;
        *any |= r == LIFT_TRUE;
    }
    return true;
}

/* The next larger bit mask with the same number of bits. */
static uint64_t next_set(uint64_t set) {
    uint64_t least = set & -set, ripple = set + least;
    return ripple | ((set ^ ripple) >> 2) / least;
}

static Poly sum_of(World *w, const Symbol symbol[], uint64_t set) {
    Poly sum = 0;
    for (int k = 0; set >> k; k++)
        if (set >> k & 1) sum = poly_add(w, sum, poly_symbol(w, symbol[k]));
    return sum;
}

/* Whether the text of the rule names all symbols of the set. */
static bool text_names(Lift *l, const Lifted *x, uint64_t set) {
    Symbol named[LIFT_SYMBOLS];
    const int n = collect_symbols(l, x->g, x->live, true, named);
    for (int k = 0; set >> k; k++) {
        int j = 0;
        while (j < n && named[j] != x->symbol[k]) j++;
        if (set >> k & 1 && j == n) return false;
    }
    return true;
}

/* Tries each size at 0, then every two sizes, and every set of sizes if there are few. Where that
   makes the rule false, a condition is added: not all sizes of the set are 0. Returns false if a
   condition would need sizes that the text does not name, or if there are too many. Subsets are
   tried before their supersets. */
static bool try_zeros(StageSample *s, const Lifted *x, bool *any) {
    Lift *l = s->l;
    const int n = x->n;
    uint64_t positive[LIFT_POSITIVE], at = 0;
    int npositive = 0, sizes = n < 62 ? n : 62;
    s->boundary = false;
    for (int many = 1; many <= sizes && (many <= 2 || sizes <= FEW); many++)
        for (uint64_t set = (1ull << many) - 1; set < 1ull << sizes; set = next_set(set), at++) {
            bool known = false;
            for (int k = 0; k < npositive; k++) known |= (set & positive[k]) == positive[k];
            if (known || try_zero(s, x, set, at, any)) continue;
            if (l->npositive == LIFT_POSITIVE || !text_names(l, x, set)) return false;
            positive[npositive++] = set;
            l->positive[l->npositive++] = sum_of(l->w, x->symbol, set);
        }
    return true;
}

LiftResult lift_try(Lift *l, const Graph *g, int samples) {
    NodeList live = graph_live(l->w, l->arena, g);
    LitList needs = graph_needs(l->w, l->arena, g);
    Symbol symbol[LIFT_SYMBOLS];
    const int n = collect_symbols(l, g, live, false, symbol);
    const Lifted lifted = {g, live, needs, n, symbol};
    bool any = false;
    for (int k = 0; k < live.n; k++) /* definitions are made first, because they create symbols */
        for (int p = 0; p < node_get(l->w, live.v[k]).nout; p++)
            sig_define(l->w, node_get(l->w, live.v[k]).sig, p);
    uint32_t room = intern_count(l->w->table[TABLE_SYMBOL]) + 1,
             values = intern_count(l->w->table[TABLE_NODE]) * TERM_PORTS + 64;
    for (NodeId id = 1; id <= value_last(l->w); id++) values = values > id + 64 ? values : id + 64;
    StageSample s = {.l = l, .value = ARENA_NEW(l->arena, int64_t, room)};
    s.tensor = ARENA_NEW(l->arena, Lanes *, values);
    s.count = ARENA_NEW(l->arena, int64_t, values);
    s.sizes = (Sizes){room, s.value};
    for (uint32_t k = 0; k < room; k++) s.value[k] = SIZE_UNKNOWN;
    LiftResult r = try_sizes(&s, &lifted, samples);
    if (r == LIFT_FALSE || !try_zeros(&s, &lifted, &any)) return LIFT_FALSE;
    return any ? LIFT_TRUE : r;
}
