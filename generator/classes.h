/* classes.h -- which terms are equal: representatives by key and by code, and the other members with the renaming that
   makes them equal. Two terms of one key are merged when some renaming makes them equal at the second stage too: other
   sizes, another seed. */
#ifndef ISOMER_CLASSES_H
#define ISOMER_CLASSES_H
#include "generator/enumerate.h"

typedef struct Rep {
    uint64_t key;
    Code code;
} Rep;
typedef struct Member { /* term = representative with its variable v renamed to to[v]; TERM_VARS: it does not matter */
    Code code;
    uint32_t rep;
    uint8_t to[TERM_VARS];
} Member;
typedef struct Index { /* open addressing over numbers of entries, + 1 */
    uint32_t room, n, *slot;
} Index;
typedef struct Classes {
    Space *s;
    Values *first, *second;
    uint32_t nrep, rep_room, nmember, member_room;
    Rep *rep;
    Member *member;
    Index by_key, by_code, member_by_code;
    uint64_t coincidences; /* pairs that only the second stage told apart */
} Classes;

Classes *classes_new(Space *, uint64_t seed);
void classes_free(Classes *);
/* The records of one level, sorted by key and code. last: representatives are counted, not kept. */
typedef struct LevelStats {
    uint64_t terms, classes, pairs;
} LevelStats;
void classes_add_level(Classes *, const Record *, size_t n, bool last, LevelStats *);
bool classes_is_rep(const Classes *, const Code *);
const Member *classes_member(const Classes *, const Code *); /* NULL: none */
/* A renaming of b's variables (kinds agree) under which b equals a at both stages. to[v] == TERM_VARS: b does not depend on v. */
bool classes_match(Classes *, const Code *a, const Code *b, uint8_t to[]);
int record_compare(const void *, const void *);
#endif
