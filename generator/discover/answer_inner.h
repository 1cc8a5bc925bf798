/* answer_inner.h -- what the files of the search for answers to one question share.

   Values are kept at one set of small sizes, each element at LANES random points; constants of the
   question have the same value at all points. Types are over the question's symbols, so an operator
   fits if its needs follow from those of the question. No operator is named here except in meeting
   (add, sub, mul) and in writing answers (broadcast, concat, split, fill, select, reshape,
   transpose). */
#ifndef ISOMER_ANSWER_INNER_H
#define ISOMER_ANSWER_INNER_H
#include "generator/discover/answer.h"
#include "generator/lift_inner.h"
#include "ops/core/facts.h"

#define SEARCH_WORK 20000.0 /* most operations of one node at the small sizes */
/* Limits of one search. What exceeds them is left out, so an answer may be missed but is never
   wrong. */
enum {
    SEARCH_ELEMENTS = 1024,        /* elements of a value at the small sizes */
    SEARCH_ELEMENTS_OF_TERM = 512, /* elements of a term; unknown constants may have more */
    SEARCH_TYPES = 24,             /* types of terms on data */
    SEARCH_CONSTANTS = 1200,       /* terms on constants alone */
    SEARCH_GOALS = 90,
    SEARCH_BLOCK_MOST = 4, /* length of a block along an axis */
    SEARCH_KEPT = 8,       /* answers that later ones are compared with */
    SEARCH_UNKNOWNS = 1000 /* unknowns of a system of equations (holes.c) */
};
/* A term of the bank. */
typedef struct BankTerm {
    Value v;
    uint64_t key;
    double cost;
    int depth; /* operators on data since the last landmark */
    int size;  /* for constants: number of operators */
    bool constant;
} BankTerm;
typedef struct FittingOps { /* the operators that accept arguments of certain types */
    int n, npreferred; /* the first npreferred of the n are operators of the question, or views */
    Sig *v;
} FittingOps;
/* A value from which the question's result follows. */
typedef struct Goal {
    int parent; /* -1: none; otherwise sig applied to this goal's value gives the value of goal
                   `parent` */
    Sig sig;
    TypeId type;
    const Lanes *x;
    int n, axis;  /* axis: that of the concat of several results; -1: the only result itself */
    bool between; /* only a step to another goal, not looked for itself */
    uint64_t key;
} Goal;
typedef struct SigFacts {                       /* what evaluating a signature shows */
    bool looked;                                /* source has been determined */
    signed char linear[2 * PROGRAM_INPUTS + 1]; /* 1: yes, -1: no, 0: unknown; see sig_linear */
    const int *source;                          /* see sig_source */
} SigFacts;
/* The parts of a search. Each is written by one file and read by the others. */
typedef struct ValueTable { /* bank.c */
    const Lanes **value;    /* for each value; NULL: not computed yet */
    Program **program;      /* for each signature and port */
    double *cost;           /* seconds of each node; 0: not known yet */
    uint32_t value_room, program_room, cost_room;
    ProgramRunner run;
} ValueTable;
typedef struct Bank { /* bank.c: terms by the key of their values */
    int nterm, term_room, nconstant, constants_most;
    BankTerm *term;     /* terms on data */
    BankTerm *constant; /* terms on constants alone */
    Intern *keys[2]; /* of data terms and of constants: keys, numbered like term[] and constant[] */
    Intern *marks;   /* goals.c: keys of landmarks */
} Bank;
typedef struct FittingTable { /* fitting_ops.c */
    Intern *keys;
    FittingOps *v; /* numbered like keys */
    int room;
    uint32_t sig_room;
    SigFacts *sig; /* for each signature */
} FittingTable;
typedef struct Goals { /* goals.c */
    int n;
    Goal v[SEARCH_GOALS];
} Goals;
typedef struct Types { /* the types of terms on data */
    int n;
    TypeId v[SEARCH_TYPES];
} Types;
typedef struct Kept {            /* found.c */
    int n, nmodel;               /* nmodel: number of answers written as models */
    NodeList nodes[SEARCH_KEPT]; /* of each answer, its nodes and its cost */
    double cost[SEARCH_KEPT];
} Kept;
typedef struct Search {
    /* What is asked. It is set when the search begins and not changed afterwards. */
    World *w;
    Arena *a;
    Lift *l;
    Facts *facts;
    const Question *q;
    const AnswerOptions *o;
    Graph g;
    NodeList live;
    Sizes small, real;
    int nsize; /* number of sizes of the question */
    Symbol size[LIFT_SYMBOLS];
    int rank;          /* the greatest rank of a constant of the question */
    bool positive;     /* constants of the question are drawn positive */
    bool proportional; /* the result is 0 if the data is 0 (constants.c) */
    bool moves_data;   /* answers may have further views of data: the question has some, or has a
                          single operator */
    /* What is known so far. */
    ValueTable values;
    Bank bank;
    FittingTable fitting;
    Types types;
    Goals goals;
    unsigned blocks; /* bit K: some axis of the result can be divided into blocks of length K */
    int nterms_tried_with_holes; /* number of terms for which unknown constants have been tried */
    int64_t evaluations_left;    /* evaluations that are left */
    /* What was found. */
    double price, best; /* cost of the question; bound on the cost of an answer */
    Arena *keep;        /* holds the answers */
    Answers *answers;
    Kept kept;
    AnswerStats *stats;
} Search;

