/* programs.c -- writes kernels for loop programs (isomer_backend.h), in doubles, with one thread
   for each element of the output. Programs of integers have one only if they choose among integers
   of up to 32 bits: doubles do not hold greater ones, and kernels here do not wrap.

   Loop programs are decoded here and in ops/core/loop_form.c, because a plug-in shares with the
   host only the header that specifies them, and no code. loop_form.c checks every reference in a
   program, since the interpreter runs it as it is; here programs come from the compiler
   (ops/core/loop_compile.c). A node is computed once in each scope that needs it. What a condition
   or a sum guards is a scope of its own, so that the kernel reads nothing that the program itself
   would not read. */
#include "ops/cuda/generate.h"
#include <stdlib.h>
#include <string.h>

typedef struct Node {
    /* Kind, operands, and how many variables SUM and MAXIMUM have, or axes AT. */
    int64_t kind, a, b, c, count;
    const int64_t *words, *cond; /* the node's other words, and those of its condition */
    int temporary;               /* the temporary that holds the value in this scope; -1: none */
} Node;
typedef struct ProgramKernel {
    int64_t rank, nvar, nreg, nnode, root;
    const int64_t *extent;
    const int64_t **reg;
    Node *node;
} ProgramKernel;

/* ---- Decoding. */
static const int64_t *skip_affine(const int64_t *w) { return w + 2 + 2 * w[1]; }
static const int64_t *skip_cond(const int64_t *w) {
    for (int64_t n = *w++; n > 0; n--) w = skip_affine(w + 1);
    return w;
}
static const int64_t *read_node(const int64_t *w, Node *x) {
    *x = (Node){.kind = w[0], .words = w + 2, .temporary = -1};
    w += 2;
    switch (x->kind) {
    case LOOP_NODE_NUM: return w + 2;
    case LOOP_NODE_REAL:
    case LOOP_NODE_PARAM: return w + 1;
    case LOOP_NODE_SIZE: return skip_affine(w);
    case LOOP_NODE_AT:
        x->count = w[1];
        w += 2;
        for (int64_t k = 0; k < x->count; k++) w = skip_affine(w);
        return w;
    case LOOP_NODE_FN: x->c = w[0], x->a = w[1]; return w + 2;
    case LOOP_NODE_WHERE:
    case LOOP_NODE_TAKE: x->a = w[0], x->b = w[1], x->c = w[2]; return w + 3;
    case LOOP_NODE_IF: x->a = w[0], x->b = w[1], x->cond = w + 2; return skip_cond(x->cond);
    case LOOP_NODE_SUM:
    case LOOP_NODE_MAXIMUM:
        x->count = w[1], x->words = w + 2, x->a = w[2 + x->count], x->cond = w + 3 + x->count;
        return skip_cond(x->cond);
    default: x->a = w[0], x->b = w[1]; return w + 2;
    }
}
static bool read_program(const Step *s, ProgramKernel *p) {
    const int64_t *w = s->param;
    *p = (ProgramKernel){.rank = w[LOOP_HEAD_RANK],
                         .nvar = w[LOOP_HEAD_VARS],
                         .nreg = w[LOOP_HEAD_REGISTERS],
                         .nnode = w[LOOP_HEAD_NODES],
                         .root = w[LOOP_HEAD_ROOT],
                         .extent = w + LOOP_HEAD};
    w += LOOP_HEAD + p->nvar;
    p->reg = calloc((size_t)p->nreg + 1, sizeof *p->reg);
    p->node = calloc((size_t)p->nnode + 1, sizeof *p->node);
    if (!p->reg || !p->node) return false;
    for (int64_t j = 0; j < p->nreg; j++) {
        p->reg[j] = w;
        const bool by_number = *w == LOOP_FLOOR || *w == LOOP_MOD;
        w = skip_affine(w + 1);
        w = by_number ? w + 1 : skip_affine(w);
    }
    for (int64_t j = 0; j < p->nnode; j++) w = read_node(w, &p->node[j]);
    return true;
}
static void free_program(ProgramKernel *p) {
    free(p->reg);
    free(p->node);
}

/* ---- Which programs have kernels. */

static bool only_chooses(const Node *x) {
    switch (x->kind) {
    case LOOP_NODE_NUM: return x->words[1] == 1;
    case LOOP_NODE_AT:
    case LOOP_NODE_IF:
    case LOOP_NODE_WHERE:
    case LOOP_NODE_TAKE:
    case LOOP_NODE_MAX2:
    case LOOP_NODE_MIN2: return true;
    default: return false;
    }
}
static bool has_floats(const Step *s) {
    char class = 'i';
    for (int k = 0; k < s->nview; k++)
        if (s->view[k].rank >= 0) class = class_with(class, s->view[k].dtype);
    return class_real(class);
}
static bool has_64_bits(const Step *s) {
    bool wide = false;
    for (int k = 0; k < s->nview; k++)
        wide |= s->view[k].rank >= 0 && source_element_bytes(s->view[k].dtype) == 8;
    return wide;
}
int loop_variants(const Step *s) {
    ProgramKernel p;
    if (!step_has_loop(s)) return 0;
    if (has_floats(s)) return 1;
    if (has_64_bits(s)) return 0;
    bool exact = read_program(s, &p);
    for (int64_t k = 0; exact && k < p.nnode; k++) exact = only_chooses(&p.node[k]);
    free_program(&p);
    return exact;
}

