/* number.c -- doubles, exact rationals and residues, each as one struct of functions.

   A residue is a pair of homomorphic images, modulo p and modulo q = (p - 1)/2, of a value that is
   rational in the inputs. exp maps the q part to the p part: EXP_BASE, a square, has order q modulo
   p, so exp(a + b) = exp(a) exp(b). A result of exp has no q part; its exponential in turn is a
   hash, as is every function for which no law holds modulo p. */
#include "ops/core/number.h"
#include "ops/base/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- properties of functions */

static double recip(double x) { return 1 / x; }
static double delta(double x) { return x == 0 ? 1 : 0; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

static const FunctionFacts facts[FN_COUNT] = {
    /* name       real       at 0      monotone parity low        high      domain     rational */
    [FN_RECIP] = {"recip", recip, NAN, 0, -1, -INFINITY, INFINITY, -INFINITY, true},
    [FN_EXP] = {"exp", exp, 1, 1, 0, 0, INFINITY, -INFINITY, false},
    [FN_LOG] = {"log", log, -INFINITY, 1, 0, -INFINITY, INFINITY, 0, false},
    [FN_SQRT] = {"sqrt", sqrt, 0, 1, 0, 0, INFINITY, 0, false},
    [FN_ERF] = {"erf", erf, 0, 1, -1, -1, 1, -INFINITY, false},
    [FN_TANH] = {"tanh", tanh, 0, 1, -1, -1, 1, -INFINITY, false},
    [FN_SIGMOID] = {"sigmoid", sigmoid, 0.5, 1, 0, 0, 1, -INFINITY, false},
    [FN_ABS] = {"abs", fabs, 0, 0, 1, 0, INFINITY, -INFINITY, true},
    [FN_DELTA] = {"delta", delta, 1, 0, 1, 0, 1, -INFINITY, true},
    [FN_FLOOR] = {"floor", floor, 0, 1, 0, -INFINITY, INFINITY, -INFINITY, true},
    [FN_CEIL] = {"ceil", ceil, 0, 1, 0, -INFINITY, INFINITY, -INFINITY, true},
    [FN_ROUND] = {"round", rint, 0, 1, -1, -INFINITY, INFINITY, -INFINITY, true},
    [FN_SIGN] = {"sign", sign, 0, 1, -1, -1, 1, -INFINITY, true},
    [FN_SIN] = {"sin", sin, 0, 0, -1, -1, 1, -INFINITY, false},
    [FN_COS] = {"cos", cos, 1, 0, 1, -1, 1, -INFINITY, false},
};

const FunctionFacts *function_facts(Function f) { return &facts[f]; }

/* ---- doubles */

static Number real_of(double x) { return (Number){.real = x}; }
static Number real_ratio(int64_t p, int64_t q) { return real_of((double)p / (double)q); }
static Number real_add(Number a, Number b) { return real_of(a.real + b.real); }
static Number real_mul(Number a, Number b) { return real_of(a.real * b.real); }
static Number real_most(Number a, Number b) { return a.real >= b.real || isnan(a.real) ? a : b; }
static Number real_least(Number a, Number b) { return a.real <= b.real || isnan(a.real) ? a : b; }
static Number real_power(Number a, Number b) { return real_of(pow(a.real, b.real)); }
static Number real_call(Function f, Number a) { return real_of(facts[f].real(a.real)); }
static Number real_lowest(void) { return real_of(-INFINITY); }
static bool real_known(Number a) { return !isnan(a.real); }
static bool real_equal(Number a, Number b) {
    return a.real == b.real || (isnan(a.real) && isnan(b.real));
}
static double real_approx(Number a) { return a.real; }

/* The step of a step function that is nearest to x; NaN: f has no steps. */
static double nearest_step(Function f, double x) {
    switch (f) {
    case FN_SIGN:
    case FN_DELTA: return 0;
    case FN_FLOOR:
    case FN_CEIL: return rint(x);
    case FN_ROUND: return floor(x) + 0.5;
    default: return NAN;
    }
}
static Number wary_call(Function f, Number a) {
    const double margin = 1e-9, step = nearest_step(f, a.real);
    if (a.real != step && fabs(a.real - step) <= margin * (1 + fabs(a.real))) return real_of(NAN);
    return real_call(f, a);
}
bool numbers_are_doubles(const Numbers *n) { return n == &numbers_real || n == &numbers_wary; }

const Numbers numbers_wary = {"wary",     real_ratio, real_of,    real_add,  real_mul,
                              real_most,  real_least, real_power, wary_call, real_lowest,
                              real_known, real_equal, real_approx};
const Numbers numbers_real = {"real",     real_ratio, real_of,    real_add,  real_mul,
                              real_most,  real_least, real_power, real_call, real_lowest,
                              real_known, real_equal, real_approx};

/* ---- rationals */

typedef __int128 Wide;
static const Number ratio_unknown = {.ratio = {0, 0}};

static Wide wide_gcd(Wide a, Wide b) {
    if (a < 0) a = -a;
    while (b) {
        Wide r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static Number ratio_make(Wide p, Wide q) { /* q > 0 */
    Wide g = wide_gcd(p, q);
    p /= g;
    q /= g;
    if (p != (int64_t)p || q != (int64_t)q) return ratio_unknown;
    return (Number){.ratio = {(int64_t)p, (int64_t)q}};
}

static bool ratio_finite(Number a) { return a.ratio.q > 0; }
static bool ratio_known(Number a) { return a.ratio.q > 0 || a.ratio.p; }
static double ratio_approx(Number a) { return (double)a.ratio.p / (double)a.ratio.q; }
static Number ratio_of(int64_t p, int64_t q) { return ratio_make(p, q); }
static Number ratio_lowest(void) { return (Number){.ratio = {-1, 0}}; }
static bool ratio_equal(Number a, Number b) {
    return a.ratio.p == b.ratio.p && a.ratio.q == b.ratio.q;
}

static Number ratio_real(double x) { /* exact if the mantissa and the exponent fit */
    int exponent;
    if (!isfinite(x)) return isnan(x) ? ratio_unknown : (Number){.ratio = {x > 0 ? 1 : -1, 0}};
    double m = frexp(x, &exponent);
    int64_t p = (int64_t)ldexp(m, 53);
    exponent -= 53;
    while (p && p % 2 == 0) p /= 2, exponent++;
    if (!p) return ratio_of(0, 1);
    if (exponent < -62 || exponent > 62) return ratio_unknown;
    return exponent < 0 ? ratio_make(p, (Wide)1 << -exponent)
                        : ratio_make((Wide)p * ((Wide)1 << exponent), 1);
}

/* Infinities are supported in max and min only. */
static Number ratio_add(Number a, Number b) {
    if (!ratio_finite(a) || !ratio_finite(b)) return ratio_unknown;
    return ratio_make((Wide)a.ratio.p * b.ratio.q + (Wide)b.ratio.p * a.ratio.q,
                      (Wide)a.ratio.q * b.ratio.q);
}

static Number ratio_mul(Number a, Number b) {
    if (!ratio_finite(a) || !ratio_finite(b)) return ratio_unknown;
    return ratio_make((Wide)a.ratio.p * b.ratio.p, (Wide)a.ratio.q * b.ratio.q);
}

static int ratio_compare(Number a, Number b) {
    if (!a.ratio.q || !b.ratio.q) {
        int x = a.ratio.q ? 0 : a.ratio.p > 0 ? 1 : -1, y = b.ratio.q ? 0 : b.ratio.p > 0 ? 1 : -1;
        return (x > y) - (x < y);
    }
    Wide l = (Wide)a.ratio.p * b.ratio.q, r = (Wide)b.ratio.p * a.ratio.q;
    return (l > r) - (l < r);
}

static Number ratio_most(Number a, Number b) {
    if (!ratio_known(a) || !ratio_known(b)) return ratio_unknown;
    return ratio_compare(a, b) >= 0 ? a : b;
}

static Number ratio_least(Number a, Number b) {
    if (!ratio_known(a) || !ratio_known(b)) return ratio_unknown;
    return ratio_compare(a, b) <= 0 ? a : b;
}

static Number ratio_recip(Number a) {
    if (!ratio_finite(a) || !a.ratio.p || a.ratio.p == INT64_MIN) return ratio_unknown;
    return (Number){
        .ratio = {a.ratio.p < 0 ? -a.ratio.q : a.ratio.q, a.ratio.p < 0 ? -a.ratio.p : a.ratio.p}};
}

static Number ratio_power(Number a, Number b) {
    if (!ratio_finite(a) || b.ratio.q != 1 || b.ratio.p > 64 || b.ratio.p < -64)
        return ratio_unknown;
    Number y = ratio_of(1, 1);
    for (int64_t k = b.ratio.p < 0 ? -b.ratio.p : b.ratio.p; k > 0; k--) y = ratio_mul(y, a);
    return b.ratio.p < 0 ? ratio_recip(y) : y;
}

static int64_t ratio_rint(Ratio a) { /* ties to even */
    int64_t n = integer_floor_div(a.p, a.q);
    Wide twice = 2 * ((Wide)a.p - (Wide)n * a.q);
    return n + (twice > a.q || (twice == a.q && n % 2));
}

/* The square root, if it is rational. */
static Number ratio_sqrt(Number a) {
    if (a.ratio.p < 0) return ratio_unknown;
    int64_t p = (int64_t)sqrt((double)a.ratio.p), q = (int64_t)sqrt((double)a.ratio.q);
    return (Wide)p * p == a.ratio.p && (Wide)q * q == a.ratio.q ? ratio_of(p, q) : ratio_unknown;
}

static Number ratio_call(Function f, Number a) {
    if (!ratio_finite(a)) return ratio_unknown;
    int64_t p = a.ratio.p, q = a.ratio.q;
    switch (f) {
    case FN_RECIP: return ratio_recip(a);
    case FN_ABS: return p < 0 ? ratio_mul(a, ratio_of(-1, 1)) : a;
    case FN_DELTA: return ratio_of(p == 0, 1);
    case FN_FLOOR: return ratio_of(integer_floor_div(p, q), 1);
    case FN_CEIL: return ratio_of(integer_floor_div(p, q) + (q != 1), 1);
    case FN_ROUND: return ratio_of(ratio_rint(a.ratio), 1);
    case FN_SIGN: return ratio_of((p > 0) - (p < 0), 1);
    case FN_SQRT: return ratio_sqrt(a);
    default: break;
    }
    double y = p ? NAN : facts[f].at_zero; /* the values at 0 are 0, 1/2 or 1, which are exact */
    return isfinite(y) ? ratio_real(y) : ratio_unknown;
}

const Numbers numbers_ratio = {"ratio",     ratio_of,    ratio_real,  ratio_add,  ratio_mul,
                               ratio_most,  ratio_least, ratio_power, ratio_call, ratio_lowest,
                               ratio_known, ratio_equal, ratio_approx};

/* ---- residues */

enum {
    EXP_BASE = 2031596240
}; /* 1234567890^2; chosen so that sums of a few powers of small
      numbers are not 0 */
#define P ((uint32_t)RESIDUE_P)
#define Q ((uint32_t)RESIDUE_Q)
#define NONE ((uint32_t)RESIDUE_NONE)

static Number residue_make(uint32_t p, uint32_t q, double order) {
    return (Number){.residue = {p, p == NONE ? NONE : q, order}};
}
static Number residue_unknown(void) { return residue_make(NONE, NONE, NAN); }

static uint32_t mod_add(uint32_t a, uint32_t b, uint32_t m) {
    return a == NONE || b == NONE ? NONE : (uint32_t)(((uint64_t)a + b) % m);
}
static uint32_t mod_mul(uint32_t a, uint32_t b, uint32_t m) {
    return a == NONE || b == NONE ? NONE : (uint32_t)((uint64_t)a * b % m);
}
static uint32_t mod_int(int64_t a, uint32_t m) {
    return (uint32_t)((a % (int64_t)m + (int64_t)m) % (int64_t)m);
}

static uint32_t mod_power(uint32_t a, uint64_t n, uint32_t m) {
    uint32_t y = 1;
    for (; n; n >>= 1, a = mod_mul(a, a, m))
        if (n & 1) y = mod_mul(y, a, m);
    return y;
}

static uint32_t mod_recip(uint32_t a, uint32_t m) {
    return a == 0 || a == NONE ? NONE : a == 1 ? 1 : mod_power(a, m - 2, m);
}

static Number residue_ratio(int64_t p, int64_t q) {
    return residue_make(mod_mul(mod_int(p, P), mod_recip(mod_int(q, P), P), P),
                        mod_mul(mod_int(p, Q), mod_recip(mod_int(q, Q), Q), Q),
                        (double)p / (double)q);
}

/* Computes mantissa times a power of two, which is exact for every finite double. */
static Number residue_real(double x) {
    int exponent;
    if (!isfinite(x)) return residue_make(NONE, NONE, x);
    int64_t m = (int64_t)ldexp(frexp(x, &exponent), 53);
    exponent -= 53;
    uint32_t base_p = exponent < 0 ? mod_recip(2, P) : 2,
             base_q = exponent < 0 ? mod_recip(2, Q) : 2;
    uint64_t n = (uint64_t)(exponent < 0 ? -exponent : exponent);
    return residue_make(mod_mul(mod_int(m, P), mod_power(base_p, n, P), P),
                        mod_mul(mod_int(m, Q), mod_power(base_q, n, Q), Q), x);
}

static Number residue_add(Number a, Number b) {
    return residue_make(mod_add(a.residue.p, b.residue.p, P), mod_add(a.residue.q, b.residue.q, Q),
                        a.residue.order + b.residue.order);
}

static Number residue_mul(Number a, Number b) {
    return residue_make(mod_mul(a.residue.p, b.residue.p, P), mod_mul(a.residue.q, b.residue.q, Q),
                        a.residue.order * b.residue.order);
}

static bool residue_known(Number a) { return a.residue.p != NONE; }
static bool residue_equal(Number a, Number b) { return a.residue.p == b.residue.p; }
static double residue_approx(Number a) { return a.residue.order; }
static Number residue_lowest(void) { return residue_make(NONE, NONE, -INFINITY); }

/* The greater or smaller of two. An infinity has no residue but an order; a value that is not known
   has neither, and the result is not known. If both residues are equal, the operand with a q part
   is returned. */
static Number residue_choose(Number a, Number b, bool a_wins) {
    if (isnan(a.residue.order) || isnan(b.residue.order)) return residue_unknown();
    if (residue_known(a) && a.residue.p == b.residue.p) return a.residue.q == NONE ? b : a;
    return a_wins ? a : b;
}
static Number residue_most(Number a, Number b) {
    return residue_choose(a, b, a.residue.order >= b.residue.order);
}
static Number residue_least(Number a, Number b) {
    return residue_choose(a, b, a.residue.order <= b.residue.order);
}
static Number residue_negate(Number a) { return residue_mul(a, residue_ratio(-1, 1)); }

static Number residue_recip(Number a) {
    if (!a.residue.p) return residue_unknown();
    return residue_make(mod_recip(a.residue.p, P), mod_recip(a.residue.q, Q), 1 / a.residue.order);
}

/* The value of a function without laws: a hash of the p parts, which do not depend on how a value
   is computed. The q part is another part of the hash. */
static Number residue_hash(unsigned f, uint32_t a, uint32_t b, double order) {
    if (isnan(order)) return residue_unknown();
    uint64_t h = random_at(((uint64_t)f << 32 | a) + 0x5eed, b);
    return residue_make((uint32_t)(h % P), (uint32_t)((h >> 32) % Q), order);
}

static Number residue_exp(Number a) {
    double order = exp(a.residue.order);
    if (a.residue.q == NONE) return residue_hash(FN_EXP, a.residue.p, 0, order);
    return residue_make(mod_power(EXP_BASE, a.residue.q, P), NONE, order);
}

static Number residue_sigmoid(Number a) { /* 1/(1 + exp(-a)) */
    Number y = residue_recip(residue_add(residue_ratio(1, 1), residue_exp(residue_negate(a))));
    y.residue.order = sigmoid(a.residue.order);
    return y;
}

static Number residue_tanh(Number a) { /* 2 sigmoid(2 a) - 1 */
    Number s = residue_sigmoid(residue_mul(a, residue_ratio(2, 1)));
    Number y = residue_add(residue_mul(s, residue_ratio(2, 1)), residue_ratio(-1, 1));
    y.residue.order = tanh(a.residue.order);
    return y;
}

/* a^((p+1)/4) for p = 3 mod 4: this is multiplicative, and its square is a or -a. */
static Number residue_sqrt(Number a) {
    double order = sqrt(a.residue.p ? a.residue.order : 0);
    if (isnan(order)) return residue_unknown();
    uint32_t p = mod_power(a.residue.p, ((uint64_t)P + 1) / 4, P);
    return residue_make(p, residue_hash(FN_SQRT, p, 0, 0).residue.q, order);
}

static int residue_sign(Number a) { return !a.residue.p ? 0 : a.residue.order > 0 ? 1 : -1; }

/* If the residue is that of the integer nearest to the double, the value is this integer; otherwise
   the double is rounded. */
static Number residue_integer(Number a, double (*rounding)(double)) {
    double near = rint(a.residue.order);
    if (!(fabs(near) < 9e15)) return residue_unknown();
    if (mod_int((int64_t)near, P) == a.residue.p) return residue_ratio((int64_t)near, 1);
    return residue_ratio((int64_t)rounding(a.residue.order), 1);
}

static Number residue_odd(Function f, Number a) {
    Number y = a.residue.order < 0 ? residue_negate(a) : a;
    y = residue_hash(f, y.residue.p, 0, facts[f].real(y.residue.order));
    return a.residue.order < 0 ? residue_negate(y) : y;
}

static Number residue_call(Function f, Number a) {
    if (!residue_known(a)) return residue_unknown();
    if (!a.residue.p && isfinite(facts[f].at_zero)) return residue_real(facts[f].at_zero);
    switch (f) {
    case FN_RECIP: return residue_recip(a);
    case FN_EXP: return residue_exp(a);
    case FN_SIGMOID: return residue_sigmoid(a);
    case FN_TANH: return residue_tanh(a);
    case FN_SQRT: return residue_sqrt(a);
    case FN_ABS: return residue_sign(a) < 0 ? residue_negate(a) : a;
    case FN_DELTA: return residue_ratio(0, 1);
    case FN_SIGN: return residue_ratio(residue_sign(a), 1);
    case FN_FLOOR:
    case FN_CEIL:
    case FN_ROUND: return residue_integer(a, facts[f].real);
    default: break;
    }
    if (facts[f].parity < 0) return residue_odd(f, a);
    Number b = facts[f].parity > 0 && a.residue.order < 0 ? residue_negate(a) : a;
    return residue_hash(f, b.residue.p, 0, facts[f].real(a.residue.order));
}

/* Whether b is a multiple of 1/4 of absolute value at most 16. */
static bool residue_is_quarters(Number b) {
    const double most = 64, n = rint(4 * b.residue.order);
    return fabs(n) <= most && residue_ratio((int64_t)n, 4).residue.p == b.residue.p;
}
/* a to the power n/4, n not 0. It is computed from square roots, so that it equals the same power
   written with roots. */
static Number residue_root(Number a, int n, double order) {
    const Number base = n < 0 ? residue_recip(a) : a;
    if (!residue_known(base)) return base;
    const Number half = residue_sqrt(base);
    if (!residue_known(half)) return half;
    const Number quarter = residue_sqrt(half);
    Number y = n % 2 ? quarter : residue_ratio(1, 1);
    for (int k = 0; k < abs(n) / 2; k++) y = residue_mul(y, half);
    y.residue.order = order;
    return y;
}

static Number residue_power(Number a, Number b) {
    if (!residue_known(a) || !residue_known(b)) return residue_unknown();
    double n = rint(b.residue.order), order = pow(a.residue.order, b.residue.order);
    if (fabs(n) <= 1024 && mod_int((int64_t)n, P) == b.residue.p) {
        Number base = n < 0 ? residue_recip(a) : a;
        uint64_t k = (uint64_t)fabs(n);
        if (!residue_known(base)) return base;
        return residue_make(
            mod_power(base.residue.p, k, P),
            base.residue.q == NONE ? (k ? NONE : 1) : mod_power(base.residue.q, k, Q), order);
    }
    if (residue_is_quarters(b)) return residue_root(a, (int)rint(4 * b.residue.order), order);
    return residue_hash(FN_COUNT, a.residue.p, b.residue.p, order);
}

const Numbers numbers_residue = {"residue",     residue_ratio,  residue_real,  residue_add,
                                 residue_mul,   residue_most,   residue_least, residue_power,
                                 residue_call,  residue_lowest, residue_known, residue_equal,
                                 residue_approx};
