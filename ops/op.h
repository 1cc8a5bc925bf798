/* op.h -- the language in which operators are written. An operator is one file ops/NAME.c ending
   with one constant `const Op op_NAME`, and one line in ops.def; it includes this header only, and
   nothing but operators includes it: its names are short. */
#ifndef ISOMER_OP_H
#define ISOMER_OP_H
#include "ops/operator.h"

/* Shapes. Everything is built in the World of the call and returned by value; nothing fails: a
   result beyond int64 makes the whole signature fail afterwards. Sizes are in elements; `attr`
   counts the operator's attributes from 0. */

/* poly: sums and products of letters, whole numbers and parentheses, "s*i + d*k - p"; each letter
   a-z is bound to the next argument (a Poly) where it first appears. */
Poly poly(Call *, const char *formula, ...);
Poly quot(Call *, Poly a, Poly b);            /* floor(a/b) */
Poly least(Call *, Poly a, Poly b);           /* min(a, b) */
Poly total(Call *, PolyList, int n);          /* v[0] + .. + v[n-1] */
Poly product(Call *, Dims, int from, int to); /* v[from] * .. * v[to-1]; 1 if there are none */

/* What shape() requires of sizes: kept in call->need unless it holds for all sizes. A need that no
   size can meet makes the signature fail. */
void need_eq(Call *, Poly a, Poly b);   /* a = b */
void need_ge(Call *, Poly a, Poly b);   /* a >= b */
bool is_const(Call *, Poly, int64_t *); /* a number; only then is it stored */

/* Attributes: what the node states, or the default. */
PolyList ints(Call *, int attr);  /* of an A_INTS, or the one entry of an A_INT */
Dims ints_dims(Call *, int attr); /* an A_INTS of at most RANK_MAX entries as Dims */
Poly intof(Call *, int attr);     /* of an A_INT; 0 if it has no value */
/* Of an A_WORD: its place in the attribute's list of words. */
int word(Call *, int attr);
Ex real(Call *, int attr); /* of an A_REAL */
/* An A_REAL that is a number as the bits of a double: for params. */
bool bits_of(Call *, int attr, int64_t *out);
/* A constant A_INT as an axis, negative from the end; -1: it is none. */
int axis(Call *, int attr, int rank);
int axis_at(Call *, int attr, int k, int rank); /* likewise for entry k of an A_INTS */

/* Element types; the classes are those of dtype_class: F floats, I signed, U unsigned integers, B
   bool, .. */
bool is_float(const Type *);
bool is_byte(const Type *); /* integers of 8 bits */
/* Inputs of one element type, of these classes ("FIU"): NULL, or why not. */
const char *dtypes_agree(Call *, const char *classes);
/* likewise, and out[0] becomes the type of input 0. */
const char *same_type(Call *, const char *classes);

/* Lists of sizes or of indices. */
Dims dims_join(Call *, Dims, Dims);   /* the longer one; the shorter must equal its last axes */
Dims dims_tail(Dims, int n);          /* the last n */
Dims dims_with(Dims, int axis, Poly); /* one entry replaced; negative axes count from the end */
Dims dims_cons(Poly, Dims);           /* one more entry in front */
Dims dims_without(Dims, int axis);    /* one entry (from 0) less */
bool dims_single(Call *, Dims);       /* of one number: no axis, or one of a single place */
/* How many windows fit into n + pads; requires stride, dilation >= 1 and a result >= 0. */
Poly windows(Call *, Poly n, Poly kernel, Poly stride, Poly pads, Poly dilation);

/* Values of integer operators without a definition. value_each: f on corresponding elements;
   missing leading axes broadcast. */
bool value_each(Call *, const PolyList in[], Poly *out, bool (*f)(Call *, const Poly x[], Poly *y));
int decide_eq(Call *, Poly a, Poly b); /* 1: for all sizes, 0: for none, -1: not decided */
int decide_ge(Call *, Poly a, Poly b);
bool is_natural(Call *, Poly); /* shown to be >= 0 whatever the sizes are */

/* Definitions: one output element as an expression over the output's indices. First indices and
   conditions. */
Dims bound(Call *, Dims n); /* fresh k with 0 <= k < n, for sum and most */
/* mixed-radix digits of e: defined once, not summed. */
Dims digits(Call *, Poly e, Dims radix);
Cond inside(Call *, Dims i, Dims n, int from); /* 0 <= i < n on axes from.. */
Cond when_eq(Call *, Poly a, Poly b);          /* a = b */
Cond when_ge(Call *, Poly a, Poly b);          /* a >= b */
Cond both(Call *, Cond, Cond);

/* Then numbers, over the reals. */
Ex num(Call *, int64_t p, int64_t q); /* p/q, q > 0 */
Ex size(Call *, Poly);                /* a size as a number */
/* The element at i of an input; what is outside it must not be asked for: guard it. */
Ex at(Call *, int input, Dims i);
Ex add(Call *, Ex, Ex);
Ex sub(Call *, Ex, Ex);
Ex mul(Call *, Ex, Ex);
Ex divide(Call *, Ex, Ex); /* a * recip(b) */
Ex max2(Call *, Ex, Ex);
Ex min2(Call *, Ex, Ex);
Ex power(Call *, Ex, Ex); /* a to the power of b */
Ex fn(Call *, Function, Ex);
/* Cond ? a : b, the condition being of indices and sizes. */
Ex when(Call *, Cond, Ex, Ex otherwise);
Ex where(Call *, Ex c, Ex a, Ex b); /* c != 0 ? a : b, c being data */
/* The last at k = the place that index means (ex_place); k: bound() of the axis. */
Ex take(Call *, Poly k, Ex index, Ex);
/* Over all k of bound() for which the condition holds; 0 over none. */
Ex sum(Call *, Dims k, Cond, Ex);
Ex most(Call *, Dims k, Cond, Ex); /* maximum; -infinity over an empty domain */

/* Quantized numbers. An input that holds one number, or one for each place of an axis: the number
   of place k; 0: the input is left out. */
Ex at_place(Call *, int input, Poly k);
/* Why an input is no such one for an axis of n places; NULL: it is one, or left out. */
const char *place_fits(Call *, int input, Poly n);
Ex less_zero(Call *, Ex x, Ex zero); /* x - zero, or x without a zero */
/* round(x) + zero, limited to what the integers of out[0] are. */
Ex whole_near(Call *, Ex x, Ex zero);
#endif
