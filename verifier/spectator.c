/* spectator.c -- the spectator argument: shows that axes which an instance has in addition to those
   of a proved instance take part in nothing. An instance with longer axis blocks ("wide") is
   compared with a shorter one that was proved ("base"), definition by definition. No operator is
   known by its name, and nothing is assumed about lengths that were not compared.

   What is checked.
     - Outputs. In each pair of outputs, the wide one has the axes of the base in the same order,
       and more: the spectators, with sizes N_1, N_2, .. that are the same on both sides. Fix an
       index e_j on each spectator.
     - Values. From the outputs to the inputs, every wide value v is paired with a base value
       v', and each axis of v is of one of three kinds:
         kept   it is an axis of v' of the same size (the same polynomial), in the same order
         e_j    its size is N_j
         one    its size is the number 1.
       The slice of v has the index e_j on axes of the second kind and 0 on those of the third.
     - Trees. The definitions of v and v' must be the same if we identify the index of a kept
       axis with the index of that axis in v', the index of an axis e_j with e_j, the index of an
       axis of size 1 with 0, and bound variables of equal ranges with each other. An element
       that the tree of v reads of its k-th input u must lie in a slice of u: the index on each
       axis is e_j where the size is N_j, 0 where it is 1, and otherwise that of the kept axis.
       That slice is compared with the k-th input of v' in the same way. Conditions that say that
       e_j is in 0..N_j-1 are true and left out. So neither e_j nor the size of a spectator
       occurs in what is left, since it equals a tree without them.
     - Indices in the data. If an element is taken at an index that the data give, the operator
       checks the index. Every value of the right side of wide with such a check, and every one of
       the left side of the base, must be paired, for each output.
     - Inputs. The axes of an input of the rule must be of the same kinds wherever it is read, on
       both sides of the rule: the base has one tensor there, not two slices.
     - Sizes. What the base assumes of sizes, wide must assume, too. What the right side of wide
       needs must have been shown for the base, or be assumed by wide, literally.

   Why this suffices. Let sizes satisfy what wide assumes, let x_1, x_2, .. be its inputs and o one
   of its outputs. The kept axes of o have the sizes of the base's output; they agree on both sides
   by what was proved of the base, whose assumptions hold. The spectators agree by inspection. If
   some N_j is 0, there is no element and nothing to show. Otherwise fix e. Every axis e_j has a
   place e_j and every axis of size 1 a place 0, so each input has exactly one slice, a tensor of
   the sizes of the base's input. By induction from the inputs on, the slice of every paired v is
   the value of v' on the slices of the inputs, since their trees are the same and read the same
   elements. So at e both outputs are the base's outputs on these slices, and those are equal,
   because the base holds for all tensors. As e was arbitrary, the outputs are equal.

   An index that wide checks on its right side lies in a slice of a paired value, at an e that
   exists if the output has an element, so the base checks it, too. That this check does not fail
   follows from those that the left side of the base makes on these slices, and wide makes them all.

   The class carries over, too: for each element, wide does the operations of the base on the same
   numbers (whether or not the rule states them), and it reads the same elements of each input on
   both sides wherever the base does. */
#include "verifier/spectator.h"
#include "verifier/index_checks.h"
#include <string.h>

enum { PAIRS_MAX = 400, BOUND_MAX = 64, REALS_MAX = 128, ONE = -1 };
/* The kinds of a wide value's axes. v[k] is the number of the base axis as which axis k is kept,
   ONE, or -2 - j for e_j. */
typedef struct Axes {
    int n, v[RANK_MAX];
} Axes;
typedef struct Pair {
    Value wide, base;
    Axes axes;
} Pair;
typedef struct Spectators {
    World *w;
    Arena *arena;
    const Instance *base, *wide;
    int nsize; /* the spectators of the current output: index e[j], size size[j] */
    Symbol e[RANK_MAX];
    Poly size[RANK_MAX];
    Axes *input; /* by input: its axes; n < 0 if it was not read yet */
    int npair;
    Pair pair[PAIRS_MAX];
} Spectators;
typedef struct Renaming { /* what wide's symbols become while two trees are compared */
    Spectators *s;
    const Node *wide, *base;
    int n; /* the indices, then the variables bound at this point */
    Symbol from[BOUND_MAX];
    Poly to[BOUND_MAX];
} Renaming;

