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
typedef enum EndToEnd {
    END_TO_END_COMPARED,
    END_TO_END_DIFFERENT,      /* an output has another number of elements, or another type */
    END_TO_END_ORIGINAL_FAILS, /* the first file does not run completely on these inputs */
    END_TO_END_RESULT_FAILS,   /* the first file does, but the second does not */
    END_TO_END_UNDECIDED       /* roundings decide what runs, memory ran out, or a signal came */
} EndToEnd;
/* Sets *d to the differences between the outputs of both files. If they could not be compared, the
   error says why. */
EndToEnd end_to_end_compare(const EndToEndOptions *, Difference *, Error *);
#endif
