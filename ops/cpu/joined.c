/* joined.c -- finds groups of instructions of a float program that one kernel computes in a single
   pass. This file finds activations, with factors in any order and constants at any place:

     k * x * sigmoid(u)         silu (Ramachandran, Zoph, Le, 2017), quick gelu
     k * x * (c + c * tanh u)   gelu by tanh: c + c * tanh u is 2c * sigmoid(2u)
     k * x * (c + c * erf u)    gelu (Hendrycks, Gimpel, 2016)

   Here u is a * x or, except for erf, a * x + b * x^3. */
#include "ops/cpu/cpu.h"

bool joined_enter(Joined *r, int i) {
    if (r->nabsorbed == JOINED_MOST) return false;
    r->absorbed[r->nabsorbed++] = i;
    return true;
}
static bool is_absorbed(const Joined *r, int i) {
    for (int k = 0; k < r->nabsorbed; k++)
        if (r->absorbed[k] == i) return true;
    return false;
}
bool joined_alone(const Scalar code[], int ncode, int i, const Joined *r) {
    bool read = false;
    for (int j = 0; j < ncode; j++) {
        const int n = op_values(code[j].op);
        if (j == i || is_absorbed(r, j)) continue;
        read |= n > 0 && is_absorbed(r, code[j].a);
        read |= n > 1 && is_absorbed(r, code[j].b);
        read |= n > 2 && is_absorbed(r, code[j].c);
    }
    return !read;
}

/* ---- polynomials of degree at most 3 in one value */
enum { DEGREE = 3 };
typedef struct Cubic {
    double c[DEGREE + 1]; /* c[k]: the coefficient of x^k */
} Cubic;

static bool cubic_product(const Cubic *a, const Cubic *b, Cubic *out) {
    *out = (Cubic){{0}};
    for (int i = 0; i <= DEGREE; i++)
        for (int j = 0; j <= DEGREE; j++) {
            const double term = a->c[i] * b->c[j];
            if (i + j <= DEGREE) out->c[i + j] += term;
            else if (term != 0) return false;
        }
    return true;
}
static bool cubic_power(const Cubic *x, double exponent, Cubic *out) {
    Cubic square;
    if (exponent == 2) return cubic_product(x, x, out);
    return exponent == 3 && cubic_product(x, x, &square) && cubic_product(&square, x, out);
}
static bool cubic_combine(const Scalar *c, const Cubic *a, const Cubic *b, const Scalar *second,
                          Cubic *out) {
    const double sign = c->op == C_SUB ? -1 : 1;
    const bool number = second->op == C_CONST;
    switch (c->op) {
    case C_ADD:
    case C_SUB:
        for (int k = 0; k <= DEGREE; k++) out->c[k] = a->c[k] + sign * b->c[k];
        return true;
    case C_MUL: return cubic_product(a, b, out);
    case C_DIV:
        for (int k = 0; k <= DEGREE && number; k++) out->c[k] = a->c[k] / second->k;
        return number && second->k != 0;
    case C_POW: return number && cubic_power(a, second->k, out);
    default: return false;
    }
}
/* Expresses value i as a polynomial in value x, and adds the instructions that compute it to r.
   False: it is none. */
static bool cubic_of(const Scalar code[], int i, int x, Cubic *out, Joined *r) {
    const Scalar *c = &code[i];
    Cubic a, b = {{0}};
    *out = (Cubic){{0}};
    if (i == x) return out->c[1] = 1, true;
    if (c->op == C_CONST) return out->c[0] = c->k, true;
    const int n = op_values(c->op);
    if (i < x || n < 1 || n > 2 || !joined_enter(r, i) || !cubic_of(code, c->a, x, &a, r))
        return false;
    if (c->op == C_NEG) {
        for (int k = 0; k <= DEGREE; k++) out->c[k] = -a.c[k];
        return true;
    }
    return n == 2 && cubic_of(code, c->b, x, &b, r) && cubic_combine(c, &a, &b, &code[c->b], out);
}

/* ---- activations: products in which x and one gate occur exactly once and all other factors are
   numbers */
typedef struct Product {
    const Scalar *code;
    int y, x, gate; /* values; y: the whole product; gate: the sigmoid, tanh or erf */
    int nx, ngate;  /* how often the factors x and gate were found */
    double k;       /* the product of the numbers */
} Product;

static bool gate_factor(Product *p, int i, Joined *r) {
    Cubic line;
    const bool alone = p->code[p->gate].op == C_SIGMOID;
    if (!cubic_of(p->code, i, p->gate, &line, r)) return false;
    if (line.c[1] == 0 || line.c[2] != 0 || line.c[3] != 0) return false;
    if (line.c[0] != (alone ? 0 : line.c[1])) return false;
    p->k *= line.c[1], p->ngate++;
    return joined_enter(r, p->gate);
}
static bool multiply_factors(Product *p, int i, Joined *r) {
    const Scalar *c = &p->code[i];
    if (i == p->x) return p->nx++, true;
    if (c->op == C_CONST) return p->k *= c->k, true;
    const bool divides = c->op == C_DIV && p->code[c->b].op == C_CONST && p->code[c->b].k != 0;
    if (c->op != C_MUL && !divides) return gate_factor(p, i, r);
    if (i < p->x || (i != p->y && !joined_enter(r, i))) return false;
    if (divides) p->k /= p->code[c->b].k;
    return multiply_factors(p, c->a, r) && (divides || multiply_factors(p, c->b, r));
}
static bool gated(const Scalar code[], int i, int gate, int x, Joined *r) {
    Product p = {.code = code, .y = i, .x = x, .gate = gate, .k = 1};
    Cubic u;
    *r = (Joined){.x = x};
    if (!cubic_of(code, code[gate].a, x, &u, r) || u.c[0] != 0 || u.c[1] == 0 || u.c[2] != 0)
        return false;
    if (!multiply_factors(&p, i, r) || p.nx != 1 || p.ngate != 1) return false;
    const double both = code[gate].op == C_TANH ? 2 : 1;
    if (code[gate].op == C_ERF && u.c[3] != 0) return false;
    r->k[0] = (float)(both * p.k), r->k[1] = (float)(both * u.c[1]);
    r->k[2] = (float)(both * u.c[3]);
    return true;
}

bool activation_gate(int op) { return op == C_SIGMOID || op == C_TANH || op == C_ERF; }
bool activation_match(const Scalar code[], int ncode, int i, bool *by_erf, Joined *r) {
    if (code[i].op != C_MUL && code[i].op != C_DIV) return false;
    for (int gate = i - 1; gate > 0 && gate > i - JOINED_MOST; gate--) {
        const int op = code[gate].op;
        if (!activation_gate(op)) continue;
        for (int x = code[gate].a; x >= 0 && x > gate - JOINED_MOST; x--)
            if (code[x].op != C_CONST && gated(code, i, gate, x, r) &&
                joined_alone(code, ncode, i, r)) {
                *by_erf = op == C_ERF;
                return true;
            }
    }
    return false;
}
