/* operator.h -- struct Op, which is all that the rest of Isomer knows about an operator: shape(),
   define() and tables.

   define() writes one output element as an expression over symbolic indices, once per signature.
   The prover, the oracle for kernels, the fingerprints of the rule generator, shape computations,
   operation counts, views and default kernels are all derived from that expression. Operators
   include op.h, which adds the language they are written in. */
#ifndef ISOMER_OPERATOR_H
#define ISOMER_OPERATOR_H
#include "ops/core/attr.h"
#include "ops/core/expr.h"
#include "ops/core/lower.h"
#include "ops/operator/op_kernel.h"

typedef struct Op Op;
/* A list of requirements on sizes, all of which must hold. */
typedef struct Needs {
    int n, room;
    Lit *v;
} Needs;
/* What the functions of an operator are called with: the operator, its attributes and its input
   types (a signature). */
typedef struct Call {
    World *w;
    const Op *op;
    const Attr *attr;      /* attr[i] is the value of op->attrs[i], never missing */
    const Type *const *in; /* in[k] == NULL: an optional input is omitted */
    Type *out;             /* nout output types, written by shape() */
    /* What shape() requires of sizes. The importer assumes it (a valid model satisfies it), the
       prover uses it, and the search applies a rule only where it follows from known facts. */
    Needs *need;
    int nin, nout, port; /* port: the number of the output that define() writes */
} Call;

/* One spelling of an operator in ONNX. The importer takes the first entry whose domain, type and
   opset match and whose items all succeed; if there is none, the node is opaque. The exporter takes
   the first entry that is valid at the model's opset and that it can invert, so the plainest
   spelling comes first. `attrs` is a list of items separated by blanks. An entry fails if the node
   has an attribute that no item names, or a used output that our operator does not have.
     NAME                our attribute NAME is theirs of the same name; if the node lacks it, our
                         default
     NAME=THEIRS         likewise under another name. NAME=THEIRS|input:K: the attribute or, if the
                         node lacks it, the constant (for lists: computable) input K, from 0
     NAME=input:K        input K alone; such inputs are not inputs of our node, the others keep
                         their order
     NAME=input:K[]      likewise; a single number is written as a list of one
     NAME=THEIRS^        like NAME=THEIRS; an enum's word is written in capitals
     INPUT=list:THEIRS   our input of this name is a constant, their attribute THEIRS; if the node
                         lacks it, the input is omitted. INPUT=number:THEIRS: one number
     NAME=VALUE!         our attribute has a fixed value in text form: axis=1!
     THEIRS==VALUE       the node lacks this attribute, or it is VALUE; written only if a + precedes
                         it: +mode==constant
     THEIRS:ignore       has no effect on the outputs that we keep; not written
     X:SPECIAL           a special item, found by its name among the operator's own (Op.items) or
                         the shared ones (graphs/onnx/items.def, which describes them)
   A list of integers is read from a list, a single integer, or a computable integer input; an enum
   from an integer (the position of its word) or a string (the word, in lower case). A float becomes
   the shortest decimal that rounds to it, as a rational: 0.01, not 0.00999999977. Axes may be
   negative: signatures normalize them. `until` is the last opset of this spelling; 0: still valid.
   The list of entries ends with {0}. */
typedef struct OnnxMap {
    const char *domain, *type;
    int since, until;
    const char *attrs;
} OnnxMap;

/* A special item X:SPECIAL of one operator, defined in the operator's file. `read` sees only the
   types of the ONNX node's inputs (call->in; NULL: omitted) and what it asks for through OnnxRead.
   An attribute that is asked for counts as understood; an input that is asked for is not an input
   of our node. */
typedef struct OnnxRead OnnxRead;
struct OnnxRead {
    /* Reads a list of numbers: an attribute, or else a computable input (-1: none). */
    bool (*list)(OnnxRead *, const char *name, int input, PolyList *out);
    /* Read an attribute; `otherwise` is the value if the node lacks it. */
    int64_t (*integer)(OnnxRead *, const char *name, int64_t otherwise);
    const char *(*text)(OnnxRead *, const char *name, const char *otherwise);
    /* Reads a list of n numbers into n of our attributes. */
    bool (*reals)(OnnxRead *, const char *name, int n, const int attr[]);
    /* reads the value that an ordinary item gave to our attribute */
    bool (*given)(OnnxRead *, int attr, PolyList *out);
    /* sets our attribute to a list of n entries */
    void (*give)(OnnxRead *, int attr, int n, const Poly *);
    /* returns false; `why` must be static or live in the World */
    bool (*refuse)(OnnxRead *, const char *why);
};
typedef struct OnnxWrite OnnxWrite;
struct OnnxWrite { /* each returns false if the value cannot be written */
    bool (*integer)(OnnxWrite *, const char *name, int64_t);
    bool (*text)(OnnxWrite *, const char *name, const char *);
    bool (*list)(OnnxWrite *, const char *name, PolyList); /* its entries must be constants */
    bool (*reals)(OnnxWrite *, const char *name, int n, const int attr[]);
    bool (*list_input)(OnnxWrite *, int place, PolyList); /* as input `place`, from 0 */
    bool (*refuse)(OnnxWrite *, const char *why);
};
typedef struct OnnxItem {
    const char *ours, *name;
    /* attr: the position of `ours` among the operator's attributes; -1: it is none. */
    bool (*read)(Call *, OnnxRead *, int attr);
    bool (*write)(Call *, OnnxWrite *, int attr); /* the Call is that of the node that is written */
} OnnxItem;

