/* match.c -- finds matches by backtracking over goals, pairs of a pattern value and a graph value.
   Meeting a goal means binding a rule input, or comparing operators and attributes and adding goals
   for the inputs. Commutative operators are tried in both orders. In an e-graph a value represents
   its class, and every member of the class is tried. */
#include "rules/match_inner.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

static void index_nodes(Matcher *m) {
    World *w = m->w;
    Arena *a = m->arena;
    m->first = ARENA_NEW(a, int, op_count() + 1);
    m->count = ARENA_NEW(a, int, op_count());
    m->nodes = ARENA_NEW(a, NodeId, m->live.n);
    for (int k = 0; k < m->live.n; k++) m->count[node_get(w, m->live.v[k]).op_index]++;
    for (int o = 0; o < op_count(); o++) m->first[o + 1] = m->first[o] + m->count[o];
    memset(m->count, 0, sizeof *m->count * (size_t)op_count());
    for (int k = 0; k < m->live.n; k++) {
        int o = node_get(w, m->live.v[k]).op_index;
        m->nodes[m->first[o] + m->count[o]++] = m->live.v[k];
    }
}

Matcher *matcher_new(World *w, Arena *a, const Graph *g, Facts *facts) {
    Matcher *m = ARENA_NEW(a, Matcher, 1);
    *m = (Matcher){.w = w, .arena = a, .facts = facts, .live = graph_live(w, a, g)};
    m->uses = graph_uses(w, a, g, m->live);
    index_nodes(m);
    return m;
}

Uses matcher_uses(const Matcher *m) { return m->uses; }

Matcher *matcher_new_classes(World *w, Arena *a, const MatchClasses *c, Facts *facts) {
    Matcher *m = ARENA_NEW(a, Matcher, 1);
    *m = (Matcher){.w = w, .arena = a, .facts = facts, .live = c->nodes, .classes = *c};
    index_nodes(m);
    return m;
}

/* The representative of a value's class, and the next member. In a graph, every value is a class of
   its own. */
static Value value_class(const Matcher *m, Value v) {
    return m->classes.root ? m->classes.root[v] : v;
}
static Value next_member(const Matcher *m, Value v) {
    return m->classes.next ? m->classes.next[v] : v;
}

static Value bound_value(const MatchState *s, Value pattern) {
    for (int k = 0; k < s->nbound; k++)
        if (s->bound[k].pattern == pattern) return s->bound[k].value;
    return 0;
}

/* ---- goals */

static bool match_type(MatchState *s, const Type *pattern, const Type *value) {
    if (!value->known || value->dtype != pattern->dtype || value->dim.n != pattern->dim.n)
        return false;
    for (int k = 0; k < value->dim.n; k++)
        if (!match_equate(s, pattern->dim.v[k], value->dim.v[k])) return false;
    return true;
}

/* Matches a number in the attributes of a node with results of this type. The value of a fill or of
   a padding and the bounds of a clip are elements of that type. Any other number is held as a float
   whatever type is computed with; in double precision it therefore is the rounded number, not the
   decimal that it was read as. */
static bool match_real(MatchState *s, const AttrDef *def, DType type, Ex pattern, Ex value) {
    double x;
    if (def->element) return match_bind_real(s, pattern, value, type);
    if (type != DT_DOUBLE || !ex_number(s->m->w, value, &x))
        return match_bind_real(s, pattern, value, DT_FLOAT);
    return match_bind_real(s, pattern, ex_real(s->m->w, (double)(float)x), DT_DOUBLE);
}

static bool match_attrs(MatchState *s, const Node *pattern, const Node *value) {
    Attr p[ATTRS_MAX], v[ATTRS_MAX];
    sig_attr(s->m->w, pattern->sig, p);
    sig_attr(s->m->w, value->sig, v);
    const DType type = value_type(s->m->w, value->out)->dtype;
    for (int k = 0; k < attrs_count(pattern->op->attrs); k++) {
        const AttrDef *def = &pattern->op->attrs[k];
        if (def->kind == A_INT || def->kind == A_INTS) {
            if (p[k].ints.n != v[k].ints.n) return false;
            for (int j = 0; j < p[k].ints.n; j++)
                if (!match_equate(s, p[k].ints.v[j], v[k].ints.v[j])) return false;
        } else if (def->kind == A_REAL) {
            if (!match_real(s, def, type, p[k].real, v[k].real)) return false;
        } else if (!attr_equal(def, &p[k], &v[k])) return false;
    }
    return true;
}

