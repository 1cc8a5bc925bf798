/* world.h -- the interned tables of one thread. Everything that is a number (Poly, Ex, TypeId,
   AttrsId, Sig, Value) is an index into one of them and means nothing outside its World. Tables
   only grow; mark/reset truncates all of them at once, which is how backtracking frees. No World is
   shared by threads. */
#ifndef ISOMER_WORLD_H
#define ISOMER_WORLD_H
#include "ops/base/intern.h"

/* An integer unknown: a size, attribute, index, digit, floor(a/b), ..; 0: none. */
typedef uint32_t Symbol;
typedef uint32_t Poly; /* integer polynomial over symbols; 0 is the zero polynomial */
typedef uint32_t Ex;   /* scalar expression (expr.h); 0: none */

typedef enum Table {
    TABLE_WORD,
    TABLE_SYMBOL,
    TABLE_POLY,
    TABLE_EX,
    TABLE_TYPE,
    TABLE_ATTRS,
    TABLE_SIG,
    TABLE_NODE,
    TABLE_BLOB,
    TABLE_COUNT
} Table;

/* A column beside a table: `size` bytes per id, zeroed when first asked for, and again after the id
   was truncated away and given again. */
typedef struct Column {
    Table table;
    size_t size;
    char *data;
    uint32_t room, valid;
} Column;

typedef struct World {
    Arena *arena;
    Cleanup cleanup; /* the columns */
    /* For the time of one call: a function that allocates from it marks it first and resets it at
       the end, so that calls may nest. */
    Arena *scratch;
    Intern *table[TABLE_COUNT];
    int ncolumn;
    Column *column[24];
    uint32_t fresh;  /* next serial of bound, data and random symbols */
    uint32_t resets; /* how often world_reset ran: what was kept of the arena for an older id is
                        stale when it changed */
    struct {
        bool now; /* for overflow_* only */
        int depth;
    } overflow;
    void *ops;    /* owned by ops/operator/signature.c */
    void *graphs; /* owned by graphs/ */
} World;
typedef struct WorldMark {
    ArenaMark arena;
    uint32_t count[TABLE_COUNT], fresh;
} WorldMark;

World *world_new(Escape *, size_t limit); /* limit: bytes of its arena, 0: none */
void world_free(World *);
WorldMark world_mark(const World *);
void world_reset(World *, WorldMark); /* forgets every id given since the mark */
/* The Column belongs to the caller and must outlive the World. */
void column_init(World *, Column *, Table, size_t size);
void *column_extend(World *, Column *, uint32_t id); /* column_at, where it ends before id */
static inline void *column_at(World *w, Column *c, uint32_t id) {
    return id < c->valid ? c->data + id * c->size : column_extend(w, c, id);
}
uint32_t world_word(World *, const char *); /* an interned name */

/* Arithmetic on sizes that leaves int64, or grows beyond all reason, gives 0 and is noted in the
   World. Whoever computes asks for it: between overflow_begin and overflow_end what was noted
   before does not count, and afterwards it is as it was. Stretches nest; where an end was
   forgotten, the end of the one around it asserts. */
typedef struct Overflow {
    bool before;
    int depth;
} Overflow;
Overflow overflow_begin(World *) __attribute__((warn_unused_result));
bool overflow_end(World *, Overflow); /* true: something was noted since its begin */
bool overflow_noted(const World *);   /* true: something was noted since the last begin */
void overflow_note(World *);
const char *world_text(const World *, uint32_t word);
#endif