enum {
    OP_RANDOM = 1, /* its nodes carry a serial number, so that equal nodes are not merged (random or
                      opaque) */
    OP_COMMUTATIVE = 2, /* its two inputs, or all inputs of a variadic operator, may be swapped */
    OP_BROADCASTS = 4,  /* in ONNX its inputs broadcast as in NumPy: the importer inserts
                           `broadcast`, which the exporter drops */
    OP_NO_COST = 8,     /* never costs anything itself (input, constant) */
    OP_ANY_TYPE = 16,   /* accepts inputs of unknown rank */
    OP_BY_DATA = 32,    /* runs its reference kernel rather than a loop over its definition, because
                           data decide what it reads, or because its elements share work */
    OP_PASSES = 64,     /* every element of output 0 is an element of input 0, perhaps converted */
    OP_ON_CONSTANTS = 128, /* occurs in rules only, applied to constants: the written file has its
                              result as a constant */
    OP_SELECTS = 256,      /* runtimes compare where its definition multiplies elements that are not
                              selected by 0, or takes the greater of two: the results differ if such
                              an element is NaN or infinite */
    OP_BOUNDED = 512,   /* its results stay finite where masked elements of its input are -infinity
                           (softmax) */
    OP_DECIDES = 1024,  /* compares or rounds, so its result jumps. Its definition, over real
                           numbers, does not say what a NaN or an infinity gives, or how a quotient
                           is rounded before it is rounded to an integer; its kernel does. So the
                           kernel is used wherever numbers are computed. Requires OP_BY_DATA */
    OP_ACCURATE = 2048, /* runtimes do not compute it by the operations of its definition, which
                           cancel or overflow where its value does not: the definition, written out,
                           gives other bits */
    OP_WRITES = 4096    /* its numeric attributes become elements of its result */
};
struct Op {
    const char *name, *in, *out;  /* in, out: names such as "x w b?"; "b?" is optional, "ys.." means
                                     any number */
    const AttrDef *attrs;         /* ends with {0}; NULL: none */
    const char *(*shape)(Call *); /* writes c->out[]; returns NULL, or why it refuses these types */
    /* Returns the element of output c->port at index i; 0: this signature has no definition. An
       operator with neither define nor expand has shapes and a kernel, but no rules. */
    Ex (*define)(Call *, Dims i);
    const char *expand; /* a composite: its graph in text form (graphs/TEXT.md), instead of
                           define */
    /* Computes the elements of output 0 from those of the inputs (in[k].v == NULL: not known), for
       shape computations of integer operators where there is no definition, or it does not suffice.
       False: not known. */
    bool (*value)(Call *, const PolyList in[], Poly *out);
    /* Returns the valid range *low..*high of the elements of an input (places, lengths, divisors,
       ..), unless `take` in the definition implies it. False: any value is valid. */
    bool (*domain)(Call *, int input, Poly *low, Poly *high);
    /* Appends steps (lower.h) that compute out[0..nout-1] from in[0..nin-1] (omitted inputs have
       rank -1), if they are faster than those derived from the definition: matmul as S_GEMM, ..
       step_size gives the sizes of attributes. Returns 1: done; 0: not for these views or
       attributes, take the default; -1: failed, StepBuf.failure has the reason. NULL: always the
       default. Those of a composite are used for 16-bit floats only. */
    int (*steps)(Call *, const View in[], const View out[], StepBuf *);
    OpKernel kernel; /* the reference kernel, run as an S_OP step, of operators without define or
                        expand, and of those with OP_BY_DATA */
    /* Writes the parameters of the kernel to param[1], param[2], .. (isomer_op_steps.h), and
       returns the last index; -1: an attribute is not a number. NULL: there are none. */
    int (*params)(Call *, int64_t param[]);
    /* Returns the number of operations of the kernel where it is another than that of the
       definition, or there is no definition. NULL: those of the definition. */
    Poly (*work)(Call *);
    const OnnxMap *onnx;
    unsigned flags;
    const OnnxItem *items; /* ends with {0}; NULL: none */
};
#endif
