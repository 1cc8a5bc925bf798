/* op.c -- the language in which operators write their shapes and definitions (op.h). Everything is
   built in the World of the call and returned by value. If a result overflows int64
   (overflow_note), the signature as a whole is refused (signature.c). */
#include "ops/operator/op.h"
#include <stdarg.h>
#include <string.h>

/* The parser of formulas: sum = ['-'] product {('+'|'-') product}, product = factor {'*' factor},
   factor = letter | number | '(' sum ')'. */
typedef struct Formula {
    World *w;
    const char *at;
    va_list args;
    bool seen[26];
    Poly value[26];
} Formula;
static Poly formula_sum(Formula *);

static char formula_next(Formula *f) {
    while (*f->at == ' ') f->at++;
    return *f->at;
}
static Poly formula_letter(Formula *f) {
    int k = *f->at++ - 'a';
    if (!f->seen[k]) f->value[k] = va_arg(f->args, Poly);
    f->seen[k] = true;
    return f->value[k];
}
static Poly formula_factor(Formula *f) {
    char c = formula_next(f);
    if (c >= 'a' && c <= 'z') return formula_letter(f);
    if (c == '(') {
        f->at++;
        Poly p = formula_sum(f);
        if (formula_next(f) == ')') f->at++;
        return p;
    }
    int64_t n = 0;
    for (; *f->at >= '0' && *f->at <= '9'; f->at++) n = n * 10 + (*f->at - '0');
    return poly_int(f->w, n);
}
static Poly formula_product(Formula *f) {
    Poly p = formula_factor(f);
    while (formula_next(f) == '*') {
        f->at++;
        p = poly_mul(f->w, p, formula_factor(f));
    }
    return p;
}
static Poly formula_sum(Formula *f) {
    bool minus = formula_next(f) == '-';
    if (minus) f->at++;
    Poly p = formula_product(f);
    if (minus) p = poly_scale(f->w, p, -1);
    for (char c = formula_next(f); c == '+' || c == '-'; c = formula_next(f)) {
        f->at++;
        Poly q = formula_product(f);
        p = c == '+' ? poly_add(f->w, p, q) : poly_sub(f->w, p, q);
    }
    return p;
}
Poly poly(Call *c, const char *formula, ...) {
    Formula f = {.w = c->w, .at = formula};
    va_start(f.args, formula);
    Poly p = formula_sum(&f);
    va_end(f.args);
    return p;
}

bool all_places(Call *c, Poly n, Poly *low, Poly *high) {
    *low = 0, *high = poly(c, "n - 1", n);
    return true;
}
bool up_to(Call *c, Poly n, Poly *low, Poly *high) {
    *low = poly(c, "1"), *high = n;
    return true;
}
bool divisors(Call *c, int input, Poly *low, Poly *high) {
    *low = poly(c, "1"), *high = poly_int(c->w, INT32_MAX);
    return input == 1 && is_integer(c->in[1]);
}

Poly quot(Call *c, Poly a, Poly b) { return poly_floor(c->w, a, b); }
Poly least(Call *c, Poly a, Poly b) { return poly_min(c->w, a, b); }
Poly total(Call *c, PolyList list, int n) {
    Poly p = 0;
    for (int k = 0; k < n; k++) p = poly_add(c->w, p, list.v[k]);
    return p;
}
Poly product(Call *c, Dims d, int from, int to) {
    Poly p = poly_int(c->w, 1);
    for (int k = from; k < to; k++) p = poly_mul(c->w, p, d.v[k]);
    return p;
}
Poly windows(Call *c, Poly n, WindowAxis x, Poly pads) {
    need_ge(c, x.stride, poly_int(c->w, 1));
    need_ge(c, x.dilation, poly_int(c->w, 1));
    Poly last = poly(c, "n + p - d*k + d - 1", n, pads, x.dilation, x.kernel);
    Poly count = poly(c, "q + 1", quot(c, last, x.stride));
    need_ge(c, count, 0);
    return count;
}
Poly windows_padded(Call *c, Poly n, WindowAxis x, Poly front, Poly back, bool ceil) {
    const Poly pads = poly(c, "p + q", front, back);
    if (!ceil) return windows(c, n, x, pads);
    const Poly started = poly(c, "q + 1", quot(c, poly(c, "n + p - 1", n, front), x.stride)),
               all = windows(c, n, x, poly(c, "p + s - 1", pads, x.stride));
    return least(c, all, started);
}

