/* operator.h -- what one operator is: shape() and define(), plus tables. define() writes one output
   element as an expression over symbolic indices, once per signature. That expression is all that
   others read: the prover, the oracle of kernels, the fingerprints of the rule generator, shape
   computations, operation counts, views and default kernels. Operators themselves include op.h,
   which adds the language they are written in. */
#ifndef ISOMER_OPERATOR_H
#define ISOMER_OPERATOR_H
#include "ops/core/attr.h"
#include "ops/core/expr.h"
#include "ops/core/lower.h"
#include "ops/operator/op_kernel.h"

typedef struct Op Op;
typedef struct Needs {
    int n, room;
    Lit *v;
} Needs;
/* One call of an operator's functions: the operator with attributes and input types (a
   signature). */
typedef struct Call {
    World *w;
    const Op *op;
    const Attr *attr;      /* attr[i] is op->attrs[i], defaults filled in */
    const Type *const *in; /* in[k] == NULL: optional input left out */
    Type *out;             /* nout of them, written by shape() */
    /* What shape() requires of sizes. The importer assumes it (a valid model satisfies it), the
       prover solves it, and search applies a rule only where it follows from what is known. */
    Needs *need;
    int nin, nout, port; /* port: the output that define() writes */
} Call;

/* One spelling in ONNX. The importer takes the first entry whose domain, type and opset fit and
   whose items all succeed; when none does, the node is opaque. The exporter takes the first entry
   valid at the model's opset that it can invert, so the plain spelling stands first. attrs is a
   list of items separated by blanks. An attribute of the node that no item names makes the entry
   fail, and so does a used output that our operator does not have.
     NAME                our attribute NAME is the attribute of that name; if the node lacks it, our
                         default
     NAME=THEIRS         likewise under another name; NAME=THEIRS|input:K: the attribute, or else
                         the constant (for lists: computable) input K, from 0
     NAME=input:K        input K alone; such inputs are not inputs of our node, the others keep
                         their order
     NAME=input:K[]      the same; a single number is written as a list of one
     NAME=THEIRS^        like NAME=THEIRS; a word is written in capitals
     INPUT=list:THEIRS   our input of this name is a constant, the attribute THEIRS; if the node
                         lacks it, it is left out; INPUT=number:THEIRS: one number
     NAME=VALUE!         a fixed value of ours in text form: axis=1!
     THEIRS==VALUE       the node lacks this attribute, or it is VALUE; exported only if written
                         with a + before it: +mode==constant
     THEIRS:ignore       has no effect on the outputs we keep; not exported
     X:SPECIAL           a special case, done by name: one of the operator's own (Op.items), or of
                         those that several share (graphs/onnx/items.def, which describes them)
   Lists of ints come from ints, a single int, or a computable integer input. A word comes from an
   int (its number) or a string (the word itself, in lower case). A float becomes the shortest
   decimal that rounds to it, as a rational: 0.01, not 0.00999999977. Axes may stay negative:
   signatures normalize them. `until` is the last opset of this spelling, 0: still valid. The last
   entry of a list is {0}. */
typedef struct OnnxMap {
    const char *domain, *type;
    int since, until;
    const char *attrs;
} OnnxMap;

/* An item X:SPECIAL that one operator alone needs, in its own file. What it sees of the ONNX node
   it reads are the types of the node's inputs (call->in, NULL: left out) and what it asks for; an
   attribute that is asked for counts as understood; an input that is asked for is not an input of
   our node. */
typedef struct OnnxRead OnnxRead;
struct OnnxRead {
    /* An attribute that is a list of numbers, or else the computable input (-1: none). */
    bool (*list)(OnnxRead *, const char *name, int input, PolyList *out);
    int64_t (*integer)(OnnxRead *, const char *name, int64_t otherwise);
    const char *(*text)(OnnxRead *, const char *name, const char *otherwise);
    /* A list of n numbers, which become attributes of ours. */
    bool (*reals)(OnnxRead *, const char *name, int n, const int attr[]);
    bool (*given)(OnnxRead *, int attr, PolyList *out); /* ours, by an item that is not special */
    void (*give)(OnnxRead *, int attr, int n, const Poly *);
    bool (*refuse)(OnnxRead *, const char *why); /* false; `why` is static or of the World */
};
typedef struct OnnxWrite OnnxWrite;
struct OnnxWrite { /* each false: it cannot be said */
    bool (*integer)(OnnxWrite *, const char *name, int64_t);
    bool (*text)(OnnxWrite *, const char *name, const char *);
    bool (*list)(OnnxWrite *, const char *name, PolyList); /* of numbers */
    bool (*reals)(OnnxWrite *, const char *name, int n, const int attr[]);
    bool (*list_input)(OnnxWrite *, int place, PolyList); /* of sizes, from place 0 */
    bool (*refuse)(OnnxWrite *, const char *why);
};
typedef struct OnnxItem {
    const char *ours, *name;
    /* attr: the position of `ours` among the operator's attributes, -1: it is not one. */
    bool (*read)(Call *, OnnxRead *, int attr);
    bool (*write)(Call *, OnnxWrite *, int attr); /* the call is of the node that is written */
} OnnxItem;

