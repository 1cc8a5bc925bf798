/* device.h -- what the files that run kernels share: an open device and its options. */
#ifndef ISOMER_CUDA_DEVICE_H
#define ISOMER_CUDA_DEVICE_H
#include "ops/cuda/compiler.h"
#include "ops/cuda/driver.h"
#include "ops/cuda/source.h"

enum { OPTION_ROOM = 512, LIBRARIES = 2, MEMO_LISTS = 256 };
/* What libraries may make of float32 where they multiply: nothing else; TF32 (10 bits of mantissa);
   16-bit floats. Sums are of float32 throughout. */
typedef enum Arithmetic { ARITHMETIC_FP32, ARITHMETIC_TF32, ARITHMETIC_FP16 } Arithmetic;
typedef struct CudaOptions {
    Arithmetic arithmetic;
    int device;                 /* number of the GPU */
    char lib[OPTION_ROOM];      /* where CUDA's libraries are; "": at the usual places */
    char cache[OPTION_ROOM];    /* of kernels; "": the usual one; "none" */
    char describe[OPTION_ROOM]; /* a file that describes a GPU to cuDNN, for tests without one */
    bool all;                   /* kernels for all choices are compiled, for tests */
    bool refuse_spills;         /* kernels that the compiler had no registers for, for tests */
    bool require;               /* convolutions of float32 without cuDNN are errors, for tests */
    int blocks;                 /* at a time on a processor, at least; 0: any, for tests */
    size_t workspace;           /* bytes that a library's algorithm may take */
} CudaOptions;
/* False: `why` names the word that is not understood. */
bool options_parse(const char *text, CudaOptions *, char *why, size_t n);

typedef struct Held Held;
typedef struct Memo Memo;
typedef struct Library Library; /* one of NVIDIA's (algorithms.h) */
struct Device {
    Driver driver;
    CudaOptions options;
    Compiler *compiler;
    CUdevice gpu;
    CUcontext context;
    CUstream stream;
    CUevent start, end;
    bool started, kept; /* something was started since the last wait; kernels are stored on disk */
    bool recording;     /* what is started is only noted */
    CUevent *mark;      /* of times */
    int marks;
    bool lost;                           /* the device failed and cannot be used again */
    int capability, processors, version; /* 90: sm_90; multiprocessors; the driver's CUDA */
    char name[128], cache[OPTION_ROOM];
    char failure[160]; /* what the last call that failed was and said; "": none did */
    Held *held;
    Library *library[LIBRARIES]; /* cuBLASLt's and cuDNN's; NULL: not there */
    Memo *memo[MEMO_LISTS];
};

/* ---- failure.c */
/* Names the failed call in `why`; always false. */
bool device_failed(Device *, const char *call, CUresult, char *why, size_t n);
/* 0 for success; else -1, and device->failure names the call. */
int device_done(Device *, const char *call, CUresult);
/* Makes the device's context that of this thread, as every call of the driver and of the libraries
   needs it: a device may be opened by one thread and used by another. */
bool device_enter(Device *);

/* NULL: `why` says in one sentence what is missing and how to get it. */
Device *device_begin(const char *options, char *why, size_t n);
void device_shut(Device *);
int device_identity(const Device *, char *text, size_t n);

/* ---- record.c; NULL, -1: `why` says why, and nothing is being recorded any more */
int record_begin(Device *);
CUgraphExec record_end(Device *, char *why, size_t n);
int record_run(Device *, CUgraphExec);
void record_forget(Device *, CUgraphExec);
int record_mark(Device *, int k);
int record_between(Device *, int from, int to, double *ns);
void record_close(Device *);

/* ---- memory.c */
void *memory_take(Device *, size_t bytes);
void memory_give(Device *, void *);
int memory_copy(Device *, void *to, const void *from, size_t bytes, CopyDirection);
/* Contents that never change, stored once for equal ones. */
void *memory_hold(Device *, const void *bytes, size_t n);
void memory_drop(Device *, void *);
void memory_drop_all(Device *);
#endif
