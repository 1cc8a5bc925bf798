/* prooflog.h -- a derivation as text that anyone can check: which rule was applied where, step by
   step.

   Values are numbered in the post-order of the graph before a round, which does not depend on what
   else the World holds. The applications of one round refer to the same graph and are made
   together.

     isomer-proof 2
     model 0123..            digest of the model's bytes, after calls of functions and Ifs were
                             replaced by their nodes and sizes were fixed
     rules 4567..            digest of the rules that are used
     growth 1048576          bytes that folding constants may add
     seed 7                  of the data on which the result was checked
     fold-limit 4096         --fold-limit; if absent: no limit
     allow "drops+defines"   --allow; if absent: no classes
     domain "com.microsoft"  a domain whose operators the result may use; a line for each
     dim "seq=128"           --dim and --input-shape of --fix-dims, a line for each; if absent, no
     input-shape "x:1,128"   sizes were fixed
     input-returned          the result is the file that was read, with its functions and Ifs
     round
     apply conv-batchnorm 89ab.. lengths 2 2 roots 12 inputs 3 4 7 8 9 10
     round
     ..
     end */
#ifndef ISOMER_PROOFLOG_H
#define ISOMER_PROOFLOG_H
#include "ops/base/options.h"
#include "rules/match.h"

/* Post-order numbers of a graph's values, from 1. */
typedef struct Numbering {
    uint32_t least, n; /* values least .. least + n - 1 have an entry */
    uint32_t *number;  /* 0: not in the graph */
    uint32_t count;
    Value *value; /* by number; value[0] is 0 */
} Numbering;
Numbering numbering_new(World *, Arena *, const Graph *);
uint32_t numbering_of(const Numbering *, Value);    /* 0: not in the graph */
Value numbering_value(const Numbering *, uint32_t); /* 0: no such number */

typedef struct LogStep {
    const char *name, *id;
    int nlength, nroot, ninput;
    int length[RULE_BLOCKS];
    const uint32_t *root, *input;
} LogStep;
typedef struct LogRound {
    int n, room;
    LogStep *v;
} LogRound;
typedef struct ProofLog {
    char model[33], rules[33];
    int64_t growth;
    int64_t seed;       /* >= 0 */
    int64_t fold_limit; /* < 0: none */
    const char *allow;  /* NULL: nothing */
    StringList domain, dim, input_shape;
    bool input_returned;
    int n, room;
    LogRound *v;
} ProofLog;
void prooflog_print(const ProofLog *, Text *);
/* Parses a proof log. Fails with E_INVALID, line and column, also for logs of version 1, which lack
   options that a replay needs, and for those of later versions. */
bool prooflog_parse(Arena *, const char *file, const char *text, size_t n, ProofLog *, Error *);
/* The digest of the rules that a log names, as they are in `set`: identifiers and verdicts. Fails
   with E_CHECK if a rule is missing or has another identifier. */
bool prooflog_rules(Arena *, const ProofLog *, const RuleSet *set, char out[33], Error *);
LogRound *prooflog_round(Arena *, ProofLog *); /* appends an empty round */
LogStep *prooflog_step(Arena *, LogRound *);   /* appends a step to it */
#endif
