/* term.h -- small straight-line programs over declared variables, and their codes.

   A term names the operators of a set by number; this file knows of an operator only its form, that
   is its numbers of arguments and results and whether it commutes. Instructions stand in post-order
   from the root, and variables are numbered in order of first use. Therefore two terms that are
   equal up to renaming have the same code once commutative arguments are in canonical order
   (term_canonical). */
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
typedef uint8_t Ref; /* variable v is v; output p of instruction i is REF_OUT + 2 i + p */
typedef struct Instr {
    uint8_t op;
    Ref arg[TERM_ARGS];
} Instr;
typedef struct Term {
    uint8_t n, nvar; /* numbers of instructions and variables */
    Ref root;
    uint8_t kind[TERM_VARS]; /* the declared input (Kind) whose type each variable has */
    Instr in[TERM_OPS];
} Term;
typedef struct OpForm {
    uint8_t narg, nout;
    bool commutes; /* the two arguments may be swapped */
} OpForm;
/* The first byte holds the number of instructions and the output that is the root. For each
   instruction, its operator and its arguments follow; a variable is written as REF_NEW + kind where
   it is first used. The remaining bytes are 0. Codes are compared as bytes, so terms with fewer
   instructions come first. */
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
/* Sets the code to the least one over all swaps of commutative arguments. With `named`, variables
   keep their numbers, and their kinds are not part of the code. renamed[v] (renamed may be NULL)
   becomes the new number of variable v, or TERM_VARS if v does not occur. Returns false if the term
   has more than CODE_BYTES - 1 symbols. */
bool term_canonical(const OpForm form[], const Term *, bool named, Code *, uint8_t renamed[]);
/* Whether the term's instructions and variables already have the order of its canonical code. The
   code is set if so. */
bool term_is_canonical(const OpForm form[], const Term *, Code *);
/* The term of a code that was made without `named`. */
Term term_decode(const OpForm form[], const Code *);
/* The instructions that instruction i depends on, including i itself, as a bit mask. */
unsigned term_cone(const OpForm form[], const Term *, int i);

/* A term under construction, which may have several results. An instruction that is already there
   is not added again. */
typedef struct TermBuild {
    int n, most;
    Instr in[2 * TERM_OPS];
} TermBuild;
/* Adds an instruction unless an equal one is there; *i becomes its number. Returns false if that
   would make more than `most` instructions. */
bool build_add(const OpForm form[], TermBuild *, const Instr *, int *i);
/* Adds the instructions of t with its variables replaced by vars[]; *root becomes the value of t's
   root. Returns false if there are too many instructions. */
bool build_term(const OpForm form[], TermBuild *, const Term *t, const Ref vars[], Ref *root);
/* Extracts the term with result `root`, without the instructions that it does not need. Its
   variables and their kinds are those of `like`. Returns false if it has more than TERM_OPS
   instructions. */
bool build_finish(const OpForm form[], const TermBuild *, Ref root, const Term *like, Term *out);
#endif
