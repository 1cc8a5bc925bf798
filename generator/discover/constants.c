/* constants.c -- terms over the question's constants, which cost nothing: views of them, what
   operators of the question make of them, and what operators make of two that are linear in one or
   in both together. */
#include "generator/discover/answer_inner.h"
#include <string.h>

enum { ROUNDS = 2, EVALUATIONS = 2500 };

static void put(Search *s, Sig sig, const Value in[], int size) {
    bool fresh;
    Value v = sig_node(s, sig, in);
    if (v) term_put(s, v, 0, size, &fresh);
}

static void grow_one(Search *s, Found t) {
    TypeId type = value_type_id(s->w, t.v);
    const Moves *m = moves_of(s, 1, &type);
    for (int k = 0; k < m->first; k++) put(s, m->v[k], &t.v, t.size + 1);
}

static void grow_two(Search *s, Found a, Found b) {
    const Value in[2] = {a.v, b.v};
    const TypeId type[2] = {value_type_id(s->w, a.v), value_type_id(s->w, b.v)};
    const Moves *m = moves_of(s, 2, type);
    for (int k = 0; k < m->n; k++) {
        Sig sig = m->v[k];
        if (op_in_question(s, sig_info(s->w, sig)->op) || sig_linear(s, sig, 0) ||
            sig_linear(s, sig, 1) || sig_linear(s, sig, LINEAR_ALL))
            put(s, m->v[k], in, a.size + b.size + 1);
    }
}

/* Numbers that stand in the question, and 0 and 1. */
static void put_numbers(Search *s) {
    Attr attr[ATTRS_MAX];
    const char *why;
    bool fresh;
    for (int k = -2; k < s->live.n; k++) {
        const AttrDef *fill = op_fill.attrs;
        Node n = k < 0 ? (Node){.op = &op_fill} : node_get(s->w, s->live.v[k]);
        if (k >= 0) sig_attr(s->w, n.sig, attr);
        for (int j = 0; j < attrs_count(n.op->attrs); j++) {
            if (n.op->attrs[j].kind != A_REAL) continue;
            Attr number[ATTRS_MAX] = {0};
            number[attrs_find(fill, "value")].real =
                k < 0 ? ex_rational(s->w, k + 2, 1) : attr[j].real;
            number[attrs_find(fill, "dtype")].word = DT_FLOAT;
            Value v = node_make(s->w, &op_fill, number, 0, NULL, 1, &why);
            if (v) term_put(s, v, 0, 0, &fresh);
        }
    }
}

void constants_grow(Search *s) {
    put_numbers(s);
    int first = s->nconstant, from = 0;
    s->left = EVALUATIONS;
    for (int round = 0; round < ROUNDS; round++) {
        int to = s->nconstant;
        for (int k = from; k < to; k++) grow_one(s, s->constant[k]);
        for (int k = 0; k < to && s->left > 0; k++)
            for (int j = 0; j < first && s->left > 0; j++) {
                if (k < from && j < from) continue;
                grow_two(s, s->constant[k], s->constant[j]);
                if (k >= first) grow_two(s, s->constant[j], s->constant[k]);
            }
        from = to;
    }
}

/* c = x + known, x - known, known - x, or known * x. */
static Value with_one(Search *s, TypeId type, const Lanes *c, int n, int depth);

static Value look_up(Search *s, TypeId type, const Lanes *c, int n, int depth) {
    int k = term_find(s, true, value_key(type, c, n));
    if (k >= 0) return s->constant[k].v;
    return depth ? with_one(s, type, c, n, depth) : 0;
}

static Value with_one(Search *s, TypeId type, const Lanes *c, int n, int depth) {
    const uint64_t p = RESIDUE_P;
    Lanes *y = arena_alloc_raw(s->l->arena, (size_t)n * sizeof *y);
    for (int k = 0; k < s->nconstant; k++) {
        Value v = s->constant[k].v;
        TypeId t = value_type_id(s->w, v);
        int m = count_of(s, t);
        const Lanes *x = value_at(s, v);
        if (s->constant[k].size > (depth > 1 ? 1 : 2) || (t != type && m != 1) || !x) continue;
        if (type_get(s->w, t)->dim.n && t != type) continue;
        for (int by = 0; by < 4; by++) {
            bool zero = false;
            for (int j = 0; j < n; j++) {
                uint64_t u = c[j].p[0], w = x[m == 1 ? 0 : j].p[0];
                zero |= !w || w == RESIDUE_NONE;
                uint32_t r = zero ? 0
                                  : (uint32_t)(by == 0   ? (u + p - w) % p
                                               : by == 1 ? (u + w) % p
                                               : by == 2 ? (w + p - u) % p
                                                         : u * residue_inverse(w) % p);
                for (int l = 0; l < LANES; l++) y[j].p[l] = r;
            }
            Value rest = zero ? 0 : look_up(s, type, y, n, depth - 1);
            if (!rest) continue;
            const Op *op = by == 0 ? &op_add : by == 3 ? &op_mul : &op_sub;
            const Value in[2] = {by == 2 ? v : rest, by == 2 ? rest : v};
            const char *why;
            Value found = node_make(s->w, op, NULL, 2, in, 1, &why);
            if (found && value_type_id(s->w, found) == type) return found;
        }
    }
    return 0;
}

Value constant_explain(Search *s, TypeId type, const Lanes *c) {
    int n = count_of(s, type);
    ArenaMark mark = arena_mark(s->l->arena);
    Value v = 0;
    for (int depth = 0; depth < 2 && !v; depth++) v = look_up(s, type, c, n, depth);
    arena_reset(s->l->arena, mark);
    return v;
}
