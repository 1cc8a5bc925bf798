/* folder.h -- creates a folder for files that live only as long as the run. */
#ifndef ISOMER_FOLDER_H
#define ISOMER_FOLDER_H
#include "ops/base/text.h"

typedef struct RunFolder { /* lies under $TMPDIR; cleanup_run removes it with all that is in it */
    Cleanup cleanup;
    char *path;
} RunFolder;
/* Creates a folder; NULL: the error is set. */
RunFolder *run_folder(Arena *, Error *);
#endif
