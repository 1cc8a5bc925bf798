/* enumerate.h -- enumerates all canonical terms of one size, each once, with their keys.

   Only representatives of classes are extended (Xu et al., "Quartz", PLDI 2022: RepGen): a term
   with a part that is not the least of its class equals the term built from that least member
   instead. Where terms share parts, this argument holds only if the replacement does not make the
   term larger. A part that is not the least of its class is therefore allowed where the rest of the
   term also uses something below it. */
#ifndef ISOMER_ENUMERATE_H
#define ISOMER_ENUMERATE_H
#include "generator/values.h"

/* A term and its key. */
typedef struct Record {
    uint64_t key;
    Code code;
} Record;
typedef struct EnumerateStats {
    uint64_t tasks, prefixes, terms, no_value; /* no_value: terms without known values */
} EnumerateStats;
typedef struct Enumerate {
    Values *v;
    int size;
    bool exhaustive;                                     /* extends every term */
    bool (*is_representative)(void *user, const Code *); /* asked about codes of smaller size */
    /* A task is a prefix of the enumerated programs; tasks are numbered in order. Says whether this
       run enumerates the task. NULL: all tasks. */
    bool (*take_task)(void *user, uint64_t task);
    void (*found)(void *user, const Record *);
    void *user;
    EnumerateStats stats;
} Enumerate;
/* Calls found() for each canonical term of `size` operators, and sets stats. */
void enumerate_run(Enumerate *);
#endif
