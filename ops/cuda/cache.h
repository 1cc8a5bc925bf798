/* cache.h -- compiled kernels on disk, so that a model's second run compiles nothing. */
#ifndef ISOMER_CUDA_CACHE_H
#define ISOMER_CUDA_CACHE_H
#include "ops/cuda/compiler.h"

/* The digest of some bytes: FNV-1a of 128 bits (Fowler, Noll, Vo). */
typedef struct Digest {
    unsigned long long high, low;
} Digest;
Digest digest_of(const void *bytes, size_t n);
bool digest_same(Digest, Digest);

/* The folder for kernels: `folder` if it is not "", else isomer/cuda in $XDG_CACHE_HOME or
   ~/.cache. "none", or no such variable: false, and nothing is kept. */
bool cache_folder(const char *folder, char *path, size_t n);
/* The image that was stored for this text; false: none. The file also holds the text, and is used
   only if that is the same. */
bool cache_get(const char *path, const char *text, Image *);
/* Written to a temporary file and renamed, so that files are always complete. A failure to write is
   not an error. */
void cache_put(const char *path, const char *text, const Image *);
#endif
