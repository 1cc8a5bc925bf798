/* intern.h -- append-only tables of byte records: equal bytes have equal numbers. Numbers start at
   1; 0 means none. Records do not move. */
#ifndef ISOMER_INTERN_H
#define ISOMER_INTERN_H
#include "text.h"

typedef struct Intern Intern;
/* Records live in the arena; the index beside them is freed by intern_free or
   the arena's Escape. */
Intern *intern_new(Arena *);
void intern_free(Intern *);
/* The record's number, new or old; the bytes are copied, 8-byte aligned. */
uint32_t intern_put(Intern *, const void *bytes, size_t n);
uint32_t intern_find(const Intern *, const void *bytes, size_t n); /* 0: not there */
const void *intern_get(const Intern *, uint32_t id, size_t *n);    /* n may be NULL */
uint32_t intern_count(const Intern *);                             /* the greatest number given */
/* Forgets the records above it; the arena is reset by the caller afterwards. */
void intern_reset(Intern *, uint32_t count);
uint64_t hash_bytes(const void *, size_t n);         /* XXH3, 64 bits, the same everywhere */
void hash_hex(const void *, size_t n, char out[33]); /* XXH3, 128 bits, in hexadecimal */
/* hash_hex of the pieces joined; none of them may be zeros (at NULL). */
void hash_pieces(const Pieces *, char out[33]);
void hash_version(char text[24]); /* xxHash's */
#endif
