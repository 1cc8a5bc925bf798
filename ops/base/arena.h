/* arena.h -- an allocator whose memory is freed all at once, or back to a mark. Everything that
   lives as long as a World, a plan or a search is allocated in an arena.

   Allocation functions do not return on failure: they raise an error in the arena's Escape
   (error.h), which frees the arena in the end. If the arena has no Escape, as in tests, they
   abort. */
#ifndef ISOMER_ARENA_H
#define ISOMER_ARENA_H
#include "error.h"
#include <stdint.h>

typedef struct Arena Arena;
typedef struct ArenaMark {
    size_t chunk, used;
} ArenaMark;

/* limit in bytes: more raises E_LIMIT; 0: no limit */
Arena *arena_new(Escape *escape, size_t limit);
void arena_free(Arena *); /* NULL is allowed; escape_free calls it, too */
/* Detaches the arena from its Escape, which it then outlives. The caller must free it and must not
   allocate in it any more. */
void arena_keep(Arena *);
/* Returns zeroed memory, aligned to 16 bytes; never NULL, even for 0 bytes. */
void *arena_alloc(Arena *, size_t bytes);
/* Likewise, but the memory is not zeroed: for callers that fill it at once. */
void *arena_alloc_raw(Arena *, size_t bytes);
void *arena_copy(Arena *, const void *, size_t bytes);
char *arena_string(Arena *, const char *, size_t length); /* a copy with a terminating 0 */
char *arena_format(Arena *, const char *format, ...) __attribute__((nonnull, format(printf, 2, 3)));
ArenaMark arena_mark(const Arena *);
void arena_reset(Arena *, ArenaMark); /* frees everything allocated since the mark */
/* The total size of the chunks in use. Chunks that a reset keeps for later are not counted. */
size_t arena_bytes(const Arena *);
Escape *arena_escape(const Arena *);

/* All allocation of the project goes through this function, except that of libraries and of back
   ends that are plug-ins. Like realloc, with bytes > 0; NULL means that memory ran out. */
void *mem_realloc(void *, size_t bytes);
void mem_free(void *);  /* frees what mem_realloc returned; NULL is allowed */
size_t mem_bytes(void); /* in use by all threads, as rounded up by the system's allocator */
/* For tests: the n-th allocation from now on fails, once; with n = 0 none fails. Until this is
   called, n is the value of the environment variable ISOMER_FAIL_ALLOC. */
void mem_fail_at(int64_t n);
void mem_fail_if(bool (*fails)(void)); /* each allocation then asks `fails`; NULL: none fails */
#define ARENA_NEW(arena, type, count) ((type *)arena_alloc((arena), sizeof(type) * (size_t)(count)))
/* Makes sure that the list v, which has room for `room` elements, has room for at least `need`; a
   list that is too short is copied to one about twice as long as needed. New elements are zero. v
   and room must be variables, as they are evaluated more than once and assigned. */
#define ARENA_GROW(arena, v, room, need)                                                        \
    do {                                                                                        \
        if ((need) > (room)) {                                                                  \
            const size_t more_ = 2 * (size_t)(need) + 8;                                        \
            (v) = arena_widen((arena), (v), (size_t)(room) * sizeof *(v), more_ * sizeof *(v)); \
            (room) = (__typeof__(room))more_;                                                   \
        }                                                                                       \
    } while (0)
/* Appends x to the list v of n elements and increments n. No field for the room is needed: the room
   is doubled whenever n is a power of two. It must be the only way in which the list grows. v and n
   must be variables, as above. */
#define ARENA_APPEND(arena, v, n, x)                                      \
    do {                                                                  \
        if (((n) & ((n)-1)) == 0)                                         \
            (v) = arena_widen((arena), (v), (size_t)(n) * sizeof *(v),    \
                              (size_t)((n) ? 2 * (n) : 1) * sizeof *(v)); \
        (v)[(n)++] = (x);                                                 \
    } while (0)
/* Returns `wide` bytes: a copy of the first `bytes` bytes of v, followed by zeros. v may be NULL if
   `bytes` is 0. */
void *arena_widen(Arena *, const void *v, size_t bytes, size_t wide);
#endif
