/* space.h -- the space in which terms are enumerated: the inputs and operators that a set file
   declares, and the rules by which they type. opset.c reads the set file; space.c types terms.

   Declared inputs have types over the set's sizes (F [n, c, h, w]), and all variables of one kind
   have exactly that type. Whether an operator accepts arguments is therefore a question of equal
   polynomials. Its own shape() answers it once for each combination of argument types. Lifting a
   rule makes its sizes general again (lift.h). A sort keeps apart what the author of the set wants
   apart although the types would fit: a kernel is not an image. Nothing here treats any operator
   specially.

   Each thread needs its own Space, since a Space owns a World. */
#ifndef ISOMER_SPACE_H
#define ISOMER_SPACE_H
#include "generator/term.h"
#include "graphs/graph.h"

enum {
    SPACE_KINDS = 24,
    SPACE_SORTS = 16,
    SPACE_SIZES = 16,
    SPACE_STAGES = 4,
    SPACE_FREE = 4,
    ELEMENTS_MAX = 512
};
typedef uint16_t ShapeId; /* number of a sort with a type; 0: none */
typedef struct ShapeInfo {
    int sort;
    TypeId type;
    int count[SPACE_STAGES]; /* elements at each stage */
    uint64_t hash;           /* equal in every World, whatever the numbers of its types */
} ShapeInfo;
/* A declared input. */
typedef struct Kind {
    int sort;
    ShapeId shape;
} Kind;
/* One operator of the set with its attributes and one choice for the unknowns that the set file
   gives choices for. */
typedef struct Variant {
    const Op *op;
    int line; /* line of the set file; variants of one line share its `most` */
    int most; /* how often a term may use the operator of this line */
    /* The attributes with the unknowns replaced by their choices, and as written. */
    Attr attr[ATTRS_MAX], general[ATTRS_MAX];
    bool given[ATTRS_MAX];
    const char *whole[ATTRS_MAX]; /* the name under which rules may generalize the whole attribute;
                                     NULL: they may not */
    int nfree;
    Symbol free[SPACE_FREE]; /* the unknowns of the attributes */
    bool chosen[SPACE_FREE]; /* has a choice; otherwise the needs of shape() determine it */
    Poly choice[SPACE_FREE];
    int sort[TERM_ARGS], result[TERM_PORTS]; /* a sort if >= 0; a negative number stands for any
                                                sort, the same one wherever the number occurs */
} Variant;
typedef struct Program Program;
typedef struct Typing { /* the result of typing an operator on given arguments */
    Sig sig;
    int nout;
    ShapeId out[TERM_PORTS];
    Program *program[SPACE_STAGES][TERM_PORTS]; /* created on the first run */
} Typing;
typedef struct TypingEntry {
    uint64_t key;
    Typing *typing; /* NULL: the operator does not accept these arguments */
} TypingEntry;
typedef struct Space {
    World *w;
    Arena *arena;
    const char *name, *path, *text;
    size_t text_size;
    uint64_t digest; /* of the set file's text */
    int nsize, nstage;
    Symbol size[SPACE_SIZES];
    int64_t value[SPACE_STAGES][SPACE_SIZES];
    int nsort, nkind, nop;
    const char *sort[SPACE_SORTS];
    Kind kind[SPACE_KINDS];
    OpForm form[TERM_FORMS];
    Variant *op;
    int most_arguments; /* the most that any operator has */
    bool exponents; /* values carry their second residue, because some operator calls a function */
    int reach;      /* for lanes_draw */
    int nshape, shape_room;
    ShapeInfo *shape;
    int ntyping, typing_room;
    TypingEntry *typing;
} Space;

/* Reads a set file into a new Space of the World. Returns NULL with E_ENVIRONMENT if the file
   cannot be read, or with E_INVALID and the place of the mistake. */
Space *space_read(World *, const char *path, Error *);
/* The same for a text; path names it in errors. */
Space *space_parse(World *, const char *path, const char *text, size_t n, Error *);
/* The sort and type of a number. */
const ShapeInfo *space_shape(const Space *, ShapeId);
/* The kind of input that has this sort and type; -1: none. */
int space_kind_of(const Space *, ShapeId);
/* Types operator `op` on arguments of these shapes. Returns NULL if it does not accept them. Each
   combination is computed once and kept. */
Typing *space_type(Space *, int op, const ShapeId arg[]);
/* Sets the shapes of all values of a term, indexed by Ref. Returns false if the term does not
   type-check. */
bool space_type_term(Space *, const Term *, ShapeId shape[REF_OUT + 2 * TERM_OPS]);
/* The number of this sort and type, which is added if new. Returns 0 if at some stage the type has
   no elements or more than ELEMENTS_MAX. */
ShapeId space_shape_put(Space *, int sort, TypeId);
/* Sets what depends on the definitions of the operators on declared inputs: exponents (true also if
   an operator accepts no combination of these inputs), and reach, so that many numbers lie beyond
   every number that a definition compares with. */
void space_find_traits(Space *);
/* The sizes of a stage as values of symbols. The array lives in the World's scratch arena. */
Sizes space_sizes(const Space *, int stage);
#endif
