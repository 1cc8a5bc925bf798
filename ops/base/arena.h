/* arena.h -- memory that is freed in the reverse order of its allocation, all at once. Everything
   whose lifetime is a World, a plan or a search lives in one. Failure does not return: it goes to
   the arena's Escape (error.h), which holds the arena, or aborts where none was given (tests). */
#ifndef ISOMER_ARENA_H
#define ISOMER_ARENA_H
#include "error.h"
#include <stdint.h>

typedef struct Arena Arena;
typedef struct ArenaMark {
    size_t chunk, used;
} ArenaMark;

Arena *arena_new(Escape *escape, size_t limit); /* bytes, beyond which it raises E_LIMIT; 0: none */
void arena_free(Arena *);                       /* NULL is allowed; its Escape does it too */
/* It outlives its Escape: its owner frees it, and nothing is allocated in it any more. */
void arena_keep(Arena *);
/* Zeroed, 16-byte aligned, never NULL, also for 0 bytes. */
void *arena_alloc(Arena *, size_t bytes);
/* The same, but not zeroed: for what is filled at once. */
void *arena_alloc_raw(Arena *, size_t bytes);
void *arena_copy(Arena *, const void *, size_t bytes);
char *arena_string(Arena *, const char *, size_t length); /* a copy, terminated */
char *arena_format(Arena *, const char *format, ...) __attribute__((nonnull, format(printf, 2, 3)));
ArenaMark arena_mark(const Arena *);
void arena_reset(Arena *, ArenaMark); /* frees what was allocated after the mark */
/* Bytes in use, in whole chunks. A reset keeps some MiB for later allocations. */
size_t arena_bytes(const Arena *);
Escape *arena_escape(const Arena *);

/* The one function by which all our code allocates. As realloc; 0 bytes: frees and returns NULL. */
void *mem_realloc(void *, size_t bytes);
size_t mem_bytes(void); /* in use by all threads, as the system's allocator rounded them up */
/* For tests. The n-th allocation from now on fails, once; 0: none does. Without such a call n is
   the value of ISOMER_FAIL_ALLOC in the environment. */
void mem_fail_at(int64_t n);
void mem_fail_if(bool (*fails)(void)); /* instead, `fails` decides each time; NULL: none fails */
#define ARENA_NEW(arena, type, count) ((type *)arena_alloc((arena), sizeof(type) * (size_t)(count)))
/* The list v, which has room for `room` elements, gets room for `need` of them and as many again;
   what is new is zero. v and room are variables, and are read more than once. */
#define ARENA_GROW(arena, v, room, need)                                                        \
    do {                                                                                        \
        if ((need) > (room)) {                                                                  \
            const size_t more_ = 2 * (size_t)(need) + 8;                                        \
            (v) = arena_widen((arena), (v), (size_t)(room) * sizeof *(v), more_ * sizeof *(v)); \
            (room) = (__typeof__(room))more_;                                                   \
        }                                                                                       \
    } while (0)
/* Appends x to the list v of n elements, which needs no field for its room: that is doubled
   whenever n is a power of two. Only for lists that this alone makes longer. v and n are variables,
   as above; n counts up. */
#define ARENA_APPEND(arena, v, n, x)                                      \
    do {                                                                  \
        if (((n) & ((n)-1)) == 0)                                         \
            (v) = arena_widen((arena), (v), (size_t)(n) * sizeof *(v),    \
                              (size_t)((n) ? 2 * (n) : 1) * sizeof *(v)); \
        (v)[(n)++] = (x);                                                 \
    } while (0)
/* A copy of `bytes` bytes (v may be NULL if 0) with zeros up to `wide`. */
void *arena_widen(Arena *, const void *v, size_t bytes, size_t wide);
#endif
