/* term_classes.h -- the classes of equal terms: a table of representatives, by key and by code, and
   one of the other members, with the renaming that makes each equal to its representative. Two
   terms with the same key are merged only if some renaming makes them equal at the second stage as
   well, at other sizes and with another seed. */
#ifndef ISOMER_TERM_CLASSES_H
#define ISOMER_TERM_CLASSES_H
#include "generator/enumerate.h"

/* The least term of a class. */
typedef struct Rep {
    uint64_t key;
    Code code;
} Rep;
/* A term that equals its representative with variable v renamed to to[v]. to[v] is TERM_VARS if the
   representative does not depend on v. */
typedef struct Member {
    Code code;
    uint32_t rep;
    uint8_t to[TERM_VARS];
    bool conditional; /* equal only at some sizes: the term is a representative, too, and is not
                         used for rewriting */
} Member;
/* A representative that equals itself with variable v renamed to to[v]. The symmetries of one code
   are adjacent in the table. */
typedef struct Symmetry {
    Code code;
    uint8_t to[TERM_VARS];
    bool conditional;
} Symmetry;
/* A hash table with open addressing. Slots hold the number of an entry plus 1; 0 is empty. */
typedef struct Index {
    uint32_t room, n, *slot;
} Index;
typedef struct TermClasses {
    Space *s;
    /* Evaluators of the thread that owns the view; NULL if this is not a view. */
    Values *first, *second;
    uint32_t nrep, rep_room, nmember, member_room;
    Rep *rep;
    Member *member;
    uint32_t nsymmetry, symmetry_room;
    Symmetry *symmetry;
    Index by_key, by_code, member_by_code, symmetry_by_code;
    uint64_t coincidences; /* terms that only the second stage told apart */
} TermClasses;

TermClasses *term_classes_new(Space *);
void term_classes_free(TermClasses *);
/* A view of the tables for a thread with its own space and evaluators. A view may only be read, and
   only while the tables do not grow. */
TermClasses term_classes_view(const TermClasses *, Space *, Values *first, Values *second);
/* What becomes of a record: it equals a representative, or it starts a class. */
typedef struct Judgement {
    int64_t rep; /* a representative if >= 0; -1 - k: record k of the group, which is the record
                    itself if it starts a class */
    uint8_t to[TERM_VARS];
    bool key_known; /* its key had a representative before */
    int nsymmetry;
    const Symmetry *symmetry;
} Judgement;
typedef struct LevelStats {
    uint64_t terms, classes, pairs;
} LevelStats;
/* Judges the records of one level that have one key, sorted by code. Symmetries are allocated from
   the arena. */
void term_classes_judge(TermClasses *view, const Record *, size_t n, Arena *, Judgement *);
/* Enters the judged records into the tables. Groups must come by ascending key. `last` says that
   this is the last level: a representative that is alone in its class is then counted but not
   kept. */
void classes_add_group(TermClasses *, const Record *, size_t n, Judgement *, bool last,
                       LevelStats *);
/* Says that the rule of a member ('R') or symmetry ('S') does not hold for all sizes. A member then
   becomes a representative, too, unless `last` says that terms of its level are not extended. */
void term_classes_conditional(TermClasses *, char type, uint32_t entry, bool last);
/* Whether a representative has this code. */
bool classes_is_rep(const TermClasses *, const Code *);
/* The member with this code; NULL if there is none. */
const Member *term_classes_member(const TermClasses *, const Code *);
/* The symmetries of the representative with this code, which are *n entries in a row. */
const Symmetry *term_classes_symmetries(const TermClasses *, const Code *, int *n);
/* In a view: finds the representative that equals t's root, and the renaming of its variables to
   those of t. Returns false if there is none. */
bool term_classes_least(TermClasses *, const Term *t, uint32_t *rep, uint8_t to[]);
/* Orders records by key, then by code (for qsort). */
int record_compare(const void *, const void *);
#endif
