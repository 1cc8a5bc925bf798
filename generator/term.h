/* term.h -- small straight-line programs over declared variables, and their codes. A term refers to
   operators of a set by number; here an operator is described by its form alone. Instructions
   stand in post-order from the root, and variables are numbered as they are first used: equal terms
   up to renaming have equal codes once commutative arguments are ordered (term_canonical). All
   of it is in encode.c. */
#ifndef ISOMER_TERM_H
#define ISOMER_TERM_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    TERM_OPS = 5,
    TERM_ARGS = 3,
    TERM_PORTS = 2,
    TERM_VARS = 10,
    TERM_FORMS = 128,
    CODE_BYTES = 16,
    REF_OUT = 0x20,
    REF_NEW = 0x40
};
typedef uint8_t Ref; /* variable v: v; output p of instruction i: REF_OUT + 2 i + p */
typedef struct Instr {
    uint8_t op;
    Ref arg[TERM_ARGS];
} Instr;
typedef struct Term {
    uint8_t n, nvar;
    Ref root;
    uint8_t kind[TERM_VARS]; /* which declared input each variable is */
    Instr in[TERM_OPS];
} Term;
typedef struct OpForm {
    uint8_t narg, nout;
    bool commutes; /* its two arguments may be swapped */
} OpForm;
/* Size and output of the root, then for each instruction its operator and arguments (REF_NEW + kind
   where a variable is first used); zero after that. Codes compare as bytes: smaller terms are
   smaller. */
typedef struct Code {
    uint8_t b[CODE_BYTES];
} Code;

static inline Ref ref_out(int i, int port) { return (Ref)(REF_OUT + 2 * i + port); }
static inline bool ref_is_out(Ref r) { return r >= REF_OUT; }
static inline int ref_instr(Ref r) { return (r - REF_OUT) >> 1; }
static inline int ref_port(Ref r) { return (r - REF_OUT) & 1; }

int code_compare(const Code *, const Code *);
static inline bool code_same(const Code *a, const Code *b) {
    uint64_t x[2], y[2];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    return x[0] == y[0] && x[1] == y[1];
}
uint64_t code_hash(const Code *);
/* The least code over swaps of commutative arguments. named: variables keep their numbers (their
   kinds are then not part of the code). renamed[v] (may be NULL): the new number of variable v,
   TERM_VARS if it does not occur. false: the term has more than CODE_BYTES - 1 symbols. */
bool term_canonical(const OpForm form[], const Term *, bool named, Code *, uint8_t renamed[]);
/* Its own code is the least one; the code is set then. */
bool term_is_canonical(const OpForm form[], const Term *, Code *);
Term term_decode(const OpForm form[], const Code *); /* of a code that is not named */
/* Instructions that instruction i needs, with itself, as bits. */
unsigned term_cone(const OpForm form[], const Term *, int i);

/* Terms built instruction by instruction; equal instructions are one. */
typedef struct TermBuild {
    int n, most;
    Instr in[2 * TERM_OPS];
} TermBuild;
/* false: more than `most` instructions. */
bool build_add(const OpForm form[], TermBuild *, const Instr *, int *i);
/* Adds what t's instructions compute, its variables replaced by vars[]; *root is what its root
   is. */
bool build_term(const OpForm form[], TermBuild *, const Term *t, const Ref vars[], Ref *root);
/* The term at `root`, only what it needs; variables and kinds are those of `like`. false: more than
   TERM_OPS. */
bool build_finish(const OpForm form[], const TermBuild *, Ref root, const Term *like, Term *out);
#endif
