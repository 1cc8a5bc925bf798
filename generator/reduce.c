/* reduce.c -- rewrites a term in one step by what is known of smaller terms.

   A connected region of instructions of which one result is used is cut out; the values below it
   become variables. Its code is looked up: a member of a class is replaced by its representative,
   and a representative with a symmetry by itself renamed. A region must have fewer operators than
   the term whose rule it is to justify; otherwise a rule could justify itself by way of a larger
   one. */
#include "generator/candidates.h"
#include <string.h>

/* Cuts out the instructions of `mask` as a term with result `root`. Returns false if they are not
   connected, or if a value below them does not have the type of a declared input. */
static bool region_cut(const Space *s, const Term *t, const ShapeId shape[], Ref root,
                       unsigned mask, Region *r) {
    uint8_t to[TERM_OPS] = {0};
    memset(r, 0, sizeof *r);
    for (int i = 0; i < t->n; i++) {
        if (!(mask >> i & 1)) continue;
        Instr *x = &r->t.in[r->t.n];
        x->op = t->in[i].op;
        for (int k = 0; k < s->form[x->op].narg; k++) {
            Ref a = t->in[i].arg[k];
            int v = 0, kind = space_kind_of(s, shape[a]);
            if (ref_is_out(a) && (mask >> ref_instr(a) & 1)) {
                x->arg[k] = ref_out(to[ref_instr(a)], ref_port(a));
                continue;
            }
            while (v < r->t.nvar && r->env[v] != a) v++;
            if (v == r->t.nvar) {
                if (v == TERM_VARS || kind < 0) return false;
                r->env[v] = a;
                r->t.kind[v] = (uint8_t)kind;
                r->t.nvar++;
            }
            x->arg[k] = (Ref)v;
        }
        to[i] = r->t.n++;
    }
    r->root = root;
    r->t.root = ref_out(to[ref_instr(root)], ref_port(root));
    return term_cone(s->form, &r->t, ref_instr(r->t.root)) == (1u << r->t.n) - 1;
}

bool region_replace(const Space *s, const Term *t, const Region *r, const Term *y, const Ref vars[],
                    Term *out) {
    TermBuild b = {.most = 2 * TERM_OPS};
    Ref to[REF_OUT + 2 * TERM_OPS], root, env[TERM_VARS];
    for (int v = 0; v < REF_OUT; v++) to[v] = (Ref)v;
    for (int i = 0; i < t->n; i++) {
        Instr x = {.op = t->in[i].op};
        int at;
        for (int k = 0; k < s->form[x.op].narg; k++) x.arg[k] = to[t->in[i].arg[k]];
        if (!build_add(s->form, &b, &x, &at)) return false;
        for (int p = 0; p < TERM_PORTS; p++) to[ref_out(i, p)] = ref_out(at, p);
        if (i != ref_instr(r->root)) continue;
        for (int v = 0; v < y->nvar; v++) env[v] = vars[v] == 0xff ? 0 : to[vars[v]];
        if (!build_term(s->form, &b, y, env, &root)) return false;
        to[r->root] = root;
    }
    return build_finish(s->form, &b, to[t->root], t, out);
}

/* env[v] becomes the value that variable v of the canonical region stands for. */
static void canonical_env(const Region *r, const uint8_t renamed[], Ref env[]) {
    memset(env, 0xff, TERM_VARS);
    for (int v = 0; v < r->t.nvar; v++)
        if (renamed[v] < TERM_VARS) env[renamed[v]] = r->env[v];
}

typedef struct Rewrite {
    TermClasses *c;
    Rewritten f;
    void *user;
} Rewrite;

static bool rewrite_region(void *user, const Term *t, const Region *r) {
    Rewrite *x = user;
    TermClasses *c = x->c;
    const Space *s = c->s;
    Code code;
    uint8_t renamed[TERM_VARS];
    Ref env[TERM_VARS], vars[TERM_VARS];
    Term out;
    if (!term_canonical(s->form, &r->t, false, &code, renamed)) return false;
    canonical_env(r, renamed, env);
    const Member *m = term_classes_member(c, &code);
    if (m && m->conditional) return false;
    if (m) {
        Term y = term_decode(s->form, &c->rep[m->rep].code);
        for (int v = 0; v < y.nvar; v++)
            if (m->to[v] == TERM_VARS) return false;
            else vars[v] = env[m->to[v]];
        return region_replace(s, t, r, &y, vars, &out) && x->f(x->user, &out);
    }
    int n;
    const Symmetry *y = term_classes_symmetries(c, &code, &n);
    if (!n) return false;
    Term same = term_decode(s->form, &code);
    for (int k = 0; k < n; k++) {
        if (y[k].conditional) continue;
        for (int v = 0; v < same.nvar; v++) vars[v] = env[y[k].to[v]];
        if (region_replace(s, t, r, &same, vars, &out) && x->f(x->user, &out)) return true;
    }
    return false;
}

bool term_regions(Space *s, const Term *t, int below, RegionFound f, void *user) {
    ShapeId shape[REF_OUT + 2 * TERM_OPS];
    if (!space_type_term(s, t, shape)) return false;
    for (int j = 0; j < t->n; j++) {
        unsigned cone = term_cone(s->form, t, j) & ~(1u << j);
        for (int p = 0; p < s->form[t->in[j].op].nout; p++)
            for (unsigned m = cone;; m = (m - 1) & cone) {
                Region r;
                if (__builtin_popcount(m) + 1 < below &&
                    region_cut(s, t, shape, ref_out(j, p), m | 1u << j, &r) && f(user, t, &r))
                    return true;
                if (!m) break;
            }
    }
    return false;
}

bool term_rewrites(TermClasses *c, const Term *t, int below, Rewritten f, void *user) {
    Rewrite x = {c, f, user};
    return term_regions(c->s, t, below, rewrite_region, &x);
}
