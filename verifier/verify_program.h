/* verify_program.h -- a run of the program verify-rules, and the files that it writes. */
#ifndef ISOMER_VERIFY_PROGRAM_H
#define ISOMER_VERIFY_PROGRAM_H
#include "rules/taso.h"
#include "verifier/verdicts.h"
#include "verifier/verify.h"

typedef struct Options {
    const char *out, *json, *directory, *obligations, *explain, *memory_limit, *help;
    int64_t budget, jobs, memory_mib;
    bool no_preconditions, resume, quiet, version;
} Options;
/* Its rules and refusals are those up to these numbers, from where the file before ends. */
typedef struct File {
    const char *path;
    int rules, refusals;
} File;
typedef struct Program {
    Arena *arena;
    Options o;
    size_t memory; /* bytes of each worker process */
    RuleSet set;
    VerifyResult *result; /* verdict NONE: not reached */
    Text obligations;     /* lines of the index */
    TasoRefusals refused; /* rules of TASO's files that have no counterpart */
    File *file;
    int nfile;
    /* By rule: the journal had its verdict, or it is the same as an earlier one but for its
       name. */
    bool *skip;
    int *again; /* by rule: the next one that is the same; 0: none */
    Journal *journal;
    int done, count[4], conditional, invalid;
    bool terminal;
    Error error;
} Program;

/* The rules with their verdicts, in their order, to --output; the verdicts to --json. False, here
   and below: the program's error is set. */
bool program_write_rules(Program *);
bool program_write_json(Program *);
/* A refuted rule's counterexample to a file of its own in --counterexample-dir. */
void program_write_counterexample(Program *, const Rule *, const VerifyResult *);
/* --obligations: makes the folder; adds a rule's lines to the index; writes the index. */
bool program_open_obligations(Program *);
void program_index_obligations(Program *, const Rule *, const char *line);
bool program_write_index(Program *);
#endif
