/* tensor.h -- TensorProto in and out without copying weights: element type, sizes and bytes,
   wherever they stand. */
#ifndef ISOMER_ONNX_TENSOR_H
#define ISOMER_ONNX_TENSOR_H
#include "graphs/onnx/file/wire.h"
#include "ops/core/type.h"

typedef struct FileTensor {
    Slice name, raw;
    DType dtype;
    int rank;
    const int64_t *dims;
    int64_t count; /* number of elements */
    Slice location, offset,
        length;    /* external data: texts of the file; location.at == NULL: not external */
    bool bad_type; /* an element type that this library does not know: opaque */
    Slice message;
} FileTensor;

enum { TENSOR_EXTERNAL = 1 }; /* data_location: the data are in another file */
/* Reads an entry of external_data. False: E_INVALID. */
bool tensor_read_external(Wire entry, FileTensor *);
/* Reads the header. E_INVALID: sizes negative or too large, a field of another kind. */
bool tensor_read(Arena *, Wire message, FileTensor *);
/* Its elements as bytes, little-endian, row by row: a slice of the file where they are raw, else
   converted into the arena. Strings and external data are not read here. E_INVALID: their number
   does not fit the sizes. */
bool tensor_bytes(Arena *, const FileTensor *, const Wire *at, Slice *out);
/* False: it has more than RANK_MAX axes or an unknown element type. */
bool tensor_type(World *, const FileTensor *, Type *);
/* The tag and length of raw_data; its n bytes are then added by the caller. */
void tensor_put_length(Text *, size_t n);
void tensor_put(Text *, const char *name, const Type *, const int64_t *dims, const void *bytes,
                size_t n); /* contents of a TensorProto with raw_data; bytes NULL: without */
/* In place of raw_data: n bytes at this offset of a file. */
void tensor_put_external(Arena *, Text *, const char *location, size_t offset, size_t n);
/* Contents of a ValueInfoProto: a tensor of these sizes; of axes that have a name, of that one
   (names NULL: none has). */
void value_info_put(Arena *, Text *out, const char *name, DType, int rank, const int64_t *dims,
                    const char *const *names);
#endif
