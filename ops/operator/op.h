/* op.h -- the language in which operators are written. An operator is one file ops/NAME.c, which
   ends with one constant `const Op op_NAME`, and one line in ops.def. Operators include only this
   header, and nothing else does; that is why its names are short. */
#ifndef ISOMER_OP_H
#define ISOMER_OP_H
#include "ops/operator/operator.h"

/* ---- Shapes. Everything is built in the World of the call and returned by value. No function
   fails: if a result overflows int64, the whole signature is refused afterwards. Sizes are in
   elements; `attr` is the position of an attribute in the operator's table, from 0. */

/* Makes a polynomial from a formula of letters a-z, whole numbers, + - * and parentheses, such as
   "s*i + d*k - p". The further arguments are Polys, one for each different letter, in the order in
   which the letters first appear. */
Poly poly(Call *, const char *formula, ...);
Poly quot(Call *, Poly a, Poly b);            /* floor(a/b) */
Poly least(Call *, Poly a, Poly b);           /* min(a, b) */
Poly total(Call *, PolyList, int n);          /* v[0] + .. + v[n-1] */
Poly product(Call *, Dims, int from, int to); /* v[from] * .. * v[to-1]; 1 if there are none */

/* State what shape() requires of sizes. A requirement that trivially holds is dropped (one on
   constants, or that an input's size is >= 0); the others are kept in call->need. One on constants
   that does not hold makes the signature refused. */
void need_eq(Call *, Poly a, Poly b);   /* a = b */
void need_ge(Call *, Poly a, Poly b);   /* a >= b */
bool is_const(Call *, Poly, int64_t *); /* true: it is a constant, whose value is stored */

/* ---- Inputs. */
bool has(Call *, int input);    /* whether it is given, not omitted */
int rank_of(Call *, int input); /* the number of its axes; 0 if it is omitted */

/* ---- Attributes: the node's value, or the default. */
PolyList ints(Call *, int attr);  /* the entries of an A_INTS, or the one entry of an A_INT */
Dims ints_dims(Call *, int attr); /* the entries of an A_INTS as Dims, at most RANK_MAX of them */
Poly intof(Call *, int attr);     /* an A_INT; 0 if it has no value */
int enum_value(Call *, int attr); /* an A_ENUM: the position in the list of words */
Ex real(Call *, int attr);        /* an A_REAL */
/* For params(): stores an A_REAL as the bits of a double; false: it is not a number. */
bool bits_of(Call *, int attr, int64_t *out);
/* For params(): appends the entries of an A_INTS to the *n parameters after the first, and adds
   their number to *n. False: an entry is not a number, or there are too many. */
bool add_ints(Call *, int attr, int64_t param[], int *n);
/* An A_INT as an axis of a tensor of this rank; negative ones count from the end. -1: it is not a
   number, or not an axis. */
int axis(Call *, int attr, int rank);
int axis_at(Call *, int attr, int k, int rank); /* likewise for entry k of an A_INTS */

/* ---- Element types. Classes are the letters of dtype_class: F floats, I signed and U unsigned
   integers, B bool, .. */
bool is_float(const Type *);
bool is_integer(const Type *); /* not bool */
bool is_byte(const Type *);    /* an integer of 8 bits */
/* Returns NULL if all inputs have the same element type, of one of these classes (such as "FIU");
   else the reason why not. */
const char *dtypes_agree(Call *, const char *classes);
/* Returns NULL if the input is a matrix of floats or integers; else the reason why not. */
const char *matrix_of_numbers(Call *, int input);
/* Like dtypes_agree, and sets out[0] to the type of input 0. */
const char *same_type(Call *, const char *classes);

/* ---- Lists of sizes or of indices. */
/* Returns the longer one, and requires that the shorter one equals its last axes. */
Dims dims_join(Call *, Dims, Dims);
Dims dims_tail(Dims, int n);          /* the last n entries */
Dims dims_with(Dims, int axis, Poly); /* replaces one entry; negative axes count from the end */
Dims dims_cons(Poly, Dims);           /* prepends an entry */
Dims dims_without(Dims, int axis);    /* removes entry `axis`, counted from 0 */
bool dims_single(Call *, Dims); /* whether it holds a single number: no axis, or one axis of size
                                   1 */
