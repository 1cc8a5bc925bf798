/* arena.c -- an arena as a stack of chunks. An allocation advances the end of the top chunk; if it
   does not fit, a new chunk is pushed.

   Invariant: only the top chunk takes allocations. So a mark is the number of chunks and the bytes
   used in the top one; a reset pops chunks and moves the end back. `bytes` is the sum of the sizes
   of the chunks in use.

   A new chunk has a quarter of the arena's size, but at most 1 MiB; a larger allocation gets a
   chunk of its own. Since the search marks and resets thousands of times a second, a reset does not
   free all popped chunks: it keeps some as spare ones, which lie in the list after the chunks in
   use. */
#include "ops/base/arena.h"
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, CHUNK_LEAST = 4096, CHUNK_MOST = 1 << 20 };
#ifdef __SANITIZE_ADDRESS__
enum { SPARE_MOST = 0 }; /* so that AddressSanitizer notices reads of memory that was reset */
#else
enum { SPARE_MOST = 8 << 20 };
#endif

typedef struct Chunk {
    char *data;
    size_t size, used;
} Chunk;

struct Arena {
    Escape *escape;
    Cleanup cleanup;
    size_t limit, bytes;
    Chunk *chunks;
    size_t count, room;
    size_t spare, spare_bytes; /* spare chunks, kept after the first `count`, and the sum of their
                                  sizes, which is not part of `bytes` */
};

/* The number of allocations until the planted failure. 0: none is planted; -1: the environment
   variable has not been read yet. */
static _Atomic int64_t until_failure = -1;

static bool (*_Atomic decides)(void); /* asked about every allocation, if not NULL; until_failure is
                                         then ignored */

void mem_fail_at(int64_t n) { atomic_store(&until_failure, n > 0 ? n : 0); }

void mem_fail_if(bool (*fails)(void)) {
    mem_fail_at(0);
    atomic_store(&decides, fails);
}

static int64_t ask_environment(void) {
    const char *text = getenv("ISOMER_FAIL_ALLOC");
    int64_t n = text ? strtoll(text, NULL, 10) : 0, unread = -1;
    if (n < 0) n = 0;
    return atomic_compare_exchange_strong(&until_failure, &unread, n) ? n : unread;
}

/* Counts one allocation; returns whether it must fail. */
static bool must_fail(void) {
    bool (*ask)(void) = atomic_load_explicit(&decides, memory_order_relaxed);
    if (ask) return ask();
    int64_t left = atomic_load_explicit(&until_failure, memory_order_relaxed);
    if (left < 0) left = ask_environment();
    while (left > 0 && !atomic_compare_exchange_weak(&until_failure, &left, left - 1)) {}
    return left == 1;
}

static _Atomic size_t in_use;

size_t mem_bytes(void) { return atomic_load(&in_use); }

void *mem_realloc(void *p, size_t bytes) {
    const size_t before = malloc_usable_size(p);
    void *q = must_fail() ? NULL : realloc(p, bytes);
    if (!q) return NULL;
    atomic_fetch_add_explicit(&in_use, malloc_usable_size(q) - before, memory_order_relaxed);
    return q;
}

void mem_free(void *p) {
    atomic_fetch_sub_explicit(&in_use, malloc_usable_size(p), memory_order_relaxed);
    free(p);
}

static void arena_cleanup(void *arena) { arena_free(arena); }

Arena *arena_new(Escape *escape, size_t limit) {
    Arena *a = mem_realloc(NULL, sizeof *a);
    if (!a) escape_raise(escape, E_MEMORY, "out of memory for an arena");
    *a = (Arena){.escape = escape, .limit = limit};
    cleanup_add(escape, &a->cleanup, arena_cleanup, a);
    return a;
}

static void drop_spares(Arena *a) {
    while (a->spare) mem_free(a->chunks[a->count + --a->spare].data);
    a->spare_bytes = 0;
}

/* Makes the top chunk the first spare one. If the spares would exceed SPARE_MOST, the older ones
   are freed first; a chunk larger than SPARE_MOST is freed itself. */
static void pop(Arena *a) {
    size_t size = a->chunks[a->count - 1].size;
    if (a->spare_bytes + size > SPARE_MOST) drop_spares(a);
    a->count--;
    a->bytes -= size;
    a->spare++;
    a->spare_bytes += size;
    if (size > SPARE_MOST) drop_spares(a);
}

void arena_free(Arena *a) {
    if (!a) return;
    cleanup_cancel(&a->cleanup);
    while (a->count) pop(a);
    drop_spares(a);
    mem_free(a->chunks);
    mem_free(a);
}