static bool is_number(const World *w, Poly p, int64_t value) {
    int64_t c;
    return poly_constant(w, p, &c) && c == value;
}

/* ---- axes */

/* Determines the kind of each axis, by sizes and by indices. Without indices (NULL) the value is an
   output, whose spectators become e_0, e_1, .. */
typedef struct Alignment {
    Spectators *s;
    const Type *wide, *base;
    const Poly *iwide, *ibase;
    Axes *out;
} Alignment;
/* The kind of an axis that is not kept; 0 if it can be none. */
static int spectator_of(const Spectators *s, Poly index, Poly size) {
    for (int j = 0; j < s->nsize; j++)
        if (index == poly_symbol(s->w, s->e[j])) return size == s->size[j] ? -2 - j : 0;
    return is_number(s->w, index, 0) && is_number(s->w, size, 1) ? ONE : 0;
}
static bool may_keep(const Alignment *a, int k, int j) {
    return j < a->base->dim.n && a->wide->dim.v[k] == a->base->dim.v[j] &&
           (!a->iwide || a->iwide[k] == a->ibase[j]);
}
/* Determines the kinds of wide's axes from k on, given that j base axes are already kept. It
   prefers to keep an axis, and backtracks. */
static bool align(const Alignment *a, int k, int j) {
    if (k == a->wide->dim.n) return j == a->base->dim.n;
    if (a->base->dim.n - j > a->wide->dim.n - k) return false;
    a->out->v[k] = j;
    if (may_keep(a, k, j) && align(a, k + 1, j + 1)) return true;
    a->out->v[k] = a->iwide ? spectator_of(a->s, a->iwide[k], a->wide->dim.v[k]) : ONE;
    return a->out->v[k] < 0 && align(a, k + 1, j);
}
/* Returns whether these are the kinds of wide's axes. */
static bool axes_match(const Alignment *a, const Axes *x) {
    int j = 0;
    if (x->n != a->wide->dim.n) return false;
    for (int k = 0; k < x->n; k++) {
        bool kept = x->v[k] >= 0;
        if (kept ? x->v[k] != j || !may_keep(a, k, j)
                 : spectator_of(a->s, a->iwide[k], a->wide->dim.v[k]) != x->v[k])
            return false;
        j += kept;
    }
    return j == a->base->dim.n;
}
static bool same_kind(const Type *x, const Type *y) {
    return x->known && y->known && x->dtype == y->dtype;
}

/* ---- trees */

static bool pair_values(Spectators *s, Value wide, Value base, const Axes *axes);
static bool same_tree(Renaming *r, Ex wide, Ex base);

static Poly renamed_poly(const Renaming *r, Poly p) {
    return poly_subst(r->s->w, p, r->n, r->from, r->to);
}
static bool is_true(const World *w, Lit l) {
    int64_t c;
    return poly_constant(w, l.p, &c) && (l.eq ? c == 0 : c >= 0);
}
/* Returns whether the literal says that some e_j is in its range. */
static bool is_range(const Spectators *s, Lit l) {
    for (int j = 0; j < s->nsize && !l.eq; j++) {
        Poly e = poly_symbol(s->w, s->e[j]);
        if (l.p == e || l.p == poly_sub(s->w, poly_sub(s->w, s->size[j], poly_int(s->w, 1)), e))
            return true;
    }
    return false;
}
/* Returns whether the conditions are the same, in the same order, except for those that are true
   and ranges of spectators. */
