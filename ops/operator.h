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
#include "ops/op_kernel.h"

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
     NAME=VALUE!         a fixed value of ours in text form: axis=1!
     THEIRS==VALUE       the node lacks this attribute, or it is VALUE; exported only if written
                         with a + before it: +mode==constant
     THEIRS:ignore       has no effect on the outputs we keep; not exported
     X:SPECIAL           a special case, done by name (graphs/onnx/special*.c):
       pads:auto_pad       auto_pad (NOTSET, VALID, SAME_UPPER, SAME_LOWER) becomes pads; requires
                           the attributes kernel, strides and dilations
       kernel_shape:check  if present, equal to the sizes of input w behind its first two
       perm:reversed       the attribute perm, if absent all axes reversed
       axes:all            axes as in the other items of this entry, if absent or empty every axis
                           (none with noop_with_empty_axes=1)
       axes:spatial        every axis from 2 on
       keepdims:reinsert   we drop the reduced axes; unless the node says keepdims=0 the importer
                           adds a reshape that puts 1s there (default 1, also where ONNX has no such
                           attribute)
       axis:flatten        the node works on x seen as a matrix, axes from `axis` (default 1) on
                           being its columns: reshape, axis=1, reshape back; no reshape if axis is
                           the last
       inputs:fold         n inputs become a chain of n-1 nodes from left to right; one input is the
                           identity
       inputs:stretch      all inputs but the last two axes of each are broadcast to common sizes
                           (matmul); a rank 1 operand gets an axis, which a reshape drops afterwards
       broadcast:axis      up to opset 6: with broadcast=1, input 1's axes are placed from `axis` on
                           (absent: at the end); else sizes are equal
       factors:stretch     likewise inputs a and b, written out in what is exported
       c:stretch           input 2 is broadcast to the output's sizes
       slice:axes          starts, ends, axes, steps (attributes or inputs 1..4) become starts,
                           sizes, steps for every axis, clamped as ONNX says
       pads:axes           pads (attribute, or input 1; with axes in input 3) become begins and ends
                           for every axis; value: attribute, or input 2
       pads:center         input 1 has the sizes of some axes (axes; all): so much more or less is
                           padded or cut, the greater half at the end
       sizes:equal         sizes=split|input:1, if absent equal pieces (the last one smaller,
                           num_outputs)
       shape:onnx          input 1 or attribute shape, with 0 and -1 as ONNX says (allowzero)
       shape:squeeze       the output's sizes, computed from the axes (input 1); likewise
                           shape:unsqueeze, shape:flatten (axis, default 1) and shape:same
       pads:transposed     convtranspose: auto_pad and output_shape become pads
       sizes:resize        scales or sizes (inputs or attribute) become the sizes of all axes; fails
                           unless size*scale is whole where the scale is used
       sizes:resample      likewise from inputs that stay; sizes that a scale does not make whole
                           are rounded down
       axes:resize         the axes of sizes and scales, all if absent
       range:count         inputs start, limit, delta (computable integers) become start, n, step,
                           dtype
       shape:expand        input 1, joined with x's sizes by broadcasting
       letters:equation    Einsum's equation as numbers of letters
       hidden:recurrent    hidden_size, or the last size of input 2
       activation:recurrent  activations, all tanh or all relu; activations:gru, activations:lstm:
                           if given, the usual ones
       dim:rotary          rotary_embedding_dim, if given, is twice the last size of input 1
       to:quantized        output_dtype, else the element type of input 2, else U8; to:scale:
                           output_dtype, else input 1's
       n:nonzero           how many there are: counted where the data is at hand (running), else a
                           size that depends on data; likewise n:compress, n:unique and kept:nms
       axis:list           without an axis the node works on x as a list
       import:only         this spelling is read, never written
       training:attribute  training_mode is 1; training:input: input 2 is true; training:off: it is
                           false or left out
       rank:3, rank:kernel ONNX demands that input 0 has three axes, or as many as input w; a node
                           that breaks this is opaque
       axis:dft, length:dft  input 2, or else -2; input 1, or else 0
       shape:like          the sizes of input 0, which is dropped
       dtype:like          the attribute dtype, or else the element type of input 0
       to:like             the element type of input 1, which is dropped
       value:tensor        the attribute value, one number as a tensor, also gives dtype (absent:
                           float 0)
   Lists of ints come from ints, a single int, or a computable integer input. A word comes from an
   int (its number) or a string (the word itself, in lower case). A float becomes the shortest
   decimal that rounds to it, as a rational: 0.01, not 0.00999999977. Axes may stay negative:
   signatures normalise them. `until` is the last opset of this spelling, 0: still valid. The last
   entry of a list is {0}. */
typedef struct OnnxMap {
    const char *domain, *type;
    int since, until;
    const char *attrs;
} OnnxMap;

enum {
    OP_RANDOM = 1,      /* carries a serial number; equal nodes are not merged */
    OP_COMMUTATIVE = 2, /* its two inputs (or all of a variadic) may be swapped */
    OP_BROADCASTS = 4, /* in ONNX its inputs broadcast like NumPy: the importer inserts `broadcast`,
                          the exporter drops it */
    OP_NO_COST = 8,    /* never costs anything by itself (input, constant) */
    OP_BY_DATA = 32,   /* its reference kernel is run rather than a loop over its definition: data
                          decide what it reads, or its elements share work */
    OP_ANY_TYPE = 16,  /* takes inputs of unknown rank */
    OP_PASSES = 64     /* each element of its first result is one of input 0, perhaps converted */
};
struct Op {
    const char *name, *in, *out;  /* in, out: names, "x w b?"; ? is optional, "ys.." any number */
    const AttrDef *attrs;         /* ends with {0}; NULL: none */
    const char *(*shape)(Call *); /* writes c->out[]; NULL, or why it refuses these types */
    /* The element of output c->port at index i; 0: this signature has no definition. An operator
       with neither define nor expand is "known": it has shapes and a kernel, but no rules. */
    Ex (*define)(Call *, Dims i);
    const char *expand; /* a composite: its graph in text form (graphs/TEXT.md), not define */
    /* For shape computations of integer operators without a definition, or where that does not
       suffice: the elements of output 0 from those of the inputs (in[k].v == NULL: not known).
       false: not known. */
    bool (*value)(Call *, const PolyList in[], Poly *out);
    /* What data a runtime takes, where the definition does not say it (take): the elements of an
       input that are places, lengths, divisors, .. lie from *low to *high. false: any. */
    bool (*domain)(Call *, int input, Poly *low, Poly *high);
    /* Writes steps (lower.h) that compute out[0..nout-1] from in[0..nin-1] (inputs left out have
       rank -1), where those that follow from the definition are slower: matmul as S_GEMM, .. 1:
       done; 0: not for these views or attributes, take the default; -1: failed, steps->why says
       how. NULL: always the default. step_size gives the sizes of attributes. */
    int (*lower)(Call *, const View in[], const View out[], StepBuf *);
    OpKernel kernel; /* reference kernel, run as an S_OP step: of known operators, and of those
                        with OP_BY_DATA */
    /* What the kernel needs beyond views, into out[0..room-1]; returns how many, or -1. */
    int (*params)(Call *, int64_t *out, int room);
    const OnnxMap *onnx;
    unsigned flags;
};
#endif
