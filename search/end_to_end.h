/* end_to_end.h -- runs two files from beginning to end on the same inputs, as run-model would: the
   data decides all sizes and branches that depend on it. */
#ifndef ISOMER_END_TO_END_H
#define ISOMER_END_TO_END_H
#include "graphs/check.h"
#include "graphs/onnx/onnx.h"

typedef struct EndToEndOptions {
    const char *path[2], /* the two files */
        *base_path;      /* the file whose folder has their external data */
    InputSize size;      /* gives the sizes that the files leave open */
    const void *size_user;
    CheckOptions check;
} EndToEndOptions;
/* Sets *d to the differences between the outputs of both files. Returns false with E_CHECK if an
   output does not have the same type and number of elements in both, and without an error if one of
   them does not run completely on these inputs, so that there is no verdict. */
bool end_to_end_compare(const EndToEndOptions *, Difference *, Error *);
#endif
