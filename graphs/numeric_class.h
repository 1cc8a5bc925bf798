/* numeric_class.h -- defines the numerical classes: what a rewrite may change in the results of
   floating-point arithmetic. Rules, verdicts, options and checks take the names, tolerances and
   defaults of classes from this one table. Several classes together are a set of bits; the empty
   set is "exact". */
#ifndef ISOMER_NUMERIC_CLASS_H
#define ISOMER_NUMERIC_CLASS_H
#include "ops/core/type.h"

/* X(id, word, rtol, off) rtol: the tolerance of float and double results, relative to the greatest
   element of the tensor; off: whether rules of this class are off by default, because NaN or
   infinity may vanish or appear, or because single elements may differ by a whole step. */
#define NUMERIC_CLASSES(X)                                           \
    /* sums and products in another order */                         \
    X(CLASS_REASSOCIATES, "reassociates", 2e-5, 0)                   \
    /* a constant is the nearest float of a real value */            \
    X(CLASS_ROUNDS, "rounds", 1e-4, 0)                               \
    /* uses exp or division */                                       \
    X(CLASS_DIVIDES, "divides", 1e-4, 0)                             \
    /* the right side reads more: NaN and infinity may spread */     \
    X(CLASS_SPREADS, "spreads", 1e-4, 0)                             \
    /* one side reads fewer elements: NaN and infinity may vanish */ \
    X(CLASS_DROPS, "drops", 1e-4, 1)                                 \
    /* the right side is defined where the left side is not */       \
    X(CLASS_DEFINES, "defines", 1e-4, 1)                             \
    /* the right side takes exp of what the left side does not */    \
    X(CLASS_OVERFLOWS, "overflows", 1e-4, 1)                         \
    /* roundings differ under a function that is not continuous */   \
    X(CLASS_JUMPS, "jumps", 1e-4, 1)
typedef enum NumericClass {
    CLASS_EXACT = 0,
#define X(id, word, rtol, off) id##_BIT,
    NUMERIC_CLASSES(X)
#undef X
#define X(id, word, rtol, off) id = 1 << (id##_BIT - 1),
        NUMERIC_CLASSES(X)
#undef X
} NumericClass;
#define X(id, word, rtol, off) | (off ? id : 0)
enum { CLASSES_OFF = 0 NUMERIC_CLASSES(X), CLASSES_ANY = -1 };
#undef X

/* Prints "exact" or words joined by +: "reassociates+rounds". The text is static or in the
   arena. */
const char *classes_text(Arena *, unsigned classes);
/* Parses such text, or words joined by commas. Returns false if a word is not in the table. */
bool classes_parse(const char *text, unsigned *classes);
/* Parses the value of an option that takes these classes (CLASSES_OFF), or any class and "exact"
   (CLASSES_ANY). Returns false with an E_USAGE that names the words. */
bool classes_option(const char *option, const char *text, unsigned among, unsigned *classes,
                    Error *);
#define CLASS_WORD(id, word, rtol, off) ", " word
#define CLASS_WORDS "exact" NUMERIC_CLASSES(CLASS_WORD) /* "exact, reassociates, .." */

typedef struct Tolerance {
    double rtol, atol;
} Tolerance; /* |a - b| <= atol + rtol * max|a| over the tensor */
/* The loosest tolerance of these classes for elements of this type; 0 for types that are not
   floating point. "exact" has a tolerance, too, because kernels add in another order even where the
   mathematics is exact. */
Tolerance classes_tolerance(unsigned classes, DType);
#endif
