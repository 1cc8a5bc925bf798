/* model_candidates.h -- the search on a target that times files: what its parts share, and its
   candidates, each a way to rewrite the whole model. */
#ifndef ISOMER_MODEL_CANDIDATES_H
#define ISOMER_MODEL_CANDIDATES_H
#include "search/folder.h"
#include "search/price.h"
#include "search/target_profile.h"
#include "search/target.h"

typedef struct ModelCandidate {
    const uint8_t *everywhere; /* roles by rule, the same in the whole model; NULL: by place */
    const uint8_t **at;        /* by node of the file: the roles by rule there, or NULL */
    int nset;                  /* the sets that there were when it was made */
    const bool *sets;          /* by set: its places may be among them; NULL: not by place */
    int nplace, *place;        /* the places, best first */
    int applied;
    const bool *fired; /* by rule of the library */
    char digest[33];
    char *path;   /* of the file; NULL: not kept */
    double ratio; /* to the original; < 0: not known, or failed */
} ModelCandidate;

typedef struct TargetProcess {
    const char *command;
    Target *target; /* NULL: not started */
    Cleanup cleanup;
} TargetProcess;

typedef struct CommandSearch {
    Run *r;
    TargetProcess whole, part, confirming; /* time whole models, parts, the fastest once more */
    const char *device;                    /* the target's name in the cost file */
    int threads;                           /* of the target */
    bool reads_inputs; /* the target is given our data, as files in the folder */
    RunFolder *folder;
    double search_until; /* run_seconds at which the search ends, so that time is left to confirm */
    double confirm_until; /* run_seconds at which confirming ends, too */
    Origins origins;
    Places places;
    Profile profile; /* of the original */
    Pricing prices;
    int nranked, *ranked; /* places that gain, best first */
    const double *gain;   /* by place: the seconds that it promises */
    double promised;      /* seconds that they gain together */
    int n, room;
    ModelCandidate *v;   /* v[0] is the original */
    double growth;       /* of the file of the last candidate made: a share of what is allowed */
    double file_seconds; /* that a file of the last batch of whole models took the target */
    double baseline;     /* seconds of the original, as first measured; 0: not yet */
} CommandSearch;

/* The candidate applied to the model, in the arena. False, here and below: the run's error is
   set. */
bool candidate_apply(CommandSearch *, const ModelCandidate *, Arena *, Derivation *);
/* Makes a candidate and writes its file; everything made on the way is freed. *index: where it is,
   an earlier one with the same bytes, -1: not usable; if its file grows too much, s->growth is
   above 1. */
bool candidate_make(CommandSearch *, ModelCandidate, int *index);
/* Writes the original as candidate 0. */
bool candidate_original(CommandSearch *);
/* Writes this file as a candidate, by no rules. */
bool candidate_file(CommandSearch *, const Pieces *);
/* The user's file as a candidate, where the source was made of it: it is read where it is. */
bool candidate_input(CommandSearch *);
/* Times candidate 0 alone: it must run, and gains are compared with its time. */
bool candidates_start(CommandSearch *);
/* Times those of the candidates of `list` whose time is not known, in one batch with the
   original. */
bool candidates_time(CommandSearch *, int n, const int list[]);
/* Times all of them anew; by candidate of the list: its ratio to the original in this batch, <= 0
   where it failed. *control: that of a copy of the original, the last file of the batch. Nothing of
   it is kept. */
bool candidates_time_anew(CommandSearch *, int n, const int list[], double ratio[],
                          double *control);
/* Keeps a candidate's ratio as its confirmed one, in place of an earlier one; < 0: it has none. */
bool candidate_store_confirmed(CommandSearch *, int candidate);
/* For frozen runs: its ratio becomes the confirmed one, < 0 if that is missing; where nothing was
   timed, it stays what it is. */
void candidate_look_up_confirmed(CommandSearch *, int candidate);
/* A PartTimer (price.h) of a CommandSearch. */
bool candidates_time_part(void *search, int n, const char *const path[], double seconds[]);
#endif