/* Whether p is a size of an input, which is never negative. */
static bool is_input_size(const Call *c, Poly p) {
    for (int k = 0; k < c->nin; k++)
        for (int a = 0; c->in[k] && a < c->in[k]->dim.n; a++)
            if (c->in[k]->dim.v[a] == p) return true;
    return false;
}
/* Records a need, unless it trivially holds. A need on constants that does not hold is recorded
   too, which makes signature.c refuse the signature. */
static void add_need(Call *c, Lit l) {
    int64_t value;
    Needs *n = c->need;
    if (!n || (!l.eq && is_input_size(c, l.p))) return;
    if (poly_constant(c->w, l.p, &value) && (l.eq ? value == 0 : value >= 0)) return;
    for (int k = 0; k < n->n; k++)
        if (n->v[k].p == l.p && n->v[k].eq == l.eq) return;
    ARENA_GROW(c->w->arena, n->v, n->room, n->n + 1);
    n->v[n->n++] = l;
}
void need_eq(Call *c, Poly a, Poly b) { add_need(c, (Lit){poly_sub(c->w, a, b), true}); }
void need_ge(Call *c, Poly a, Poly b) { add_need(c, (Lit){poly_sub(c->w, a, b), false}); }

bool is_const(Call *c, Poly p, int64_t *value) { return poly_constant(c->w, p, value); }
bool has(Call *c, int input) { return input < c->nin && c->in[input]; }
int rank_of(Call *c, int input) { return has(c, input) ? c->in[input]->dim.n : 0; }
PolyList ints(Call *c, int attr) { return c->attr[attr].ints; }
Dims ints_dims(Call *c, int attr) {
    PolyList list = ints(c, attr);
    Dims d = {.n = list.n < RANK_MAX ? list.n : RANK_MAX};
    for (int k = 0; k < d.n; k++) d.v[k] = list.v[k];
    return d;
}
Poly intof(Call *c, int attr) { return ints(c, attr).n ? ints(c, attr).v[0] : 0; }
int enum_value(Call *c, int attr) { return c->attr[attr].enum_value; }
Ex real(Call *c, int attr) { return c->attr[attr].real; }
bool bits_of(Call *c, int attr, int64_t *out) {
    double x;
    if (!ex_number(c->w, real(c, attr), &x)) return false;
    *out = param_of_real(x);
    return true;
}
bool add_ints(Call *c, int attr, int64_t param[], int *n) {
    const PolyList list = ints(c, attr);
    for (int k = 0; k < list.n; k++)
        if (*n + 2 >= OP_PARAMS || !is_const(c, list.v[k], &param[++*n])) return false;
    return true;
}
int axis_at(Call *c, int attr, int k, int rank) {
    int64_t a;
    if (k >= ints(c, attr).n || !is_const(c, ints(c, attr).v[k], &a)) return -1;
    if (a < 0) a += rank;
    return a >= 0 && a < rank ? (int)a : -1;
}
int axis(Call *c, int attr, int rank) { return axis_at(c, attr, 0, rank); }

bool is_float(const Type *t) { return dtype_class(t->dtype) == 'F'; }
bool is_integer(const Type *t) { return dtype_is_integer(t->dtype); }
bool is_byte(const Type *t) { return dtype_is_byte((int)t->dtype); }
const char *dtypes_agree(Call *c, const char *classes) {
    for (int k = 1; k < c->nin; k++)
        if (c->in[k] && c->in[k]->dtype != c->in[0]->dtype)
            return "the inputs have different element types";
    char class = dtype_class(c->in[0]->dtype);
    return class && strchr(classes, class) ? NULL : "not supported for this element type";
}
const char *matrix_of_numbers(Call *c, int input) {
    const Type *x = c->in[input];
    if (x->dim.n != 2) return "x needs two axes";
    return is_float(x) || is_integer(x) ? NULL : "not supported for this element type";
}
const char *same_type(Call *c, const char *classes) {
    c->out[0] = *c->in[0];
    return dtypes_agree(c, classes);
}