/* Sets *out to the number that all elements of a constant equal: floats, integers or truth values.
   Returns false if they differ or are no such number. */
static bool fill_number(const Type *t, const void *bytes, int64_t count, double *out) {
    const int bits = dtype_bits(t->dtype);
    const bool whole = t->dtype == DT_BOOL || (dtype_is_integer(t->dtype) && bits >= 8);
    const bool real = dtype_class(t->dtype) == 'F' && bits >= 16;
    return count >= 1 && (real || whole) && elements_same(t->dtype, bytes, count) &&
           element_exact(t->dtype, bytes, 0, out) && isfinite(*out);
}
/* Matches a constant of the graph whose elements are all equal where the rule has `fill`. */
static bool match_fill(MatchState *s, const Node *fill, Value value) {
    Type t;
    const void *bytes;
    int64_t count;
    double x;
    if (!constant_get(s->m->w, value, &t, &bytes) ||
        !poly_constant(s->m->w, type_count(s->m->w, &t), &count) ||
        !fill_number(&t, bytes, count, &x))
        return false;
    Attr p[ATTRS_MAX];
    int a = attrs_find(fill->op->attrs, "value");
    sig_attr(s->m->w, fill->sig, p);
    return match_type(s, value_type(s->m->w, fill->out), &t) &&
           match_bind_real(s, p[a].real, ex_real(s->m->w, x), t.dtype);
}

/* Whether sums and differences of a few such numbers cannot overflow. */
static bool is_moderate(int64_t v) {
    const int64_t most = INT64_C(1) << 40;
    return v >= -most && v <= most;
}

/* Sets *start and step[] so that the element at i0, i1, .. is *start + step[0] i0 + .., with step 0
   along axes of size 1. Returns false if the numbers are no such progression, or so large that a
   sum could overflow. */
static bool ramp_steps(int rank, const int64_t dim[], const int64_t v[], int64_t n, int64_t *start,
                       int64_t step[]) {
    int64_t apart = 1, at[RANK_MAX] = {0}, expected = *start = v[0];
    for (int k = rank - 1; k >= 0; k--, apart *= dim[k + 1]) {
        if (!is_moderate(v[0]) || (dim[k] > 1 && !is_moderate(v[apart]))) return false;
        step[k] = dim[k] > 1 ? v[apart] - v[0] : 0;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!is_moderate(expected) || v[i] != expected) return false;
        for (int k = rank - 1; k >= 0; k--) {
            expected += step[k];
            if (++at[k] < dim[k]) break;
            expected -= step[k] * dim[k], at[k] = 0;
        }
    }
    return true;
}

/* Matches a constant of the graph whose integers are in arithmetic progression along each axis
   where the rule has `ramp`. */
static bool match_ramp(MatchState *s, const Node *ramp, Value value) {
    World *w = s->m->w;
    Type t;
    const void *bytes;
    int64_t count, start, dim[RANK_MAX], step[RANK_MAX];
    if (!constant_get(w, value, &t, &bytes) || t.dtype != DT_INT64 ||
        !poly_constant(w, type_count(w, &t), &count) || count < 1)
        return false;
    for (int k = 0; k < t.dim.n; k++)
        if (!poly_constant(w, t.dim.v[k], &dim[k])) return false;
    if (!match_type(s, value_type(w, ramp->out), &t) ||
        !ramp_steps(t.dim.n, dim, bytes, count, &start, step))
        return false;
    Attr p[ATTRS_MAX];
    sig_attr(w, ramp->sig, p);
    const PolyList steps = p[attrs_find(ramp->op->attrs, "steps")].ints;
    for (int k = 0; k < t.dim.n; k++)
        if (!match_equate(s, steps.v[k], poly_int(w, step[k]))) return false;
    return match_equate(s, p[attrs_find(ramp->op->attrs, "start")].ints.v[0], poly_int(w, start));
}

/* Whether nodes of this operator say what a constant contains, so that constants match them. */
static bool says_contents(const Op *op) { return op == &op_fill || op == &op_ramp; }

