/* target_profile.h -- where ONNX Runtime as the target spends the time of the original, by node of
   the file, and how far that is from what the machine can do. */
#ifndef ISOMER_TARGET_PROFILE_H
#define ISOMER_TARGET_PROFILE_H
#include "search/places.h"

typedef struct Profile {
    bool known;          /* false: the target gave none, and all else is 0 */
    double flops, bytes; /* a second: what the machine reaches */
    double total;        /* seconds of all kernels */
    double other;        /* of them, of operators that the target added and named after no node */
    int n;
    double *seconds; /* by node of the file; 0: it is fused into another, or never runs */
} Profile;
/* Has the helper profile the file at `path` for this target: r->profile is what it prints, NULL if
   the target is another one or provides none. False: the error is set. */
bool profile_ask(Run *, const char *path, const char *folder);
/* From the cost file, where `device` names the target; else by running the helper on the file at
   `path`, which has the nodes of the source, with files in `folder` during the run. A frozen run
   only reads, and where the helper fails there is no profile. False: the error is set. In the
   arena. */
bool profile_target(Run *, const char *path, const char *folder, const char *device, Profile *);
/* The same shares of less time where the kernels took more than the whole does, as on a busy
   machine: the target's profile counts the time that passes. */
void profile_fit(Profile *, double whole);
/* Seconds of these nodes of the file, with an even share of what the target added. */
double profile_nodes(const Profile *, int n, const int node[]);
/* Lines for people: the share of the machine's roofline that the original reaches, and the nodes
   that lose most, with those that no rule rewrites marked. places NULL: that is not known. */
void profile_headroom(const Run *, const Profile *, const Places *, Text *);
#endif
