/* requantize.c -- finds the instructions into which QuantizeLinear and DequantizeLinear are lowered
   (ops/quantize.c), each alone or one after the other:

     d = x / scale; r = round d; q = r + zero       the sum only if there is a zero point; no
                                                    division if affine.c has already applied it
     for signed types: q = where isnan(q) least q
     t = q as an element of 8 or 16 bits; u = t - zero; y = u * scale'

   Scales and zero points are constants of the program. Rounded values are whole numbers, so that
   converting them is the same as clamping them. Without a zero point the kernel still adds 0, which
   turns -0 into the 0 that would be stored. */
#include "ops/cpu/cpu.h"
#include <math.h>
#include <string.h>

static const Scalar *at(const Scalar code[], int i, int op) {
    return i >= 0 && code[i].op == op ? &code[i] : NULL;
}
static bool constant(const Scalar code[], int i, float *k) {
    if (code[i].op != C_CONST || !isfinite((float)code[i].k)) return false;
    *k = (float)code[i].k;
    return true;
}

/* Returns the value that t converts, before the `where` that replaces NaN. -1: the type is signed
   and that `where` is missing. */
static int before_where(const Scalar code[], const Scalar *t, Joined *r) {
    if (dtype_class(t->b) == 'U') return t->a;
    const Scalar *w = at(code, t->a, C_WHERE);
    float least;
    if (!w || !at(code, w->a, C_ISNAN) || code[w->a].a != w->c || !constant(code, w->b, &least) ||
        least != r->k[2])
        return -1;
    joined_enter(r, t->a), joined_enter(r, w->a);
    return w->c;
}
bool rounding_match(const Scalar code[], int i, Joined *r) {
    const Scalar *sum = at(code, i, C_ADD);
    if (sum && constant(code, sum->b, &r->k[1])) joined_enter(r, i), i = sum->a;
    const Scalar *round = at(code, i, C_ROUND), *ratio = round ? at(code, round->a, C_DIV) : NULL;
    if (!round || rintf(r->k[1]) != r->k[1]) return false;
    joined_enter(r, i);
    r->x = round->a, r->k[0] = 1;
    if (ratio && constant(code, ratio->b, &r->k[0])) r->x = ratio->a, joined_enter(r, round->a);
    return true;
}
bool quantize_match(const Scalar code[], int ncode, int i, Joined *r) {
    *r = (Joined){.x = -1};
    if (!rounding_match(code, i, r) || r->nabsorbed == 0) return false;
    /* Value i is the result, so it is not one of the inner values. */
    int n = 0;
    for (int k = 0; k < r->nabsorbed; k++)
        if (r->absorbed[k] != i) r->absorbed[n++] = r->absorbed[k];
    r->nabsorbed = n;
    return n > 0 && joined_alone(code, ncode, i, r);
}
bool dequantize_match(const Scalar code[], int ncode, int i, Joined *r) {
    const Scalar *y = at(code, i, C_MUL), *difference = y ? at(code, y->a, C_SUB) : NULL;
    *r = (Joined){.x = difference ? difference->a : -1};
    return difference && constant(code, y->b, &r->k[1]) &&
           constant(code, difference->b, &r->k[0]) && joined_enter(r, y->a) &&
           joined_alone(code, ncode, i, r);
}

bool requantize_match(const Scalar code[], int ncode, int i, Joined *r) {
    const Scalar *y = at(code, i, C_MUL);
    *r = (Joined){.x = -1};
    if (!y || !constant(code, y->b, &r->k[5])) return false;
    const Scalar *difference = at(code, y->a, C_SUB);
    int stored = y->a;
    if (difference && constant(code, difference->b, &r->k[4]))
        joined_enter(r, y->a), stored = difference->a;
    const Scalar *t = at(code, stored, C_AS);
    const int bits = t ? dtype_bits(t->b) : 0;
    if ((bits != 8 && bits != 16) || !strchr("UI", dtype_class(t->b))) return false;
    joined_enter(r, stored);
    const bool natural = dtype_class(t->b) == 'U';
    r->k[2] = natural ? 0 : -(float)(1 << (bits - 1));
    r->k[3] = (float)((1 << (natural ? bits : bits - 1)) - 1);
    const int q = before_where(code, t, r);
    return q >= 0 && rounding_match(code, q, r) && joined_alone(code, ncode, i, r);
}
