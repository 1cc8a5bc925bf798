/* crew.h -- threads that share the parts of a task: each hand has a World, a Space, points of both
   stages and a Lift of its own, so that nothing is written in common. Which hand does which part
   must not show in what comes out. */
#ifndef ISOMER_CREW_H
#define ISOMER_CREW_H
#include "generator/lift.h"
#include <pthread.h>

typedef struct Crew Crew;
typedef struct Hand {
    Crew *crew;
    Escape escape; /* of its arenas: good while it works */
    World *w;
    Space *s;
    Values *first, *second; /* points of the first and second stage */
    Lift *lift;
    Arena *batch; /* what it hands in: until crew_rest */
    pthread_t thread;
    bool ok;
} Hand;
typedef void (*CrewWork)(Hand *, void *user, uint64_t part);
struct Crew {
    int n;
    Hand *hand;
    /* Of the current task. */
    CrewWork work;
    void *user;
    uint64_t parts, grain;
    uint64_t next; /* atomic */
};
/* Hands over the set as in *like. NULL: out of memory, or the set cannot be read. */
Crew *crew_new(Arena *, const Space *like, uint64_t seed, int n, Error *);
void crew_free(Crew *); /* NULL is allowed */
/* work(hand, user, part) for each part below n, some `grain` of them at a time by one hand; the
   calling thread is the first hand. false: one of them raised an error. */
bool crew_run(Crew *, uint64_t n, uint64_t grain, CrewWork work, void *user, Error *);
void crew_rest(Crew *); /* lets go of all batches */
#endif
