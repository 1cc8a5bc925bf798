/* device.h -- an open device and its options, shared by the files that run kernels. */
#ifndef ISOMER_CUDA_DEVICE_H
#define ISOMER_CUDA_DEVICE_H
#include "ops/cuda/compiler.h"
#include "ops/cuda/driver.h"
#include "ops/cuda/source.h"

enum { OPTION_ROOM = 512, LIBRARIES = 2, MEMO_LISTS = 256 };
/* How libraries may round float32 before they multiply: not at all, to TF32 (10 bits of mantissa),
   or to 16-bit floats. Sums are always in float32. */
typedef enum Arithmetic { ARITHMETIC_FP32, ARITHMETIC_TF32, ARITHMETIC_FP16 } Arithmetic;
typedef struct CudaOptions {
    Arithmetic arithmetic;
    int device;                 /* the number of the GPU, from 0 */
    char lib[OPTION_ROOM];      /* the folder of CUDA's libraries; "": the usual places */
    char cache[OPTION_ROOM];    /* the folder of compiled kernels; "": the usual one; or "none" */
    char describe[OPTION_ROOM]; /* a file that describes a GPU to cuDNN, for tests without one */
    bool compile_all_choices;   /* compile the kernels of all choices, for tests */
    bool refuse_spills;         /* a kernel that spills registers is an error, for tests */
    bool require_cudnn;         /* a convolution of float32 without cuDNN is an error, for tests */
    int blocks;                 /* thread blocks per multiprocessor, at least; 0: any; for tests */
    size_t workspace;           /* bytes that an algorithm of a library may take, at most */
} CudaOptions;
/* Parses the options. Returns false if a word is not understood, which `why` names. */
bool options_parse(const char *text, CudaOptions *, char *why, size_t n);

typedef struct SharedConstant SharedConstant;
typedef struct Memo Memo;
typedef struct Library Library; /* one of NVIDIA's libraries (algorithms.h) */
struct Device {
    Driver driver;
    CudaOptions options;
    Compiler *compiler;
    CUdevice gpu;
    CUcontext context;
    CUstream stream;
    CUevent start, end;
    /* started: kernels were started since the last wait. cached: compiled kernels are stored on
       disk. */
    bool started, cached;
    bool recording; /* kernels are being recorded instead of run */
    CUevent *mark;  /* events that remember times (record_mark) */
    int marks;
    bool lost; /* the device failed and cannot be used again */
    /* Compute capability (90 is sm_90), number of multiprocessors, CUDA version of the driver. */
    int capability, multiprocessors, version;
    char name[128], cache[OPTION_ROOM];
    bool no_memory;    /* some memory was lacking since this was last set to false */
    char failure[160]; /* the last call that failed and its error; "": none failed */
    SharedConstant *held;
    Library *library[LIBRARIES]; /* cuBLASLt and cuDNN; NULL: not available */
    Memo *memo[MEMO_LISTS];
};

/* ---- failure.c */
/* Writes the failed call and the driver's message to `why`; always returns false. */
bool device_failed(Device *, const char *call, CUresult, char *why, size_t n);
/* Returns 0 for success, else -1, with the call and the driver's message in device->failure. */
int device_done(Device *, const char *call, CUresult);
/* Makes the device's context current in this thread, which every call of the driver and of the
   libraries requires: one thread may open a device and another use it. */
bool device_enter(Device *);

/* Opens, closes and identifies a device, as Backend.open, close and identity do. NULL: `why` says
   in one sentence what is missing and how to get it. */
Device *device_begin(const char *options, char *why, size_t n);
void device_shut(Device *);
int device_identity(const Device *, char *text, size_t n);

/* ---- record.c. Functions return NULL or -1 for a failure, after which nothing is being recorded.
   They implement the members of Backend with similar names. */
int record_begin(Device *);
CUgraphExec record_end(Device *, char *why, size_t n);
int record_run(Device *, CUgraphExec);
void record_forget(Device *, CUgraphExec);
int record_mark(Device *, int k);
int record_between(Device *, int from, int to, double *ns);
void record_close(Device *);

/* ---- memory.c */
/* The members alloc, release, copy, hold and drop of Backend. hold stores equal contents once. */
void *memory_take(Device *, size_t bytes);
void memory_give(Device *, void *);
int memory_copy(Device *, void *to, const void *from, size_t bytes, CopyDirection);
void *memory_hold(Device *, const void *bytes, size_t n);
void memory_drop(Device *, void *);
void memory_drop_all(Device *);
#endif
