/* file_use.h -- the files that a command line names, told apart before any of them is written. */
#ifndef ISOMER_FILE_USE_H
#define ISOMER_FILE_USE_H
#include "arena.h"

typedef enum FileUseKind { FILE_READ, FILE_ADDED_TO, FILE_WRITTEN } FileUseKind;
typedef struct FileUse {
    const char *name; /* of the option or operand that gives it */
    const char *path; /* NULL: it is not given */
    FileUseKind kind;
} FileUse;
/* E_USAGE: a file that is written is another one of these, too, by whatever path, and what the
   other holds would be lost. Devices may be given more than once. */
bool files_apart(int n, const FileUse *, Error *);
/* The same for `use` together with these operands, FILE.., which are read. */
bool operands_apart(Arena *, int n, const char *const path[], int nuse, const FileUse *use,
                    Error *);
#endif
