/* end_to_end.h -- two files run from beginning to end on the same drawn inputs, each as run-model
   runs it: sizes and branches that depend on data are decided by the data itself. */
#ifndef ISOMER_WHOLE_H
#define ISOMER_WHOLE_H
#include "graphs/check.h"
#include "graphs/onnx/onnx.h"

typedef struct WholeOptions {
    const char *path[2], *beside; /* the files; where their external data lies */
    InputSize size;               /* of what they leave open */
    const void *size_user;
    CheckOptions check;
} WholeOptions;
/* How b differs from a in their outputs. False: one of them does not run wholly on these inputs; no
   verdict then. */
bool whole_compare(const WholeOptions *, Difference *);
#endif