/* ---- open.c: draws sizes and inputs, and enters the question's nodes as the first terms. Returns
   false if no sizes fit, or with *e set if something is wrong with the question. */
bool search_open(Search *, Error *);
void type_put(Search *, TypeId); /* adds a type to Search.types if it is new and there is room */

/* ---- bank.c: values and terms */
int count_of(Search *, TypeId); /* number of elements at the small sizes; -1: too many, or none */
/* The elements of a value at the small sizes; NULL if it has none. */
const Lanes *value_at(Search *, Value);
/* The program of a signature's output at the small sizes; NULL if there is none. */
Program *program_of_sig(Search *, Sig, int port);
uint64_t value_key(TypeId, const Lanes *, int n); /* depends on the first residues alone */
bool value_is_constant(Search *, Value);
uint32_t residue_inverse(uint64_t); /* inverse of a number other than 0 */
/* How a wanted value is composed of an unknown and a known one: unknown + known, unknown - known,
   known - unknown, unknown * known (with known not 0). */
typedef enum Joining { JOIN_ADD, JOIN_SUB, JOIN_SUB_FROM, JOIN_MUL, JOININGS } Joining;
uint32_t residue_missing(uint32_t wanted, uint32_t known, Joining); /* the unknown */
const Op *joining_op(Joining);
/* The seconds of all nodes that the values need, at the real sizes. */
double graph_cost(Search *, int n, const Value[]);
/* A node with this signature. Returns 0 if it does not type-check. */
Value sig_node(Search *, Sig, const Value in[]);
/* Enters a value as a term. Returns its number, which may be that of an older term with the same
   values, or -1 if the value has no elements or costs too much. *fresh: the term is new. */
int term_put(Search *, Value, int depth, int size, bool *fresh);
/* The number of the term with this key, or -1. */
int term_find(const Search *, bool constant, uint64_t key);

/* ---- fitting_ops.c: which operators fit */
const FittingOps *fitting_ops(Search *, int nin, const TypeId in[]);
/* The same for all operators, not only for near ones (op_is_near). */
const FittingOps *fitting_ops_of_all(Search *, int nin, const TypeId in[]);
/* For each output element, the element of the only input that it equals; NULL if the signature is
   not a view. */
const int *sig_source(Search *, Sig);
/* Whether the signature is linear: in input k; in all inputs together (LINEAR_ALL); in all inputs
   but k together (LINEAR_BUT + k). */
enum { LINEAR_ALL = PROGRAM_INPUTS, LINEAR_BUT };
bool sig_linear(Search *, Sig, int which);
/* Calls back with all signatures of this operator on such arguments, with attributes of the
   question and derived ones. Their needs may exceed those of the question (sig_fits). */
typedef void SigFound(void *user, Sig);
void each_signature(Search *, const Op *, int nin, const TypeId in[], SigFound *, void *user);
/* Whether blocks of this length are tried: length 2 always, other lengths if some axis of the
   result has them. */
bool has_blocks(const Search *, int size);
/* op_in_question says whether the question has a node of this operator. op_is_near says whether the
   operator is tried at all: the question has it, it works element by element (OP_BROADCASTS), or
   the question is so small that any operator may answer it. */
bool op_in_question(const Search *, const Op *);
bool op_is_near(const Search *, const Op *);
/* Whether the needs of the signature follow from those of the question. */
bool sig_fits(Search *, Sig);

/* ---- goals.c */
void goals_open(Search *);
/* The number of the goal with this value, which is added if new. Returns -1 if there are too
   many. */
int goal_put(Search *, Goal);
/* The value to which the view must be applied to give the goal; NULL if there is none. */
const Lanes *goal_before(Search *, const Goal *, Sig view);
/* Finds terms that equal goals, alone or joined with another term. */
void goals_look(Search *, int depth);

/* ---- blocks.c: adds goals in which the result is divided into blocks along some axes, the
   positions in a block being further channels; after goals_open */
void goals_in_blocks(Search *);

/* ---- found.c */
/* Takes note of a value that equals the goal. It becomes an answer if its price is right, it holds
   at other sizes, and no smaller question has the same answer, namely without the operator with
   which both end. */
void goal_met(Search *, const Goal *, Value, const char *how, int depth);
/* Takes note of results that equal the question's. They become an answer if they hold at other
   sizes and are estimated to cost at most WRITTEN_WORSE times as much. Such an answer stays,
   however cheap later ones are. */
void question_met(Search *, const Value out[], const char *how, int depth);

/* ---- written_out.c: the question's composites and pointwise nodes as other operators */
void terms_written_out(Search *);
/* ---- exchanged.c: the question's operators in another order, as terms that cost no depth */
void terms_exchanged(Search *);
/* ---- holes.c: answers with unknown constants that are solved for */
void holes_look(Search *, int depth);
/* ---- constants.c: terms over constants; the constant that has a given value */
void constants_grow(Search *);
/* A term over constants with this type and these residues, which are the same at all points.
   Returns 0 if none is found. */
Value constant_explain(Search *, TypeId, const Lanes *);
/* ---- rearranged.c: the same, made of elements of one constant of the question, and zeros */
Value constant_rearranged(Search *, TypeId, const Lanes *);
#endif
