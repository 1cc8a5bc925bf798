/* compiler.h -- compiles the text of a kernel to an image that the driver loads. */
#ifndef ISOMER_CUDA_COMPILER_H
#define ISOMER_CUDA_COMPILER_H
#include <stdbool.h>
#include <stddef.h>

typedef struct Image {
    char *bytes; /* the caller frees them */
    size_t size;
    long spilled;   /* bytes of registers that were spilled; 0 if from the cache */
    bool no_memory; /* without bytes: because there was no memory */
} Image;
typedef struct Compiler Compiler;

/* Opens the compiler for devices of this compute capability (90 is sm_90). `folder` is where to
   look for NVRTC; "": the usual places. blocks: how many thread blocks must fit on a multiprocessor
   at a time; 0: no demand. NULL: `why` says which library is missing. */
Compiler *compiler_open(const char *folder, int capability, int blocks, char *why, size_t n);
void compiler_close(Compiler *);
/* What determines the image besides the text: the compiler, its version and its target. The text
   lives as long as the compiler. */
const char *compiler_identity(const Compiler *);
/* Compiles a text. args: how many pointers its kernel "k" takes. Returns false if that fails, with
   the reason in `why`. */
bool compiler_run(Compiler *, const char *text, int args, Image *, char *why, size_t n);
#endif
