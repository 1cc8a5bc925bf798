/* file_use.h -- the files that a command line names, asked about before the work, which may take
   hours: that no file is lost, and that what is to be written can be. */
#ifndef ISOMER_FILE_USE_H
#define ISOMER_FILE_USE_H
#include "arena.h"
#include "options.h"

/* OPERAND: is read, and the RESULT may take its place. RESULT: is written; so is WRITTEN, which may
   take the place of nothing that is named. */
typedef enum FileUseKind {
    FILE_OPERAND,
    FILE_READ,
    FILE_ADDED_TO,
    FILE_WRITTEN,
    FILE_RESULT
} FileUseKind;
typedef struct FileUse {
    const char *name; /* of the option or operand that gives it */
    const char *path;
    FileUseKind kind;
} FileUse;
typedef struct FileUses {
    Arena *arena;
    int n, room;
    FileUse *v;
} FileUses;
/* Nothing if the path is NULL. Names and paths are not copied. */
void file_use_add(FileUses *, const char *name, const char *path, FileUseKind);
void file_use_add_list(FileUses *, const char *name, StringList paths, FileUseKind);
/* E_USAGE: a file that is written is another one of these, by whatever path, and what the other
   holds would be lost. Devices may be given more than once. */
bool files_apart(const FileUses *, Error *);
/* files_apart, and E_ENVIRONMENT: a file that is to be written cannot be (file_writable). */
bool files_usable(const FileUses *, Error *);
#endif
