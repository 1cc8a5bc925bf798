/* world.h -- the interned tables of one thread. Every number of the types Poly, Ex, TypeId,
   AttrsId, Sig and Value is an index into one of these tables and is meaningless outside its World.
   Tables only grow; world_reset truncates all of them at once, which is how backtracking frees
   memory. A World is never shared by threads. */
#ifndef ISOMER_WORLD_H
#define ISOMER_WORLD_H
#include "ops/base/intern.h"

/* An unknown integer: a size, attribute, index, digit, floor(a/b), ..; 0: none. */
typedef uint32_t Symbol;
typedef uint32_t Poly; /* an integer polynomial over symbols (poly.h); 0 is the zero polynomial */
typedef uint32_t Ex;   /* a scalar expression (expr.h); 0: none */

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

/* Additional data for the entries of a table: `size` bytes for each id. They are zero when first
   accessed, and again when the id was truncated away and then reused. */
typedef struct Column {
    Table table;
    size_t size;
    char *data;
    uint32_t room, valid;
} Column;

typedef struct World {
    Arena *arena;
    Cleanup cleanup; /* frees the columns */
    /* Temporary memory. A function that allocates from it marks it first and resets it before it
       returns, so that calls may nest. */
    Arena *scratch;
    Intern *table[TABLE_COUNT];
    int ncolumn;
    Column *column[24];
    uint32_t fresh;  /* the next serial number of a bound or data symbol */
    uint32_t resets; /* how often world_reset ran; memory of the arena that was cached for an id is
                        stale if this has changed since */
    struct {
        bool now; /* used by the overflow_ functions only */
        int depth;
    } overflow;
    void *ops;    /* owned by ops/operator/signature.c */
    void *graphs; /* owned by graphs/ */
} World;
typedef struct WorldMark {
    ArenaMark arena;
    uint32_t count[TABLE_COUNT], fresh;
} WorldMark;

World *world_new(Escape *, size_t limit); /* limit: of each of its arenas, in bytes; 0: none */
void world_free(World *);
WorldMark world_mark(const World *);
void world_reset(World *, WorldMark); /* forgets every id given out since the mark */
/* Attaches a column to a table. The Column belongs to the caller and must outlive the World. */
void column_init(World *, Column *, Table, size_t size);
/* column_at, for an id whose row is not valid yet */
void *column_extend(World *, Column *, uint32_t id);
/* The data of this id. The pointer is valid until the column grows. */
static inline void *column_at(World *w, Column *c, uint32_t id) {
    return id < c->valid ? c->data + id * c->size : column_extend(w, c, id);
}
uint32_t world_word(World *, const char *); /* the number of a name, interned */

/* Arithmetic on sizes that overflows int64, or a polynomial that grows beyond all reason, gives 0
   and sets a flag in the World. A computation clears the flag with overflow_begin and asks for it
   with overflow_end, which also restores its earlier value. These pairs nest; if an overflow_end
   was forgotten, that of the enclosing pair fails an assertion. */
typedef struct Overflow {
    bool before;
    int depth;
} Overflow;
Overflow overflow_begin(World *) __attribute__((warn_unused_result));
bool overflow_end(World *, Overflow); /* true: there was an overflow since its begin */
bool overflow_noted(const World *);   /* true: there was an overflow since the last begin */
void overflow_note(World *);
const char *world_text(const World *, uint32_t word);
#endif
