/* requantize.c -- finds in a program what QuantizeLinear and DequantizeLinear leave of a number
   when one follows the other (ops/quantize.c lowers them so):

     d = x / scale; r = round d; q = r + zero       the sum only where there is a zero point; no
                                                    division where it was done before (affine.c)
     for signed types: q = where isnan(q) least q
     t = q as an element of 8 or 16 bits; u = t - zero; y = u * scale'

   Scales and zero points are constants of the program. Rounded numbers are whole, so that
   converting them is clamping. Without a zero point 0 is added, which makes of -0 the 0 that is
   stored. */
#include "ops/cpu/cpu.h"
#include <math.h>
#include <string.h>

static const Scalar *at(const Scalar code[], int i, int op) {
    return i >= 0 && code[i].op == op ? &code[i] : NULL;
}
static bool constant(const Scalar code[], int i, float *k) {
    *k = (float)code[i].k;
    return code[i].op == C_CONST && isfinite(*k);
}
static int enter(Requantize *r, int i) {
    r->inside[r->ninside++] = i;
    return i;
}

/* The value that t stores before a `where` for what is not a number. -1: a signed type without one.
 */
static int before_where(const Scalar code[], const Scalar *t, Requantize *r) {
    if (dtype_class(t->b) == 'U') return t->a;
    const Scalar *w = at(code, t->a, C_WHERE);
    float least;
    if (!w || !at(code, w->a, C_ISNAN) || code[w->a].a != w->c || !constant(code, w->b, &least) ||
        least != r->k[2])
        return -1;
    enter(r, t->a), enter(r, w->a);
    return w->c;
}
bool quantize_match(const Scalar code[], int i, Requantize *r) {
    const Scalar *sum = at(code, i, C_ADD);
    if (sum && constant(code, sum->b, &r->k[1])) enter(r, i), i = sum->a;
    const Scalar *round = at(code, i, C_ROUND), *ratio = round ? at(code, round->a, C_DIV) : NULL;
    if (!round || rintf(r->k[1]) != r->k[1]) return false;
    enter(r, i);
    r->x = round->a, r->k[0] = 1;
    if (ratio && constant(code, ratio->b, &r->k[0])) r->x = ratio->a, enter(r, round->a);
    return true;
}
static bool is_inside(const Requantize *r, int i) {
    for (int k = 0; k < r->ninside; k++)
        if (r->inside[k] == i) return true;
    return false;
}
/* Another value than i reads what lies inside. */
static bool read_elsewhere(const Scalar code[], int ncode, int i, const Requantize *r) {
    bool read = false;
    for (int j = 0; j < ncode; j++) {
        const int n = scalar_values(code[j].op);
        if (j == i || is_inside(r, j)) continue;
        read |= n > 0 && is_inside(r, code[j].a);
        read |= n > 1 && is_inside(r, code[j].b);
        read |= n > 2 && is_inside(r, code[j].c);
    }
    return read;
}

bool requantize_match(const Scalar code[], int ncode, int i, Requantize *r) {
    const Scalar *y = at(code, i, C_MUL);
    *r = (Requantize){.ninside = 0};
    if (!y || !constant(code, y->b, &r->k[5])) return false;
    const Scalar *difference = at(code, y->a, C_SUB);
    int stored = y->a;
    if (difference && constant(code, difference->b, &r->k[4]))
        enter(r, y->a), stored = difference->a;
    const Scalar *t = at(code, stored, C_AS);
    const int bits = t ? dtype_bits(t->b) : 0;
    if ((bits != 8 && bits != 16) || !strchr("UI", dtype_class(t->b))) return false;
    enter(r, stored);
    const bool natural = dtype_class(t->b) == 'U';
    r->k[2] = natural ? 0 : -(float)(1 << (bits - 1));
    r->k[3] = (float)((1 << (natural ? bits : bits - 1)) - 1);
    const int q = before_where(code, t, r);
    return q >= 0 && quantize_match(code, q, r) && !read_elsewhere(code, ncode, i, r);
}
