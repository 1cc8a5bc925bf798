/* space.h -- the space in which terms are enumerated: a set file's inputs and operators, and how
   they type. opset.c reads a set file, typing.c types terms.

   Declared inputs have types over the set's sizes (F [n, c, h, w]); all variables of one kind have
   that very type, so whether operators fit is decided by equality of polynomials, once for each
   operator and argument types, by their own shape(). More general sizes come back when a rule is
   lifted (lift.h). A sort is what the set's author wants kept apart although the types would fit
   (a kernel is not an image). Nothing here knows an operator.

   One Space per thread: it owns a World. */
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
typedef uint16_t ShapeId; /* a sort and a type; 0: none */
typedef struct ShapeInfo {
    int sort;
    TypeId type;
    int count[SPACE_STAGES]; /* elements */
    uint64_t hash;           /* the same in every World */
} ShapeInfo;
typedef struct Kind {
    int sort;
    ShapeId shape;
} Kind;
/* One operator of the set with its attributes, and one choice for those that are unknowns of the
   set file. */
typedef struct Variant {
    const Op *op;
    int line; /* of the set file: choices of one line share its limit */
    int most; /* how many of this line a term may have */
    Attr attr[ATTRS_MAX], general[ATTRS_MAX]; /* the unknowns replaced by the choice; as written */
    bool given[ATTRS_MAX];
    const char *whole[ATTRS_MAX]; /* the name under which a whole attribute is free in rules;
                                       NULL: none */
    int nfree;
    Symbol free[SPACE_FREE]; /* unknowns of its attributes */
    bool chosen[SPACE_FREE]; /* else it follows from what shape() needs */
    Poly choice[SPACE_FREE];
    int sort[TERM_ARGS], result[TERM_PORTS]; /* >= 0: a sort; < 0: any, but the same wherever the
                                                number is the same */
} Variant;
typedef struct Program Program;
typedef struct Typing { /* of an operator on arguments */
    Sig sig;
    int nout;
    ShapeId out[TERM_PORTS];
    Program *program[SPACE_STAGES][TERM_PORTS]; /* made when first run */
} Typing;
typedef struct TypingEntry {
    uint64_t key;
    Typing *typing; /* NULL: refused */
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
    int most_arguments; /* of any operator */
    bool exponents;     /* values carry their second residue: some operator has a function */
    int nshape, shape_room;
    ShapeInfo *shape;
    int ntyping, typing_room;
    TypingEntry *typing;
} Space;

/* Reads a set file into a new Space in the World. E_ENVIRONMENT when it cannot be read, E_INVALID
   with its place. */
Space *space_read(World *, const char *path, Error *);
Space *space_parse(World *, const char *path, const char *text, size_t n, Error *);
const ShapeInfo *space_shape(const Space *, ShapeId);
int space_kind_of(const Space *, ShapeId); /* the input kind of this sort and type; -1: none */
/* What operator `op` gives on arguments of these shapes; NULL: they do not fit. Computed once. */
Typing *space_type(Space *, int op, const ShapeId arg[]);
/* The shapes of all of a term's values, by Ref; false: it does not type-check. */
bool space_type_term(Space *, const Term *, ShapeId shape[REF_OUT + 2 * TERM_OPS]);
/* 0: too many elements, or none, at some stage. */
ShapeId space_shape_put(Space *, int sort, TypeId);
/* Some operator's definition calls a function, so that values need their second residue. */
bool space_has_functions(Space *);
/* The sizes of a stage as values of symbols; the array lives in the World's scratch arena. */
Sizes space_sizes(const Space *, int stage);
#endif
