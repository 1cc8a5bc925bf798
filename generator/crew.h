/* crew.h -- threads that share the numbered parts of a task. Each has its own World, Space,
   evaluators of both stages, and Lift, so that threads share nothing that they write. Results must
   not depend on which thread does which part. */
#ifndef ISOMER_CREW_H
#define ISOMER_CREW_H
#include "generator/lift.h"
#include <pthread.h>

typedef struct Crew Crew;
typedef struct CrewThread {
    Crew *crew;
    Escape escape; /* where errors of its arenas go; valid while it works */
    World *w;
    Space *s;
    Values *first, *second; /* evaluators at the points of the first and second stage */
    Lift *lift;
    Arena *batch; /* for its results, until crew_rest */
    pthread_t id;
    bool ok;
} CrewThread;
typedef void (*CrewWork)(CrewThread *, void *user, uint64_t part);
struct Crew {
    int n;
    CrewThread *thread;
    /* The current task. */
    CrewWork work;
    void *user;
    const volatile int *cancel; /* see GenerateOptions */
    uint64_t parts, grain;
    uint64_t next; /* the next part to be taken; accessed atomically */
};
/* Creates n threads over the same set as *like. Returns NULL if memory runs out or the set cannot
   be read. */
Crew *crew_new(Arena *, const Space *like, uint64_t seed, int n, const volatile int *cancel,
               Error *);
void crew_free(Crew *); /* NULL is allowed */
/* Calls work(thread, user, part) for each part below n. A thread takes `grain` parts at a time; the
   calling thread is the first of the crew. Returns false if a thread raised an error, as each does
   before its next part if the run is to end. */
bool crew_run(Crew *, uint64_t n, uint64_t grain, CrewWork work, void *user, Error *);
void crew_rest(Crew *); /* releases the results of all threads */
#endif