static bool same_conditions(const Renaming *r, const Cond *wide, const Cond *base) {
    const World *w = r->s->w;
    int j = 0;
    for (int k = 0; k < wide->n; k++) {
        Lit l = {renamed_poly(r, wide->v[k].p), wide->v[k].eq};
        if (is_true(w, l) || is_range(r->s, l)) continue;
        while (j < base->n && is_true(w, base->v[j])) j++;
        if (j == base->n || base->v[j].p != l.p || base->v[j].eq != l.eq) return false;
        j++;
    }
    while (j < base->n && is_true(w, base->v[j])) j++;
    return j == base->n;
}
static bool same_element(Renaming *r, const ExNode *wide, const ExNode *base) {
    Spectators *s = r->s;
    if (wide->word != base->word || (int)wide->word >= r->wide->nin ||
        (int)base->word >= r->base->nin)
        return false;
    Value u = r->wide->in[wide->word], v = r->base->in[base->word];
    const Type *tu = u ? value_type(s->w, u) : NULL, *tv = v ? value_type(s->w, v) : NULL;
    if (!tu || !tv || !same_kind(tu, tv) || wide->n != tu->dim.n || base->n != tv->dim.n)
        return false;
    Poly index[RANK_MAX];
    for (int k = 0; k < wide->n; k++) index[k] = renamed_poly(r, wide->dims[k]);
    Axes axes = {.n = wide->n};
    Alignment a = {s, tu, tv, index, base->dims, &axes};
    for (int k = 0; k < s->wide->ninput; k++)
        if (s->wide->input[k] == u && s->input[k].n >= 0)
            return axes_match(&a, &s->input[k]) && pair_values(s, u, v, &s->input[k]);
    return align(&a, 0, 0) && pair_values(s, u, v, &axes);
}
/* Maps wide's bound variable to that of the base, if their ranges are equal. */
static bool bind_renaming(Renaming *r, Poly wide, Poly base) {
    World *w = r->s->w;
    Symbol x = poly_is_symbol(w, wide), y = poly_is_symbol(w, base);
    if (!x || !y || r->n == BOUND_MAX || symbol_def(w, x).kind != SYM_BOUND ||
        symbol_def(w, y).kind != SYM_BOUND)
        return false;
    for (int k = 0; k < r->n; k++)
        if (r->from[k] == x || r->to[k] == base)
            return false; /* bound again within its own range */
    if (renamed_poly(r, symbol_def(w, x).arg[0]) != symbol_def(w, y).arg[0]) return false;
    r->from[r->n] = x;
    r->to[r->n++] = base;
    return true;
}
static bool same_bound(Renaming *r, const ExNode *x, const ExNode *y) {
    int n = r->n;
    bool same = x->n == y->n;
    for (int k = 0; k < x->n && same; k++) same = bind_renaming(r, x->dims[k], y->dims[k]);
    same = same && same_conditions(r, &x->cond, &y->cond) && same_tree(r, x->a, y->a);
    r->n = n;
    return same;
}
static bool same_take(Renaming *r, const ExNode *x, const ExNode *y) {
    int n = r->n;
    bool same = same_tree(r, x->a, y->a) && bind_renaming(r, x->dims[0], y->dims[0]) &&
                same_tree(r, x->b, y->b);
    r->n = n;
    return same;
}
static bool same_tree(Renaming *r, Ex wide, Ex base) {
    ExNode x, y;
    if (!wide || !base) return false;
    ex_get(r->s->w, wide, &x);
    ex_get(r->s->w, base, &y);
    if (x.kind != y.kind) return false;
    switch (x.kind) {
    case EX_NUM: return x.p == y.p && x.q == y.q;
    case EX_REAL: return !memcmp(&x.real, &y.real, sizeof x.real);
    case EX_PARAM: return x.word == y.word;
    case EX_SIZE: return renamed_poly(r, x.size) == y.size;
    case EX_AT: return same_element(r, &x, &y);
    case EX_SUM:
    case EX_MAXIMUM: return same_bound(r, &x, &y);
    case EX_TAKE: return same_take(r, &x, &y);
    default: break;
    }
    if (x.word != y.word || !same_conditions(r, &x.cond, &y.cond)) return false;
    for (int k = 0; k < ex_children(x.kind); k++)
        if (!same_tree(r, x.child[k], y.child[k])) return false;
    return true;
}

/* ---- graphs */

