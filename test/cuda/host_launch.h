/* host_launch.h -- runs the kernel that precedes it in the text; call() passes host_args to it.
   Reading or writing a misaligned vector ends the launch with an error, as on a GPU. */
static void host_body(void) { /* the coroutine of a thread: one call of the kernel for each block */
    for (;;) {
        host_wait(HOST_DONE);
        call();
    }
}
static char *host_stacks;
__attribute__((destructor)) static void host_end(void) {
    free(host_stacks);
} /* when the object is
     unloaded */
/* Creates the coroutines, each of which stops before its first call. */
static void host_create(void) {
    static ucontext_t thread[HOST_THREADS], back;
    host_stacks = malloc((size_t)HOST_STACK * HOST_THREADS);
    for (unsigned t = 0; t < HOST_THREADS; t++) {
        getcontext(&thread[t]);
        thread[t].uc_stack.ss_sp = host_stacks + (size_t)t * HOST_STACK;
        thread[t].uc_stack.ss_size = HOST_STACK;
        makecontext(&thread[t], host_body, 0);
        threadIdx.x = t;
        if (!_setjmp(host_main)) swapcontext(&back, &thread[t]);
    }
}
/* Lets threads from .. to - 1 go on if all of them wait at this kind of barrier; returns whether
   they do. */
static int host_release(unsigned from, unsigned to, HostState at) {
    unsigned there = 0;
    for (unsigned t = from; t < to; t++) there += host_state[t] == at;
    if (there == to - from)
        for (unsigned t = from; t < to; t++) host_state[t] = HOST_READY;
    return there == to - from ? 1 : 0;
}
static int host_block(int descending) {
    for (unsigned t = 0; t < blockDim.x; t++) host_state[t] = HOST_READY;
    for (;;) {
        int moved = 0, done = 1;
        for (unsigned k = 0; k < blockDim.x; k++) {
            const unsigned t = descending ? blockDim.x - 1 - k : k;
            if (host_state[t] != HOST_READY) continue;
            threadIdx.x = t;
            if (!_setjmp(host_main)) _longjmp(host_thread[t], 1);
            moved = 1;
        }
        for (unsigned w = 0; w < blockDim.x; w += HOST_WARP)
            moved |= host_release(w, w + HOST_WARP, HOST_AT_WARP);
        moved |= host_release(0, blockDim.x, HOST_AT_BLOCK);
        for (unsigned t = 0; t < blockDim.x; t++) done &= host_state[t] == HOST_DONE;
        if (done) return 0;
        if (!moved) return -1; /* a deadlock: not all threads arrived at a barrier */
    }
}
static jmp_buf host_misaligned;
static void host_trap(int signal) {
    (void)signal;
    longjmp(host_misaligned, 1);
}
static int host_blocks(unsigned grid, unsigned block, int descending) {
    for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++) {
        if (HOST_BARRIERS && host_block(descending)) return -1;
        for (unsigned k = 0; !HOST_BARRIERS && k < block; k++) {
            threadIdx.x = descending ? block - 1 - k : k;
            call();
        }
    }
    return 0;
}
__attribute__((visibility("default"))) int host_launch(unsigned grid, unsigned block, void **args,
                                                       int descending);
int host_launch(unsigned grid, unsigned block, void **args, int descending) {
    static int created;
    struct sigaction before, trap = {.sa_handler = host_trap, .sa_flags = SA_NODEFER};
    if (block > HOST_THREADS || block % HOST_WARP) return -1;
    gridDim.x = grid, blockDim.x = block, host_args = args;
    if (HOST_BARRIERS && !created) host_create();
    created = 1;
    sigaction(SIGILL, &trap, &before);
    const int failed = setjmp(host_misaligned) ? -1 : host_blocks(grid, block, descending);
    sigaction(SIGILL, &before, NULL);
    return failed;
}
