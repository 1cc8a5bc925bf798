/* pages.c -- allocates the memory of a device: weights, constants, and values between steps.

   A model streams through all of this memory in each run. With pages of 4 KiB, most reads would
   begin with a walk of the page table, which is two-dimensional in a virtual machine. Therefore
   blocks are cut from chunks for which the system is asked to use pages of 2 MiB, except for the
   first chunk: a small model needs none.

   Invariants: a chunk is a sequence of blocks without gaps and ends with an empty block that is
   marked as taken; no two neighbouring blocks are free. Allocation is first fit, which suffices for
   the few hundred blocks that a plan takes once. A chunk is returned to the system when all of it
   is free. */
#include "ops/cpu/cpu.h"
#include <sys/mman.h>

/* The end block of a CHUNK lies after its large pages. Within them it could be the only thing
   that occupies a page. */
enum { LINE = 64, PAGE = 2 << 20, FIRST_CHUNK = 1 << 20, CHUNK = (32 << 20) + LINE };
#ifdef __SANITIZE_ADDRESS__
enum { OWN_CHUNK = 1 }; /* one chunk for each block, so that reads past its end are detected */
#else
enum { OWN_CHUNK = 0 };
#endif

typedef struct Block Block;
struct Block { /* the header that precedes a block's bytes */
    Block *before, *after;
    Chunk *chunk;
    bool taken;
} __attribute__((aligned(LINE)));
struct Chunk {
    Chunk *next;
    void *memory; /* as it was allocated */
    Block *first;
};

static size_t room_of(const Block *b) {
    return (size_t)((const char *)b->after - (const char *)b) - sizeof *b;
}
static Block *block_at(char *at, Block *before, Chunk *chunk) {
    Block *b = (Block *)(void *)at;
    *b = (Block){.before = before, .chunk = chunk};
    return b;
}

/* Takes the first `bytes` bytes of a free block and splits off the rest if it is large enough. */
static void *take(Block *b, size_t bytes) {
    if (room_of(b) >= bytes + 2 * sizeof *b) {
        Block *rest = block_at((char *)(b + 1) + bytes, b, b->chunk);
        rest->after = b->after;
        rest->after->before = b->after = rest;
    }
    b->taken = true;
    return b + 1;
}

/* A new chunk with one free block of at least this size. small: it does not ask for large pages. */
static Chunk *chunk_new(size_t bytes, bool small) {
    const size_t align = small ? LINE : PAGE, need = bytes + 2 * sizeof(Block),
                 size = OWN_CHUNK || need > CHUNK / 2 ? need
                        : small                       ? FIRST_CHUNK
                                                      : CHUNK;
    Chunk *c = mem_realloc(NULL, sizeof *c);
    char *memory = c ? mem_realloc(NULL, size + align) : NULL;
    if (!memory) return mem_free(c), NULL;
    char *from = memory + (align - (uintptr_t)memory % align);
    if (!small) madvise(from, size, MADV_HUGEPAGE); /* if refused, nothing is lost */
    *c = (Chunk){.memory = memory, .first = block_at(from, NULL, c)};
    Block *end = block_at(from + size - sizeof *end, c->first, c);
    end->taken = true;
    c->first->after = end;
    return c;
}

void *pages_new(Device *d, size_t bytes) {
    if (bytes > SIZE_MAX / 2) return NULL;
    bytes = (bytes + LINE - 1) / LINE * LINE;
    for (Chunk *c = OWN_CHUNK ? NULL : d->chunks; c; c = c->next)
        for (Block *b = c->first; b; b = b->after)
            if (!b->taken && room_of(b) >= bytes) return take(b, bytes);
    Chunk *c = chunk_new(bytes, OWN_CHUNK || (!d->chunks && bytes <= FIRST_CHUNK / 2));
    if (!c) return NULL;
    Chunk **last = &d->chunks;
    while (*last) last = &(*last)->next;
    *last = c;
    return take(c->first, bytes);
}

/* Joins a free block with the one after it, if that is free, too. */
static void join(Block *b) {
    Block *next = b->after;
    if (b->taken || next->taken) return;
    b->after = next->after;
    b->after->before = b;
}

void pages_drop(Device *d, void *bytes) {
    if (!bytes) return;
    Block *b = (Block *)bytes - 1;
    b->taken = false;
    join(b);
    if (b->before) join(b->before);
    Chunk *c = b->chunk, **at = &d->chunks;
    if (c->first->taken || c->first->after->after) return;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    mem_free(c->memory);
    mem_free(c);
}
