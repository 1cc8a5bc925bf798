/* folder.h -- a folder for files that live as long as the run. */
#ifndef ISOMER_FOLDER_H
#define ISOMER_FOLDER_H
#include "graphs/onnx/onnx.h"

typedef struct RunFolder { /* under $TMPDIR; cleanup_run removes it and its files */
    Cleanup cleanup;
    const Model *model; /* whose external data files lie there */
    char *path;
} RunFolder;
RunFolder *run_folder(const Model *, Arena *, Error *); /* NULL: the error is set */
#endif