/* Matches a constant of the graph with the contents that the node says. */
static bool match_contents(MatchState *s, const Node *pattern, Value value) {
    return pattern->op == &op_fill ? match_fill(s, pattern, value) : match_ramp(s, pattern, value);
}

static void bind_value(MatchState *s, Value pattern, Value value) {
    ARENA_GROW(s->arena, s->bound, s->bound_room, s->nbound + 1);
    s->bound[s->nbound++] = (Bound){pattern, value_class(s->m, value)};
}

static bool add_goal(MatchState *s, Value pattern, Value value) {
    if (!pattern || !value) return pattern == value;
    ARENA_GROW(s->arena, s->goal, s->goal_room, s->ngoal + 1);
    s->goal[s->ngoal++] = (MatchGoal){pattern, value_class(s->m, value)};
    return true;
}

static void solve_goals(MatchState *s);

static void try_inputs(MatchState *s, const Node *p, const Node *v, bool swapped) {
    MatchMark before = match_save(s);
    bool fits = true;
    for (int k = 0; fits && k < p->nin; k++)
        fits = add_goal(s, p->in[k], v->in[swapped ? p->nin - 1 - k : k]);
    if (fits) solve_goals(s);
    match_restore(s, before);
}

static void match_member(MatchState *s, Value pattern, Value value) {
    World *w = s->m->w;
    const Node p = node_get(w, pattern), v = node_get(w, value);
    if (p.op != v.op) {
        if (!says_contents(p.op) || !match_contents(s, &p, value)) return;
        bind_value(s, pattern, value);
        solve_goals(s);
        return;
    }
    if (p.nin != v.nin || p.nout != v.nout || value - v.out != pattern - p.out ||
        !match_attrs(s, &p, &v))
        return;
    for (int k = 0; k < p.nout; k++) bind_value(s, p.out + (Value)k, v.out + (Value)k);
    if (!p.nin && !match_type(s, value_type(w, pattern), value_type(w, value))) return;
    try_inputs(s, &p, &v, false);
    if (p.op->flags & OP_COMMUTATIVE && p.nin == 2 && v.in[0] != v.in[1] && !s->stop)
        try_inputs(s, &p, &v, true);
}

static void match_node(MatchState *s, Value pattern, Value value) {
    World *w = s->m->w;
    if (node_get(w, pattern).op == &op_input) {
        if (!match_type(s, value_type(w, pattern), value_type(w, value))) return;
        bind_value(s, pattern, value);
        solve_goals(s);
        return;
    }
    Value u = value;
    do {
        MatchMark before = match_save(s);
        match_member(s, pattern, u);
        match_restore(s, before);
        u = next_member(s->m, u);
    } while (u != value && !s->stop);
}

static void report_match(MatchState *s) {
    MatchMark before = match_save(s);
    const Graph *from = &s->i->from;
    Value *input = s->input, *root = s->output;
    bool whole = match_solve(s);
    for (int k = 0; whole && k < s->i->ninput; k++)
        whole = (input[k] = bound_value(s, s->i->input[k])) != 0;
    for (int k = 0; whole && k < from->nout; k++) {
        root[k] = bound_value(s, from->out[k]);
        for (int j = 0; j < k; j++)
            whole &= root[j] != root[k] || from->out[j] == from->out[k] || s->m->classes.root;
    }
    if (whole) {
        Match match = {s->i, input, root, s->symbol, s->real, s->rounds > 0};
        s->stop = !s->found(s->user, &match);
    }
    match_restore(s, before);
}

/* ---- roots */

static void try_root(MatchState *s, Value pattern, Value value) {
    MatchMark before = match_save(s);
    if (!s->m->classes.root && add_goal(s, pattern, value)) solve_goals(s);
    /* The other members of the class are in the index as nodes of their own. */
    if (s->m->classes.root) match_member(s, pattern, value);
    match_restore(s, before);
}

/* The nodes to try for the rule's node p: all of its operator or, if these are fewer, the users of
   an input that is bound. */
