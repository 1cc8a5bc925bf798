/* import.h -- translates one ONNX node into Isomer nodes. A function that fails records the reason
   in Import.why; the entry of the operator's table that is being tried then does not apply, and the
   next one is tried. Everything lives in the World's arena. */
#ifndef ISOMER_ONNX_IMPORT_H
#define ISOMER_ONNX_IMPORT_H
#include "graphs/onnx/model.h"

enum {
    INPUTS_TAKEN = 64, /* the number of bits of Import.consumed_inputs */
    ATTRS_NAMED = 64,  /* the number of bits of Import.known_attrs */
    INPUTS_MAX = 1024,
    OUTPUTS_MAX = 256
};
typedef struct Import {
    Model *m;
    World *w;
    OnnxNode *n;  /* the node that is imported */
    const Op *op; /* the Isomer operator that is tried */
    int nin, nout;
    const Value *in;       /* the values of the ONNX node's inputs */
    Attr attr[ATTRS_MAX];  /* the attributes of the Isomer node, in the order of op->attrs */
    bool given[ATTRS_MAX]; /* whether this attribute was set */
    /* A bit for each ONNX input that is not an input of the Isomer node, such as one that became an
       attribute. */
    uint64_t consumed_inputs;
    /* By input of the Isomer node: its value if it is an attribute in ONNX; the array is NULL if
       there is none. */
    Value *constant;
    /* A bit for each ONNX attribute that an item mentions; others make the import fail. */
    uint64_t known_attrs;
    /* What normalize.c has to do around the node, as its items demand (items.def). */
    bool fold; /* n inputs become a chain of nodes of two inputs each */
    /* NumPy's broadcasting: of MatMul's operands, of two inputs, of Gemm's C, of the inputs after
       the first to the sizes of the first. */
    bool stretch, stretch_pair, stretch_c, stretch_others;
    bool keepdims; /* the reduced axes come back with size 1 */
    /* The node works on a matrix: the axes before and from flatten_at on are joined. */
    bool flatten;
    int64_t flatten_at;
    bool ordered; /* the product is described by letters: its axes are put in order (letters.c) */
    /* Input 1 replaces rows of input 0 from written_at on (written.c). */
    bool written;
    int64_t written_at;
    bool is_identity; /* the result is input 0 itself, whose sizes are not known */
    /* The type of output 0 as far as it is certain, in case the node becomes opaque because sizes
       are not decided; not `known` if nothing is certain. */
    Type guess;
    const char *why;
} Import;