/* ---- The text of index polynomials, in int64. */
static const char *affine(Gen *g, const ProgramKernel *p, const int64_t *w);
static const char *register_text(Gen *g, const ProgramKernel *p, const int64_t *w) {
    const char *a = affine(g, p, w + 1);
    const int64_t *more = skip_affine(w + 1);
    switch (w[0]) {
    case LOOP_FLOOR: return say(g, "floor_div(%s, %lldLL)", a, (long long)*more);
    case LOOP_MOD: return say(g, "floor_mod(%s, %lldLL)", a, (long long)*more);
    case LOOP_MIN: return say(g, "min_i(%s, %s)", a, affine(g, p, more));
    default: return say(g, "(%s * %s)", a, affine(g, p, more));
    }
}
static const char *affine(Gen *g, const ProgramKernel *p, const int64_t *w) {
    const char *sum = w[0] || !w[1] ? say(g, "%lldLL", (long long)w[0]) : "";
    for (int64_t j = 0; j < w[1]; j++) {
        const int64_t k = w[2 + 2 * j], r = w[3 + 2 * j];
        const char *x = r < LOOP_VARS ? say(g, "x%lld", (long long)r)
                                      : register_text(g, p, p->reg[r - LOOP_VARS]);
        sum = say(g, "%s%s%lldLL*%s", sum, *sum ? " + " : "", (long long)k, x);
    }
    return say(g, "(%s)", sum);
}
static const char *condition(Gen *g, const ProgramKernel *p, const int64_t *w) {
    const char *all = "";
    for (int64_t n = *w++; n > 0; n--) {
        all =
            say(g, "%s%s%s %s 0", all, *all ? " && " : "", affine(g, p, w + 1), w[0] ? "==" : ">=");
        w = skip_affine(w + 1);
    }
    return *all ? all : "1";
}

/* ---- Scopes. The temporaries of a scope are forgotten when it ends. */
static int *scope_open(Gen *g, const ProgramKernel *p) {
    int *kept = malloc(sizeof *kept * (size_t)(p->nnode + 1));
    if (!kept) g->out->failed = true;
    for (int64_t k = 0; kept && k < p->nnode; k++) kept[k] = p->node[k].temporary;
    return kept;
}
static void scope_close(const ProgramKernel *p, int *kept) {
    for (int64_t k = 0; kept && k < p->nnode; k++) p->node[k].temporary = kept[k];
    free(kept);
}

/* ---- Nodes. Each function adds lines and returns the number of the temporary that holds the
   value. */
static int node_lines(Gen *g, const ProgramKernel *p, int64_t id);

static const char *element_of_input(Gen *g, const ProgramKernel *p, const Node *x) {
    const int view = (int)x->words[0] + 1;
    const View *v = &g->step->view[view];
    const int64_t *w = x->words + 2;
    const char *at = "";
    for (int a = 0; a < v->rank; a++, w = skip_affine(w))
        if (v->stride[a] && v->dim[a] > 1)
            at = say(g, "%s%s%lldLL*%s", at, *at ? " + " : "", (long long)v->stride[a],
                     affine(g, p, w));
    return element(g, view, *at ? at : "0", 'd');
}

