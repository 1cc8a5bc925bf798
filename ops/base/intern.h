/* intern.h -- append-only tables that give equal byte records the same number. Numbers start at 1;
   0 means none. Records never move. The project's hash functions are declared here, too. */
#ifndef ISOMER_INTERN_H
#define ISOMER_INTERN_H
#include "file.h"
#include "text.h"

typedef struct Intern Intern;
/* The records live in the arena; the index is allocated separately, and freed by intern_free or the
   arena's Escape. */
Intern *intern_new(Arena *);
void intern_free(Intern *);
/* Returns the number of the record, entering it if it is new. The bytes are copied, aligned to 16
   bytes. */
uint32_t intern_put(Intern *, const void *bytes, size_t n);
uint32_t intern_find(const Intern *, const void *bytes, size_t n); /* 0: not in the table */
const void *intern_get(const Intern *, uint32_t id, size_t *n);    /* n may be NULL */
uint32_t intern_count(const Intern *); /* also the greatest number in use */
/* Removes the records with numbers above `count`. The caller must reset the arena afterwards to
   free their bytes. */
void intern_reset(Intern *, uint32_t count);
uint64_t hash_bytes(const void *, size_t n);         /* XXH3, 64 bits, the same on every machine */
void hash_hex(const void *, size_t n, char out[33]); /* XXH3, 128 bits, in hexadecimal */
/* hash_hex of the concatenated pieces. No piece may be one of zeros (`at` is NULL). */
void hash_pieces(const Pieces *, char out[33]);
void hash_version(char text[24]); /* the version of xxHash, as text */
#endif
