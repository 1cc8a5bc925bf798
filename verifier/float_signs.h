/* float_signs.h -- which signs an expression may have when it is computed in floating point, where
   a difference that is positive as a real number may come out as 0 or negative. */
#ifndef ISOMER_FLOAT_SIGNS_H
#define ISOMER_FLOAT_SIGNS_H
#include "verifier/scope.h"

/* A set of these bits. Overflow and underflow are ignored, as are NaN. */
typedef enum FloatSign {
    FLOAT_NEGATIVE = 1, /* it may be negative */
    FLOAT_ZERO = 2,
    FLOAT_POSITIVE = 4,
    FLOAT_SIGN_KEPT = 8, /* the computed number has the sign of the real one */
    FLOAT_EXACT = 16,    /* the computed number is the real one: an input, or an integer */
    /* It is a product with a factor sigmoid(t). Near 0 the sigmoids of runtimes are accurate in
       absolute terms only: ONNX Runtime clamps t to -18. */
    FLOAT_SIGMOID = 32,
    /* Some number in it is negative. Otherwise no terms cancel but those of which the normal form
       shows that they have different signs. */
    FLOAT_SUBTRACTS = 64
} FloatSign;

/* The bits of an expression in the definition of the scope's node. */
unsigned float_signs(Scope *, Ex);
/* Returns whether rounding may make the argument x negative where it is not as a real number. */
bool may_turn_negative(unsigned x);
/* The same for negative or 0, where it is positive. */
bool may_vanish(unsigned x);
#endif
