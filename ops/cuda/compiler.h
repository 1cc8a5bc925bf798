/* compiler.h -- from the text of a kernel to what the driver loads. */
#ifndef ISOMER_CUDA_COMPILER_H
#define ISOMER_CUDA_COMPILER_H
#include <stdbool.h>
#include <stddef.h>

typedef struct Image {
    char *bytes; /* the caller frees them */
    size_t size;
    long spilled; /* bytes of registers that did not fit, as the compiler says; 0 from the cache */
} Image;
typedef struct Compiler Compiler;

/* For devices of this compute capability (90: sm_90). registers: of a thread, at most; 0: as many
   as a kernel takes. NULL: `why` says which library is missing. */
Compiler *compiler_open(const char *folder, int capability, int blocks, char *why, size_t n);
void compiler_close(Compiler *);
/* What determines the image besides the text: compiler, version, target. It lives as long as the
   compiler. */
const char *compiler_identity(const Compiler *);
/* args: how many pointers the kernel "k" of the text takes. */
bool compiler_run(Compiler *, const char *text, int args, Image *, char *why, size_t n);
#endif
