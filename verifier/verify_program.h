/* verify_program.h -- the state of a run of the program verify-rules, and the files that it
   writes. */
#ifndef ISOMER_VERIFY_PROGRAM_H
#define ISOMER_VERIFY_PROGRAM_H
#include "rules/taso.h"
#include "verifier/verdicts.h"
#include "verifier/verify.h"

typedef struct VerifyArguments {
    const char *out, *json, *counterexample_dir, *obligations, *explain, *memory_limit, *help;
    int64_t budget, jobs, memory_mib;
    bool no_preconditions, resume, quiet, version;
} VerifyArguments;
/* A file of rules. The numbers of its rules and refusals start where those of the file before end,
   and are less than these. */
typedef struct VerifyFile {
    const char *path;
    int rules_end, refusals_end;
} VerifyFile;
typedef struct VerifyProgram {
    Arena *arena;
    VerifyArguments o;
    size_t memory; /* in bytes, for each worker process */
    RuleSet set;
    VerifyResult *result; /* by rule; the verdict is NONE if the rule was not reached */
    Text obligations;     /* the lines of the index of obligations */
    TasoRefusals refused; /* rules of TASO's files that cannot be expressed */
    VerifyFile *file;
    int nfile;
    /* Indexed by rule: it need not be verified, since the journal had its verdict or it differs
       from an earlier rule in its name only. */
    bool *skip;
    int *again; /* indexed by rule: the next equal rule; 0 if none */
    Journal *journal;
    /* Numbers of rules: with a verdict, by verdict, proved under added conditions, invalid. */
    int done, count[4], conditional, invalid;
    bool terminal; /* standard error is a terminal, which shows progress */
    Error error;
} VerifyProgram;

/* Write the rules with their verdicts, in their order, to the file of --output, and the verdicts to
   that of --json. Here and below, false means that the program's error is set. */
bool program_write_rules(VerifyProgram *);
bool program_write_json(VerifyProgram *);
/* Writes a refuted rule's counterexample to a file of its own in --counterexample-dir. */
void program_write_counterexample(VerifyProgram *, const Rule *, const VerifyResult *);
/* For --obligations: make the folder, add a rule's lines to the index, write the index. */
bool program_open_obligations(VerifyProgram *);
void program_index_obligations(VerifyProgram *, const Rule *, const char *line);
bool program_write_index(VerifyProgram *);
#endif
