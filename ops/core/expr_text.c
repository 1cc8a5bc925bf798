/* expr_text.c -- prints an expression. Bound variables are numbered in order of appearance, so that
   equal expressions have equal texts. */
#include "ops/core/expr_inner.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const function_names[FN_COUNT] = {
#define X(id, text) [id] = text,
    FUNCTIONS(X)
#undef X
};

typedef struct Printer {
    const World *w;
    Symbol *bound; /* k0, k1, .. in order of appearance */
    int n, room;
    Text *t;
} Printer;

static void print(Printer *, Ex);

static void printer_bind(Printer *p, Symbol s) {
    ARENA_GROW(p->w->scratch, p->bound, p->room, p->n + 1);
    p->bound[p->n++] = s;
}

static void print_poly(Printer *p, Poly x) { poly_print_as(p->w, x, p->n, p->bound, p->t); }

static void print_real(Text *t, double v) {
    char s[64];
    for (int digits = 1; digits <= DBL_DECIMAL_DIG; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, v);
        if (isnan(v) || strtod(s, NULL) == v) break;
    }
    text_add(t, "%s", s);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void lit_print(const World *w, Lit l, Text *t) {
    poly_print(w, l.p, t);
    text_add(t, l.eq ? " == 0" : " >= 0");
}

static const char *literal_text(Printer *p, Lit l) {
    Text t = text_new(p->w->scratch);
    poly_print_as(p->w, l.p, p->n, p->bound, &t);
    text_add(&t, l.eq ? " == 0" : " >= 0");
    return t.data;
}

static void print_cond(Printer *p, const Cond *c) {
    const char *text[COND_MAX];
    for (int i = 0; i < c->n; i++) text[i] = literal_text(p, c->v[i]);
    qsort(text, (size_t)c->n, sizeof *text, by_text);
    for (int i = 0; i < c->n; i++) text_add(p->t, "%s%s", i ? ", " : "", text[i]);
}

/* Prints sum(k0 < n, k1 < m; conditions; body). Afterwards the variables are forgotten, so that
   they get new numbers when a shared subtree is printed again. */
static void print_binder(Printer *p, const ExNode *x) {
    int first = p->n;
    text_add(p->t, x->kind == EX_SUM ? "sum(" : "most(");
    for (int i = 0; i < x->n; i++) printer_bind(p, poly_is_symbol(p->w, x->dims[i]));
    for (int i = 0; i < x->n; i++) {
        text_add(p->t, "%sk%d < ", i ? ", " : "", first + i);
        print_poly(p, symbol_def(p->w, p->bound[first + i]).arg[0]);
    }
    text_add(p->t, "; ");
    print_cond(p, &x->cond);
    text_add(p->t, "; ");
    print(p, x->a);
    text_add(p->t, ")");
    for (int i = 0; i < x->n; i++) p->bound[first + i] = 0;
}

/* take(k0 < n; index; body) */
static void print_take(Printer *p, const ExNode *x) {
    int own = p->n;
    Symbol s = poly_is_symbol(p->w, x->dims[0]);
    text_add(p->t, "take(k%d < ", own);
    print_poly(p, symbol_def(p->w, s).arg[0]);
    text_add(p->t, "; ");
    printer_bind(p, 0);
    print(p, x->a);
    text_add(p->t, "; ");
    p->bound[own] = s;
    print(p, x->b);
    text_add(p->t, ")");
    p->bound[own] = 0;
}

static void print_call(Printer *p, const char *name, Ex a, Ex b) {
    text_add(p->t, "%s(", name);
    print(p, a);
    if (b) {
        text_add(p->t, ", ");
        print(p, b);
    }
    text_add(p->t, ")");
}

static void print_infix(Printer *p, Ex a, char sign, Ex b) {
    text_add(p->t, "(");
    print(p, a);
    text_add(p->t, " %c ", sign);
    print(p, b);
    text_add(p->t, ")");
}

static void print_choice(Printer *p, const ExNode *x) {
    if (x->kind == EX_WHERE) {
        text_add(p->t, "where(");
        print(p, x->c);
        text_add(p->t, ", ");
    } else {
        text_add(p->t, "if(");
        print_cond(p, &x->cond);
        text_add(p->t, "; ");
    }
    print(p, x->a);
    text_add(p->t, ", ");
    print(p, x->b);
    text_add(p->t, ")");
}

static void print(Printer *p, Ex e) {
    ExNode x;
    ex_get(p->w, e, &x);
    switch (x.kind) {
    case EX_NUM:
        text_add(p->t, "%lld", (long long)x.p);
        if (x.q != 1) text_add(p->t, "/%lld", (long long)x.q);
        break;
    case EX_REAL: print_real(p->t, x.real); break;
    case EX_PARAM: text_add(p->t, "%s", world_text(p->w, x.word)); break;
    case EX_SIZE:
        text_add(p->t, "size(");
        print_poly(p, x.size);
        text_add(p->t, ")");
        break;
    case EX_AT:
        text_add(p->t, "x%u[", x.word);
        for (int i = 0; i < x.n; i++) {
            if (i) text_add(p->t, ", ");
            print_poly(p, x.dims[i]);
        }
        text_add(p->t, "]");
        break;
    case EX_ADD: print_infix(p, x.a, '+', x.b); break;
    case EX_MUL: print_infix(p, x.a, '*', x.b); break;
    case EX_MAX2: print_call(p, "max", x.a, x.b); break;
    case EX_MIN2: print_call(p, "min", x.a, x.b); break;
    case EX_POW: print_call(p, "pow", x.a, x.b); break;
    case EX_FN: print_call(p, function_names[x.word], x.a, 0); break;
    case EX_IF:
    case EX_WHERE: print_choice(p, &x); break;
    case EX_TAKE: print_take(p, &x); break;
    case EX_SUM:
    case EX_MAXIMUM: print_binder(p, &x); break;
    }
}

void ex_print(const World *w, Ex e, Text *t) {
    ArenaMark mark = arena_mark(w->scratch);
    Printer p = {.w = w, .t = t};
    print(&p, e);
    if (t->arena != w->scratch) arena_reset(w->scratch, mark);
}
