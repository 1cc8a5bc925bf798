/* npz.h -- reads NumPy's .npz files, which hold named tensors. */
#ifndef ISOMER_NPZ_H
#define ISOMER_NPZ_H
#include "graphs/npy.h"

enum { NPZ_MOST = 10000 }; /* entries of a file */
typedef struct NpzEntry {
    const char *name;
    Npy tensor;
} NpzEntry;
/* Reads all entries; everything lives in the arena. */
bool npz_read(Arena *, const char *path, int *n, NpzEntry **, Error *);
const char *npz_version(void); /* the version of libzip */
#endif
