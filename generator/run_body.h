/* run_body.h -- runs unrolled programs, all lanes at once.

   The code is written once, with the compiler's vector types. run_x86_64.c or run_any.c, whichever
   fits the processor, compiles it for one or several instruction sets. All versions give the same
   bits, since doubles are added and multiplied in the order of the program and never contracted to
   fused operations. */
#ifndef ISOMER_RUN_BODY_H
#define ISOMER_RUN_BODY_H
#include "generator/program.h"
#include <math.h>
#include <string.h>

#pragma GCC diagnostic ignored \
    "-Wpsabi" /* vectors wider than the base instruction set has are not passed between files */
#define VECTOR(type) type __attribute__((vector_size(sizeof(type) * LANES), aligned(16), may_alias))
typedef VECTOR(uint32_t) Words;
typedef VECTOR(uint64_t) Wide;
typedef VECTOR(int64_t) WideMask;
typedef VECTOR(int32_t) Mask;
typedef VECTOR(double) Reals;
#define INLINE static inline __attribute__((always_inline))
enum {
    P_BITS = 31,
    P_REST = (int)((1u << 31) - RESIDUE_P),
    Q_BITS = 30,
    Q_REST = (1 << 30) - RESIDUE_Q
};
_Static_assert(P_REST > 0 && P_REST < 128 && Q_REST > 0 && Q_REST < 64,
               "reduction takes two folds");

typedef struct TermRun {
    const Lanes *bank[BANK_CONST + 1];
} TermRun;
INLINE const Lanes *at(const TermRun *r, uint32_t operand) {
    return r->bank[operand >> BANK_SHIFT] + (operand & ((1u << BANK_SHIFT) - 1));
}

INLINE Words load(const uint32_t *p) { return *(const Words *)p; }
INLINE Reals load_reals(const double *p) { return *(const Reals *)p; }
INLINE Wide widen(Words x) { return __builtin_convertvector(x, Wide); }
INLINE Words narrow(Wide x) { return __builtin_convertvector(x, Words); }

/* fold_p and fold_q reduce a product below 2^62 to less than 2^38, so that thousands of them can be
   added in 64 bits. finish_p and finish_q reduce such a sum to a residue. */
INLINE Wide fold_p(Wide x) { return (x >> P_BITS) * P_REST + (x & ((1ull << P_BITS) - 1)); }
INLINE Wide fold_q(Wide x) { return (x >> Q_BITS) * Q_REST + (x & ((1ull << Q_BITS) - 1)); }
INLINE Words finish_p(Wide x) {
    x = fold_p(fold_p(x));
    return narrow(x - ((Wide)(x >= RESIDUE_P) & RESIDUE_P));
}
INLINE Words finish_q(Wide x) {
    x = fold_q(fold_q(x));
    return narrow(x - ((Wide)(x >= RESIDUE_Q) & RESIDUE_Q));
}
INLINE Words none_where(Mask unknown, Words x) {
    return ((Words)unknown & RESIDUE_NONE) | (x & ~(Words)unknown);
}

/* An unknown value has neither a residue nor an order. */
INLINE Reals nan_where(Mask unknown, Reals x) {
    WideMask m = __builtin_convertvector(unknown, WideMask);
    Wide bits = ((Wide)x & ~(Wide)m) | ((Wide)m & 0x7ff8000000000000ull);
    return (Reals)bits;
}
INLINE void finish(Wide p, Wide s, Reals order, Mask unknown, Mask lost, bool q, Lanes *y) {
    *(Words *)y->p = q ? none_where(unknown, finish_p(p)) : finish_p(p);
    *(Reals *)y->order = q ? nan_where(unknown, order) : order;
    if (q) *(Words *)y->q = none_where(unknown | lost, finish_q(s));
}

INLINE void dot(const TermRun *r, const uint32_t *operand, uint32_t n, bool q, Lanes *y) {
    Wide p = {0}, s = {0};
    Reals order = {0};
    Mask lost = {0}, unknown = {0};
    for (uint32_t k = 0; k < n; k += 2) {
        const Lanes *a = at(r, operand[k]), *b = at(r, operand[k + 1]);
        p += fold_p(widen(load(a->p)) * widen(load(b->p)));
        order += load_reals(a->order) * load_reals(b->order);
        if (!q) continue;
        Words x = load(a->q), z = load(b->q);
        s += fold_q(widen(x) * widen(z));
        lost |= (x == RESIDUE_NONE) | (z == RESIDUE_NONE);
        unknown |= (load(a->p) == RESIDUE_NONE) | (load(b->p) == RESIDUE_NONE);
    }
    finish(p, s, order, unknown, lost, q, y);
}

INLINE void sum(const TermRun *r, const uint32_t *operand, uint32_t n, bool q, Lanes *y) {
    Wide p = {0}, s = {0};
    Reals order = {0};
    Mask lost = {0}, unknown = {0};
    for (uint32_t k = 0; k < n; k++) {
        const Lanes *a = at(r, operand[k]);
        p += widen(load(a->p));
        order += load_reals(a->order);
        if (!q) continue;
        s += widen(load(a->q));
        lost |= load(a->q) == RESIDUE_NONE;
        unknown |= load(a->p) == RESIDUE_NONE;
    }
    finish(p, s, order, unknown, lost, q, y);
}

/* Replaces *y by *a where *a is greater (or less, with `least`) by the doubles. Between equal
   residues, the one whose second residue is known is kept. */
