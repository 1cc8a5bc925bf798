/* cache.h -- compiled kernels on disk, so that the second run of a model compiles nothing. */
#ifndef ISOMER_CUDA_CACHE_H
#define ISOMER_CUDA_CACHE_H
#include "ops/cuda/compiler.h"

/* A digest of bytes: FNV-1a with 128 bits (Fowler, Noll, Vo). */
typedef struct Digest {
    unsigned long long high, low;
} Digest;
Digest digest_of(const void *bytes, size_t n);
bool digest_same(Digest, Digest);

/* Stores the path of the folder for kernels: `folder` if it is not "", else isomer/cuda in
   $XDG_CACHE_HOME or ~/.cache; creates the folder. Returns false if nothing is to be stored:
   `folder` is "none", there is no such variable, or the folder cannot be created. */
bool cache_folder(const char *folder, char *path, size_t n);
/* Gets the image that was stored for this text, whose bytes the caller frees; false: there is none.
   The file also holds the text, and counts only if that is equal. */
bool cache_get(const char *path, const char *text, Image *);
/* Stores an image. It is written to a temporary file, which is then renamed, so that files are
   always complete. A failure to write is not an error. */
void cache_put(const char *path, const char *text, const Image *);
#endif