static const NodeId *root_candidates(const MatchState *s, const Node *p, int *n) {
    const Matcher *m = s->m;
    const NodeId *list = m->nodes + m->first[p->op_index];
    *n = m->count[p->op_index];
    for (int k = 0; k < p->nin; k++) {
        Value in = p->in[k] ? bound_value(s, p->in[k]) : 0;
        if (!in || in >= m->uses.n || m->uses.count[in] >= *n) continue;
        *n = m->uses.count[in];
        list = m->uses.user + m->uses.first[in];
    }
    return list;
}

/* All goals are met: continues with the first root that is not bound yet, or reports a match. */
static void next_root(MatchState *s) {
    World *w = s->m->w;
    const Graph *from = &s->i->from;
    const int before = s->root;
    while (s->root < from->nout && bound_value(s, from->out[s->root])) s->root++;
    if (s->root == from->nout) report_match(s);
    else {
        const Value pattern = from->out[s->root];
        const Node p = node_get(w, value_node(w, pattern));
        const NodeId only = s->at ? value_node(w, s->at[s->root]) : 0;
        int n = 1;
        const NodeId *list = only ? &only : root_candidates(s, &p, &n);
        for (int k = 0; k < n && !s->stop; k++) {
            Node v = node_get(w, list[k]);
            if (v.op == p.op && v.nout == p.nout && (k == 0 || list[k] != list[k - 1]))
                try_root(s, pattern, v.out + (pattern - p.out));
        }
    }
    s->root = before;
}

/* Takes one goal, tries every way to meet it together with the remaining ones, and puts it back. */
static void solve_goals(MatchState *s) {
    if (s->stop) return;
    if (!s->ngoal) {
        next_root(s);
        return;
    }
    MatchGoal g = s->goal[--s->ngoal];
    Value bound = bound_value(s, g.pattern);
    MatchMark before = match_save(s);
    if (bound) {
        if (bound == g.value) solve_goals(s);
    } else match_node(s, g.pattern, g.value);
    match_restore(s, before);
    s->goal[s->ngoal++] = g;
}

void matcher_run_at(Matcher *m, const Instance *i, const Value root[], MatchFound found,
                    void *user) {
    Arena *a = m->w->scratch;
    ArenaMark mark = arena_mark(a);
    MatchState s = {.m = m, .i = i, .found = found, .user = user, .at = root, .arena = a};
    s.symbol = ARENA_NEW(a, Poly, i->nsymbol);
    s.is_bound = ARENA_NEW(a, bool, i->nsymbol);
    s.real = ARENA_NEW(a, Ex, i->nreal);
    s.trail = ARENA_NEW(a, int, i->nsymbol + i->nreal);
    s.from = ARENA_NEW(a, Symbol, i->nsymbol);
    s.to = ARENA_NEW(a, Poly, i->nsymbol);
    s.input = ARENA_NEW(a, Value, i->ninput);
    s.output = ARENA_NEW(a, Value, i->from.nout);
    solve_goals(&s);
    arena_reset(a, mark);
}

void matcher_run(Matcher *m, const Instance *i, MatchFound found, void *user) {
    matcher_run_at(m, i, NULL, found, user);
}

/* An operator that constants match, too, is not needed. */
OpList instance_needs(World *w, Arena *a, const Instance *i) {
    const NodeList live = graph_live(w, a, &i->from);
    int *v = ARENA_NEW(a, int, live.n), n = 0;
    for (int k = 0; k < live.n; k++) {
        const Node node = node_get(w, live.v[k]);
        bool known = input_name(w, live.v[k]) || says_contents(node.op);
        for (int j = 0; j < n && !known; j++) known = v[j] == node.op_index;
        if (!known) v[n++] = node.op_index;
    }
    return (OpList){n, v};
}

bool matcher_has(const Matcher *m, OpList needs) {
    for (int k = 0; k < needs.n; k++)
        if (!m->count[needs.v[k]]) return false;
    return true;
}

Match match_keep(Arena *a, const Match *m) {
    const Instance *i = m->instance;
    return (Match){.instance = i,
                   .input = arena_copy(a, m->input, sizeof *m->input * (size_t)i->ninput),
                   .root = arena_copy(a, m->root, sizeof *m->root * (size_t)i->from.nout),
                   .symbol = arena_copy(a, m->symbol, sizeof *m->symbol * (size_t)i->nsymbol),
                   .real = arena_copy(a, m->real, sizeof *m->real * (size_t)i->nreal),
                   .rounds = m->rounds};
}