void arena_keep(Arena *a) {
    cleanup_cancel(&a->cleanup);
    a->escape = NULL;
}

static void grow_chunks(Arena *a) {
    if (a->count < a->room) return;
    size_t room = a->room ? 2 * a->room : 8;
    Chunk *chunks = mem_realloc(a->chunks, room * sizeof *chunks);
    if (!chunks) escape_raise(a->escape, E_MEMORY, "out of memory for %zu chunks", room);
    a->chunks = chunks;
    a->room = room;
}

/* The size of the next chunk: a quarter of what is held, within bounds, but at least `need`. If
   that would exceed the arena's limit, it is exactly `need`. */
static size_t chunk_size(const Arena *a, size_t need) {
    size_t size = a->bytes / 4 / ALIGN * ALIGN;
    if (size < CHUNK_LEAST) size = CHUNK_LEAST;
    if (size > CHUNK_MOST) size = CHUNK_MOST;
    if (size < need) size = need;
    if (a->limit && size > a->limit - a->bytes) size = need;
    return size;
}

/* Pushes the first spare chunk if it is large enough and within the limit. Otherwise frees all
   spare chunks and returns NULL. */
static Chunk *push_spare(Arena *a, size_t need) {
    Chunk *c = a->spare ? &a->chunks[a->count] : NULL;
    if (!c || c->size < need || (a->limit && c->size > a->limit - a->bytes)) {
        drop_spares(a);
        return NULL;
    }
    a->spare--;
    a->spare_bytes -= c->size;
    a->bytes += c->size;
    c->used = 0;
    a->count++;
    return c;
}

static Chunk *push_chunk(Arena *a, size_t need) {
    Chunk *spare = push_spare(a, need);
    if (spare) return spare;
    if (a->limit && need > a->limit - a->bytes)
        escape_raise(a->escape, E_LIMIT,
                     "%zu more bytes exceed the memory limit of %zu (%zu in use)", need, a->limit,
                     a->bytes);
    grow_chunks(a);
    size_t size = chunk_size(a, need);
    char *data = mem_realloc(NULL, size);
    if (!data)
        escape_raise(a->escape, E_MEMORY, "out of memory: cannot allocate %zu bytes (%zu in use)",
                     size, a->bytes);
    a->bytes += size;
    a->chunks[a->count] = (Chunk){data, size, 0};
    return &a->chunks[a->count++];
}

void *arena_alloc_raw(Arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 2)
        escape_raise(a->escape, E_MEMORY, "%zu bytes exceed the address space", bytes);
    size_t need = bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
    Chunk *top = a->count ? &a->chunks[a->count - 1] : NULL;
    if (!top || need > top->size - top->used) top = push_chunk(a, need);
    char *p = top->data + top->used;
    top->used += need;
    return p;
}

void *arena_alloc(Arena *a, size_t bytes) { return memset(arena_alloc_raw(a, bytes), 0, bytes); }

void *arena_copy(Arena *a, const void *from, size_t bytes) {
    void *p = arena_alloc_raw(a, bytes);
    return bytes ? memcpy(p, from, bytes) : p;
}

void *arena_widen(Arena *a, const void *v, size_t bytes, size_t wide) {
    void *p = arena_alloc(a, wide);
    return bytes ? memcpy(p, v, bytes) : p;
}

char *arena_string(Arena *a, const char *from, size_t length) {
    char *p = arena_alloc_raw(a, length + 1);
    if (length) memcpy(p, from, length);
    p[length] = 0;
    return p;
}

char *arena_format(Arena *a, const char *format, ...) {
    va_list rest, again;
    va_start(rest, format);
    va_copy(again, rest);
    int n = vsnprintf(NULL, 0, format, rest);
    va_end(rest);
    size_t length = n > 0 ? (size_t)n : 0;
    char *p = arena_alloc(a, length + 1);
    vsnprintf(p, length + 1, format, again);
    va_end(again);
    return p;
}

ArenaMark arena_mark(const Arena *a) {
    return (ArenaMark){a->count, a->count ? a->chunks[a->count - 1].used : 0};
}

void arena_reset(Arena *a, ArenaMark mark) {
    while (a->count > mark.chunk) pop(a);
    if (a->count) a->chunks[a->count - 1].used = mark.used;
}

size_t arena_bytes(const Arena *a) { return a->bytes; }

Escape *arena_escape(const Arena *a) { return a->escape; }