INLINE void choose(const Lanes *a, bool least, bool q, Lanes *y) {
    Reals x = load_reals(y->order), z = load_reals(a->order);
    WideMask wide = least ? (WideMask)(x <= z) : (WideMask)(x >= z);
    Mask keep = __builtin_convertvector(wide, Mask);
    Words yp = load(y->p), ap = load(a->p);
    if (q) {
        Mask same = yp == ap;
        keep = (same & (load(y->q) != RESIDUE_NONE)) | (~same & keep);
        wide = __builtin_convertvector(keep, WideMask);
        *(Words *)y->q = (load(y->q) & (Words)keep) | (load(a->q) & ~(Words)keep);
    }
    *(Words *)y->p = (yp & (Words)keep) | (ap & ~(Words)keep);
    *(Wide *)y->order = ((Wide)x & (Wide)wide) | ((Wide)z & ~(Wide)wide);
    if (!q) return;
    Mask unknown = (yp == RESIDUE_NONE) | (ap == RESIDUE_NONE);
    *(Words *)y->p = none_where(unknown, load(y->p));
    *(Words *)y->q = none_where(unknown, load(y->q));
    *(Reals *)y->order = nan_where(unknown, load_reals(y->order));
}
INLINE void extreme(const TermRun *r, const uint32_t *operand, uint32_t n, bool least, bool q,
                    Lanes *y) {
    Lanes best = *at(r, operand[0]);
    for (uint32_t k = 1; k < n; k++) choose(at(r, operand[k]), least, q, &best);
    *y = best;
}

static Number lane(const Lanes *a, int l) {
    return (Number){.residue = {a->p[l], a->q[l], a->order[l]}};
}
static void put_lane(Lanes *y, int l, Number x) {
    bool known = x.residue.p != RESIDUE_NONE && isfinite(x.residue.order);
    y->p[l] = known ? x.residue.p : RESIDUE_NONE;
    y->q[l] = known ? x.residue.q : RESIDUE_NONE;
    y->order[l] = known ? x.residue.order : NAN;
}
static void call(Function f, const Lanes *a, Lanes *y) {
    for (int l = 0; l < LANES; l++) put_lane(y, l, numbers_residue.call(f, lane(a, l)));
}
static void power(const Lanes *a, const Lanes *b, Lanes *y) {
    for (int l = 0; l < LANES; l++) put_lane(y, l, numbers_residue.power(lane(a, l), lane(b, l)));
}

/* Chooses a or b by the condition; the one that is not chosen may be unknown. */
static void where(const Lanes *condition, const Lanes *a, const Lanes *b, Lanes *y) {
    for (int l = 0; l < LANES; l++) {
        const uint32_t c = condition->p[l];
        Number x = lane(c ? a : b, l);
        if (c == RESIDUE_NONE) x.residue.p = RESIDUE_NONE;
        put_lane(y, l, x);
    }
}

INLINE void run(const Program *p, const Lanes *const in[], Lanes *temp, Lanes *out, bool q) {
    TermRun r;
    memcpy(r.bank, in, PROGRAM_INPUTS * sizeof *in);
    r.bank[BANK_TEMP] = temp;
    r.bank[BANK_OUT] = out;
    r.bank[BANK_CONST] = p->constant;
    for (const uint32_t *w = p->word, *end = w + p->nword; w < end; w += 3 + w[1]) {
        Lanes *y =
            (w[2] >> BANK_SHIFT == BANK_OUT ? out : temp) + (w[2] & ((1u << BANK_SHIFT) - 1));
        switch ((ProgramStep)(w[0] & 255)) {
        case PROGRAM_COPY: *y = *at(&r, w[3]); break;
        case PROGRAM_SUM: sum(&r, w + 3, w[1], q, y); break;
        case PROGRAM_DOT: dot(&r, w + 3, w[1], q, y); break;
        case PROGRAM_MOST: extreme(&r, w + 3, w[1], false, q, y); break;
        case PROGRAM_LEAST: extreme(&r, w + 3, w[1], true, q, y); break;
        case PROGRAM_POWER: power(at(&r, w[3]), at(&r, w[4]), y); break;
        case PROGRAM_CALL: call((Function)(w[0] >> 8), at(&r, w[3]), y); break;
        case PROGRAM_WHERE: where(at(&r, w[3]), at(&r, w[4]), at(&r, w[5]), y); break;
        }
    }
}

/* y[lane] becomes the sum over the elements of residue times 64-bit coefficient, modulo 2^64. */
INLINE void hash(const Lanes *x, int n, const uint32_t *coefficient, uint64_t y[LANES]) {
    Wide h = {0};
    for (int k = 0; k < n; k++, coefficient += 2 * LANES) {
        Wide p = widen(load(x[k].p));
        h += p * widen(load(coefficient)) + ((p * widen(load(coefficient + LANES))) << 32);
    }
    *(Wide *)y = h;
}

#define VARIANT(name, isa)                                                                 \
    isa static void run_##name(const Program *p, const Lanes *const in[], Lanes *temp,     \
                               Lanes *out) {                                               \
        run(p, in, temp, out, false);                                                      \
    }                                                                                      \
    isa static void run_##name##_q(const Program *p, const Lanes *const in[], Lanes *temp, \
                                   Lanes *out) {                                           \
        run(p, in, temp, out, true);                                                       \
    }                                                                                      \
    isa static void hash_##name(const Lanes *x, int n, const uint32_t *c, uint64_t y[]) {  \
        hash(x, n, c, y);                                                                  \
    }
#define RUNNERS(name)                                              \
    {                                                              \
        {run_##name, hash_##name}, { run_##name##_q, hash_##name } \
    }

VARIANT(any, )
#endif
