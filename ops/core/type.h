/* type.h -- element types and tensor types. */
#ifndef ISOMER_TYPE_H
#define ISOMER_TYPE_H
#include "ops/core/poly.h"

/* X(id, number in ONNX's TensorProto.DataType, name in texts, bits of an element, class). Classes:
   F float, I signed, U unsigned, B bool, S string, C complex. */
#define DTYPES(X)                                  \
    X(DT_NONE, 0, "?", 0, '-')                     \
    X(DT_FLOAT, 1, "F", 32, 'F')                   \
    X(DT_UINT8, 2, "U8", 8, 'U')                   \
    X(DT_INT8, 3, "I8", 8, 'I')                    \
    X(DT_UINT16, 4, "U16", 16, 'U')                \
    X(DT_INT16, 5, "I16", 16, 'I')                 \
    X(DT_INT32, 6, "I32", 32, 'I')                 \
    X(DT_INT64, 7, "I64", 64, 'I')                 \
    X(DT_STRING, 8, "STR", 0, 'S')                 \
    X(DT_BOOL, 9, "B", 8, 'B')                     \
    X(DT_FLOAT16, 10, "F16", 16, 'F')              \
    X(DT_DOUBLE, 11, "F64", 64, 'F')               \
    X(DT_UINT32, 12, "U32", 32, 'U')               \
    X(DT_UINT64, 13, "U64", 64, 'U')               \
    X(DT_COMPLEX64, 14, "C64", 64, 'C')            \
    X(DT_COMPLEX128, 15, "C128", 128, 'C')         \
    X(DT_BFLOAT16, 16, "BF16", 16, 'F')            \
    X(DT_FLOAT8E4M3FN, 17, "F8E4M3FN", 8, 'F')     \
    X(DT_FLOAT8E4M3FNUZ, 18, "F8E4M3FNUZ", 8, 'F') \
    X(DT_FLOAT8E5M2, 19, "F8E5M2", 8, 'F')         \
    X(DT_FLOAT8E5M2FNUZ, 20, "F8E5M2FNUZ", 8, 'F') \
    X(DT_UINT4, 21, "U4", 4, 'U')                  \
    X(DT_INT4, 22, "I4", 4, 'I')                   \
    X(DT_FLOAT4E2M1, 23, "F4E2M1", 4, 'F')         \
    X(DT_FLOAT8E8M0, 24, "F8E8M0", 8, 'F')         \
    X(DT_UINT2, 25, "U2", 2, 'U')                  \
    X(DT_INT2, 26, "I2", 2, 'I')
typedef enum DType {
#define X(id, onnx, name, bits, class) id = onnx,
    DTYPES(X) DT_COUNT
#undef X
} DType;
const char *dtype_name(DType);
DType dtype_parse(const char *name); /* DT_NONE: there is no such type */
/* The bits of an element, 0 for strings; the class of a type, one of the letters above. */
int dtype_bits(DType);
char dtype_class(DType);
bool dtype_is_integer(DType);  /* signed or unsigned; not bool */
bool dtype_is_byte(int dtype); /* an integer of 8 bits */
typedef struct IntegerRange {
    int64_t low, high;
} IntegerRange;
/* The least and the greatest number of an integer type or of bool. U64 ends where int64_t does. For
   other types the range is empty. */
IntegerRange dtype_range(DType);
/* The binary digits of a float type's mantissa, including the implicit one: 24 for F. 0: not a
   float. */
int dtype_digits(DType);
/* The greatest relative error of rounding to nearest: 2^-24 for F. For floats only. */
double dtype_roundoff(DType);

enum { RANK_MAX = 8 };
#define RANK_TOO_HIGH "more than 8 axes" /* how messages say so */
typedef struct Dims {
    int n;
    Poly v[RANK_MAX];
} Dims; /* sizes or an index, passed by value; higher ranks exist only in opaque nodes */
typedef struct Type {
    DType dtype;
    bool known;
    Dims dim;
} Type; /* !known: neither the rank nor the sizes are known */
typedef uint32_t TypeId;
TypeId type_intern(World *, const Type *);
const Type *type_get(const World *, TypeId); /* the record never moves */
Poly type_count(World *, const Type *);      /* number of elements */
/* as in "F [n, c, 2*h + 1]"; "F ?" if not known */
void type_print(const World *, const Type *, Text *);
bool type_parse(World *, Scan *, Type *);
bool dims_equal(const Dims *, const Dims *);
#endif
