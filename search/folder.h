/* folder.h -- a folder for files that live as long as the run. */
#ifndef ISOMER_FOLDER_H
#define ISOMER_FOLDER_H
#include "search/run.h"

typedef struct RunFolder { /* under $TMPDIR; cleanup_run removes it and its files */
    Cleanup cleanup;
    Run *r;
    char *path;
} RunFolder;
RunFolder *run_folder(Run *); /* NULL: the error is set */
#endif
