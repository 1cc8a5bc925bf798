/* end_to_end.h -- runs two files from beginning to end on the same random inputs, each as run-model
   would: the data itself decides the sizes and branches that depend on it. */
#ifndef ISOMER_WHOLE_H
#define ISOMER_WHOLE_H
#include "graphs/check.h"
#include "graphs/onnx/onnx.h"

typedef struct WholeOptions {
    const char *path[2], *beside; /* the files; where their external data lies */
    InputSize size;               /* for the sizes that they leave open */
    const void *size_user;
    CheckOptions check;
} WholeOptions;
/* How the outputs of b differ from those of a. False: one of them does not run completely on these
   inputs, so there is no verdict. */
bool whole_compare(const WholeOptions *, Difference *);
#endif