enum {
    OP_RANDOM = 1,      /* carries a serial number; equal nodes are not merged */
    OP_COMMUTATIVE = 2, /* its two inputs (or all of a variadic) may be swapped */
    OP_BROADCASTS = 4, /* in ONNX its inputs broadcast like NumPy: the importer inserts `broadcast`,
                          the exporter drops it */
    OP_NO_COST = 8,    /* never costs anything by itself (input, constant) */
    OP_ANY_TYPE = 16,  /* takes inputs of unknown rank */
    OP_BY_DATA = 32,   /* its reference kernel is run rather than a loop over its definition: data
                          decide what it reads, or its elements share work */
    OP_PASSES = 64,    /* each element of output 0 is an element of input 0, perhaps converted */
    OP_ON_CONSTANTS = 128, /* occurs in rules only, applied to constants: the file that is written
                              has its result as a constant */
    OP_SELECTS = 256,      /* its definition multiplies what it does not select by 0, where runtimes
                              compare: the results differ if that is NaN or infinite */
    OP_BOUNDED = 512,   /* its results stay finite where masked elements of its input are -infinity:
                           softmax */
    OP_DECIDES = 1024,  /* compares or rounds: its result jumps, and its kernel says more than its
                           definition, which is over real numbers: what a NaN or an infinity gives,
                           and how a quotient is rounded before it is rounded to an integer.
                           Wherever numbers are computed the kernel is taken. With OP_BY_DATA */
    OP_ACCURATE = 2048, /* runtimes compute it by other operations than its definition's, which
                           cancel or overflow where its value does not: the definition written out
                           gives other bits */
    OP_WRITES = 4096    /* its attributes that are numbers become elements of its result */
};
struct Op {
    const char *name, *in, *out;  /* in, out: names, "x w b?"; ? is optional, "ys.." any number */
    const AttrDef *attrs;         /* ends with {0}; NULL: none */
    const char *(*shape)(Call *); /* writes c->out[]; NULL, or why it refuses these types */
    /* The element of output c->port at index i; 0: this signature has no definition. An operator
       with neither define nor expand has shapes and a kernel, but no rules. */
    Ex (*define)(Call *, Dims i);
    const char *expand; /* a composite: its graph in text form (graphs/TEXT.md), not define */
    /* For shape computations of integer operators without a definition, or where that does not
       suffice: the elements of output 0 from those of the inputs (in[k].v == NULL: not known).
       false: not known. */
    bool (*value)(Call *, const PolyList in[], Poly *out);
    /* The valid range *low..*high of the elements of an input (places, lengths, divisors, ..),
       where the definition does not give it by `take`; false: any value is valid. */
    bool (*domain)(Call *, int input, Poly *low, Poly *high);
    /* Writes steps (lower.h) that compute out[0..nout-1] from in[0..nin-1] (inputs left out have
       rank -1), where those that follow from the definition are slower: matmul as S_GEMM, .. 1:
       done; 0: not for these views or attributes, take the default; -1: failed, steps->why says
       how. NULL: always the default. step_size gives the sizes of attributes. Of a composite:
       used for 16-bit floats only. */
    int (*steps)(Call *, const View in[], const View out[], StepBuf *);
    OpKernel kernel; /* reference kernel, run as an S_OP step: of operators without define or
                        expand, and of those with OP_BY_DATA */
    /* Writes what the kernel needs beyond views to param[1], param[2], .. (isomer_op_steps.h);
       returns the last index, -1: an attribute is not a number. NULL: nothing. */
    int (*params)(Call *, int64_t param[]);
    const OnnxMap *onnx;
    unsigned flags;
    const OnnxItem *items; /* ends with {0}; NULL: none */
};
#endif