static bool same_definition(Spectators *s, Value wide, Value base, const Axes *axes) {
    World *w = s->w;
    Node x = node_get(w, value_node(w, wide)), y = node_get(w, value_node(w, base));
    Renaming *r = ARENA_NEW(s->arena, Renaming, 1);
    r->s = s;
    r->wide = &x;
    r->base = &y;
    for (int k = 0; k < axes->n; k++) {
        int a = axes->v[k];
        r->from[r->n] = symbol_index(w, (uint32_t)k);
        r->to[r->n++] = a >= 0     ? poly_symbol(w, symbol_index(w, (uint32_t)a))
                        : a == ONE ? poly_int(w, 0)
                                   : poly_symbol(w, s->e[-2 - a]);
    }
    return same_tree(r, sig_define(w, x.sig, (int)(wide - x.out)),
                     sig_define(w, y.sig, (int)(base - y.out)));
}
static int input_of(const Instance *i, Value v) {
    int k = 0;
    while (k < i->ninput && i->input[k] != v) k++;
    return k;
}
static bool pair_values(Spectators *s, Value wide, Value base, const Axes *axes) {
    int k = input_of(s->wide, wide);
    if (k != input_of(s->base, base)) return false;
    if (k < s->wide->ninput) {
        if (s->input[k].n < 0) s->input[k] = *axes;
        return !memcmp(&s->input[k], axes, sizeof *axes);
    }
    for (int j = 0; j < s->npair; j++)
        if (s->pair[j].wide == wide && s->pair[j].base == base &&
            !memcmp(&s->pair[j].axes, axes, sizeof *axes))
            return true;
    if (s->npair == PAIRS_MAX) return false;
    s->pair[s->npair++] = (Pair){wide, base, *axes};
    return same_definition(s, wide, base, axes);
}
/* Returns whether the right output of wide has the same axes as the left: the same ones are kept,
   and spectators have the same sizes. */
static bool same_axes(const Spectators *s, const Axes *axes, const Type *wide, const Type *base) {
    int j = 0;
    if (wide->dim.n != axes->n) return false;
    for (int k = 0; k < axes->n; k++) {
        bool kept = axes->v[k] >= 0;
        if (kept ? j == base->dim.n || wide->dim.v[k] != base->dim.v[j]
                 : wide->dim.v[k] != s->size[-2 - axes->v[k]])
            return false;
        j += kept;
    }
    return j == base->dim.n;
}
static bool is_paired(const Spectators *s, Value v, bool wide) {
    for (int j = 0; j < s->npair; j++)
        if ((wide ? s->pair[j].wide : s->pair[j].base) == v) return true;
    return false;
}
/* Returns whether all values of the graph with a check of an index are paired. */
static bool checks_paired(const Spectators *s, const Graph *g, bool wide) {
    const NodeList live = graph_live(s->w, s->arena, g);
    for (int k = 0; k < live.n; k++) {
        const Node node = node_get(s->w, live.v[k]);
        for (int port = 0; port < node.nout && node.nin; port++) {
            const Value v = node.out + (Value)port;
            if (index_checked(s->w, sig_define(s->w, node.sig, port)) && !is_paired(s, v, wide))
                return false;
        }
    }
    return true;
}
static bool output_same(Spectators *s, int k) {
    World *w = s->w;
    Value from = s->wide->from.out[k], to = s->wide->to.out[k], base_from = s->base->from.out[k],
          base_to = s->base->to.out[k];
    Axes axes = {.n = value_type(w, from)->dim.n};
    Alignment a = {s, value_type(w, from), value_type(w, base_from), NULL, NULL, &axes};
    if (!same_kind(a.wide, a.base) || !same_kind(value_type(w, to), value_type(w, base_to)) ||
        !align(&a, 0, 0))
        return false;
    s->nsize = s->npair = 0;
    for (int j = 0; j < axes.n; j++) {
        if (axes.v[j] >= 0) continue;
        axes.v[j] = -2 - s->nsize;
        s->e[s->nsize] = symbol_data(w);
        s->size[s->nsize++] = value_type(w, from)->dim.v[j];
    }
    for (int j = 0; j < s->wide->ninput; j++) s->input[j] = (Axes){.n = -1};
    return same_axes(s, &axes, value_type(w, to), value_type(w, base_to)) &&
           pair_values(s, from, base_from, &axes) && pair_values(s, to, base_to, &axes) &&
           checks_paired(s, &s->wide->to_whole, true) &&
           checks_paired(s, &s->base->from_whole, false);
}

/* ---- conditions on sizes, and numbers */

