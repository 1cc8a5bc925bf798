/* model_candidates.h -- the state of a search with a measuring command, and its candidates: each is
   a way to rewrite the whole model, with its file and its time. */
#ifndef ISOMER_MODEL_CANDIDATES_H
#define ISOMER_MODEL_CANDIDATES_H
#include "ops/base/file.h"
#include "ops/base/folder.h"
#include "search/command/price.h"
#include "search/command/target_profile.h"
#include "search/command/target.h"

typedef struct ModelCandidate {
    /* By rule: its role, the same in the whole model; NULL: roles depend on the place. */
    const uint8_t *everywhere;
    const uint8_t **at; /* by node of the file: the roles of all rules there, or NULL */
    int nset;           /* how many sets there were when the candidate was made */
    /* By set: whether the candidate may use its places; NULL: `everywhere` is used. */
    const bool *sets;
    int nplace, *place; /* the places it rewrites, best first */
    int applied;        /* applications of rules */
    const bool *fired;  /* by rule of the library: whether it was applied */
    char digest[33];    /* of the bytes of its file */
    char *path;         /* path of its file; NULL: it was not written */
    double ratio;       /* its time / the original's; < 0: not known, or it failed */
    bool confirmed;     /* the ratio is that of a later, more careful timing (confirm.h) */
} ModelCandidate;

typedef struct TargetProcess {
    const char *command;
    Target *target; /* NULL: the process is not running */
    Cleanup cleanup;
} TargetProcess;

typedef struct CommandSearch {
    Run *r;
    /* Processes that time whole models, parts, and the fastest candidates once more. */
    TargetProcess whole, part, confirming;
    const char *device; /* the target's name in the cost file */
    int threads;        /* threads of the target */
    bool reads_inputs;  /* the target reads our input data from files in the folder */
    /* Candidate 0 would replace candidate 1, the user's file, and not the reverse. */
    bool original_replaces;
    RunFolder *folder;
    /* run_seconds at which the search ends, early enough to confirm its result. */
    double search_until;
    double confirm_until; /* run_seconds at which confirming ends as well */
    Origins origins;
    Places places;
    Profile profile; /* the target's profile of the original */
    Pricing prices;
    int nranked, *ranked; /* the places that gain, best first */
    const double *gain;   /* by place: the seconds that it promises to gain */
    double promised;      /* seconds that all places promise together */
    int ncandidate, candidate_room;
    ModelCandidate *candidate; /* the first one is the original */
    /* Growth of the last candidate's file, as a multiple of the growth that is allowed. */
    double growth_share;
    double file_seconds; /* seconds for each file of the last batch of whole models */
    /* Seconds of the original when it was first measured, at the first set of sizes; 0: it was
       not. */
    double baseline;
} CommandSearch;

/* Applies the candidate to the model; the derivation lives in the arena. Like all functions below
   that return a bool, returns false with the run's error set on failure. */
bool candidate_apply(CommandSearch *, const ModelCandidate *, Arena *, Derivation *);
/* Derives a candidate and writes its file; all else made on the way is freed. *index receives its
   number, that of an earlier candidate with the same bytes, or -1 if it is not usable;
   s->growth_share is above 1 if its file would grow too much. */
bool candidate_make(CommandSearch *, ModelCandidate, int *index);
/* Writes the original and adds it as candidate 0. */
bool candidate_original(CommandSearch *);
/* Writes this file and adds it as a candidate that uses no rules. */
bool candidate_file(CommandSearch *, const Pieces *);
/* Adds the user's file as a candidate, for a source that was preprocessed. The file is not
   copied. */
bool candidate_input(CommandSearch *);
/* Times candidate 0 alone: it must run, and the gains of parts are judged relative to its time. */
bool candidates_start(CommandSearch *);
/* Times those candidates of the list whose time is not known, in one batch with the original. The
   list does not contain the original, nor a candidate twice. */
bool candidates_time(CommandSearch *, int n, const int list[]);
/* Times all candidates of such a list anew. ratio[] receives, by candidate of the list, its time /
   the original's in this batch, <= 0 if it failed; *control receives the same ratio of a copy of
   the original, which is the last file of the batch, or < 0 if there is none. The ratios of the
   candidates do not change. */
bool candidates_time_anew(CommandSearch *, int n, const int list[], double ratio[],
                          double *control);
/* Stores a candidate's ratio in the cost file as its confirmed one, in place of an earlier one; if
   it is <= 0, none is stored. */
bool candidate_store_confirmed(CommandSearch *, int candidate);
/* For frozen runs: sets a candidate's ratio to the confirmed one from the cost file, or to < 0 if
   the file lacks it. If the file lacks the original's time as well, the ratio is left as it is. */
void candidate_look_up_confirmed(CommandSearch *, int candidate);
/* Implements PartTimer (price.h) for a CommandSearch. */
bool candidates_time_part(void *search, int n, const char *const path[], double seconds[]);
#endif
