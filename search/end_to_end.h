/* end_to_end.h -- runs two files from beginning to end on the same random inputs, each as run-model
   would: the data itself decides the sizes and branches that depend on it. */
#ifndef ISOMER_END_TO_END_H
#define ISOMER_END_TO_END_H
#include "graphs/check.h"
#include "graphs/onnx/onnx.h"

typedef struct EndToEndOptions {
    const char *path[2],
        *base_path; /* the two files; the file whose folder has their external data */
    InputSize size; /* for the sizes that they leave open */
    const void *size_user;
    CheckOptions check;
} EndToEndOptions;
/* How the outputs of the second file differ from those of the first. False: one of them does not
   run completely on these inputs, so there is no verdict. */
bool end_to_end_compare(const EndToEndOptions *, Difference *);
#endif
