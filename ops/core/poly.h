/* poly.h -- integer polynomials over symbols, hash-consed: equal polynomials are the same number,
   whatever order they were made in. Coefficients are int64; what leaves them, and a polynomial of
   absurdly many terms, is noted (overflow_note) and yields 0. A symbol is a name or is interned by
   its definition, so that floor(n/2) met twice is one symbol. */
#ifndef ISOMER_POLY_H
#define ISOMER_POLY_H
#include "ops/base/text.h"
#include "ops/core/world.h"

typedef enum SymbolKind {
    SYM_NAMED, /* a size or attribute variable of a rule or model; word: its name */
    SYM_INDEX, /* n-th output index of a definition: i0, i1, ..; word: n */
    SYM_BOUND, /* a bound variable k of sum or max, 0 <= k < arg[0]; word: a fresh serial */
    SYM_FLOOR, /* floor(arg[0] / arg[1]), arg[1] > 0 */
    SYM_MIN,   /* min(arg[0], arg[1]) */
    SYM_DIGIT, /* word: p; digit p of arg[0] in the mixed radix arg[1..narg-1], most significant
                  first: floor(e / product of the radices after p) mod radix p */
    SYM_DATA,  /* a number that depends on data; word: a fresh serial */
    SYM_READ,  /* of the prover: an element of input `word`, at the index arg[0..narg-1], as an
                  integer */
    SYM_PLACE  /* of the prover: the place 0..n-1 that the index arg[0] means on an axis of n =
                  arg[1] places; arg[0] + n if negative, the nearest one if outside */
} SymbolKind;
typedef struct SymbolDef {
    SymbolKind kind;
    uint32_t word, narg;
    const Poly *arg;
} SymbolDef;
Symbol symbol_named(World *, const char *name);
Symbol symbol_index(World *, uint32_t n);
Symbol symbol_bound(World *, Poly extent); /* fresh */
Symbol symbol_data(World *);               /* fresh */
SymbolDef symbol_def(const World *, Symbol);
/* By printed text: does not depend on the order of interning, up to serials. */
int symbol_compare(const World *, Symbol, Symbol);

Poly poly_int(World *, int64_t);
Poly poly_symbol(World *, Symbol);
Poly poly_named(World *, const char *name); /* symbol_named as a polynomial */
Poly poly_add(World *, Poly, Poly);
Poly poly_sub(World *, Poly, Poly);
Poly poly_mul(World *, Poly, Poly);
Poly poly_scale(World *, Poly, int64_t);
/* floor(a/b): exact quotients, numbers and b = 1 are computed, the rest is a symbol; b = 0 sets
   overflow. */
Poly poly_floor(World *, Poly a, Poly b);
Poly poly_min(World *, Poly, Poly);
Poly poly_digit(World *, Poly e, const Poly *radix, int n, int position);
Poly poly_read(World *, uint32_t input, const Poly *index, int n);
Poly poly_place(World *, Poly index, Poly n);
/* true: b divides a exactly, with integer coefficients. */
bool poly_divide(World *, Poly a, Poly b, Poly *quotient);
/* p divided by each symbol that all its terms share, as often as they do, if `take` (NULL: always)
   accepts it; it is asked only of symbols that divide. */
Poly poly_without_shared(World *, Poly p, bool (*take)(void *user, Symbol), void *user);
bool poly_constant(const World *, Poly, int64_t *); /* true: it is a number */
bool poly_is(const World *, Poly, int64_t);         /* it is this number */
Symbol poly_is_symbol(const World *, Poly);         /* the symbol it is, or 0 */
/* The symbol occurs in it, other than in the definition of another symbol. */
bool poly_has(const World *, Poly, Symbol);
/* Also inside definitions of floor, min and digits; not in extents of bound variables. */
bool poly_mentions(const World *, Poly, Symbol);
int64_t poly_content(const World *, Poly); /* gcd of the coefficients, >= 0; 0 for zero */

/* Reading monomials, in canonical order (higher degree first, then by symbol numbers):
   for (PolyScan s = poly_scan(w, p); poly_next(&s, &m);) .. */
typedef struct Monomial {
    int64_t coefficient;
    uint32_t degree;
    const uint32_t *symbol; /* ascending, repeated for powers */
} Monomial;
typedef struct PolyScan {
    const int64_t *at, *end;
} PolyScan;
PolyScan poly_scan(const World *, Poly);
bool poly_next(PolyScan *, Monomial *);
/* Monomials in any order, symbols in any order; equal ones are added up. */
Poly poly_from(World *, int n, const Monomial *);

/* Coefficient * (symbols of x / symbols of y); false: y's do not divide. */
bool poly_monomial_quotient(World *, const Monomial *x, const Monomial *y, int64_t coefficient,
                            Poly *);

/* Simultaneous; defined symbols are rebuilt from their substituted arguments. */
Poly poly_subst(World *, Poly, int n, const Symbol from[], const Poly to[]);
#define SIZE_UNKNOWN INT64_MIN
/* Values by symbol number, SIZE_UNKNOWN where there is none; symbols from n on have none. */
typedef struct Sizes {
    uint32_t n;
    const int64_t *value;
} Sizes;
/* Defined symbols are computed; false: a symbol without value, division by 0 or overflow. */
bool poly_eval(const World *, Poly, Sizes, int64_t *);
/* "2*n*m + floor((h + 1)/2) - 1": poly_parse reads it back; does not depend on the order of
   interning. */
void poly_print(const World *, Poly, Text *);
/* The same; bound[j] is printed as kj. */
void poly_print_as(const World *, Poly, int n, const Symbol bound[], Text *);
/* + - * ^ ( ) integers, names, floor(a/b), min(a, b); a new name becomes a symbol. */
bool poly_parse(World *, Scan *, Poly *);
/* A total order that does not depend on the order of interning. */
int poly_compare(const World *, Poly, Poly);
int64_t integer_gcd(int64_t, int64_t); /* >= 0; 0 only of two zeros */
/* floor(a/b); b is not 0. */
static inline int64_t integer_floor_div(int64_t a, int64_t b) {
    return a / b - (a % b && (a < 0) != (b < 0));
}
#endif
