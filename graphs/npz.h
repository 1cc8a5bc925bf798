/* npz.h -- NumPy's .npz files: named tensors. */
#ifndef ISOMER_NPZ_H
#define ISOMER_NPZ_H
#include "graphs/npy.h"

enum { NPZ_MOST = 10000 }; /* entries */
typedef struct NpzEntry {
    const char *name;
    Npy tensor;
} NpzEntry;
/* All of them; everything lives in the arena. */
bool npz_read(Arena *, const char *path, int *n, NpzEntry **, Error *);
const char *npz_version(void); /* libzip's */
#endif