typedef struct WindowAxis {     /* a window along one axis */
    Poly kernel, stride, dilation;
} WindowAxis;
/* The number of windows that fit into n + pads. Requires stride >= 1, dilation >= 1 and a result >=
   0. */
Poly windows(Call *, Poly n, WindowAxis, Poly pads);
/* Likewise with pads before and after. `ceil`: a last window may extend beyond the pads, if it does
   not start within those after x (ONNX's ceil_mode). */
Poly windows_padded(Call *, Poly n, WindowAxis, Poly front, Poly back, bool ceil);

/* ---- The valid range of an input's elements, for Op.domain. */
/* 0 to n - 1, the places of an axis; returns true. */
bool all_places(Call *, Poly n, Poly *low, Poly *high);
bool up_to(Call *, Poly n, Poly *low, Poly *high); /* 1 to n; returns true */
/* For input 1, if its elements are integers: from 1 on; returns false for other inputs. */
bool divisors(Call *, int input, Poly *low, Poly *high);

/* ---- Values of integer operators without a definition (Op.value). */
/* Applies f to corresponding elements of the inputs; missing leading axes, and axes of size 1,
   broadcast. False: an element is not known, or f failed. */
bool value_each(Call *, const PolyList in[], Poly *out, bool (*f)(Call *, const Poly x[], Poly *y));
/* Whether a = b or a >= b. 1: for all sizes, 0: for none, -1: not decided. */
int decide_eq(Call *, Poly a, Poly b);
int decide_ge(Call *, Poly a, Poly b);
bool is_natural(Call *, Poly); /* whether it can be shown to be >= 0 for all sizes */

/* ---- Definitions: one output element as an expression over the output's indices. */
/* Indices and conditions. */
Dims bound(Call *, Dims n); /* fresh bound variables 0 <= k < n, for sum, maximum and take */
/* The mixed-radix digits of e: symbols defined by e, not variables to sum over. */
Dims digits(Call *, Poly e, Dims radix);
Cond inside(Call *, Dims i, Dims n, int from); /* 0 <= i < n on the axes from `from` on */
Cond when_eq(Call *, Poly a, Poly b);          /* a = b */
Cond when_ge(Call *, Poly a, Poly b);          /* a >= b */
Cond both(Call *, Cond, Cond);

/* Real numbers. */
Ex num(Call *, int64_t p, int64_t q); /* p/q, q > 0 */
Ex size(Call *, Poly);                /* a size as a number */
/* The element of an input at index i. If the index may be outside the input, the read must be
   guarded by `when`. */
Ex at(Call *, int input, Dims i);
Ex add(Call *, Ex, Ex);
Ex sub(Call *, Ex, Ex);
Ex mul(Call *, Ex, Ex);
Ex divide(Call *, Ex, Ex); /* a * recip(b) */
Ex max2(Call *, Ex, Ex);
Ex min2(Call *, Ex, Ex);
Ex power(Call *, Ex, Ex); /* a to the power of b */
Ex fn(Call *, Function, Ex);
/* The first expression if the condition, on indices and sizes, holds; else the second. */
Ex when(Call *, Cond, Ex, Ex otherwise);
/* a if c, which is data, is not 0; else b. Rules are proved only where c is a polynomial in
   integers and truth values. */
Ex where(Call *, Ex c, Ex a, Ex b);
/* Reads at an index that is data: the result is `a` with k, a bound() variable of an axis, set to
   the position on this axis that `index` means; negative ones count from the end (ex_place). */
Ex take(Call *, Poly k, Ex index, Ex a);
/* Over all values of the bound() variables k for which the condition holds: */
Ex sum(Call *, Dims k, Cond, Ex);     /* the sum; 0 if there are none */
Ex maximum(Call *, Dims k, Cond, Ex); /* the maximum; -infinity if there are none */

/* ---- Classifiers of ai.onnx.ml (classifier.c). From scores [n, classes] they compute the label of
   the greatest score of each row, and the scores, unchanged or as probabilities. */
