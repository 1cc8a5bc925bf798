/* elements.c -- writes the text for single elements: their types, the conversions that
   isomer_backend.h specifies, offsets in views, and element-wise programs. */
#include "ops/cuda/generate.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int bytes;
    char class;
} types[TYPES] = {
    [F32] = {"float", 4, 'f'}, [F64] = {"double", 8, 'd'}, [F16] = {"u16", 2, 'f'},
    [BF16] = {"u16", 2, 'f'},  [B8] = {"u8", 1, 'i'},      [U8] = {"u8", 1, 'i'},
    [I8] = {"i8", 1, 'i'},     [U16] = {"u16", 2, 'i'},    [I16] = {"i16", 2, 'i'},
    [I32] = {"i32", 4, 'i'},   [U32] = {"u32", 4, 'i'},    [I64] = {"i64", 8, 'i'},
    [U64] = {"u64", 8, 'u'},
};

int source_element_bytes(int dtype) { return dtype > 0 && dtype < TYPES ? types[dtype].bytes : 0; }
const char *type_name(int dtype) { return types[dtype].name; }
static bool is_natural(int t) { return t == U8 || t == U16 || t == U32 || t == U64; }

char class_with(char class, int dtype) {
    static const char order[] = "iufd";
    const char *a = strchr(order, class), *b = strchr(order, types[dtype].class);
    return a > b ? *a : *b;
}
bool class_real(char class) { return class == 'f' || class == 'd'; }
const char *class_name(char class) {
    return class == 'f' ? "float" : class == 'd' ? "double" : class == 'u' ? "u64" : "i64";
}
char sum_class(const Step *s, int views) {
    char class = 'i';
    for (int k = 1; k <= views; k++) class = class_with(class, s->view[k].dtype);
    return class;
}
int64_t dims_product(const View *v, int from, int to) {
    int64_t n = 1;
    for (int a = from; a < to; a++) n *= v->dim[a];
    return n;
}

/* ---- elements */
/* The text that reads the stored element x of type t as a value of the class. */
static const char *loaded(Gen *g, int t, const char *x, char class) {
    switch (t) {
    case F16: return say(g, "(%s)h2f(%s)", class_name(class), x);
    case BF16: return say(g, "(%s)b2f(%s)", class_name(class), x);
    case B8: return say(g, "(%s)(%s != 0)", class_name(class), x);
    default: return say(g, "(%s)%s", class_name(class), x);
    }
}
const char *element(Gen *g, int view, const char *at, char class) {
    const char *x = g->packed ? say(g, "l%d[e]", view) : say(g, "v%d[%s]", view, at);
    return loaded(g, g->step->view[view].dtype, x, class);
}

/* The text that converts a real number to an integer of this type. */
static const char *saturated(Gen *g, int t, const char *x) {
    const int bits = 8 * types[t].bytes;
    if (is_natural(t))
        return say(g, "saturate_u((double)%s, %a, %lluULL)", x,
                   bits == 64 ? 0x1p64 : ldexp(1, bits) - 1,
                   (unsigned long long)(bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1));
    const int64_t most = (int64_t)((UINT64_C(1) << (bits - 1)) - 1);
    return say(g, "saturate((double)%s, %a, %a, -%lldLL - 1, %lldLL)", x, -ldexp(1, bits - 1),
               bits == 64 ? 0x1p63 : (double)most, (long long)most, (long long)most);
}

/* The text that converts the value x of the class to a stored element of type t. */
static const char *converted(Gen *g, int t, const char *x, char class) {
    if (t == F16 || t == BF16) return say(g, "%s((float)%s)", t == F16 ? "f2h" : "f2b", x);
    if (t == B8) return say(g, "(%s != 0)", x);
    const bool plain = t == F32 || t == F64 || !class_real(class);
    return say(g, "(%s)%s", type_name(t), plain ? x : saturated(g, t, x));
}

void element_store(Gen *g, const char *at, const char *x, char class) {
    const char *to = g->packed ? "l0[e]" : say(g, "v0[%s]", at);
    line(g, "%s = %s;", to, converted(g, g->step->view[0].dtype, x, class));
}

const char *class_constant(Gen *g, double k, char class) {
    const char *T = class_name(class);
    if (!class_real(class)) return say(g, "(%s)%lldLL", T, (long long)k);
    if (isnan(k)) return say(g, "(%s)NAN", T);
    if (isinf(k)) return say(g, "(%s)%cINFINITY", T, k < 0 ? '-' : '+');
    return say(g, "(%s)%a", T, k);
}

/* ---- Offsets and indices. */
const char *place_of(Gen *g, int view, int rank, const char *more) {
    const View *v = &g->step->view[view];
    const char *at = more;
    for (int a = 0; a < rank; a++)
        if (v->dim[a] > 1 && v->stride[a])
            at = say(g, "%s%s(place_t)%lld*i%d", at, *at ? " + " : "", (long long)v->stride[a], a);
    return *at ? at : "0";
}

void index_lines(Gen *g, const char *from, int rank) {
    const View *y = &g->step->view[0];
    int first = 0;
    while (first < rank && y->dim[first] == 1) first++;
    line(g, "count_t q = %s;", from);
    for (int a = rank - 1; a >= 0; a--)
        if (a < first || y->dim[a] == 1) line(g, "const place_t i%d = 0;", a);
        else if (a == first) line(g, "const place_t i%d = (place_t)q;", a);
        else
            line(g, "const place_t i%d = (place_t)(q %% %lluu); q /= %lluu;", a,
                 (unsigned long long)y->dim[a], (unsigned long long)y->dim[a]);
}