/* Returns whether the literal is always true or one of n, up to the sign of an equation. */
static bool has_lit(World *w, Lit l, int n, const Lit *v) {
    for (int k = 0; k < n; k++)
        if (v[k].eq == l.eq && (v[k].p == l.p || (l.eq && poly_add(w, v[k].p, l.p) == 0)))
            return true;
    return is_true(w, l);
}
static bool is_size(const Instance *i, Symbol x) {
    for (int k = 0; k < i->nsymbol; k++)
        if (i->symbol[k] == x) return i->is_size[k];
    return false;
}
/* Returns whether the literal says that a sum of products of sizes is not negative. */
static bool is_natural(const World *w, const Instance *i, Lit l) {
    Monomial m;
    for (PolyScan s = poly_scan(w, l.p); poly_next(&s, &m);) {
        if (m.coefficient < 0) return false;
        for (uint32_t k = 0; k < m.degree; k++)
            if (!is_size(i, m.symbol[k])) return false;
    }
    return !l.eq;
}
static bool assumes(World *w, const Instance *i, Lit l) {
    return is_natural(w, i, l) || has_lit(w, l, i->nwhere, i->where) ||
           has_lit(w, l, i->nneed_from, i->need_from);
}
static bool conditions_hold(World *w, const Instance *base, const Instance *wide) {
    for (int k = 0; k < base->nsymbol; k++)
        if (base->is_size[k] && !is_size(wide, base->symbol[k])) return false;
    for (int k = 0; k < base->nwhere; k++)
        if (!assumes(w, wide, base->where[k])) return false;
    for (int k = 0; k < base->nneed_from; k++)
        if (!assumes(w, wide, base->need_from[k])) return false;
    for (int k = 0; k < wide->nneed_to; k++)
        if (!has_lit(w, wide->need_to[k], base->nneed_to, base->need_to) &&
            !assumes(w, wide, wide->need_to[k]))
            return false;
    return true;
}
typedef struct AttrReals { /* the real numbers among the attributes of a graph's nodes */
    int n;
    Ex v[REALS_MAX];
} AttrReals;
static bool has_real(const AttrReals *r, Ex x) {
    for (int k = 0; k < r->n; k++)
        if (r->v[k] == x) return true;
    return false;
}
static bool reals_of(World *w, Arena *a, const Graph *g, AttrReals *r) {
    NodeList live = graph_live(w, a, g);
    r->n = 0;
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(w, live.v[k]);
        Attr attr[ATTRS_MAX];
        sig_attr(w, n.sig, attr);
        for (int j = 0; j < attrs_count(n.op->attrs); j++) {
            if (n.op->attrs[j].kind != A_REAL || has_real(r, attr[j].real)) continue;
            if (r->n == REALS_MAX) return false;
            r->v[r->n++] = attr[j].real;
        }
    }
    return true;
}
static bool same_reals(World *w, Arena *a, const Graph *x, const Graph *y) {
    AttrReals *r = ARENA_NEW(a, AttrReals, 2);
    bool same = reals_of(w, a, x, &r[0]) && reals_of(w, a, y, &r[1]) && r[0].n == r[1].n;
    for (int k = 0; k < r[0].n && same; k++) same = has_real(&r[1], r[0].v[k]);
    return same;
}

static bool instances_alike(World *w, Arena *arena, const Instance *base, const Instance *wide) {
    if (base->ninput != wide->ninput || base->from.nout != wide->from.nout ||
        !conditions_hold(w, base, wide))
        return false;
    if (!same_reals(w, arena, &base->from, &wide->from) ||
        !same_reals(w, arena, &base->to, &wide->to) ||
        !same_reals(w, arena, &base->from_stated, &wide->from_stated) ||
        !same_reals(w, arena, &base->to_stated, &wide->to_stated))
        return false;
    Spectators *s = ARENA_NEW(arena, Spectators, 1);
    *s = (Spectators){.w = w,
                      .arena = arena,
                      .base = base,
                      .wide = wide,
                      .input = ARENA_NEW(arena, Axes, wide->ninput)};
    for (int k = 0; k < wide->from.nout; k++)
        if (!output_same(s, k)) return false;
    return true;
}

bool spectators(World *w, Arena *arena, const Instance *base, const Instance *wide) {
    Overflow overflow = overflow_begin(w);
    bool same = instances_alike(w, arena, base, wide);
    return !overflow_end(w, overflow) && same;
}
