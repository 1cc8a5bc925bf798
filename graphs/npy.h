/* npy.h -- reads and writes NumPy's .npy files, formats 1.0 to 3.0: one dense tensor in C order,
   little endian. */
#ifndef ISOMER_NPY_H
#define ISOMER_NPY_H
#include "ops/core/type.h"

typedef struct Npy {
    DType dtype;
    int rank;
    int64_t dim[RANK_MAX];
    const void *data;
    size_t bytes;
} Npy;
bool npy_read(Arena *, const char *path, Npy *, Error *); /* the data lives in the arena */
/* Parses the n bytes of a file; `place` names it in errors. The tensor's data is copied to the
   arena. */
bool npy_parse(Arena *, const char *place, const char *data, size_t n, Npy *, Error *);
/* Writes a file in format 1.0. bfloat16, which NumPy does not have, is written as uint16 (<u2). */
bool npy_write(Arena *, const char *path, const Npy *, Error *);
bool npy_holds(DType); /* whether such elements can be written */
#endif