void each_element(Gen *g, int64_t count) {
    const int64_t blocks = (count + THREADS - 1) / THREADS;
    g->out->block = THREADS;
    g->out->grid = (unsigned)(blocks < 1 << 20 ? blocks : 1 << 20);
    line(g, "for (count_t item = (count_t)blockIdx.x * %du + threadIdx.x; item < %lluu;", THREADS,
         (unsigned long long)count);
    line(g, "     item += (count_t)gridDim.x * %du) {", THREADS);
}

/* ---- programs */
static const char *const operators[SCALAR_OP_COUNT] = {
    [C_ADD] = "t%d + t%d",
    [C_SUB] = "t%d - t%d",
    [C_MUL] = "t%d * t%d",
    [C_EQ] = "t%d == t%d",
    [C_LT] = "t%d < t%d",
    [C_LE] = "t%d <= t%d",
    [C_NOT] = "t%d == 0",
    [C_AND] = "t%d != 0 && t%d != 0",
    [C_OR] = "t%d != 0 || t%d != 0",
    [C_XOR] = "(t%d != 0) != (t%d != 0)",
};
/* Functions of the prelude, whose names end with the class. */
static const char *const prelude_functions[SCALAR_OP_COUNT] = {
    [C_MIN] = "min",   [C_MAX] = "max",         [C_MOD] = "mod",     [C_RELU] = "relu",
    [C_SIGN] = "sign", [C_SIGMOID] = "sigmoid", [C_ISINF] = "isinf",
};
static const char *const libm_functions[SCALAR_OP_COUNT] = {
    [C_EXP] = "exp",   [C_LOG] = "log",    [C_SQRT] = "sqrt", [C_TANH] = "tanh",
    [C_ERF] = "erf",   [C_SIN] = "sin",    [C_COS] = "cos",   [C_FLOOR] = "floor",
    [C_CEIL] = "ceil", [C_ROUND] = "rint", [C_ABS] = "fabs",
};

/* An operator with one or two operands. */
static const char *infix(Gen *g, const Scalar *k) {
    char text[80];
    snprintf(text, sizeof text, operators[k->op], k->a, k->b);
    return say(g, "%s", text);
}

static const char *real_value(Gen *g, const Scalar *k) {
    const char c = g->class, *f = c == 'f' ? "f" : "";
    switch (k->op) {
    case C_MIN:
    case C_MAX:
    case C_MOD: return say(g, "%s_%c(t%d, t%d)", prelude_functions[k->op], c, k->a, k->b);
    case C_DIV: return say(g, "t%d / t%d", k->a, k->b);
    case C_POW: return say(g, "pow%s(t%d, t%d)", f, k->a, k->b);
    case C_NEG: return say(g, "-t%d", k->a);
    case C_RECIP: return say(g, "1 / t%d", k->a);
    case C_ISNAN: return say(g, "t%d != t%d", k->a, k->a);
    default:
        if (prelude_functions[k->op])
            return say(g, "%s_%c(t%d)", prelude_functions[k->op], c, k->a);
        return say(g, "%s%s(t%d)", libm_functions[k->op], f, k->a);
    }
}

static const char *integer_value(Gen *g, const Scalar *k) {
    const char c = g->class;
    const int a = k->a;
    switch (k->op) {
    case C_MIN:
    case C_MAX:
    case C_MOD: return say(g, "%s_%c(t%d, t%d)", prelude_functions[k->op], c, a, k->b);
    case C_DIV: return say(g, "div_%c(t%d, t%d)", c, a, k->b);
    case C_POW: return say(g, "pow_%c(t%d, t%d)", c, a, k->b);
    case C_ADD:
    case C_SUB:
    case C_MUL: /* integers wrap */
        return say(g, "(%s)((u64)t%d %c (u64)t%d)", class_name(c), a,
                   k->op == C_ADD   ? '+'
                   : k->op == C_SUB ? '-'
                                    : '*',
                   k->b);
    case C_NEG: return say(g, "(%s)(0 - (u64)t%d)", class_name(c), a);
    case C_ABS:
        if (c == 'i') return say(g, "t%d < 0 ? (i64)(0 - (u64)t%d) : t%d", a, a, a);
        break;
    case C_RELU:
        if (c == 'i') return say(g, "t%d < 0 ? 0 : t%d", a, a);
        break;
    case C_SIGN: return say(g, "(t%d > 0) - (t%d < 0)", a, a);
    case C_ISNAN:
    case C_ISINF: return "0";
    default: break;
    }
    return say(g, "t%d", a); /* floor, ceil and round leave integers unchanged */
}

const char *program_value(Gen *g, const Scalar *k, const char *acc) {
    const char *T = class_name(g->class);
    if (k->op == C_ACC) return say(g, "(%s)%s", T, acc);
    if (k->op == C_CONST) return class_constant(g, k->k, g->class);
    if (k->op == C_WHERE) return say(g, "t%d != 0 ? t%d : t%d", k->a, k->b, k->c);
    if (k->op == C_AS)
        return loaded(g, k->b, converted(g, k->b, say(g, "t%d", k->a), g->class), g->class);
    if (k->op == C_VIEW)
        return element(g, k->a, place_of(g, k->a, g->step->view[k->a].rank, ""), g->class);
    const bool wraps = !class_real(g->class) && k->op <= C_MUL;
    if (operators[k->op] && !wraps) return infix(g, k);
    return class_real(g->class) ? real_value(g, k) : integer_value(g, k);
}

void program_lines(Gen *g, const char *acc, char class) {
    const Step *s = g->step;
    for (int i = 0; i < s->ncode; i++)
        line(g, "const %s t%d = %s;", class_name(g->class), i, program_value(g, &s->code[i], acc));
    const char *last = s->ncode ? say(g, "t%d", s->ncode - 1) : acc;
    element_store(g, place_of(g, 0, s->view[0].rank, ""), last, s->ncode ? g->class : class);
}
