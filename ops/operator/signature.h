/* signature.h -- the table of operators and signatures (operator, attributes, input types): what is
   computed once for all nodes alike. */
#ifndef ISOMER_SIGNATURE_H
#define ISOMER_SIGNATURE_H
#include "ops/operator/operator.h"

/* The table of ops.def: op_add, op_affinegrid, .. Whoever means one operator names its constant, so
   that the compiler refuses an unknown name. */
#define OP(name) extern const Op op_##name;
#include "ops/ops.def"
#undef OP
int op_count(void);
const Op *op_number(int);            /* 0 .. op_count() - 1 */
const Op *op_find(const char *name); /* NULL: none */
int op_index(const Op *);            /* walks the table; SigInfo and Node have it */
bool op_algebraic(const Op *);       /* has define or expand */
/* Inputs it must have at least; optional ones are not counted. */
int op_arity(const Op *, bool *variadic);
/* Declared inputs, optional ones counted, a variadic as one. */
int op_input_count(const Op *);
/* The place of the input that is declared under this name; -1: there is none. */
int op_input_named(const Op *, const char *name);
int op_constant_input(const Op *, const char *name); /* the same of one that may be left out */
/* Whether the input at this place is neither optional nor one of any number. */
bool op_input_needed(const Op *, int input);
int op_output_count(const Op *, bool *variadic); /* declared outputs, a variadic as one */

typedef uint32_t Sig; /* interned; 0: none */
typedef struct SigInfo {
    const Op *op;
    int op_index;
    AttrsId attrs;
    int nin, nout;
    const TypeId *in;  /* 0: input left out */
    const TypeId *out; /* NULL when `why` is set */
    const char *why;   /* why shape() refused; NULL: it did not */
    int nneed;
    const Lit *need; /* what must hold of sizes */
} SigInfo;
/* attr holds all attributes in the order of op->attrs; nout matters for operators with a variable
   number of outputs only. Never fails: a refused signature has `why`. Attributes are normalized
   (negative axes count from the front, ..), so that equal meanings are the same signature. */
Sig sig_intern(World *, const Op *, const Attr *attr, int nin, const TypeId in[], int nout);
const SigInfo *sig_info(World *, Sig);
void sig_attr(const World *, Sig, Attr *out); /* the attributes, in order */
/* Over i0, i1, ..; 0: it has none (composites too: expand them). Computed once. */
Ex sig_define(World *, Sig, int port);
/* The same, but 0 if the kernel says more than the definition (OP_DECIDES): numbers are computed
   from it only otherwise. */
Ex sig_define_numbers(World *, Sig, int port);
/* The parameters of an S_OP step of this signature (isomer_op_steps.h); returns how many there are,
   -1: an attribute is not a number. */
int sig_params(World *, Sig, int64_t param[OP_PARAMS]);
/* From where to where the elements of an input must lie (Op.domain); false: anywhere. */
bool sig_domain(World *, Sig, int input, Poly *low, Poly *high);
/* Elements of output 0 of an integer operator from the inputs' elements; its sizes must be numbers.
   false: unknown. */
bool sig_value(World *, Sig, const PolyList in[], Poly *out);
/* Operations read off the definition, where each distinct subexpression is computed once for every
   value of what it mentions; 0 for views; < 0: a size has no value. */
double sig_flops(World *, Sig, Sizes);

/* What the definition is, read off its structure. */
typedef enum SigKind {
    SIG_OTHER,
    SIG_VIEW,        /* one element of an input at affine indices, no guard */
    SIG_RESHAPE,     /* all elements of input 0 in row-major order, and no view */
    SIG_ELEMENTWISE, /* no sum, maximum or guard; each input is read at the output's indices */
    SIG_REDUCTION    /* a sum or maximum of one input, without guard, perhaps scaled */
} SigKind;
SigKind sig_kind(World *, Sig, int port);

/* What the operator's own functions take. needs collects what they require; NULL: it is not
   wanted. */
Call sig_call(World *, Sig, Needs *);

/* Steps of a signature at bound sizes (sig_lower.c). in[k].rank < 0: input left out. */
/* The output is a view of an input, which needs no step. */
bool sig_lower_view(World *, Sig, int port, Sizes, const View in[], const View *like, View *out);
/* All outputs: Op.steps, or what the definition's structure gives, or the reference kernel (S_OP);
   false: why is set. */
bool sig_lower(StepBuf *, Sig, const View in[], const View out[]);
/* The reference kernel of an operator that has one. */
bool sig_lower_kernel(StepBuf *, Sig, const View in[], const View out[]);

/* What a World needs for signatures; graph_world_new (graphs/world.h) calls it. */
void world_init_ops(World *);
#endif
