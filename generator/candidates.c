/* candidates.c -- from classes to candidate rules. A candidate is dropped when smaller rules lead from its left side to
   its right side, or to a term with a smaller code, whose own rule then takes over: by induction every equation of the
   space follows from those kept. */
#include "generator/candidates.h"
#include <string.h>

enum { SEEN_MAX = 48 };

Candidates *candidates_new(Arena *a) {
    Candidates *c = ARENA_NEW(a, Candidates, 1);
    c->arena = a;
    return c;
}

static Candidate *add(Candidates *c) {
    if (c->n == c->room) {
        Candidate *more = arena_alloc_raw(c->arena, (size_t)(c->room = c->room ? 2 * c->room : 256) * sizeof *more);
        if (c->n) memcpy(more, c->v, (size_t)c->n * sizeof *more);
        c->v = more;
    }
    Candidate *x = &c->v[c->n++];
    memset(x, 0, sizeof *x);
    x->from.b.most = x->to.b.most = 2 * TERM_OPS;
    return x;
}

/* ---- what follows from smaller rules */

typedef struct Closure {
    Classes *c;
    const Code *limit, *target; /* unnamed code to get below; named code to reach */
    int n;
    Code seen[SEEN_MAX];
    Term term[SEEN_MAX];
} Closure;

static bool closure_add(void *user, const Term *t) {
    Closure *k = user;
    Code named, plain;
    const OpForm *form = k->c->s->form;
    if (!term_canonical(form, t, true, &named, NULL) || !term_canonical(form, t, false, &plain, NULL)) return false;
    if (!code_compare(&named, k->target) || code_compare(&plain, k->limit) < 0) return true;
    for (int j = 0; j < k->n; j++)
        if (!code_compare(&k->seen[j], &named)) return false;
    if (k->n == SEEN_MAX) return false;
    k->seen[k->n] = named;
    k->term[k->n++] = *t;
    return false;
}

static bool follows(Classes *c, const Term *t, const Code *code, const Term *to) {
    Closure k = {.c = c, .limit = code};
    Code target;
    k.target = &target;
    if (!term_canonical(c->s->form, to, true, &target, NULL)) return false;
    if (closure_add(&k, t)) return false;
    for (int j = 0; j < k.n; j++) {
        Term x = k.term[j];
        if (term_rewrites(c, &x, t->n, closure_add, &k)) return true;
    }
    return false;
}

/* ---- single results */

static bool renamed_term(const Space *s, const Term *t, const Term *y, const uint8_t to[], Term *out) {
    Ref vars[TERM_VARS] = {0};
    for (int v = 0; v < y->nvar; v++) {
        int u = to[v];
        for (int w = 0; u == TERM_VARS && w < t->nvar; w++)
            if (t->kind[w] == y->kind[v]) u = w;
        if (u == TERM_VARS) return false;
        vars[v] = (Ref)u;
    }
    TermBuild b = {.most = TERM_OPS};
    Ref root;
    return build_term(s->form, &b, y, vars, &root) && build_finish(s->form, &b, root, t, out);
}

static void side_set(const Space *s, Side *x, const Term *t) {
    Ref vars[TERM_VARS], root;
    for (int v = 0; v < TERM_VARS; v++) vars[v] = (Ref)v;
    if (build_term(s->form, &x->b, t, vars, &root)) x->out[x->nout++] = root;
}

static void add_equation(Candidates *list, Classes *c, char type, uint32_t source, const Code *code, const Code *rep, const uint8_t to[]) {
    Term t = term_decode(c->s->form, code), y = term_decode(c->s->form, rep), right;
    list->raw++;
    if (!renamed_term(c->s, &t, &y, to, &right)) return;
    if (follows(c, &t, code, &right)) {
        list->reduced++;
        return;
    }
    Candidate *x = add(list);
    x->type = type;
    x->source = source;
    x->nvar = t.nvar;
    memcpy(x->kind, t.kind, sizeof x->kind);
    side_set(c->s, &x->from, &t);
    side_set(c->s, &x->to, &right);
}

void candidates_add_level(Candidates *list, Classes *c, uint32_t member, uint32_t symmetry, int size) {
    for (uint32_t k = member; k < c->nmember; k++)
        if (code_size(&c->member[k].code) == size)
            add_equation(list, c, 'R', k, &c->member[k].code, &c->rep[c->member[k].rep].code, c->member[k].to);
    for (uint32_t k = symmetry; k < c->nsymmetry; k++)
        if (code_size(&c->symmetry[k].code) == size)
            add_equation(list, c, 'S', k, &c->symmetry[k].code, &c->symmetry[k].code, c->symmetry[k].to);
}

/* ---- two results */

/* The least term equal to t's root, over t's variables; false: none is known. */
static bool least_of(Classes *c, const Term *t, Term *out) {
    Code code;
    uint8_t to[TERM_VARS];
    uint32_t rep;
    if (!term_canonical(c->s->form, t, false, &code, NULL)) return false;
    if (!classes_least(c, t, &rep, to)) return false;
    Term y = term_decode(c->s->form, &c->rep[rep].code);
    return renamed_term(c->s, t, &y, to, out);
}

static bool uses_op_with_parts(const Space *s, const Term *t) {
    for (int i = 0; i < t->n; i++)
        if (s->form[t->in[i].op].nout > 1) return true;
    return false;
}

static void add_pair(Candidates *list, Classes *c, const Term *whole, int size) {
    Term part[TERM_PORTS];
    Side from = {.b = {.most = 2 * TERM_OPS}}, to = {.b = {.most = 2 * TERM_OPS}};
    for (int p = 0; p < TERM_PORTS; p++) {
        Term t = *whole;
        t.root = ref_out(t.n - 1, p);
        if (!least_of(c, &t, &part[p]) || uses_op_with_parts(c->s, &part[p])) return;
        side_set(c->s, &from, &part[p]);
        side_set(c->s, &to, &t);
    }
    list->raw++;
    if (from.b.n > size || from.nout != TERM_PORTS || to.nout != TERM_PORTS) return;
    Candidate *x = add(list);
    x->type = 'M';
    x->nvar = whole->nvar;
    memcpy(x->kind, whole->kind, sizeof x->kind);
    x->from = from;
    x->to = to;
}

void candidates_add_pairs(Candidates *list, Classes *c, int size) {
    uint32_t n = c->nrep;
    for (uint32_t r = 0; r < n; r++) {
        Term t = term_decode(c->s->form, &c->rep[r].code);
        if (t.n >= size || !t.n) continue;
        for (int op = 0; op < c->s->nop; op++) {
            Term whole = t;
            if (c->s->form[op].nout != TERM_PORTS || c->s->form[op].narg != 1) continue;
            whole.in[whole.n] = (Instr){.op = (uint8_t)op, .arg = {t.root}};
            whole.root = ref_out(whole.n++, 0);
            ShapeId shape[REF_OUT + 2 * TERM_OPS];
            if (space_type_term(c->s, &whole, shape)) add_pair(list, c, &whole, size);
        }
    }
}
