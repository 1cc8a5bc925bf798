/* answer_inner.h -- what the files of one question's search share. Values are kept at small sizes,
   each element at LANES random points; constants of the question have one value at all points.
   Types are over the question's symbols, so that an operator fits where what it needs of sizes
   follows from what the question needs. Nothing here knows an operator but those named in meeting
   (add, sub, mul) and in writing (broadcast, concat, split, fill, select, reshape, transpose). */
#ifndef ISOMER_ANSWER_INNER_H
#define ISOMER_ANSWER_INNER_H
#include "generator/discover/answer.h"
#include "generator/lift_inner.h"
#include "ops/core/facts.h"

#define SEARCH_WORK 20000.0 /* operations of one node at the small sizes */
/* Limits of one search. What exceeds them is left out: an answer may be missed, never be wrong. */
enum {
    SEARCH_ELEMENTS = 1024,        /* of a value, at the small sizes */
    SEARCH_ELEMENTS_OF_TERM = 512, /* of a term; constants that are solved for may have more */
    SEARCH_TYPES = 24,             /* of terms on data */
    SEARCH_CONSTANTS = 1200,       /* terms on constants alone */
    SEARCH_GOALS = 90,
    SEARCH_BLOCK_MOST = 4, /* places of an axis that become one, and as many channels */
    SEARCH_KEPT = 8,       /* answers that later ones are compared with */
    SEARCH_UNKNOWNS = 1000 /* of a system of equations (holes.c) */
};
typedef struct Found {
    Value v;
    uint64_t key;
    double cost;
    int depth; /* operators on data since the last landmark */
    int size;  /* of a constant: operators */
    bool constant;
} Found;
typedef struct Moves { /* what can be done next: operators that accept arguments of certain types */
    int n, first;      /* the first ones are of the question, or views */
    Sig *v;
} Moves;
typedef struct Goal {
    int parent; /* -1: none; else sig applied to this goal's value gives the parent's */
    Sig sig;
    TypeId type;
    const Lanes *x;
    int n, axis;  /* axis: of the concat of several outputs; -1: the one output itself */
    bool between; /* a step to another goal, not looked for itself */
    uint64_t key;
} Goal;
typedef struct SigFacts {                       /* of a signature, found by evaluating it */
    bool looked;                                /* source is known */
    signed char linear[2 * PROGRAM_INPUTS + 1]; /* 1: yes, -1: no, 0: not known yet */
    const int *source;
} SigFacts;
/* The parts of a search, each kept by one file; the others look. */
typedef struct ValueTable { /* bank.c */
    const Lanes **value;    /* by value; NULL: not computed yet */
    Program **program;      /* by signature and port */
    double *cost;           /* by node: seconds; 0: not known yet */
    uint32_t value_room, program_room, cost_room;
    ProgramRunner run;
} ValueTable;
typedef struct Bank { /* bank.c: terms by the key of their values */
    int nterm, term_room, nconstant, constants_most;
    Found *term;     /* data */
    Found *constant; /* constants */
    Intern *keys[2]; /* of data terms, of constants: keys in the order of term and constant */
    Intern *marks;   /* goals.c: keys of landmarks */
} Bank;
typedef struct MoveTable { /* moves.c */
    Intern *keys;
    Moves *v; /* in the order of keys */
    int room;
    uint32_t sig_room;
    SigFacts *sig; /* by signature */
} MoveTable;
typedef struct Goals { /* goals.c */
    int n;
    Goal v[SEARCH_GOALS];
} Goals;
typedef struct Types { /* of terms on data */
    int n;
    TypeId v[SEARCH_TYPES];
} Types;
typedef struct Kept {            /* found.c */
    int n, nmodel;               /* nmodel: of answers that were written as models */
    NodeList nodes[SEARCH_KEPT]; /* of answers, what they need, and what they cost */
    double cost[SEARCH_KEPT];
} Kept;
typedef struct Search {
    /* What is asked: set by answer.c and open.c, not changed afterwards. */
    World *w;
    Arena *a;
    Lift *l;
    Facts *facts;
    const Question *q;
    const AnswerOptions *o;
    Graph g;
    NodeList live;
    Sizes small, real;
    int nsize; /* of the question */
    Symbol size[LIFT_SYMBOLS];
    int rank;          /* the most axes of a constant of the question */
    bool positive;     /* constants are */
    bool proportional; /* the result is 0 where the data is (constants.c) */
    bool moves_data;   /* the question has views of data: only then answers get more of them */
    /* What is known. */
    ValueTable values;
    Bank bank;
    MoveTable moves;
    Types types;
    Goals goals;
    unsigned blocks; /* sizes of blocks that some axis of the result has: bit K for K places */
    int completed;   /* terms that were completed by constants already */
    int64_t left;    /* evaluations */
    /* What is found. */
    double price, best; /* of the question; what an answer must cost less than */
    Arena *keep;        /* of the answers */
    Answers *answers;
    Kept kept;
    AnswerStats *stats;
} Search;

