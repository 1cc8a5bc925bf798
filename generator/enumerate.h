/* enumerate.h -- all canonical terms of one size, each once, as (key, code). Only representatives
   of classes are extended (Xu et al., "Quartz", PLDI 2022: RepGen): a term whose part is not the
   least of its class is equal to one built from that least member. Where terms share parts this
   holds only if the term does not grow by it: a part that is not the least of its class may stand
   in a term that uses something below it elsewhere too. */
#ifndef ISOMER_ENUMERATE_H
#define ISOMER_ENUMERATE_H
#include "generator/values.h"

typedef struct Record {
    uint64_t key;
    Code code;
} Record;
typedef struct EnumerateStats {
    uint64_t tasks, prefixes, terms, unknown; /* unknown: values that are not known at the points */
} EnumerateStats;
typedef struct Enumerate {
    Values *v;
    int size;
    bool exhaustive;                                     /* extend every term */
    bool (*is_representative)(void *user, const Code *); /* of a smaller size */
    /* Tasks are prefixes of the programs, numbered in order; NULL: all. */
    bool (*take_task)(void *user, uint64_t task);
    void (*found)(void *user, const Record *);
    void *user;
    EnumerateStats stats;
} Enumerate;
void enumerate_run(Enumerate *);
#endif
