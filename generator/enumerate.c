/* enumerate.c -- a depth-first search over straight-line programs.

   Instructions are appended in post-order. The results that are not used yet form a stack, and an
   instruction takes those that it is the first to use from the top of the stack, in order. A
   finished program is reported only if it is its own canonical form. */
#include "generator/enumerate.h"
#include <string.h>

enum { TASK_DEPTH = 2 };
typedef struct TermEnumeration {
    Enumerate *e;
    Values *v;
    Space *s;
    Term *t;
    unsigned pending;                    /* instructions whose results are not used yet, as bits */
    bool usable[REF_OUT + 2 * TERM_OPS]; /* outputs that further instructions may use */
    bool least[REF_OUT + 2 * TERM_OPS];  /* outputs that are the least of their classes */
} TermEnumeration;

static void extend_term(TermEnumeration *, int d);

static int bits(unsigned x) { return __builtin_popcount(x); }

/* Whether the set file's limit on uses of this operator line allows one more. */
static bool within_limit(const TermEnumeration *x, int d, int op) {
    int n = 1;
    for (int i = 0; i < d; i++) n += x->s->op[x->t->in[i].op].line == x->s->op[op].line;
    return n <= x->s->op[op].most;
}

static bool met_before(const TermEnumeration *x, int d) {
    const Instr *in = x->t->in;
    for (int i = 0; i < d; i++)
        if (in[i].op == in[d].op && !memcmp(in[i].arg, in[d].arg, TERM_ARGS)) return true;
    return false;
}

/* Whether the results that instruction d is the first to use are the newest unused ones, in order.
 *taken becomes the instructions of these results. */
static bool in_post_order(const TermEnumeration *x, int d, unsigned *taken) {
    const Instr *in = &x->t->in[d];
    int last = -1;
    *taken = 0;
    for (int k = 0; k < x->s->form[in->op].narg; k++) {
        if (!ref_is_out(in->arg[k])) continue;
        int i = ref_instr(in->arg[k]);
        if (!(x->pending >> i & 1) || (*taken >> i & 1)) continue;
        if (i < last) return false;
        last = i;
        *taken |= 1u << i;
    }
    unsigned rest = x->pending & ~*taken;
    return !*taken || rest < (*taken & -*taken);
}

/* Marks the outputs of instruction d that are the least of their classes, and those that may be
   used by further instructions: besides the former, outputs with a part that can still be shared.
   Returns whether any may be used. */
static bool mark_usable(TermEnumeration *x, int d) {
    bool any = false;
    Term part = *x->t;
    int nout = x->s->form[part.in[d].op].nout;
    for (int p = 0; p < nout; p++) {
        Code c;
        part.n = (uint8_t)(d + 1);
        part.root = ref_out(d, p);
        x->least[part.root] = term_canonical(x->s->form, &part, false, &c, NULL) &&
                              x->e->is_representative(x->e->user, &c);
        bool parts = nout > 1 || bits(term_cone(x->s->form, &part, d)) > 1;
        any |= x->usable[part.root] = x->e->exhaustive || x->least[part.root] || parts;
    }
    return any;
}

/* Whether the term uses an instruction below r elsewhere, too. Replacing r by its representative
   may then make the term larger, because the shared instruction still has to be computed. */
static bool shares(const TermEnumeration *x, const Term *t, Ref r) {
    unsigned cone = term_cone(x->s->form, t, ref_instr(r));
    for (int j = 0; j < t->n; j++)
        for (int k = 0; k < x->s->form[t->in[j].op].narg && !(cone >> j & 1); k++) {
            Ref a = t->in[j].arg[k];
            if (ref_is_out(a) && a != r && (cone >> ref_instr(a) & 1)) return true;
        }
    return false;
}

/* Whether every value that the term uses is the least of its class or shares a part. */
static bool is_wanted_term(const TermEnumeration *x, const Term *t) {
    for (int j = 0; j < t->n && !x->e->exhaustive; j++)
        for (int k = 0; k < x->s->form[t->in[j].op].narg; k++) {
            Ref a = t->in[j].arg[k];
            if (ref_is_out(a) && !x->least[a] && !shares(x, t, a)) return false;
        }
    return true;
}

