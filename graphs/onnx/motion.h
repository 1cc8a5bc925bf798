/* motion.h -- loop-invariant code motion out of the bodies of Loop and Scan: invariants.c finds the
   nodes, motion.c writes the file. */
#ifndef ISOMER_ONNX_MOTION_H
#define ISOMER_ONNX_MOTION_H
#include "graphs/constants.h"
#include "graphs/onnx/import/control_body.h"
#include "ops/core/facts.h"

typedef struct MotionLimits { /* what is known about the graph that surrounds the loop */
    Facts *facts;
    Sizes sizes;
    Constants constants;
} MotionLimits;

typedef struct MotionNode {
    bool constant; /* its results depend only on constants, inside the body too */
    bool heavy;    /* it is worth moving for its own sake */
    bool taken;    /* it is computed in front of the loop: it is heavy, or a heavy node needs it */
    /* It is computed in the body: it was not taken, or it is light and the body reads it. */
    bool stays;
} MotionNode;
typedef struct MotionName { /* What is known about a name that occurs in the body. */
    bool local, output;     /* the body defines it; the body returns it */
    bool constant;
    /* A taken node reads it; a node that stays reads it, or the body returns it. */
    bool taken, read;
    Value value;         /* its value, the same in every iteration; 0: it may change */
    const char *outside; /* the name of this value outside of the body; NULL: none */
} MotionName;
typedef struct Motion {
    Model *m;
    const OnnxNode *n; /* the Loop or Scan */
    Body body;
    MotionNode *node; /* by node of the body */
    uint32_t nname;
    MotionName *name; /* by NameId */
    int nheavy;
} Motion;

/* invariants.c: finds what to move out of the body of this node, in the World's arena. Returns
   false if nothing is worth moving. */
bool motion_find(Model *, const MotionLimits *, int node, Motion *);
#endif
