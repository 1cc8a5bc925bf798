/* op.h -- the language in which operators are written. An operator is one file ops/NAME.c, which
   ends with one constant `const Op op_NAME`, and one line in ops.def. Operators include this header
   only, and nothing else includes it; that is why its names are short. */
#ifndef ISOMER_OP_H
#define ISOMER_OP_H
#include "ops/operator/operator.h"

/* ---- Shapes. Everything is built in the World of the call and returned by value. No function
   fails: where a result leaves int64, the whole signature is refused afterwards. Sizes are in
   elements; `attr` is the position of an attribute in the operator's table, from 0. */

/* A polynomial from a formula of letters a-z, whole numbers, + - * and parentheses, such as
   "s*i + d*k - p". The arguments after it are Polys, one for each different letter, in the order
   in which the letters first appear. */
Poly poly(Call *, const char *formula, ...);
Poly quot(Call *, Poly a, Poly b);            /* floor(a/b) */
Poly least(Call *, Poly a, Poly b);           /* min(a, b) */
Poly total(Call *, PolyList, int n);          /* v[0] + .. + v[n-1] */
Poly product(Call *, Dims, int from, int to); /* v[from] * .. * v[to-1]; 1 if there are none */

/* What shape() requires of sizes. A requirement is kept in call->need unless it holds for all
   sizes; one that no size can meet makes the signature refused. */
void need_eq(Call *, Poly a, Poly b);   /* a = b */
void need_ge(Call *, Poly a, Poly b);   /* a >= b */
bool is_const(Call *, Poly, int64_t *); /* true: no symbol occurs in it; its value is stored */

/* ---- Inputs. */
bool has(Call *, int input);    /* it is given; else the call leaves it out */
int rank_of(Call *, int input); /* how many axes it has; 0 if it is left out */

/* ---- Attributes: what the node states, or the default. */
PolyList ints(Call *, int attr);  /* the entries of an A_INTS, or the one entry of an A_INT */
Dims ints_dims(Call *, int attr); /* an A_INTS of at most RANK_MAX entries as Dims */
Poly intof(Call *, int attr);     /* an A_INT; 0 if it has no value */
int word(Call *, int attr);       /* an A_ENUM: the position of the word in the attribute's list */
Ex real(Call *, int attr);        /* an A_REAL */
/* An A_REAL as the bits of a double, for params(); false: it is not a number. */
bool bits_of(Call *, int attr, int64_t *out);
/* For params(): puts the entries of an A_INTS after the *n parameters that there are, and counts
   them. false: one is not a number, or they are too many. */
bool add_ints(Call *, int attr, int64_t param[], int *n);
/* An A_INT as an axis of a tensor of this rank; negative ones count from the end. -1: it is no
   number, or no such axis. */
int axis(Call *, int attr, int rank);
int axis_at(Call *, int attr, int k, int rank); /* the same for entry k of an A_INTS */

/* ---- Element types. Classes are the letters of dtype_class: F floats, I signed and U unsigned
   integers, B bool, .. */
bool is_float(const Type *);
bool is_integer(const Type *); /* not bool */
bool is_byte(const Type *);    /* integers of 8 bits */
/* NULL if all inputs have one element type, of one of these classes ("FIU"); else why not. */
const char *dtypes_agree(Call *, const char *classes);
/* NULL if an input is a matrix of floats or integers; else why not. */
const char *matrix_of_numbers(Call *, int input);
/* As dtypes_agree; then out[0] becomes the type of input 0. */
const char *same_type(Call *, const char *classes);

/* ---- Lists of sizes or of indices. */
/* The longer one; it is required that the shorter equals its last axes. */
Dims dims_join(Call *, Dims, Dims);
Dims dims_tail(Dims, int n);          /* the last n */
Dims dims_with(Dims, int axis, Poly); /* one entry replaced; negative axes count from the end */
Dims dims_cons(Poly, Dims);           /* one more entry in front */
Dims dims_without(Dims, int axis);    /* without entry `axis`, from 0 */
bool dims_single(Call *, Dims);       /* no axis, or one axis of size 1: a single number */
typedef struct WindowAxis {           /* along one axis */
    Poly kernel, stride, dilation;
} WindowAxis;
/* How many windows fit into n + pads. Requires stride >= 1, dilation >= 1 and a result >= 0. */
Poly windows(Call *, Poly n, WindowAxis, Poly pads);
/* The same with pads before and after; `ceil`: a last window may reach beyond them, if it starts
   before the pads after x (ONNX's ceil_mode). */
Poly windows_padded(Call *, Poly n, WindowAxis, Poly front, Poly back, bool ceil);

/* ---- The valid range of an input's elements, for Op.domain. */
/* 0 to n - 1, the places of an axis; true. */
bool all_places(Call *, Poly n, Poly *low, Poly *high);
bool up_to(Call *, Poly n, Poly *low, Poly *high);       /* 1 to n; true */
bool divisors(Call *, int input, Poly *low, Poly *high); /* integers as input 1: from 1 on */

/* ---- Values of integer operators without a definition (Op.value). */
/* f on corresponding elements of the inputs; missing leading axes broadcast. */
bool value_each(Call *, const PolyList in[], Poly *out, bool (*f)(Call *, const Poly x[], Poly *y));
/* Whether a = b, a >= b: 1: for all sizes, 0: for none, -1: not decided. */
int decide_eq(Call *, Poly a, Poly b);
int decide_ge(Call *, Poly a, Poly b);
bool is_natural(Call *, Poly); /* true: shown to be >= 0 for all sizes */