/* Their one attribute, `post`: how scores are converted. */
extern const AttrDef classifier_attrs[];
/* Returns NULL if the input is a list of integers, the labels; else the reason why not. */
const char *labels_fit(Call *, int input);
/* The end of an expansion, which computes the outputs from the scores %s and the input `labels`. */
#define EXPAND_CLASSIFIER                     \
    "%a = argmax %s axis=1\n"                 \
    "%y = gather %labels %a axis=0\n"         \
    "[post=none] %z = %s\n"                   \
    "[post=logistic] %z = sigmoid %s\n"       \
    "[post=softmax] %z = softmax %s axis=1\n" \
    "out %y %z\n"

/* ---- Blocks added up. */
/* Appends the step "col2im" (isomer_op_steps.h): y [n, c, i..] is the sum of the blocks x [n,
   c*k.., l..]. axis[j] has the parameters of spatial axis j, ns in all. False: the target does not
   run it, and no step was added. */
bool step_col2im(StepBuf *, const View *y, const View *x, int ns,
                 const int64_t axis[][COL2IM_AXIS_PARAMS]);

/* ---- Quantized numbers. A scale or zero point is one number (per tensor), or a list with one
   number for each place of an axis (per axis). */
/* The scale or zero point for place k of the axis; 0 if the input is omitted. */
Ex at_per_axis(Call *, int input, Poly k);
/* Returns NULL if these n inputs, which may be optional, are all given; else the reason why not. */
const char *inputs_present(Call *, int n, const int input[]);
/* Returns NULL if these n inputs, scales and zero points, are single numbers or omitted; else the
   reason why not. */
const char *inputs_single(Call *, int n, const int input[]);
/* Returns NULL if the scale or zero point is a single number or omitted, or has one axis, which is
   then required to have size n; else the reason why not. */
const char *per_axis_fits(Call *, int input, Poly n);
/* Says what is wrong if zero point `zero` is given and has another type than input `of`. */
const char *zero_typed(Call *, int zero, int of);
Ex minus_zero(Call *, Ex x, Ex zero); /* x - zero; x if there is no zero point */
/* round(x) + zero, saturated to the integers that out[0] can hold. Returns 0, no definition, for
   64-bit integers, as their limits cannot be numbers of an expression. */
Ex round_saturate(Call *, Ex x, Ex zero);
/* Broadcasts the scale or zero point `in` to the sizes of `like`: it varies along this axis, or not
   at all if the axis is -1 or `in` is a single number. */
View per_axis_view(const View *in, const View *like, int axis);

/* ---- Steps for sums of products of 8-bit integers (exact.c, exact_int8.c). They need buffers
   (step_buffer). */
/* Computes y, 32-bit integers, by one convolution or product of 8-bit integers, if the target has
   an algorithm for it. Unsigned weights are made signed, and the difference is added to the sums.
   *step has the kind, the views y, x and w, and the parameters except for the zero point. x_zero
   and w_zero are the zero points, NULL or of rank -1 if there are none; w may have one for each
   channel or column of the result. False: no step was added. */
bool exact_int8(StepBuf *, const Step *step, const View *x_zero, const View *w_zero);
/* Adds a step y = x - zero, with one zero point or one for each index of the axis. */
void exact_less(StepBuf *, const View *y, const View *x, const View *zero, int axis);
/* The number of products of two 8-bit integers whose sum float32 holds exactly. */
enum { EXACT_TERMS = 258 };
/* Writes x minus its zero point as floats to a buffer (step_buffer), *out. zero: NULL or of rank -1
   if there is none; else one number, or one for each index of the axis. False: no buffer is
   left. */
bool exact_floats(StepBuf *, const View *x, const View *zero, int axis, View *out);
/* Marks a step of floats whose sums are integers, so that only algorithms that add them exactly may
   run it. */
void exact_round(StepBuf *, Step *);
/* Adds sums in float to y, 32-bit integers. *whole must be {0} at the first call, which makes it a
   buffer for later calls to use again. False: no buffer is left. */
bool exact_collect(StepBuf *, const View *sums, const View *y, View *whole);
/* y = round((sums + bias) * (scale[0] * scale[1] / scale[2])) + zero, saturating; bias: NULL for
   none. Computed in floats, which hold the sums to 24 bits. */
void exact_quantize(StepBuf *, const View *y, const View *sums, const View *bias,
                    const View scale[3], const View *zero);
#endif
