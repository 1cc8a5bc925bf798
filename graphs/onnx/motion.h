/* motion.h -- loop-invariant code motion: what invariants.c finds in the body of a Loop or Scan,
   and motion.c writes. */
#ifndef ISOMER_ONNX_MOTION_H
#define ISOMER_ONNX_MOTION_H
#include "graphs/constants.h"
#include "graphs/onnx/import/control_body.h"
#include "ops/core/facts.h"

typedef struct MotionLimits { /* what is known of the graph around the body */
    Facts *facts;
    Sizes sizes;
    Constants constants;
} MotionLimits;

typedef struct MotionNode {
    bool constant; /* made of what is a constant in the body, too */
    bool heavy;    /* worth moving by itself */
    bool taken;    /* it is computed before the node: heavy, or a heavy one needs it */
    bool stays;    /* it is computed in the body: it was not taken, or is light and read there */
} MotionNode;
typedef struct MotionName { /* of a name that the body defines */
    bool local, output;     /* the body defines it; returns it */
    bool constant;
    bool taken, read;    /* what is taken reads it; what stays reads it, or it is returned */
    Value value;         /* what it is in every iteration; 0: it may change */
    const char *outside; /* the name of that outside of the body; NULL: it has none */
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

/* invariants.c: false: nothing is worth moving. In the World's arena. */
bool motion_find(Model *, const MotionLimits *, int node, Motion *);
#endif
