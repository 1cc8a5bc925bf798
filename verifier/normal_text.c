/* normal_text.c -- prints normal forms, for explanations and obligations. */
#include "verifier/defined.h"

static void ratio_print(Text *t, Ratio r) {
    text_add(t, r.q == 1 ? "%lld" : "%lld/%lld", (long long)r.p, (long long)r.q);
}
static void pair_print(uint32_t word, Text *t) {
    const bool selects = word >= PAIR_SELECTS;
    if (selects) word -= PAIR_SELECTS;
    text_add(t, "%s", selects ? "selecting " : "");
    switch (word) {
    case EX_ADD: text_add(t, "add"); break;
    case EX_MUL: text_add(t, "mul"); break;
    case EX_POW: text_add(t, "pow"); break;
    case PAIR_DIVIDE: text_add(t, "div"); break;
    case PAIR_ROUNDED: text_add(t, "rounded"); break;
    case PAIR_HOLDS: break;
    case WANT_PLACE: text_add(t, "is place"); break;
    case WANT_NONZERO: text_add(t, "is not 0"); break;
    case WANT_NONNEGATIVE: text_add(t, "is not negative"); break;
    case WANT_POWER: text_add(t, "has power"); break;
    case WANT_POINT: text_add(t, "is not empty"); break;
    case WANT_SIGN_KEPT: text_add(t, "keeps its sign in floats"); break;
    case WANT_ACCURATE: text_add(t, "is accurate where it is small"); break;
    default: text_add(t, "exp does not overflow"); break;
    }
}
static void parts_print(Prover *p, const AtomInfo *a, Text *t) {
    text_add(t, a->kind == AT_MAX ? "max{" : "sum{");
    for (int k = 0; k < a->npart; k++) {
        text_add(t, k ? " | " : "");
        nf_print(p, a->part[k].nf, t);
        if (a->part[k].dom || a->part[k].nvar) text_add(t, " : ");
        dom_print(p, a->part[k].dom, t);
    }
    text_add(t, "}");
}
static void atom_print(Prover *p, Atom atom, Text *t) {
    const AtomInfo *a = atom_info(p, atom);
    if (a->npart || a->kind == AT_MAX) {
        parts_print(p, a, t);
        return;
    }
    if (a->kind == AT_INPUT) text_add(t, "x%u", a->word);
    if (a->kind == AT_PARAM) text_add(t, "%s", world_text(p->w, a->word));
    if (a->kind == AT_SIZE) poly_print(p->w, poly_symbol(p->w, a->word), t);
    if (a->kind == AT_REAL) text_add(t, "%.17g", a->real);
    if (a->kind == AT_FN) text_add(t, "%s", function_facts((Function)a->word)->name);
    if (a->kind == AT_PAIR) pair_print(a->word, t);
    if (a->nindex) text_add(t, "[");
    for (int k = 0; k < a->nindex; k++) {
        text_add(t, k ? ", " : "");
        poly_print(p->w, a->index[k], t);
    }
    if (a->nindex) text_add(t, "]");
    if (a->kind != AT_FN && a->kind != AT_PAIR && a->kind != AT_BASE) return;
    text_add(t, "(");
    nf_print(p, a->a, t);
    if (a->kind == AT_PAIR && a->b) text_add(t, "; "), nf_print(p, a->b, t);
    text_add(t, ")");
}
void nf_print(Prover *p, Nf a, Text *t) {
    int n = nf_size(p, a);
    if (!n) text_add(t, "0");
    for (int k = 0; k < n; k++) {
        Ratio c;
        const NfTerm *x = &nf_body(p, a, k, &c)->term;
        text_add(t, k ? " + " : "");
        if (!ratio_is(c, 1) || !x->nfactor) ratio_print(t, c);
        if (x->nvar) text_add(t, " sum_%d", x->nvar);
        if (x->dom) text_add(t, "["), dom_print(p, x->dom, t), text_add(t, "]");
        for (int j = 0; j < x->nfactor; j++) {
            text_add(t, j || !ratio_is(c, 1) || x->nvar || x->dom ? " " : "");
            atom_print(p, x->factor[j].atom, t);
            if (!ratio_is(x->factor[j].power, 1))
                text_add(t, "^"), ratio_print(t, x->factor[j].power);
        }
    }
}
