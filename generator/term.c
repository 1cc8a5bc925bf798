/* term.c -- computes the codes of terms, and builds terms from parts of other terms.

   A code lists the instructions in post-order from the root. The canonical code is the least one
   over all swaps of commutative arguments; all 2^k combinations are tried, since a term has at most
   TERM_OPS instructions. */
#include "generator/term.h"
#include "ops/base/intern.h"
#include <string.h>

enum { UNSEEN = 0xff };
typedef struct Encode {
    const OpForm *form;
    const Term *t;
    unsigned swaps; /* bit i: the first two arguments of instruction i are exchanged */
    /* Variables keep their numbers; otherwise they are numbered in order of first use. */
    bool named;
    int norder, nvar;
    uint8_t order[TERM_OPS]; /* the instructions in the order of the code */
    uint8_t place[TERM_OPS]; /* for each instruction, its position in that order, or UNSEEN */
    uint8_t var[TERM_VARS];  /* for each variable, its number in the code, or UNSEEN */
    int size;
    uint8_t out[1 + TERM_OPS * (1 + TERM_ARGS)]; /* the code */
} Encode;

int code_compare(const Code *a, const Code *b) { return memcmp(a->b, b->b, CODE_BYTES); }
uint64_t code_hash(const Code *c) { return hash_bytes(c->b, CODE_BYTES); }

static Ref argument(const Encode *e, int i, int k) {
    bool swapped = (e->swaps >> i & 1) && k < 2;
    return e->t->in[i].arg[swapped ? 1 - k : k];
}

static void encode_value(Encode *e, int i) {
    for (int k = 0; k < e->form[e->t->in[i].op].narg; k++) {
        Ref r = argument(e, i, k);
        if (ref_is_out(r) && e->place[ref_instr(r)] == UNSEEN) encode_value(e, ref_instr(r));
    }
    e->place[i] = (uint8_t)e->norder;
    e->order[e->norder++] = (uint8_t)i;
}

static void put_ref(Encode *e, Ref r) {
    Ref y = r;
    if (ref_is_out(r)) y = ref_out(e->place[ref_instr(r)], ref_port(r));
    else if (!e->named && e->var[r] == UNSEEN) {
        e->var[r] = (uint8_t)e->nvar++;
        y = (Ref)(REF_NEW + e->t->kind[r]);
    } else if (!e->named) y = e->var[r];
    e->out[e->size++] = y;
}

static bool encode(Encode *e) {
    const Term *t = e->t;
    e->norder = e->nvar = 0;
    e->size = 1;
    memset(e->place, UNSEEN, sizeof e->place);
    memset(e->var, UNSEEN, sizeof e->var);
    if (ref_is_out(t->root)) encode_value(e, ref_instr(t->root));
    else put_ref(e, t->root);
    for (int q = 0; q < e->norder; q++) {
        int i = e->order[q];
        e->out[e->size++] = t->in[i].op;
        for (int k = 0; k < e->form[t->in[i].op].narg; k++) put_ref(e, argument(e, i, k));
    }
    e->out[0] = (uint8_t)(e->norder << 4 | (ref_is_out(t->root) ? ref_port(t->root) : 0));
    return e->size <= CODE_BYTES;
}

/* Commutative instructions whose two arguments differ, as a bit mask: only there does a swap change
   the code. */
static unsigned swappable(const OpForm form[], const Term *t) {
    unsigned m = 0;
    for (int i = 0; i < t->n; i++)
        if (form[t->in[i].op].commutes && t->in[i].arg[0] != t->in[i].arg[1]) m |= 1u << i;
    return m;
}

static void code_set(const Encode *e, Code *c) {
    memset(c, 0, sizeof *c);
    memcpy(c->b, e->out, (size_t)e->size);
}

bool term_canonical(const OpForm form[], const Term *t, bool named, Code *best, uint8_t renamed[]) {
    Encode e = {.form = form, .t = t, .named = named};
    unsigned all = swappable(form, t);
    bool any = false;
    for (unsigned s = all;; s = (s - 1) & all) {
        Code c;
        e.swaps = s;
        if (!encode(&e)) return false;
        code_set(&e, &c);
        if (!any || code_compare(&c, best) < 0) {
            *best = c;
            for (int v = 0; renamed && v < TERM_VARS; v++)
                renamed[v] = e.var[v] == UNSEEN ? TERM_VARS : e.var[v];
        }
        any = true;
        if (!s) return true;
    }
}

