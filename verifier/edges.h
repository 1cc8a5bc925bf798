/* edges.h -- data near the numbers at which a rule's definitions change their course: the bounds of
   a clip, the limits of integers. Rules that are false only there hold for small numbers. */
#ifndef ISOMER_EDGES_H
#define ISOMER_EDGES_H
#include "ops/base/random.h"
#include "ops/core/number.h"
#include "rules/rule.h"

enum { EDGES_MAX = 16 };
typedef struct Edges {
    int n; /* numbers in the definitions of both sides, the first EDGES_MAX of them */
    Ratio v[EDGES_MAX];
    bool integers; /* an input has integers of at most 32 bits */
    bool takes;    /* data decide what is read */
} Edges;
/* The sides must be free of composites. */
Edges edges_of(World *, Arena *, const Instance *);
/* Whether edges_draw() draws other numbers than small ones for an input. */
bool edges_any(const Edges *);
/* Draws a number of this element type: a small one, or one that is at most 1 away from a number in
   the definitions; for integers of at most 32 bits, also any number, or one next to a limit of the
   type. */
Number edges_draw(const Edges *, Random *, const Numbers *, DType);
/* Reduces an integer to those of its type, modulo 2^bits. False: it has more than 32 bits, or is
   not known; or indices, which do not overflow by assumption, might be computed with it. */
bool edges_wrap(const Edges *, const Numbers *, DType, Number *);
#endif