Dims dims_tail(Dims d, int n) {
    Dims r = {.n = n};
    for (int k = 0; k < n; k++) r.v[k] = d.v[d.n - n + k];
    return r;
}
Dims dims_with(Dims d, int axis, Poly p) {
    d.v[axis < 0 ? axis + d.n : axis] = p;
    return d;
}
Dims dims_cons(Poly p, Dims d) {
    Dims r = {.n = d.n + 1, .v = {p}};
    for (int k = 0; k < d.n; k++) r.v[k + 1] = d.v[k];
    return r;
}
Dims dims_without(Dims d, int axis) {
    Dims r = {.n = d.n - 1};
    for (int k = 0; k < r.n; k++) r.v[k] = d.v[k < axis ? k : k + 1];
    return r;
}
bool dims_single(Call *c, Dims d) {
    int64_t n;
    return d.n == 0 || (d.n == 1 && is_const(c, d.v[0], &n) && n == 1);
}
Dims dims_join(Call *c, Dims a, Dims b) {
    for (int k = 1; k <= a.n && k <= b.n; k++) need_eq(c, a.v[a.n - k], b.v[b.n - k]);
    return a.n >= b.n ? a : b;
}

Dims bound(Call *c, Dims n) {
    for (int k = 0; k < n.n; k++) n.v[k] = poly_symbol(c->w, symbol_bound(c->w, n.v[k]));
    return n;
}
/* Digits of radix 1 are 0; a single other radix has e itself as its digit. */
Dims digits(Call *c, Poly e, Dims radix) {
    Dims kept = {0}, digit = {.n = radix.n};
    int position[RANK_MAX]; /* the position among the radices kept; -1: a radix of 1 */
    for (int k = 0; k < radix.n; k++) {
        int64_t one;
        position[k] = is_const(c, radix.v[k], &one) && one == 1 ? -1 : kept.n;
        if (position[k] >= 0) kept.v[kept.n++] = radix.v[k];
    }
    for (int k = 0; k < radix.n; k++)
        digit.v[k] = position[k] < 0 ? 0
                     : kept.n == 1   ? e
                                     : poly_digit(c->w, e, kept.v, kept.n, position[k]);
    return digit;
}

/* Whether p is a sum of products of output indices, bound variables and digits, which are never
   negative. */
static bool never_negative(const World *w, Poly p) {
    Monomial m;
    for (PolyScan s = poly_scan(w, p); poly_next(&s, &m);) {
        if (m.coefficient < 0) return false;
        for (uint32_t k = 0; k < m.degree; k++) {
            SymbolKind kind = symbol_def(w, m.symbol[k]).kind;
            if (kind != SYM_INDEX && kind != SYM_BOUND && kind != SYM_DIGIT) return false;
        }
    }
    return true;
}
static void cond_add(Call *c, Cond *d, Lit l) {
    if (l.eq ? l.p == 0 : never_negative(c->w, l.p)) return;
    if (d->n == COND_MAX) overflow_note(c->w);
    else d->v[d->n++] = l;
}
Cond inside(Call *c, Dims i, Dims n, int from) {
    Cond d = {0};
    for (int k = from; k < i.n; k++) {
        cond_add(c, &d, (Lit){i.v[k], false});
        cond_add(c, &d, (Lit){poly(c, "n - 1 - i", n.v[k], i.v[k]), false});
    }
    return d;
}
Cond when_eq(Call *c, Poly a, Poly b) {
    Cond d = {0};
    cond_add(c, &d, (Lit){poly_sub(c->w, a, b), true});
    return d;
}
Cond when_ge(Call *c, Poly a, Poly b) {
    Cond d = {0};
    cond_add(c, &d, (Lit){poly_sub(c->w, a, b), false});
    return d;
}
Cond both(Call *c, Cond a, Cond b) {
    for (int k = 0; k < b.n; k++) cond_add(c, &a, b.v[k]);
    return a;
}

