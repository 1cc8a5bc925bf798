/* index_checks.c -- do the checks of indices follow? An operator that takes elements at places in
   the data fails as a whole if one of its indices lies outside its axis. It does not know whether
   the element is used later: a slice that drops it or a `where` that does not choose it comes too
   late. So each check of each node on the right must follow from the checks of all nodes on the
   left, over all elements of these nodes.

   A check is written as a part in which the indices of the node's element are bound variables. If
   the rule has several outputs, this is shown for each, given that it has an element: an operator
   that fails takes all of them with it. If none has an element, nothing is shown. Results of
   composites that nobody reads are computed, too. */
#include "verifier/index_checks.h"
#include "verifier/defined.h"
#include "verifier/explain.h"
#include "verifier/reads.h"
#include "verifier/scope.h"
#include "verifier/tables.h"
#include <string.h>

/* ---- the checks of a graph */

bool index_checked(World *w, Ex e) {
    ExNode x;
    if (!e) return false;
    ex_get(w, e, &x);
    bool any = x.kind == EX_TAKE;
    for (int k = 0; k < ex_children(x.kind) && !any; k++) any = index_checked(w, x.child[k]);
    return any;
}
/* The part with the indices of value v as variables of its own. */
static Part over_elements(NfImport *m, Value v, const Part *part) {
    Prover *p = m->p;
    const Part x = part_open(p, part);
    const Dims size = scope_sizes(m, v);
    Symbol *var = ARENA_NEW(p->arena, Symbol, x.nvar + size.n);
    Poly to[RANK_MAX];
    for (int k = 0; k < size.n; k++) to[k] = poly_symbol(p->w, var[k] = variable_new(p));
    const Map map = {size.n, m->index, to};
    if (x.nvar) memcpy(var + size.n, x.var, sizeof *var * (size_t)x.nvar);
    const Dom d = dom_and(p, x.dom, import_range(m, v));
    return (Part){size.n + x.nvar, var, dom_subst(p, d, map), nf_subst(p, x.nf, map)};
}
/* Returns whether it is known what the node checks: one of its results has a definition. */
static bool checks_known(World *w, const Node *node) {
    for (int port = 0; port < node->nout; port++)
        if (sig_define(w, node->sig, port)) return true;
    return constant_get(w, node->out, NULL, NULL);
}
static void add_checks(NfImport *m, Value v, Parts *out) {
    const Parts s = import_checks(m, v);
    out->too_many |= s.too_many;
    for (int k = 0; k < s.n; k++) {
        ARENA_GROW(m->p->arena, out->v, out->room, out->n + 1);
        out->v[out->n++] = over_elements(m, v, &s.v[k]);
    }
}
static bool is_among(NodeId id, NodeList nodes) {
    for (int k = 0; k < nodes.n; k++)
        if (nodes.v[k] == id) return true;
    return false;
}
/* The checks of all these nodes, simplified under ctx: for `left` NULL, those that are known of the
   left side; otherwise those of the right side, without the nodes that the left side has, too. */
static Parts checks_of(NfImport *m, Dom ctx, NodeList nodes, const NodeList *left) {
    Prover *p = m->p;
    Parts out = {0};
    for (int k = 0; k < nodes.n; k++) {
        const Node node = node_get(p->w, nodes.v[k]);
        if (input_name(p->w, node.out) || (left && is_among(nodes.v[k], *left))) continue;
        if (left && !checks_known(p->w, &node))
            prover_fail(p,
                        arena_format(p->arena, "%s has no definition: what it checks is not known",
                                     node.op->name));
        for (int port = 0; port < node.nout; port++)
            if (index_checked(p->w, sig_define(p->w, node.sig, port)))
                add_checks(m, node.out + (Value)port, &out);
    }
    return reads_subst(p, ctx, &out, (Map){0});
}

/* ---- what follows */

/* The index that is checked. */
static Poly checked_index(Prover *p, const Part *check) {
    Poly index;
    if (!want_polynomial(p, want_atom(p, check->nf)->a, &index))
        prover_fail(p, "an index is not a polynomial");
    return index;
}
/* The condition that the index is a place. */
static Dom in_range(Prover *p, const Part *check) {
    Poly size;
    const Poly index = checked_index(p, check);
    if (!want_polynomial(p, want_atom(p, check->nf)->b, &size))
        prover_fail(p, "the size of an axis is not a polynomial");
    const Lit l[] = {lit_ge(p, poly_add(p->w, index, size), 0),
                     lit_ge(p, poly_add(p->w, size, poly_int(p->w, -1)), index)};
    return dom_make(p, 2, l);
}
/* The map with 0 for those of the part's variables that it leaves open. */
static Map with_zeros(Prover *p, const Part *part, Map m) {
    Symbol *from = ARENA_NEW(p->arena, Symbol, m.n + part->nvar);
    Poly *to = ARENA_NEW(p->arena, Poly, m.n + part->nvar);
    const Poly zero = poly_int(p->w, 0);
    int n = 0, nopen = 0;
    for (int k = 0; k < part->nvar; k++)
        if (!among(part->var[k], m.n, m.from)) from[nopen] = part->var[k], to[nopen++] = zero;
    const Map open = {nopen, from, to};
    for (n = 0; n < m.n; n++)
        from[nopen + n] = m.from[n], to[nopen + n] = prover_subst(p, m.to[n], open);
    return (Map){nopen + n, from, to};
}
/* If the check is about the element at the symbol `at`, adds to *here what it says there. Variables
   that the element does not determine are set to 0, which is one choice of many. */
