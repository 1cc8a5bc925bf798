/* folder.h -- folders for files that live only as long as the run. */
#ifndef ISOMER_FOLDER_H
#define ISOMER_FOLDER_H
#include "ops/base/arena.h"
#include <limits.h>

typedef struct RunFolder { /* lies under $TMPDIR; cleanup_run removes it with all that is in it */
    Cleanup cleanup;
    char path[PATH_MAX]; /* "" if there is no folder */
} RunFolder;
/* Creates a folder; NULL: the error is set. */
RunFolder *run_folder(Arena *, Error *);
/* The same without an Escape, so that any thread may do it: creates the folder; removes it, if
   there is one. */
bool folder_create(RunFolder *, Error *);
void folder_remove(RunFolder *);
#endif