/* Records the reason of the failure, unless there is one already; returns false. */
bool import_fail(Import *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Decodes an attribute and marks it in known_attrs. Returns false if the node does not have it. */
bool onnx_attr(Import *, const char *name, OnnxAttr *out);
/* Return an attribute of the node that is an integer, or a text; `otherwise` if it is absent. They
   call import_fail if it has another kind. */
int64_t onnx_attr_int(Import *, const char *name, int64_t otherwise);
const char *onnx_attr_text(Import *, const char *name, const char *otherwise);
/* Converts an attribute that is an integer or a list of integers. */
bool onnx_attr_list(const OnnxAttr *, PolyList *out, Import *);
/* The index of an attribute of the operator, or -1. */
int op_attr_index(const Op *, const char *name);
/* Gets the elements of ONNX input k, which is marked in consumed_inputs. Returns false if the input
   is left out or, with a reason, if it cannot be computed. */
bool input_list(Import *, int k, PolyList *out);
/* Marks ONNX input k as an input that the Isomer node does not have. Fails from the 65th input on
   (INPUTS_TAKEN). */
void import_take(Import *, int k);
/* Gets a list of integers from the attribute or, if it is absent, from that input (-1: none).
   Returns false if there is neither or, with a reason, if the list cannot be computed. */
bool list_from(Import *, const char *name, int input, PolyList *out);
/* Set an attribute of the Isomer node: to a list, or to what an ONNX attribute says. */
void give_ints(Import *, int attr, int n, const Poly *);
bool give_attr(Import *, int attr, const OnnxAttr *);
/* If an input has doubles, sets an attribute that the node leaves out to the float that is nearest
   to its default. */
void default_as_float(Import *, int attr);
/* Sets an attribute of the Isomer node from a constant input. Returns true also if the input is
   left out. */
bool give_input(Import *, int attr, int k);
/* Gets entry k of a list, which must be a number. */
bool number_at(Import *, PolyList, int k, int64_t *);
/* Splits `all` into two halves. If it is odd, the larger half is the end if `upper` is set, else
   the beginning. */
void import_halves(World *, int64_t all, bool upper, Poly *begin, Poly *end);
/* The sizes of an input. Returns NULL, with a reason, if they are not known. */
const Dims *import_dims(Import *, int input);
/* Finds an axis of a tensor of this rank; a negative number counts from the end. Fails if the axis
   is out of range. import_axis_of does the same for entry k of a list. */
bool import_axis(Import *, int64_t axis, int rank, int *out);
bool import_axis_of(Import *, PolyList axes, int k, int rank, int *out);
/* The sizes of x as a matrix whose columns are its axes from `at` on; `at` may be the rank. Fails
   if it is out of range. */
bool import_matrix(Import *, const Dims *x, int64_t at, Dims *matrix);
/* Marks in `seen`, by axis, the axes that the list names; negative numbers count from the end.
   Fails if one is out of range or named twice. */
bool import_distinct_axes(Import *, PolyList axes, int rank, bool seen[]);
/* An element of a tensor as a number: an integer as it is; a float as the shortest decimal number
   that rounds to it in its type, as a rational. The element is finite, and a double holds it
   (element_exact). */
Ex element_number(World *, DType, double);
/* Gets the elements of a value that is a constant or can be computed from the inputs at hand
   (OpenOptions). Returns false, without setting `why`, if it is neither. */
bool import_data(Import *, Value, Type *, const void **bytes);
/* Gets the first_integer of the elements that import_data gives. Returns false, without setting
   `why`, if there is none. */
bool import_number(Import *, Value, int64_t *);
/* Gets the first of these elements as an integer. Returns false if there is none or it is not a
   number. */
bool first_integer(World *, const Type *, const void *bytes, int64_t *);
/* spelling_form.c: checks that the node trains or does not train, as wanted; input 2 says which.
   All inputs from 1 on are taken. Fails if the mode differs or depends on data. */
bool import_training(Import *, bool wanted);
/* The type of a value. Returns NULL, with a reason, if its sizes are not known. */
const Type *import_type(Import *, Value);

/* constants.c: makes the Isomer operator's input `ours` a constant from the ONNX attribute
   `theirs`. Returns true also if the node lacks the attribute. */
bool give_constant(Import *, const char *ours, const char *theirs);
/* Makes input k of the Isomer node, from 0, a constant of this type, whose sizes are numbers. The
   bytes are copied. */
void give_list(Import *, int k, DType, Dims, const void *bytes);

/* normalize.c: tries the entries of all operators' tables. */
bool normalize_by_tables(Import *, Value out[]);
/* control.c: imports If, Loop and Scan, if the data that they depend on is at hand. */
bool control_import(Import *, Value out[]);

/* items.c: runs a special item X:SPECIAL of the operator's table. */
bool item_import(Import *, const char *ours, const char *special);
/* Whether the operator itself or items.def has such an item. */
bool item_known(const Op *, const char *ours, const char *special);

/* letters.c: the product of n inputs that einsum's attribute `letters` describes, multiplied two at
   a time, with axes put in order and joined. Returns 0 if the product does not have such a form or,
   with a reason, if something failed. */
Value product_ordered(Import *, PolyList letters, int n, const Value in[]);

/* written.c: the parts of the result, one after another on axis 0, and returns how many there are:
   at most three. Returns 0, with a reason, if something failed. */
int written_parts(Import *, const Value in[], Value part[]);

/* stretch.c: NumPy's broadcasting, made explicit. */
Value reshape_to(Import *, Value, Dims); /* returns 0 if it fails */
/* Broadcasts a value to `target`: drops leading axes of size 1 and broadcasts other axes of size 1
   that differ. Leading axes that are missing stay implicit. */
bool stretch_to(Import *, Value *, Dims target);
/* Broadcasts n values to common sizes, leaving their last `tail` axes alone. */
bool stretch_all(Import *, int n, Value v[], int tail);
bool dims_stretch(Import *, Dims a, Dims b, Dims *out); /* fails if it is not decided */
#endif