/* ---- open.c: draws sizes and inputs, and takes the question's nodes as the first terms. False: no
   sizes fit, or *e says what is wrong with the question. */
bool search_open(Search *, Error *);
void type_put(Search *, TypeId); /* among Search.types, if it is new and there is room */

/* ---- bank.c: values and terms */
int count_of(Search *, TypeId); /* elements at the small sizes; -1: too many, or none */
/* The value at the small sizes; NULL: it has none. */
const Lanes *value_at(Search *, Value);
Program *program_of_sig(Search *, Sig, int port);
uint64_t value_key(TypeId, const Lanes *, int n); /* by residues alone */
bool value_is_constant(Search *, Value);
uint32_t residue_inverse(uint64_t); /* of a number that is not 0 */
/* A wanted value as an unknown joined with one that is known: unknown + known, unknown - known,
   known - unknown, unknown * known (known not 0). */
typedef enum Joining { JOIN_ADD, JOIN_SUB, JOIN_SUB_FROM, JOIN_MUL, JOININGS } Joining;
uint32_t residue_missing(uint32_t wanted, uint32_t known, Joining); /* the unknown */
const Op *joining_op(Joining);
double graph_cost(Search *, int n, const Value[]); /* seconds of what they need, at real sizes */
/* A node of this signature; 0: it does not type-check. */
Value sig_node(Search *, Sig, const Value in[]);
/* The term of a value: old, new, or -1 where it has no values or costs too much. *fresh: it is
   new. */
int term_put(Search *, Value, int depth, int size, bool *fresh);
/* The term of this key; -1: none. */
int term_find(const Search *, bool constant, uint64_t key);

/* ---- moves.c: which operators fit */
const Moves *moves_of(Search *, int nin, const TypeId in[]);
/* Those of all operators, not only near ones (op_is_near). */
const Moves *moves_of_all(Search *, int nin, const TypeId in[]);
/* Each output element is this element of the one input; NULL: it is not a view. */
const int *sig_source(Search *, Sig);
/* Linear in input k; in all inputs together; in all but input k, taken together. */
enum { LINEAR_ALL = PROGRAM_INPUTS, LINEAR_BUT };
bool sig_linear(Search *, Sig, int which);
/* All signatures of this operator on such arguments, with attributes of the question and derived
   ones; it may need more of sizes than the question (sig_fits). */
typedef void SigFound(void *user, Sig);
void each_signature(Search *, const Op *, int nin, const TypeId in[], SigFound *, void *user);
/* Whether blocks of so many places are tried: of two always, else those that the result has. */
bool has_blocks(const Search *, int size);
/* The question has a node of it; or it works element by element, or the question is so small that
   it may become any other. */
bool op_in_question(const Search *, const Op *);
bool op_is_near(const Search *, const Op *);
/* What it needs of sizes follows from what the question needs. */
bool sig_fits(Search *, Sig);

/* ---- goals.c */
void goals_open(Search *);
/* The number of a goal of this value, which may have been there before; -1: they are too many. */
int goal_put(Search *, Goal);
/* What must stand before the view for its result to be the goal; NULL: nothing can. */
const Lanes *goal_before(Search *, const Goal *, Sig view);
/* Terms that equal goals, or do so together with another term. */
void goals_look(Search *, int depth);

/* ---- blocks.c: the result by blocks of places along some axes, whose places are more channels;
   after goals_open */
void goals_in_blocks(Search *);

/* ---- found.c */
/* A value that equals the goal: an answer, if its price is right, it holds at other sizes, and
   no smaller question has it: one without the operator with which both end. */
void goal_met(Search *, const Goal *, Value, const char *how, int depth);
/* Results that equal the question's: an answer, if it holds at other sizes and is estimated to cost
   no more than WRITTEN_WORSE times as much. It stays, however cheap later ones are. */
void question_met(Search *, const Value out[], const char *how, int depth);

/* ---- written_out.c: the question's composites and pointwise nodes as other operators */
void terms_written_out(Search *);
/* ---- exchanged.c: the question's operators in another order, as terms that cost no depth */
void terms_exchanged(Search *);
/* ---- holes.c: constants solved for */
void holes_look(Search *, int depth);
/* ---- constants.c: terms over constants, and those that have a given value */
void constants_grow(Search *);
/* A constant of this type and these residues (the same at all points); 0: not found. */
Value constant_explain(Search *, TypeId, const Lanes *);
/* ---- rearranged.c: the same from elements of one constant of the question, and zeros */
Value constant_rearranged(Search *, TypeId, const Lanes *);
#endif
