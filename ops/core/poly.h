/* poly.h -- integer polynomials over symbols. Equal polynomials have the same number, in whatever
   order they were computed (hash-consing).

   Coefficients are int64. If one overflows, or if the polynomial gets an absurd number of terms,
   the result is 0 and the overflow is noted (overflow_note). A symbol is a name, or it is interned
   by its definition: floor(n/2) is the same symbol wherever it occurs. */
#ifndef ISOMER_POLY_H
#define ISOMER_POLY_H
#include "ops/base/text.h"
#include "ops/core/world.h"

typedef enum SymbolKind {
    SYM_NAMED, /* a size or attribute variable of a rule or model, with the name `word` */
    SYM_INDEX, /* the n-th output index of a definition: i0, i1, ..; word: n */
    SYM_BOUND, /* a bound variable of a sum, maximum or take, with values 0..arg[0]-1; word: a fresh
                  serial number */
    SYM_FLOOR, /* floor(arg[0] / arg[1]), arg[1] > 0 */
    SYM_MIN,   /* min(arg[0], arg[1]) */
    SYM_DIGIT, /* digit p = `word` of arg[0] in the mixed radix arg[1..narg-1], most significant
                  first: floor(arg[0] / product of the radices after p) mod radix p */
    SYM_DATA,  /* a number that depends on data; word: a fresh serial number */
    SYM_READ,  /* only in the prover: the element of input `word` at the index arg[0..narg-1], as an
                  integer */
    SYM_PLACE  /* only in the prover: the place 0..n-1 that the index arg[0] means on an axis of n =
                  arg[1] places: arg[0] + n if negative, the nearest place if outside */
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
/* The definition of a symbol; its arguments point into the table. */
SymbolDef symbol_def(const World *, Symbol);
/* A total order by printed text. It does not depend on the order of interning, except by serial
   numbers. */
int symbol_compare(const World *, Symbol, Symbol);

Poly poly_int(World *, int64_t);
Poly poly_symbol(World *, Symbol);
Poly poly_named(World *, const char *name); /* symbol_named as a polynomial */
Poly poly_add(World *, Poly, Poly);
Poly poly_sub(World *, Poly, Poly);
Poly poly_mul(World *, Poly, Poly);
Poly poly_scale(World *, Poly, int64_t);
/* floor(a/b). Exact quotients and constants are computed; what remains is a symbol. b = 0 is noted
   as an overflow. */
Poly poly_floor(World *, Poly a, Poly b);
Poly poly_min(World *, Poly, Poly);
/* Digit number `position` of e in the mixed radix radix[0..n-1], as SYM_DIGIT defines it. It
   becomes a symbol only if it cannot be computed. */
Poly poly_digit(World *, Poly e, const Poly *radix, int n, int position);
Poly poly_read(World *, uint32_t input, const Poly *index, int n);
Poly poly_place(World *, Poly index, Poly n);
/* True: b divides a exactly, with integer coefficients. */
bool poly_divide(World *, Poly a, Poly b, Poly *quotient);
/* Solves p = 0 for x. True: x occurs in p exactly once, alone in its monomial, with coefficient 1
   or -1; *value is then what x must be. */
bool poly_solve(World *, Poly p, Symbol x, Poly *value);
/* Divides p by each symbol that all its terms share, to the highest power that they share, if
   `take` accepts the symbol (NULL: always). `take` is asked only about symbols that divide p. */
Poly poly_without_shared(World *, Poly p, bool (*take)(void *user, Symbol), void *user);
bool poly_constant(const World *, Poly, int64_t *); /* true: p is a constant */
bool poly_is(const World *, Poly, int64_t);         /* whether it is this number */
Symbol poly_is_symbol(const World *, Poly); /* the symbol, if p is a single symbol; else 0 */
/* Whether the symbol occurs in p, not counting definitions of other symbols. */
bool poly_has(const World *, Poly, Symbol);
/* Likewise, but also in the definitions of computed symbols (floor, min, digits, ..). The extents
   of bound variables are not searched. */
bool poly_mentions(const World *, Poly, Symbol);
int64_t poly_content(const World *, Poly); /* the gcd of the coefficients, >= 0; 0 for the zero
                                              polynomial */

/* Iteration over the monomials, in canonical order (higher degree first, then by symbol numbers):
     for (PolyScan s = poly_scan(w, p); poly_next(&s, &m);) .. */
typedef struct Monomial {
    int64_t coefficient;
    uint32_t degree;
    const uint32_t *symbol; /* the factors in ascending order, repeated for powers */
} Monomial;
typedef struct PolyScan {
    const int64_t *at, *end;
} PolyScan;
int poly_terms(const World *, Poly); /* the number of monomials */
PolyScan poly_scan(const World *, Poly);
bool poly_next(PolyScan *, Monomial *);
/* Makes a polynomial from monomials in any order, with symbols in any order; equal monomials are
   added up. */
Poly poly_from(World *, int n, const Monomial *);

/* coefficient * (symbols of x / symbols of y). False: the symbols of y do not divide those of x. */
bool poly_monomial_quotient(World *, const Monomial *x, const Monomial *y, int64_t coefficient,
                            Poly *);

/* Substitutes symbols simultaneously. Computed symbols are rebuilt from their substituted
   arguments. */
Poly poly_subst(World *, Poly, int n, const Symbol from[], const Poly to[]);
#define SIZE_UNKNOWN INT64_MIN
/* The values of symbols, by symbol number; SIZE_UNKNOWN, or a number from n on, means that a symbol
   has none. */
typedef struct Sizes {
    uint32_t n;
    const int64_t *value;
} Sizes;
/* Evaluates p; symbols such as floor are computed from their arguments. False: a symbol has no
   value, a division by 0, or overflow. */
bool poly_eval(const World *, Poly, Sizes, int64_t *);
/* Prints p as in "2*n*m + floor((h + 1)/2) - 1", independent of the order of interning. poly_parse
   reads it back if its symbols are names, floor, min and digits. */
void poly_print(const World *, Poly, Text *);
/* Likewise; the symbol bound[j] is printed as kj. */
void poly_print_as(const World *, Poly, int n, const Symbol bound[], Text *);
/* Parses a polynomial of + - * ^ ( ), integers, names, floor(a/b), min(a, b) and digit(e, [r, ..],
   p). An unknown name becomes a new symbol. */
bool poly_parse(World *, Scan *, Poly *);
/* A total order that does not depend on the order of interning, except by serial numbers. */
int poly_compare(const World *, Poly, Poly);
int64_t integer_gcd(int64_t, int64_t); /* >= 0; 0 only if both are 0; 1 instead of 2^63 */
/* floor(a/b); b must not be 0. */
static inline int64_t integer_floor_div(int64_t a, int64_t b) {
    return a / b - (a % b && (a < 0) != (b < 0));
}
#endif