static const char *function_text(Gen *g, int64_t function, int a) {
    static const char *const name[LOOP_FN_COUNT] = {
        [LOOP_FN_EXP] = "exp",    [LOOP_FN_LOG] = "log",     [LOOP_FN_SQRT] = "sqrt",
        [LOOP_FN_ERF] = "erf",    [LOOP_FN_TANH] = "tanh",   [LOOP_FN_SIGMOID] = "sigmoid_d",
        [LOOP_FN_ABS] = "fabs",   [LOOP_FN_FLOOR] = "floor", [LOOP_FN_CEIL] = "ceil",
        [LOOP_FN_ROUND] = "rint", [LOOP_FN_SIGN] = "sign_d", [LOOP_FN_SIN] = "sin",
        [LOOP_FN_COS] = "cos",
    };
    if (function == LOOP_FN_RECIP) return say(g, "1.0 / r%d", a);
    if (function == LOOP_FN_DELTA) return say(g, "(double)(r%d == 0)", a);
    return say(g, "%s(r%d)", name[function], a);
}
static const char *pair_text(Gen *g, int64_t kind, int a, int b) {
    switch (kind) {
    case LOOP_NODE_ADD: return say(g, "r%d + r%d", a, b);
    case LOOP_NODE_MUL: return say(g, "r%d * r%d", a, b);
    case LOOP_NODE_MAX2: return say(g, "most_d(r%d, r%d)", a, b);
    case LOOP_NODE_MIN2: return say(g, "least_d(r%d, r%d)", a, b);
    default: return say(g, "pow(r%d, r%d)", a, b);
    }
}
static const char *simple_text(Gen *g, const ProgramKernel *p, const Node *x) {
    double real;
    switch (x->kind) {
    case LOOP_NODE_NUM:
        return say(g, "%lld.0 / %lld.0", (long long)x->words[0], (long long)x->words[1]);
    case LOOP_NODE_REAL: return memcpy(&real, x->words, sizeof real), class_constant(g, real, 'd');
    case LOOP_NODE_SIZE: return say(g, "(double)%s", affine(g, p, x->words));
    case LOOP_NODE_AT: return element_of_input(g, p, x);
    case LOOP_NODE_FN: return function_text(g, x->c, node_lines(g, p, x->a));
    default: break;
    }
    const int a = node_lines(g, p, x->a), b = node_lines(g, p, x->b);
    return pair_text(g, x->kind, a, b);
}

/* Adds the lines `r = node; }` as a scope of its own. */
static void branch(Gen *g, const ProgramKernel *p, int r, int64_t id) {
    int *kept = scope_open(g, p);
    const int a = node_lines(g, p, id);
    line(g, "r%d = r%d;", r, a);
    line(g, "}");
    scope_close(p, kept);
}
static void choice_lines(Gen *g, const ProgramKernel *p, const Node *x, int r) {
    const char *when = x->kind == LOOP_NODE_IF ? condition(g, p, x->cond)
                                               : say(g, "r%d != 0", node_lines(g, p, x->c));
    line(g, "double r%d;", r);
    line(g, "if (%s) {", when);
    branch(g, p, r, x->a);
    line(g, "else {");
    branch(g, p, r, x->b);
}
static void take_lines(Gen *g, const ProgramKernel *p, const Node *x, int r) {
    const int at = node_lines(g, p, x->a);
    const long long variable = (long long)x->c;
    line(g, "double r%d = NAN;", r);
    line(g, "x%lld = place(r%d, %lldLL);", variable, at, (long long)p->extent[x->c]);
    line(g, "if (x%lld >= 0) {", variable);
    branch(g, p, r, x->b);
}
static void sum_lines(Gen *g, const ProgramKernel *p, const Node *x, int r) {
    const bool sum = x->kind == LOOP_NODE_SUM;
    line(g, "double r%d = %s;", r, sum ? "0" : "-INFINITY");
    for (int64_t j = 0; j < x->count; j++) {
        const long long v = (long long)x->words[j];
        line(g, "for (x%lld = 0; x%lld < %lldLL; x%lld++) {", v, v, (long long)p->extent[v], v);
    }
    line(g, "if (%s) {", condition(g, p, x->cond));
    int *kept = scope_open(g, p);
    const int a = node_lines(g, p, x->a);
    if (sum) line(g, "r%d += r%d;", r, a);
    else line(g, "r%d = most_d(r%d, r%d);", r, r, a);
    scope_close(p, kept);
    for (int64_t j = 0; j <= x->count; j++) line(g, "}");
}
static int node_lines(Gen *g, const ProgramKernel *p, int64_t id) {
    Node *x = &p->node[id];
    if (x->temporary >= 0) return x->temporary;
    const int r = g->next++;
    if (x->kind == LOOP_NODE_IF || x->kind == LOOP_NODE_WHERE) choice_lines(g, p, x, r);
    else if (x->kind == LOOP_NODE_TAKE) take_lines(g, p, x, r);
    else if (x->kind == LOOP_NODE_SUM || x->kind == LOOP_NODE_MAXIMUM) sum_lines(g, p, x, r);
    else {
        const char *text = simple_text(g, p, x);
        line(g, "const double r%d = %s;", r, text);
    }
    return x->temporary = r;
}

void loop_write(Gen *g) {
    const View *y = &g->step->view[0];
    ProgramKernel p;
    if (!read_program(g->step, &p)) g->out->failed = true;
    else {
        each_element(g, dims_product(y, 0, y->rank));
        index_lines(g, "item", y->rank);
        for (int64_t v = 0; v < p.nvar; v++)
            if (v < p.rank) line(g, "const i64 x%lld = i%lld;", (long long)v, (long long)v);
            else line(g, "i64 x%lld = 0;", (long long)v);
        const int r = node_lines(g, &p, p.root);
        element_store(g, place_of(g, 0, y->rank, ""), say(g, "r%d", r), 'd');
        line(g, "}");
    }
    free_program(&p);
}
