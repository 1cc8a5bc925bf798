/* tensor.h -- reads and writes TensorProto: element type, sizes and elements. Weights are not
   copied; they stay where they are. */
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
    /* Of external data, as text of the file; location.at is NULL if the data is not external. */
    Slice location, offset, length;
    bool bad_type; /* the element type is unknown here, so the tensor is opaque */
    Slice message;
} FileTensor;

enum { TENSOR_EXTERNAL = 1 }; /* the value of data_location for data in another file */
/* Reads one entry of external_data into the fields location, offset and length. Returns false with
   E_INVALID if it is damaged. */
bool tensor_read_external(Wire entry, FileTensor *);
/* Reads everything but the elements. Fails with E_INVALID if a size is negative, the tensor is too
   large, or a field has another kind. */
bool tensor_read(Arena *, Wire message, FileTensor *);
/* Gets the elements as bytes, little-endian and in row-major order: a slice of the file if it has
   raw_data, else converted into the arena. Strings and external data are not read here. Fails with
   E_INVALID if the number of elements does not match the sizes. */
bool tensor_bytes(Arena *, const FileTensor *, const Wire *at, Slice *out);
/* Converts the type. Returns false if the tensor has more than RANK_MAX axes or an unknown element
   type. */
bool tensor_type(World *, const FileTensor *, Type *);
/* Writes the tag and the length of raw_data; the caller then adds its n bytes. */
void tensor_put_length(Text *, size_t n);
/* Writes the contents of a TensorProto with these n bytes as raw_data, or without raw_data if
   `bytes` is NULL. */
void tensor_put(Text *, const char *name, const Type *, const int64_t *dims, const void *bytes,
                size_t n);
/* Writes, in place of raw_data, a reference to n bytes at this offset of a file. */
void tensor_put_external(Arena *, Text *, const char *location, size_t offset, size_t n);
/* Writes the contents of a ValueInfoProto: a tensor of these sizes. An axis whose entry in `names`
   is not NULL has that name instead of a number; `names` may be NULL. */
void value_info_put(Arena *, Text *out, const char *name, DType, int rank, const int64_t *dims,
                    const char *const *names);
#endif
