/* verify_program.h -- a run of the program verify-rules, and the files that it writes. */
#ifndef ISOMER_VERIFY_PROGRAM_H
#define ISOMER_VERIFY_PROGRAM_H
#include "rules/taso.h"
#include "verifier/verdicts.h"
#include "verifier/verify.h"

typedef struct VerifyArguments {
    const char *out, *json, *directory, *obligations, *explain, *memory_limit, *help;
    int64_t budget, jobs, memory_mib;
    bool no_preconditions, resume, quiet, version;
} VerifyArguments;
/* Its rules and refusals are those up to these numbers, from where the file before ends. */
typedef struct VerifyFile {
    const char *path;
    int rules, refusals;
} VerifyFile;
typedef struct VerifyProgram {
    Arena *arena;
    VerifyArguments o;
    size_t memory; /* bytes of each worker process */
    RuleSet set;
    VerifyResult *result; /* verdict NONE: not reached */
    Text obligations;     /* lines of the index */
    TasoRefusals refused; /* rules of TASO's files that have no counterpart */
    VerifyFile *file;
    int nfile;
    /* By rule: the journal had its verdict, or it is the same as an earlier one but for its
       name. */
    bool *skip;
    int *again; /* by rule: the next one that is the same; 0: none */
    Journal *journal;
    int done, count[4], conditional, invalid;
    bool terminal;
    Error error;
} VerifyProgram;

/* The rules with their verdicts, in their order, to --output; the verdicts to --json. False, here
   and below: the program's error is set. */
bool program_write_rules(VerifyProgram *);
bool program_write_json(VerifyProgram *);
/* A refuted rule's counterexample to a file of its own in --counterexample-dir. */
void program_write_counterexample(VerifyProgram *, const Rule *, const VerifyResult *);
/* --obligations: makes the folder; adds a rule's lines to the index; writes the index. */
bool program_open_obligations(VerifyProgram *);
void program_index_obligations(VerifyProgram *, const Rule *, const char *line);
bool program_write_index(VerifyProgram *);
#endif