/* ---- Definitions: one output element as an expression over the output's indices. */
/* Indices and conditions. */
Dims bound(Call *, Dims n); /* fresh bound variables k with 0 <= k < n, for sum and maximum */
/* The mixed-radix digits of e: symbols defined by e, not variables to sum over. */
Dims digits(Call *, Poly e, Dims radix);
Cond inside(Call *, Dims i, Dims n, int from); /* 0 <= i < n on the axes from `from` on */
Cond when_eq(Call *, Poly a, Poly b);          /* a = b */
Cond when_ge(Call *, Poly a, Poly b);          /* a >= b */
Cond both(Call *, Cond, Cond);

/* Real numbers. */
Ex num(Call *, int64_t p, int64_t q); /* p/q, q > 0 */
Ex size(Call *, Poly);                /* a size as a number */
/* The element of an input at index i. An index outside the input must be guarded (when). */
Ex at(Call *, int input, Dims i);
Ex add(Call *, Ex, Ex);
Ex sub(Call *, Ex, Ex);
Ex mul(Call *, Ex, Ex);
Ex divide(Call *, Ex, Ex); /* a * recip(b) */
Ex max2(Call *, Ex, Ex);
Ex min2(Call *, Ex, Ex);
Ex power(Call *, Ex, Ex); /* a to the power of b */
Ex fn(Call *, Function, Ex);
/* The first where the condition, on indices and sizes, holds; else the second. */
Ex when(Call *, Cond, Ex, Ex otherwise);
Ex where(Call *, Ex c, Ex a, Ex b); /* a where c, which is data, is not 0; else b */
/* Reads at an index that is data: `a` where k, a bound() variable of an axis, is the position on
   that axis that `index` gives; negative ones count from the end (ex_place). */
Ex take(Call *, Poly k, Ex index, Ex a);
/* Over all values of the bound() variables k for which the condition holds. */
Ex sum(Call *, Dims k, Cond, Ex);     /* the sum; 0 over none */
Ex maximum(Call *, Dims k, Cond, Ex); /* the maximum; -infinity over none */

/* ---- Classifiers of ai.onnx.ml (classifier.c). From scores [n, classes] they make the label of
   each row's greatest score, and the scores, as they are or as probabilities. */
/* One attribute, `post`: what becomes of the scores. */
extern const AttrDef classifier_attrs[];
/* NULL if the input is a list of integers, the labels; else why not. */
const char *labels_fit(Call *, int input);
/* The end of an expansion: from the scores %s and the input `labels` to the results. */
#define EXPAND_CLASSIFIER                     \
    "%a = argmax %s axis=1\n"                 \
    "%y = gather %labels %a axis=0\n"         \
    "[post=none] %z = %s\n"                   \
    "[post=logistic] %z = sigmoid %s\n"       \
    "[post=softmax] %z = softmax %s axis=1\n" \
    "out %y %z\n"

/* ---- Quantized numbers. A scale or zero point is one number (per tensor), or a list with a number
   for each place of an axis (per axis). */
/* The scale or zero point for place k of the axis; 0: the input is left out. */
Ex at_per_axis(Call *, int input, Poly k);
/* NULL if these n inputs, which a call may not leave out, are there; else why not. */
const char *inputs_present(Call *, int n, const int input[]);
/* NULL if these n inputs, scales and zero points, are single numbers or left out; else why not. */
const char *inputs_single(Call *, int n, const int input[]);
/* NULL if the input fits an axis of n places, or is left out; else why not. */
const char *per_axis_fits(Call *, int input, Poly n);
Ex minus_zero(Call *, Ex x, Ex zero); /* x - zero; x if there is no zero point */
/* round(x) + zero, limited to the integers that out[0] can hold; 0, no definition, where these have
   64 bits, whose limits are no numbers of an expression. */
Ex round_saturate(Call *, Ex x, Ex zero);
/* The scale or zero point `in` broadcast to the sizes of `like`: it varies along this axis, or not
   at all if the axis is -1 or `in` is a single number. */
View per_axis_view(const View *in, const View *like, int axis);

/* ---- Steps for sums of products of 8-bit integers (exact.c); they need buffers (step_buffer). */
/* Computes y, 32-bit integers, by one convolution or product of 8-bit integers, if the target has
   an algorithm for it; unsigned weights are made signed, and what that lacks is added. *step has
   the kind, the views y, x and w, and the parameters but for the zero point. x_zero and w_zero are
   the zero points, NULL or rank -1 for none; w may have one for each channel or column of the
   result. padded: some windows reach beyond the image. False: no step was added. */
bool exact_int8(StepBuf *, const Step *step, bool padded, const View *x_zero, const View *w_zero);
/* So many products of two 8-bit integers have an exact sum in float32. */
enum { EXACT_TERMS = 258 };
/* Writes x minus its zero point as floats to a buffer (step_buffer), *out. zero: NULL or rank -1
   for none; one number, or one for each index of the axis. False: there is no buffer. */
bool exact_floats(StepBuf *, const View *x, const View *zero, int axis, View *out);
/* Marks a float step whose sums are integers: only algorithms that add them exactly may run it. */
void exact_round(StepBuf *, Step *);
/* Adds float sums to y, 32-bit integers. *whole is {0} at the first call, which makes it a buffer
   that later calls use again. False: there is no buffer. */
bool exact_collect(StepBuf *, const View *sums, const View *y, View *whole);
/* y = round((sums + bias) * (scale[0] * scale[1] / scale[2])) + zero, saturating; bias: NULL for
   none. In floats, which hold the sums to 24 bits. */
void exact_quantize(StepBuf *, const View *y, const View *sums, const View *bias,
                    const View scale[3], const View *zero);
#endif
