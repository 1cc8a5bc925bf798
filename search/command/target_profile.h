/* target_profile.h -- where ONNX Runtime as the target spends the time of the original, by node of
   the file, and how far that is from what the machine can do. */
#ifndef ISOMER_TARGET_PROFILE_H
#define ISOMER_TARGET_PROFILE_H
#include "search/command/places.h"

typedef struct Profile {
    bool known;          /* the target provided a profile; if not, no other field but n counts */
    double flops, bytes; /* rates that the machine reaches: operations a second, bytes a second */
    double total;        /* seconds of all kernels */
    /* Of these, seconds of operators that the target added and that belong to no node. */
    double other;
    int n;           /* nodes of the file */
    double *seconds; /* by node of the file; 0: it is fused into another node or never runs */
} Profile;
/* Profiles the file at `path` for this target by the helper program. r->profile receives what it
   prints, or stays NULL if the target is another one or provides no profile. Returns false with the
   error set on failure. */
bool profile_ask(Run *, const char *path, const char *folder);
/* Reads the profile from the cost file, where `device` names the target, or else makes it by
   running the helper on the file at `path`, which has the nodes of the source; the helper's files
   lie in `folder`. A frozen run only reads. If the helper fails, there is no profile. The profile
   lives in the run's arena. Returns false with the error set on failure. */
bool profile_target(Run *, const char *path, const char *folder, const char *device, Profile *);
/* Scales the profile down to `whole` seconds if its kernels took more than the whole model does.
   This happens on a busy machine, because the target's profile counts elapsed time. */
void profile_fit(Profile *, double whole);
/* Returns the seconds of these nodes of the file, with an even share of what the target added. */
double profile_nodes(const Profile *, int n, const int node[]);
/* Writes lines for people: the share of the machine's roofline that the original reaches, and the
   nodes that lose most, with a mark at those that no rule rewrites. places NULL: not known, so none
   is marked. */
void profile_headroom(const Run *, const Profile *, const Places *, Text *);
#endif
