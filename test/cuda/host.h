/* host.h -- runs CUDA C on the host, from the same text as on a GPU. Thread blocks run one after
   the other. The threads of a block are coroutines that switch at barriers; a warp or a block goes
   on when all its threads have arrived. Threads run in ascending or in descending order, so that a
   missing barrier shows. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

typedef struct HostDim {
    unsigned x, y, z;
} HostDim;
static HostDim threadIdx, blockIdx, blockDim, gridDim;
#define KERNEL static
#define INLINE static inline
#define SHARED static
#define ALIGN(n) __attribute__((aligned(n)))
#define RESTRICT
#define UNROLL
static inline float bits_f(unsigned u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static inline unsigned f_bits(float f) {
    unsigned u;
    memcpy(&u, &f, 4);
    return u;
}
static inline double bits_d(long long i) {
    double d;
    memcpy(&d, &i, 8);
    return d;
}

enum { HOST_THREADS = 256, HOST_WARP = 32, HOST_STACK = 1 << 16 };
typedef enum HostState { HOST_READY, HOST_AT_WARP, HOST_AT_BLOCK, HOST_DONE } HostState;
static HostState host_state[HOST_THREADS];
static jmp_buf host_thread[HOST_THREADS], host_main;
static unsigned long long host_word[HOST_THREADS];

static void host_wait(HostState at) {
    const unsigned me = threadIdx.x;
    host_state[me] = at;
    if (!_setjmp(host_thread[me])) _longjmp(host_main, 1);
    threadIdx.x = me;
}
static void host_shuffle(void *x, size_t bytes, unsigned distance) {
    memcpy(&host_word[threadIdx.x], x, bytes);
    host_wait(HOST_AT_WARP);
    memcpy(x, &host_word[threadIdx.x ^ distance], bytes);
    host_wait(HOST_AT_WARP);
}
#define SYNC() host_wait(HOST_AT_BLOCK)
#define SYNC_WARP() host_wait(HOST_AT_WARP)
#define SHUFFLE(x, distance)                              \
    __extension__({                                       \
        __typeof__(x) host_x = (x);                       \
        host_shuffle(&host_x, sizeof host_x, (distance)); \
        host_x;                                           \
    })
