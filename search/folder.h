/* folder.h -- creates a folder for files that live only as long as the run. */
#ifndef ISOMER_FOLDER_H
#define ISOMER_FOLDER_H
#include "graphs/onnx/onnx.h"

typedef struct RunFolder { /* lies under $TMPDIR; cleanup_run removes it and its files */
    Cleanup cleanup;
    const Model *model; /* the model whose external data files may be copied into the folder */
    char *path;
} RunFolder;
/* Creates a folder; NULL: the error is set. */
RunFolder *run_folder(const Model *, Arena *, Error *);
#endif
