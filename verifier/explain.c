/* explain.c -- writes the steps of a proof to its trace (explain.h). */
#include "verifier/explain.h"

static const char *poly_text(Prover *p, Poly x) {
    Text t = text_new(p->arena);
    poly_print(p->w, x, &t);
    return t.data;
}
static const char *dom_text(Prover *p, Dom d) {
    Text t = text_new(p->arena);
    lits_print(p->w, dom_lits(p, d), &t);
    return t.data;
}
void explain_form(Prover *p, const char *title, Nf nf) {
    if (!trace_reads(p->trace)) return;
    Text t = text_new(p->arena);
    nf_print(p, nf, &t);
    trace_line(p->trace, "%s: %s", title, t.data);
}
void explain_facts(Prover *p, int n, const Lit *fact) {
    if (!trace_reads(p->trace)) return;
    for (int k = 0; k < n; k++)
        trace_line(p->trace, "assumed: %s %s 0", poly_text(p, fact[k].p), fact[k].eq ? "=" : ">=");
}
void explain_value(Prover *p, const char *why, Symbol x, Poly value, Dom given) {
    if (!trace_reads(p->trace)) return;
    const char *name = poly_text(p, poly_symbol(p->w, x)), *is = poly_text(p, value);
    if (given) trace_line(p->trace, "%s: %s := %s where %s", why, name, is, dom_text(p, given));
    else trace_line(p->trace, "%s: %s := %s", why, name, is);
}
void explain_equation(Prover *p, Poly e, int n, const Poly *part) {
    if (!trace_reads(p->trace)) return;
    Text t = text_new(p->arena);
    for (int k = 0; k < n; k++) text_add(&t, "%s%s == 0", k ? ", " : "", poly_text(p, part[k]));
    trace_line(p->trace, "equation by quotient and remainder: %s == 0 is %s", poly_text(p, e),
               t.data);
}
void explain_count(Prover *p, Symbol x, Poly n) {
    if (!trace_reads(p->trace)) return;
    trace_line(p->trace, "nothing depends on %s: times %s", poly_text(p, poly_symbol(p->w, x)),
               poly_text(p, n));
}
void explain_cases(Prover *p, int n, const Cell *cell) {
    if (n < 2 || !trace_reads(p->trace)) return;
    Text t = text_new(p->arena);
    for (int k = 0; k < n; k++) text_add(&t, "%s%s", k ? " | " : "", dom_text(p, cell[k].known));
    trace_line(p->trace, "cases: %s", t.data);
}
void explain_change(Prover *p, int n, const Symbol *x, const Poly *value) {
    if (!n || !trace_reads(p->trace)) return;
    Text t = text_new(p->arena);
    for (int k = 0; k < n; k++)
        text_add(&t, "%s%s := %s", k ? ", " : "", poly_text(p, poly_symbol(p->w, x[k])),
                 poly_text(p, value[k]));
    trace_line(p->trace, "change of variables, one to one: %s", t.data);
}