static Ex expr_of(Call *c, ExNode node) { return ex_make(c->w, &node); }
static Ex reduction(Call *c, ExKind kind, Dims k, Cond cond, Ex a) {
    ExNode node = {.kind = kind, .n = k.n, .cond = cond, .a = a};
    for (int j = 0; j < k.n; j++) node.dims[j] = k.v[j];
    return expr_of(c, node);
}
Ex num(Call *c, int64_t p, int64_t q) { return ex_rational(c->w, p, q); }
Ex size(Call *c, Poly p) {
    int64_t value;
    return is_const(c, p, &value) ? num(c, value, 1)
                                  : expr_of(c, (ExNode){.kind = EX_SIZE, .size = p});
}
Ex at(Call *c, int input, Dims i) {
    ExNode node = {.kind = EX_AT, .word = (uint32_t)input, .n = i.n};
    for (int k = 0; k < i.n; k++) node.dims[k] = i.v[k];
    return expr_of(c, node);
}
Ex add(Call *c, Ex a, Ex b) { return expr_of(c, (ExNode){.kind = EX_ADD, .a = a, .b = b}); }
Ex mul(Call *c, Ex a, Ex b) { return expr_of(c, (ExNode){.kind = EX_MUL, .a = a, .b = b}); }
Ex sub(Call *c, Ex a, Ex b) { return add(c, a, mul(c, num(c, -1, 1), b)); }
Ex divide(Call *c, Ex a, Ex b) { return mul(c, a, fn(c, FN_RECIP, b)); }
Ex max2(Call *c, Ex a, Ex b) { return expr_of(c, (ExNode){.kind = EX_MAX2, .a = a, .b = b}); }
Ex min2(Call *c, Ex a, Ex b) { return expr_of(c, (ExNode){.kind = EX_MIN2, .a = a, .b = b}); }
Ex power(Call *c, Ex a, Ex b) { return expr_of(c, (ExNode){.kind = EX_POW, .a = a, .b = b}); }
Ex fn(Call *c, Function f, Ex a) {
    return expr_of(c, (ExNode){.kind = EX_FN, .word = (uint32_t)f, .a = a});
}
Ex when(Call *c, Cond cond, Ex a, Ex otherwise) {
    return cond.n ? expr_of(c, (ExNode){.kind = EX_IF, .cond = cond, .a = a, .b = otherwise}) : a;
}
Ex where(Call *c, Ex cond, Ex a, Ex b) {
    return expr_of(c, (ExNode){.kind = EX_WHERE, .c = cond, .a = a, .b = b});
}
Ex take(Call *c, Poly k, Ex index, Ex a) {
    return expr_of(c, (ExNode){.kind = EX_TAKE, .n = 1, .dims = {k}, .a = index, .b = a});
}
Ex sum(Call *c, Dims k, Cond cond, Ex a) { return reduction(c, EX_SUM, k, cond, a); }
Ex maximum(Call *c, Dims k, Cond cond, Ex a) { return reduction(c, EX_MAXIMUM, k, cond, a); }

bool step_col2im(StepBuf *b, const View *y, const View *x, int ns,
                 const int64_t axis[][COL2IM_AXIS_PARAMS]) {
    const int before = b->n;
    if (!b->target) return false;
    Step *s = step_add(b, S_OP, 2, (const View[]){*y, *x});
    s->op = "col2im";
    step_param(b, s, COL2IM_AXES, (const int64_t[COL2IM_AXES]){[OP_OUTPUTS] = 1});
    for (int j = 0; j < ns; j++) step_param(b, s, COL2IM_AXIS_PARAMS, axis[j]);
    if (b->target->runs(b->target->user, s)) return true;
    b->n = before;
    return false;
}

Ex at_per_axis(Call *c, int input, Poly k) {
    if (!has(c, input)) return 0;
    Dims d = c->in[input]->dim;
    return at(c, input, dims_single(c, d) ? (Dims){.n = d.n} : (Dims){1, {k}});
}
const char *inputs_present(Call *c, int n, const int input[]) {
    for (int k = 0; k < n; k++)
        if (!has(c, input[k])) return "an input is missing";
    return NULL;
}

const char *inputs_single(Call *c, int n, const int input[]) {
    for (int k = 0; k < n; k++)
        if (has(c, input[k]) && !dims_single(c, c->in[input[k]]->dim))
            return "scales and zero points must be single numbers";
    return NULL;
}

const char *per_axis_fits(Call *c, int input, Poly n) {
    if (!has(c, input) || dims_single(c, c->in[input]->dim)) return NULL;
    if (c->in[input]->dim.n != 1) return "scale and zero point must have at most one axis";
    need_eq(c, c->in[input]->dim.v[0], n);
    return NULL;
}
const char *zero_typed(Call *c, int zero, int of) {
    return !has(c, zero) || c->in[zero]->dtype == c->in[of]->dtype
               ? NULL
               : "a zero point has another element type than what it shifts";
}
Ex minus_zero(Call *c, Ex x, Ex zero) { return zero ? sub(c, x, zero) : x; }
Ex round_saturate(Call *c, Ex x, Ex zero) {
    const DType to = c->out[0].dtype;
    const IntegerRange all = dtype_range(to);
    if (dtype_bits(to) >= 64) return 0;
    Ex y = fn(c, FN_ROUND, x);
    if (zero) y = add(c, y, zero);
    return max2(c, min2(c, y, num(c, all.high, 1)), num(c, all.low, 1));
}
