/* term_classes.h -- which terms are equal: representatives by key and by code, and the other
   members with the renaming that makes them equal. Two terms of one key are merged when some
   renaming makes them equal at the second stage too: other sizes, another seed. */
#ifndef ISOMER_TERM_CLASSES_H
#define ISOMER_TERM_CLASSES_H
#include "generator/enumerate.h"

typedef struct Rep {
    uint64_t key;
    Code code;
} Rep;
/* Term = representative with its variable v renamed to to[v]; TERM_VARS: it does not matter. */
typedef struct Member {
    Code code;
    uint32_t rep;
    uint8_t to[TERM_VARS];
    bool conditional; /* only at some sizes: it is a representative too, and rewrites nothing */
} Member;
/* A representative that equals itself with variable v renamed to to[v]; those of one code stand
   together. */
typedef struct Symmetry {
    Code code;
    uint8_t to[TERM_VARS];
    bool conditional;
} Symmetry;
typedef struct Index { /* open addressing over numbers of entries, + 1 */
    uint32_t room, n, *slot;
} Index;
typedef struct TermClasses {
    Space *s;
    Values *first, *second; /* of a view: whose hands it is in; else NULL */
    uint32_t nrep, rep_room, nmember, member_room;
    Rep *rep;
    Member *member;
    uint32_t nsymmetry, symmetry_room;
    Symmetry *symmetry;
    Index by_key, by_code, member_by_code, symmetry_by_code;
    uint64_t coincidences; /* pairs that only the second stage told apart */
} TermClasses;

TermClasses *term_classes_new(Space *);
void term_classes_free(TermClasses *);
/* The same tables as a thread of its own space and points sees them, to be asked only, while they
   do not grow. */
TermClasses term_classes_view(const TermClasses *, Space *, Values *first, Values *second);
/* What becomes of a record: it equals a representative, or it is a class of its own. */
typedef struct Fate {
    int64_t rep; /* >= 0: this one; -1 - k: record k of its group, itself where it is that */
    uint8_t to[TERM_VARS];
    bool beside; /* there were representatives of its key before it */
    int nsymmetry;
    const Symmetry *symmetry;
} Fate;
typedef struct LevelStats {
    uint64_t terms, classes, pairs;
} LevelStats;
/* The records of one level with one key, sorted by code: what becomes of each. Symmetries are
   allocated from the arena. */
void term_classes_judge(TermClasses *view, const Record *, size_t n, Arena *, Fate *);
/* Takes them over; groups come by ascending key. last: representatives that stay alone are counted,
   not kept. */
void classes_add_group(TermClasses *, const Record *, size_t n, Fate *, bool last, LevelStats *);
/* The rule of a member ('R') or symmetry ('S') does not hold for all sizes. last: its term is not
   extended any more. */
void term_classes_conditional(TermClasses *, char type, uint32_t entry, bool last);
bool classes_is_rep(const TermClasses *, const Code *);
const Member *term_classes_member(const TermClasses *, const Code *); /* NULL: none */
const Symmetry *term_classes_symmetries(const TermClasses *, const Code *, int *n);
/* In a view: the representative that equals t's root, with its variables renamed to t's; false:
   none. */
bool term_classes_least(TermClasses *, const Term *t, uint32_t *rep, uint8_t to[]);
int record_compare(const void *, const void *);
#endif