/* Whether the term's instructions and variables already have the order that the code gives them. */
static bool in_order(const Encode *e) {
    for (int q = 0; q < e->norder; q++)
        if (e->order[q] != q) return false;
    for (int v = 0; v < e->t->nvar; v++)
        if (e->var[v] != v) return false;
    return e->norder == e->t->n;
}

bool term_is_canonical(const OpForm form[], const Term *t, Code *out) {
    Encode e = {.form = form, .t = t};
    unsigned all = swappable(form, t);
    if (!encode(&e) || !in_order(&e)) return false;
    code_set(&e, out);
    for (unsigned s = all; s; s = (s - 1) & all) {
        Code c;
        e.swaps = s;
        encode(&e);
        code_set(&e, &c);
        if (code_compare(&c, out) < 0) return false;
    }
    return true;
}

Term term_decode(const OpForm form[], const Code *c) {
    Term t = {.n = c->b[0] >> 4};
    const uint8_t *p = c->b + 1;
    Ref r = 0;
    for (int i = 0; i < (t.n ? t.n : 1); i++) {
        int narg = t.n ? form[*p].narg : 1;
        if (t.n) t.in[i].op = *p++;
        for (int k = 0; k < narg; k++, p++) {
            r = *p;
            if (r >= REF_NEW) {
                t.kind[t.nvar] = (uint8_t)(r - REF_NEW);
                r = t.nvar++;
            }
            t.in[i].arg[k] = r;
        }
    }
    t.root = t.n ? ref_out(t.n - 1, c->b[0] & 1) : r;
    if (!t.n) t.in[0] = (Instr){0};
    return t;
}

unsigned term_cone(const OpForm form[], const Term *t, int i) {
    unsigned m = 1u << i;
    for (int j = i; j >= 0; j--)
        for (int k = 0; (m >> j & 1) && k < form[t->in[j].op].narg; k++)
            if (ref_is_out(t->in[j].arg[k])) m |= 1u << ref_instr(t->in[j].arg[k]);
    return m;
}

/* ---- building */

static bool same_instr(const OpForm *f, const Instr *a, const Instr *b) {
    if (a->op != b->op) return false;
    if (f->commutes && a->arg[0] == b->arg[1] && a->arg[1] == b->arg[0]) return true;
    return !memcmp(a->arg, b->arg, f->narg);
}

bool build_add(const OpForm form[], TermBuild *b, const Instr *in, int *i) {
    for (*i = 0; *i < b->n; ++*i)
        if (same_instr(&form[in->op], &b->in[*i], in)) return true;
    if (b->n >= b->most) return false;
    b->in[b->n++] = *in;
    return true;
}

bool build_term(const OpForm form[], TermBuild *b, const Term *t, const Ref vars[], Ref *root) {
    int to[TERM_OPS];
    for (int i = 0; i < t->n; i++) {
        Instr x = {.op = t->in[i].op};
        for (int k = 0; k < form[x.op].narg; k++) {
            Ref r = t->in[i].arg[k];
            x.arg[k] = ref_is_out(r) ? ref_out(to[ref_instr(r)], ref_port(r)) : vars[r];
        }
        if (!build_add(form, b, &x, &to[i])) return false;
    }
    *root =
        ref_is_out(t->root) ? ref_out(to[ref_instr(t->root)], ref_port(t->root)) : vars[t->root];
    return true;
}

bool build_finish(const OpForm form[], const TermBuild *b, Ref root, const Term *like, Term *out) {
    bool live[2 * TERM_OPS] = {0};
    int to[2 * TERM_OPS], n = 0;
    if (ref_is_out(root)) live[ref_instr(root)] = true;
    for (int i = b->n - 1; i >= 0; i--)
        for (int k = 0; live[i] && k < form[b->in[i].op].narg; k++)
            if (ref_is_out(b->in[i].arg[k])) live[ref_instr(b->in[i].arg[k])] = true;
    *out = (Term){.nvar = like->nvar};
    memcpy(out->kind, like->kind, sizeof out->kind);
    for (int i = 0; i < b->n; i++) {
        if (!live[i]) continue;
        if (n == TERM_OPS) return false;
        Instr *x = &out->in[n];
        x->op = b->in[i].op;
        for (int k = 0; k < form[x->op].narg; k++) {
            Ref r = b->in[i].arg[k];
            x->arg[k] = ref_is_out(r) ? ref_out(to[ref_instr(r)], ref_port(r)) : r;
        }
        to[i] = n++;
    }
    out->n = (uint8_t)n;
    out->root = ref_is_out(root) ? ref_out(to[ref_instr(root)], ref_port(root)) : root;
    return true;
}
