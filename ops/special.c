/* special: nodes that do not compute: inputs, constants and opaque nodes. The attribute `types`
   lists, for each output, the element type, the rank (-1: not known) and the sizes. */
#include "ops/operator/op.h"

/* input: a placeholder; the serial number tells inputs apart. */
enum { INPUT_SERIAL, INPUT_TYPES };
static const AttrDef input_attrs[] = {[INPUT_SERIAL] = {.name = "serial", .kind = A_INT},
                                      [INPUT_TYPES] = {.name = "types", .kind = A_INTS},
                                      {0}};

/* opaque: a node that is copied without being understood; blob: its bytes in the model. Equal
   opaque nodes are not merged. */
enum { OPAQUE_BLOB, OPAQUE_TYPES };
static const AttrDef opaque_attrs[] = {
    [OPAQUE_BLOB] = {.name = "blob", .kind = A_BLOB},
    [OPAQUE_TYPES] = {.name = "types", .kind = A_INTS},
    {0},
};

/* constant: a tensor whose elements are known. */
enum { CONSTANT_BLOB, CONSTANT_DTYPE, CONSTANT_SHAPE };
static const AttrDef constant_attrs[] = {
    [CONSTANT_BLOB] = {.name = "blob", .kind = A_BLOB},
    [CONSTANT_DTYPE] = {.name = "dtype", .kind = A_DTYPE},
    [CONSTANT_SHAPE] = {.name = "shape", .kind = A_INTS},
    {0},
};

/* Reads one type, from entry *k of the list on, and moves *k behind it. */
static bool read_type(Call *c, PolyList list, int *k, Type *out) {
    int64_t dtype, rank;
    if (*k + 2 > list.n || !is_const(c, list.v[*k], &dtype) || !is_const(c, list.v[*k + 1], &rank))
        return false;
    if (dtype < 0 || dtype >= DT_COUNT || rank < -1 || rank > RANK_MAX || *k + 2 + rank > list.n)
        return false;
    *out = (Type){.dtype = (DType)dtype, .known = rank >= 0, .dim.n = rank > 0 ? (int)rank : 0};
    *k += 2;
    for (int j = 0; j < out->dim.n; j++) out->dim.v[j] = list.v[(*k)++];
    return true;
}
static const char *types(Call *c, PolyList list) {
    int k = 0;
    for (int j = 0; j < c->nout; j++)
        if (!read_type(c, list, &k, &c->out[j]))
            return "types must list an element type, a rank and sizes for each output";
    return k == list.n ? NULL : "types lists more outputs than the node has";
}
static const char *input_shape(Call *c) { return types(c, ints(c, INPUT_TYPES)); }
static const char *opaque_shape(Call *c) { return types(c, ints(c, OPAQUE_TYPES)); }
static const char *constant_shape(Call *c) {
    if (ints(c, CONSTANT_SHAPE).n > RANK_MAX) return RANK_TOO_HIGH;
    c->out[0] = (Type){.dtype = (DType)enum_value(c, CONSTANT_DTYPE),
                       .known = true,
                       .dim = ints_dims(c, CONSTANT_SHAPE)};
    return NULL;
}

const Op op_input = {"input", "", "y", input_attrs, input_shape, .flags = OP_NO_COST | OP_ANY_TYPE};
const Op op_constant = {"constant", "", "y", constant_attrs, constant_shape, .flags = OP_NO_COST};
const Op op_opaque = {"opaque",     "xs..",       "ys..",
                      opaque_attrs, opaque_shape, .flags = OP_RANDOM | OP_ANY_TYPE};