static void add_fact(Prover *p, Dom *here, Symbol at, const Part *check) {
    const SymbolDef one = symbol_def(p->w, at);
    const Part open = part_open(p, check);
    Monomial monomial;
    for (PolyScan s = poly_scan(p->w, checked_index(p, &open)); poly_next(&s, &monomial);)
        for (uint32_t k = 0; k < monomial.degree; k++) {
            const Symbol symbol = monomial.symbol[k];
            const SymbolDef all = symbol_def(p->w, symbol);
            if (all.kind != SYM_READ || all.word != one.word || all.narg != one.narg) continue;
            const Map m =
                with_zeros(p, &open, reads_solve(p, &open, (int)one.narg, one.arg, all.arg));
            if (prover_subst(p, poly_symbol(p->w, symbol), m) == poly_symbol(p->w, at) &&
                prover_entails(p, *here, dom_subst(p, open.dom, m)))
                *here = dom_and(p, *here, dom_subst(p, in_range(p, &open), m));
        }
}
/* Adds to *here what the given checks say of the elements in a polynomial. */
static void add_facts(Prover *p, Dom *here, Poly x, const Parts *given) {
    Monomial monomial;
    for (PolyScan s = poly_scan(p->w, x); poly_next(&s, &monomial);)
        for (uint32_t k = 0; k < monomial.degree; k++) {
            const SymbolDef d = symbol_def(p->w, monomial.symbol[k]);
            if (d.kind != SYM_READ && d.kind != SYM_PLACE) continue;
            prover_spend(p, 1 + given->n);
            for (uint32_t j = 0; j < d.narg; j++) add_facts(p, here, d.arg[j], given);
            for (int j = 0; j < given->n && d.kind == SYM_READ; j++)
                add_fact(p, here, monomial.symbol[k], &given->v[j]);
        }
}
/* Adds to *here what each given check says at the first of its points. An axis within which an
   index lies is not empty. */
static void add_first(Prover *p, Dom *here, const Parts *given) {
    for (int k = 0; k < given->n; k++) {
        const Part open = part_open(p, &given->v[k]);
        const Map m = with_zeros(p, &open, (Map){0});
        if (prover_entails(p, *here, dom_subst(p, open.dom, m)))
            *here = dom_and(p, *here, dom_subst(p, in_range(p, &open), m));
    }
}
/* Returns whether the check follows from what the given ones say of the elements in its index: 4*i
   + j is a place of 4*n if i is one of n and 0 <= j < 4. */
static bool index_follows(Prover *p, Dom ctx, const Parts *given, const Part *check) {
    const Part x = part_open(p, check);
    Dom here = dom_and(p, ctx, x.dom);
    add_first(p, &here, given);
    add_facts(p, &here, checked_index(p, &x), given);
    return prover_entails(p, here, in_range(p, &x));
}
/* The same for all nodes of the right side, given that this output has an element. */
static bool output_follows(NfImport *m, Value out, NodeList left, NodeList right, Lack *lack) {
    Prover *p = m->p;
    const Dom ctx = import_range(m, out);
    const Parts wanted = checks_of(m, ctx, right, &left);
    if (!wanted.n) return !wanted.too_many;
    const Parts given = checks_of(m, ctx, left, NULL);
    for (int j = 0; j < given.n; j++) explain_form(p, "left takes where", given.v[j].nf);
    if (given.too_many || wanted.too_many) return false;
    for (int j = 0; j < wanted.n; j++) {
        const Part *x = &wanted.v[j];
        explain_form(p, "right takes where", x->nf);
        if (wants_covered(p, ctx, &given, x) || index_follows(p, ctx, &given, x)) continue;
        *lack = wants_lack(p, ctx, &given, x);
        return false;
    }
    return true;
}
bool places_follow(NfImport *m, const Instance *i, Lack *lack) {
    Prover *p = m->p;
    const NodeList left = graph_live(p->w, p->arena, &i->from_whole),
                   right = graph_live(p->w, p->arena, &i->to_whole);
    for (int k = 0; k < i->from.nout; k++)
        if (!output_follows(m, i->from.out[k], left, right, lack)) return false;
    return true;
}
