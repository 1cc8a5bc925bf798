/* arena.h -- memory that is freed in the reverse order of its allocation, all at once. Everything
   whose lifetime is a World, a plan or a search lives in one. Failure does not return: it goes to
   the arena's Escape (error.h), or aborts where none was given (tests). */
#ifndef ISOMER_ARENA_H
#define ISOMER_ARENA_H
#include "error.h"
#include <stdint.h>

typedef struct Arena Arena;
typedef struct ArenaMark {
    size_t chunk, used;
} ArenaMark;

Arena *arena_new(Escape *escape, size_t limit); /* limit in bytes, 0: none; over it is E_LIMIT */
void arena_free(Arena *);                       /* NULL is allowed */
/* zeroed, 16-byte aligned, never NULL (0 bytes too) */
void *arena_alloc(Arena *, size_t bytes);
/* The same, but not zeroed: for what is filled at once. */
void *arena_alloc_raw(Arena *, size_t bytes);
void *arena_copy(Arena *, const void *, size_t bytes);
char *arena_string(Arena *, const char *, size_t length); /* a copy, terminated */
char *arena_format(Arena *, const char *format, ...) __attribute__((nonnull, format(printf, 2, 3)));
ArenaMark arena_mark(const Arena *);
void arena_reset(Arena *, ArenaMark); /* frees what was allocated after the mark */
/* In use now, in whole chunks, and the most ever; a reset keeps some MiB more for what comes
   next. */
size_t arena_bytes(const Arena *);
size_t arena_peak(const Arena *);
Escape *arena_escape(const Arena *);

/* The one allocation function under everything that is ours. realloc's contract; 0 bytes: frees and
   returns NULL. The n-th allocation from now on fails, once, after mem_fail_at(n); 0: none does.
   Without such a call n is the environment's ISOMER_FAIL_ALLOC. */
void *mem_realloc(void *, size_t bytes);
void mem_fail_at(int64_t n);
void mem_fail_if(bool (*fails)(void)); /* asked at each allocation instead; NULL: none fails */
#define ARENA_NEW(arena, type, count) ((type *)arena_alloc((arena), sizeof(type) * (size_t)(count)))
#endif
