/* import.h -- the import of one ONNX node as nodes of ours. What fails says why in Import.why: then
   this entry of the operator's table does not apply, and the next one is tried. Everything lives in
   the World's arena. */
#ifndef ISOMER_ONNX_IMPORT_H
#define ISOMER_ONNX_IMPORT_H
#include "graphs/onnx/model.h"

enum {
    INPUTS_TAKEN = 64, /* as many bits has Import.taken */
    ATTRS_NAMED = 64,  /* as many has Import.named */
    INPUTS_MAX = 1024,
    OUTPUTS_MAX = 256
};
typedef struct Import {
    Model *m;
    World *w;
    OnnxNode *n;
    const Op *op;
    int nin, nout;
    const Value *in;      /* of the ONNX node */
    Attr attr[ATTRS_MAX]; /* ours, in the order of op->attrs */
    bool given[ATTRS_MAX];
    uint64_t taken;  /* ONNX inputs that became attributes */
    Value *constant; /* inputs of ours that are attributes in ONNX, by place; NULL: none */
    uint64_t named;  /* ONNX attributes that an item mentions */
    /* What normalize.c does around the node, as an item demands (items.def). */
    bool fold;                             /* n inputs become nodes of two inputs, in a chain */
    bool stretch, stretch_pair, stretch_c; /* NumPy's broadcasting, of MatMul, two, Gemm's C */
    bool keepdims;                         /* reduced axes come back as 1s */
    bool flatten;                          /* axes before and after flatten_at are joined */
    int64_t flatten_at;
    bool ordered; /* letters describe the product: axes are put in order (letters.c) */
    bool same;    /* the result is input 0 itself, whatever that is */
    Type guess;   /* of output 0 where sizes are not decided: what is sure of it; not known: nothing
                     is */
    const char *why;
} Import;

/* Always false; the first reason is kept. */
bool import_fail(Import *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Marks it as named; false: the node does not have it. */
bool onnx_attr(Import *, const char *name, OnnxAttr *out);
/* An attribute of the node that is an integer, or a text; `otherwise` if it is absent. import_fail
   if it is of another kind. */
int64_t onnx_attr_int(Import *, const char *name, int64_t otherwise);
const char *onnx_attr_text(Import *, const char *name, const char *otherwise);
bool onnx_attr_list(const OnnxAttr *, PolyList *out, Import *);
int op_attr_index(const Op *, const char *name);
/* The elements of ONNX input k, which is marked as taken; false and why: it is left out or cannot
   be computed. */
bool input_list(Import *, int k, PolyList *out);
/* ONNX input k is no input of our node; import_fail from the 65th on (INPUTS_TAKEN). */
void import_take(Import *, int k);
/* The attribute, or else that input (-1: none); false: neither is there, or (why) it cannot be
   computed. */
bool list_from(Import *, const char *name, int input, PolyList *out);
void give_ints(Import *, int attr, int n, const Poly *);
bool give_attr(Import *, int attr, const OnnxAttr *);
/* A constant input as an attribute; true also if it is left out. */
bool give_input(Import *, int attr, int k);
bool number_at(Import *, PolyList, int k, int64_t *);
/* `all` in two halves; of an odd number the end gets the larger one if upper, else the front. */
void import_halves(World *, int64_t all, bool upper, Poly *begin, Poly *end);
/* The sizes of an input; NULL: the import has failed, its reason says why. */
const Dims *import_dims(Import *, int input);
/* An axis of `rank` of them, counted from the end where it is negative; false: it is out of range,
   and the import has failed. import_axis_of: the k-th of a list. */
bool import_axis(Import *, int64_t axis, int rank, int *out);
bool import_axis_of(Import *, PolyList axes, int k, int rank, int *out);
/* x as a matrix whose columns are its axes from `at` on, which may be its rank; false: likewise. */
bool import_matrix(Import *, const Dims *x, int64_t at, Dims *matrix);
/* Marks in `seen`, by axis of `rank`, those that the list names, counted from the end where they
   are negative. False: one is out of range or named twice, and the import has failed. */
bool import_distinct_axes(Import *, PolyList axes, int rank, bool seen[]);
/* The shortest decimal that rounds to this number, as a rational. */
Ex real_shortest(World *, double, bool is_double);
/* The elements of a constant, or of a value computed from inputs at hand (OpenOptions). False:
   neither; `why` is not set. */
bool import_data(Import *, Value, Type *, const void **bytes);
/* The first of these elements, as an integer. False: there is none, it is no number, or (`why` is
   not set either) as import_data. */
bool import_number(Import *, Value, int64_t *);
/* spelling_form.c: the node trains, as input 2 says, or not, as wanted; inputs from 1 on are taken.
   False: the import has failed. */
bool import_training(Import *, bool wanted);
const Type *import_type(Import *, Value); /* NULL and why: sizes not known */

/* constants.c: our input `ours` becomes a constant, the ONNX attribute `theirs`; true also if the
   node lacks it. */
bool give_constant(Import *, const char *ours, const char *theirs);
/* Our input k, counted from 0, becomes a constant of this type, whose sizes are numbers; its bytes
   are copied. */
void give_list(Import *, int k, DType, Dims, const void *bytes);

bool normalize_by_tables(Import *, Value out[]); /* normalize.c */
bool control_import(Import *, Value out[]); /* control.c: If, Loop and Scan where data is at hand */

/* items.c: an item X:SPECIAL of the operator's table. */
bool item_import(Import *, const char *ours, const char *special);
bool item_known(const Op *, const char *ours, const char *special); /* there is such an item */

/* letters.c: the product of n inputs that einsum's attribute `letters` describes, two at a time,
   with axes put in order and joined. 0: it cannot be, or (why) something failed. */
Value product_ordered(Import *, PolyList letters, int n, const Value in[]);

/* stretch.c: NumPy's broadcasting made explicit. */
Value reshape_to(Import *, Value, Dims); /* 0: it cannot be */
/* Leading 1s dropped, other stretched 1s broadcast; missing leading axes are implicit. */
bool stretch_to(Import *, Value *, Dims target);
/* To common sizes, the last `tail` axes left alone. */
bool stretch_all(Import *, int n, Value v[], int tail);
bool dims_stretch(Import *, Dims a, Dims b, Dims *out); /* false: not decided */
#endif