static void leaf(TermEnumeration *x, int d) {
    Term *t = x->t;
    t->n = (uint8_t)(d + 1);
    if (!is_wanted_term(x, t)) return;
    for (int p = 0; p < x->s->form[t->in[d].op].nout; p++) {
        Record r;
        Key key;
        t->root = ref_out(d, p);
        if (!term_is_canonical(x->s->form, t, &r.code)) continue;
        x->e->stats.terms++;
        if (!values_key(x->v, t->root, &key)) {
            x->e->stats.no_value++;
            continue;
        }
        r.key = key.hash;
        x->e->found(x->e->user, &r);
    }
}

static bool task_taken(TermEnumeration *x, int depth) {
    int at = x->e->size - 1 < TASK_DEPTH ? x->e->size - 1 : TASK_DEPTH;
    if (depth != at) return true;
    uint64_t task = x->e->stats.tasks++;
    return !x->e->take_task || x->e->take_task(x->e->user, task);
}

/* Continues the search once all arguments of instruction d are chosen. */
static void finish_instruction(TermEnumeration *x, int d) {
    int size = x->e->size, rest = size - d - 1;
    unsigned taken, before = x->pending;
    if (met_before(x, d) || !in_post_order(x, d, &taken)) return;
    unsigned pending = (before & ~taken) | 1u << d;
    if (bits(pending) > 1 + rest * (x->s->most_arguments - 1)) return;
    if (!values_push(x->v, d)) return;
    x->pending = pending;
    if (!rest) leaf(x, d);
    else if (mark_usable(x, d)) {
        x->e->stats.prefixes++;
        extend_term(x, d + 1);
    }
    x->pending = before;
}

static bool sort_fits(const TermEnumeration *x, const Variant *v, int k, ShapeId shape) {
    return v->sort[k] < 0 || v->sort[k] == space_shape(x->s, shape)->sort;
}

static void choose_argument(TermEnumeration *x, int d, int k) {
    Term *t = x->t;
    Instr *in = &t->in[d];
    const Variant *v = &x->s->op[in->op];
    if (k == x->s->form[in->op].narg) {
        finish_instruction(x, d);
        return;
    }
    int nvar = t->nvar;
    for (int r = 0; r < nvar; r++) {
        if (!sort_fits(x, v, k, x->v->shape[r])) continue;
        in->arg[k] = (Ref)r;
        choose_argument(x, d, k + 1);
    }
    for (int kind = 0; kind < x->s->nkind && nvar < TERM_VARS; kind++) {
        if (!sort_fits(x, v, k, x->s->kind[kind].shape)) continue;
        t->kind[nvar] = (uint8_t)kind;
        t->nvar = (uint8_t)(nvar + 1);
        x->v->shape[nvar] = x->s->kind[kind].shape;
        in->arg[k] = (Ref)nvar;
        choose_argument(x, d, k + 1);
        t->nvar = (uint8_t)nvar;
    }
    for (int r = REF_OUT; r < REF_OUT + 2 * d; r++) {
        if (!x->usable[r] || !sort_fits(x, v, k, x->v->shape[r])) continue;
        in->arg[k] = (Ref)r;
        choose_argument(x, d, k + 1);
    }
}

static void extend_term(TermEnumeration *x, int d) {
    if (!task_taken(x, d)) return;
    for (int op = 0; op < x->s->nop; op++) {
        if (!within_limit(x, d, op)) continue;
        memset(&x->t->in[d], 0, sizeof x->t->in[d]);
        memset(x->usable + REF_OUT + 2 * d, 0, 2 * sizeof(bool));
        x->t->in[d].op = (uint8_t)op;
        choose_argument(x, d, 0);
    }
    memset(x->usable + REF_OUT + 2 * d, 0, 2 * sizeof(bool));
}

static void variables(Enumerate *e) {
    Space *s = e->v->s;
    for (int k = 0; k < s->nkind; k++) {
        Term t = {.nvar = 1, .kind = {(uint8_t)k}};
        Record r;
        Key key;
        if (!values_load(e->v, &t) || !term_canonical(s->form, &t, false, &r.code, NULL) ||
            !values_key(e->v, t.root, &key))
            continue;
        r.key = key.hash;
        e->stats.terms++;
        e->found(e->user, &r);
    }
}

void enumerate_run(Enumerate *e) {
    e->stats = (EnumerateStats){0};
    if (!e->size) {
        variables(e);
        return;
    }
    TermEnumeration x = {.e = e, .v = e->v, .s = e->v->s, .t = &e->v->t};
    *x.t = (Term){0};
    extend_term(&x, 0);
}
