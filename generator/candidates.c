/* candidates.c -- makes candidate rules from classes. A candidate is dropped if smaller rules lead
   from its left side to its right side, or to a term with a smaller code: the rule of that term
   then takes over. By induction, every equation of the space follows from the candidates that are
   kept. */
#include "generator/candidates.h"
#include <string.h>

enum { SEEN_MAX = 48 };

Candidates *candidates_new(Arena *a) {
    Candidates *c = ARENA_NEW(a, Candidates, 1);
    c->arena = a;
    return c;
}

static Candidate *new_candidate(Finding *f, Arena *a) {
    ARENA_GROW(a, f->v, f->room, f->n + 1);
    Candidate *x = &f->v[f->n++];
    memset(x, 0, sizeof *x);
    x->from.b.most = x->to.b.most = 2 * TERM_OPS;
    return x;
}

void candidates_take(Candidates *c, const Finding *f) {
    c->raw += f->raw;
    c->reduced += f->reduced;
    for (int k = 0; k < f->n; k++) {
        ARENA_GROW(c->arena, c->v, c->room, c->n + 1);
        c->v[c->n++] = f->v[k];
    }
}

/* ---- what follows from smaller rules */

typedef struct Closure {
    TermClasses *c;
    /* The unnamed code to get below; the named code to reach. */
    const Code *limit, *target;
    int n;
    Code seen[SEEN_MAX];
    Term term[SEEN_MAX];
} Closure;

static bool closure_add(void *user, const Term *t) {
    Closure *k = user;
    Code named, plain;
    const OpForm *form = k->c->s->form;
    if (!term_canonical(form, t, true, &named, NULL) ||
        !term_canonical(form, t, false, &plain, NULL))
        return false;
    if (code_same(&named, k->target) || code_compare(&plain, k->limit) < 0) return true;
    for (int j = 0; j < k->n; j++)
        if (code_same(&k->seen[j], &named)) return false;
    if (k->n == SEEN_MAX) return false;
    k->seen[k->n] = named;
    k->term[k->n++] = *t;
    return false;
}

/* Whether smaller rules lead from t to `to`, or to a term with a smaller code than t's. */
static bool follows(TermClasses *c, const Term *t, const Code *code, const Term *to) {
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

/* The term y over t's variables, y's variable v becoming to[v]. A variable on which the value does
   not depend becomes any of its kind. Returns false if t has none of this kind. */
static bool renamed_term(const Space *s, const Term *t, const Term *y, const uint8_t to[],
                         Term *out) {
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

typedef struct Equation {
    char type;
    uint32_t source;
    const Code *code, *rep;
    const uint8_t *to;
} Equation;
static void add_equation(TermClasses *c, const Equation *e, Arena *a, Finding *out) {
    Term t = term_decode(c->s->form, e->code), y = term_decode(c->s->form, e->rep), right;
    out->raw++;
    if (!renamed_term(c->s, &t, &y, e->to, &right)) return;
    if (follows(c, &t, e->code, &right)) {
        out->reduced++;
        return;
    }
    Candidate *x = new_candidate(out, a);
    x->type = e->type;
    x->source = e->source;
    x->nvar = t.nvar;
    memcpy(x->kind, t.kind, sizeof x->kind);
    side_set(c->s, &x->from, &t);
    side_set(c->s, &x->to, &right);
}

void candidates_of_member(TermClasses *c, uint32_t k, Arena *a, Finding *out) {
    const Member *m = &c->member[k];
    add_equation(c, &(Equation){'R', k, &m->code, &c->rep[m->rep].code, m->to}, a, out);
}
void candidates_of_symmetry(TermClasses *c, uint32_t k, Arena *a, Finding *out) {
    const Symmetry *y = &c->symmetry[k];
    add_equation(c, &(Equation){'S', k, &y->code, &y->code, y->to}, a, out);
}

/* ---- two results */

/* The representative that equals t's root, over t's variables. Returns false if none is known. */
static bool least_of(TermClasses *c, const Term *t, Term *out) {
    Code code;
    uint8_t to[TERM_VARS];
    uint32_t rep;
    if (!term_canonical(c->s->form, t, false, &code, NULL)) return false;
    if (!term_classes_least(c, t, &rep, to)) return false;
    Term y = term_decode(c->s->form, &c->rep[rep].code);
    return renamed_term(c->s, t, &y, to, out);
}

static bool uses_op_with_parts(const Space *s, const Term *t) {
    for (int i = 0; i < t->n; i++)
        if (s->form[t->in[i].op].nout > 1) return true;
    return false;
}

static void add_pair(TermClasses *c, const Term *whole, int size, Arena *a, Finding *out) {
    Term part[TERM_PORTS];
    Side from = {.b = {.most = 2 * TERM_OPS}}, to = {.b = {.most = 2 * TERM_OPS}};
    for (int p = 0; p < TERM_PORTS; p++) {
        Term t = *whole;
        t.root = ref_out(t.n - 1, p);
        if (!least_of(c, &t, &part[p]) || uses_op_with_parts(c->s, &part[p])) return;
        side_set(c->s, &from, &part[p]);
        side_set(c->s, &to, &t);
    }
    out->raw++;
    if (from.b.n > size || from.nout != TERM_PORTS || to.nout != TERM_PORTS) return;
    Candidate *x = new_candidate(out, a);
    x->type = 'M';
    x->nvar = whole->nvar;
    memcpy(x->kind, whole->kind, sizeof x->kind);
    x->from = from;
    x->to = to;
}

void candidates_of_pairs(TermClasses *c, uint32_t rep, int size, Arena *a, Finding *out) {
    Term t = term_decode(c->s->form, &c->rep[rep].code);
    if (t.n >= size || !t.n) return;
    for (int op = 0; op < c->s->nop; op++) {
        Term whole = t;
        if (c->s->form[op].nout != TERM_PORTS || c->s->form[op].narg != 1) continue;
        whole.in[whole.n] = (Instr){.op = (uint8_t)op, .arg = {t.root}};
        whole.root = ref_out(whole.n++, 0);
        ShapeId shape[REF_OUT + 2 * TERM_OPS];
        if (space_type_term(c->s, &whole, shape)) add_pair(c, &whole, size, a, out);
    }
}
