/* signature.h -- the table of operators, and the table of signatures. A signature is an operator
   with attributes and input types. Everything that depends on the signature alone is computed once,
   for all nodes that have it. */
#ifndef ISOMER_SIGNATURE_H
#define ISOMER_SIGNATURE_H
#include "ops/operator/operator.h"

/* The operators of ops.def: op_add, op_affinegrid, .. To mean a particular operator, name its
   constant, so that the compiler refuses unknown names. */
#define OP(name) extern const Op op_##name;
#include "ops/ops.def"
#undef OP
int op_count(void);
const Op *op_at(int);                /* 0 .. op_count() - 1 */
const Op *op_find(const char *name); /* NULL: there is none */
int op_index(const Op *);            /* searches the table; SigInfo and Node have the result */
bool op_algebraic(const Op *);       /* whether it has define or expand */
/* The least number of inputs: optional ones are not counted. */
int op_arity(const Op *, bool *variadic);
/* The number of declared inputs: optional ones are counted, a variadic one as one. */
int op_input_count(const Op *);
/* The position of the input with this declared name ("b?" for an optional b); -1: none. */
int op_input_named(const Op *, const char *name);
int op_input_any(const Op *, const char *name); /* likewise, also if it is optional */
/* Whether the input at this position is neither optional nor variadic. */
bool op_input_needed(const Op *, int input);
/* the declared outputs, a variadic one counted as one */
int op_output_count(const Op *, bool *variadic);

typedef uint32_t Sig; /* an interned signature; 0: none */
typedef struct SigInfo {
    const Op *op;
    int op_index;
    AttrsId attrs;
    int nin, nout;
    const TypeId *in;  /* 0: an omitted input */
    const TypeId *out; /* NULL if `why` is set */
    const char *why;   /* why the signature was refused; NULL: it was not */
    int nneed;
    const Lit *need; /* what the sizes must satisfy */
} SigInfo;
/* Interns a signature. attr has all attributes in the order of op->attrs; nout matters only if the
   number of outputs is variable. Never fails: a refused signature has `why`. Attributes are
   normalized (negative axes count from the front, ..), so that signatures with equal meanings are
   equal. */
Sig sig_intern(World *, const Op *, const Attr *attr, int nin, const TypeId in[], int nout);
const SigInfo *sig_info(World *, Sig);
void sig_attr(const World *, Sig, Attr *out); /* stores all attributes in order */
/* The definition of output `port` over i0, i1, ..; 0: it has none (as composites: expand them).
   Computed once. */
Ex sig_define(World *, Sig, int port);
/* Likewise, for computing numbers: 0 if the kernel must be used instead (OP_DECIDES). */
Ex sig_define_numbers(World *, Sig, int port);
/* Stores the parameters of an S_OP step of this signature (isomer_op_steps.h) and returns their
   number; -1: an attribute is not a number. */
int sig_params(World *, Sig, int64_t param[OP_PARAMS]);
/* Stores the valid range of the elements of an input (Op.domain); false: any value is valid. */
bool sig_domain(World *, Sig, int input, Poly *low, Poly *high);
/* Computes the elements of output 0 of an integer operator from those of its inputs; its sizes must
   be numbers. Numbers are computed without a limit: the caller must see whether the element type
   holds them. False: not known. */
bool sig_value(World *, Sig, const PolyList in[], Poly *out);
/* The number of operations of the definition, with each distinct subexpression computed once for
   all values of the variables that it mentions; 0 for views; < 0: a size that counts has no
   value. */
double sig_flops(World *, Sig, Sizes);
/* The number of operations when it runs, by its kernel if the operator says how many those are
   (Op.work), else by its definition; < 0: a size has no value. */
double sig_work(World *, Sig, Sizes);

/* The kind of a definition, determined from its structure. */
typedef enum SigKind {
    SIG_OTHER,
    SIG_VIEW,        /* one element of an input at affine indices, without guard */
    SIG_RESHAPE,     /* all elements of input 0 in row-major order, but not a view */
    SIG_ELEMENTWISE, /* no sum, maximum or guard: inputs are read at the output's indices, or an
                        element is converted */
    SIG_REDUCTION    /* a sum or maximum over one input without guard, perhaps scaled */
} SigKind;
SigKind sig_kind(World *, Sig, int port);

/* The argument for the operator's own functions. needs collects what they require of sizes; NULL:
   ignored. */
Call sig_call(World *, Sig, Needs *);

/* Lowering of a signature with known sizes (sig_lower.c). in[k].rank < 0: the input is omitted. */
/* Sets *out if the output is a view of an input, which needs no step; false: it is not. */
bool sig_lower_view(World *, Sig, int port, Sizes, const View in[], const View *like, View *out);
/* Appends steps for all outputs: by Op.steps, by the structure of the definition, or by the
   reference kernel (S_OP). False: StepBuf.failure has the reason. */
bool sig_lower(StepBuf *, Sig, const View in[], const View out[]);
/* Appends an S_OP step for the reference kernel of an operator that has one. */
bool sig_lower_kernel(StepBuf *, Sig, const View in[], const View out[]);

/* Prepares a World for signatures; graph_world_new (graphs/world.h) calls it. */
void world_init_ops(World *);
#endif
