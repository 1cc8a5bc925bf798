/* file_use.h -- checks the files that a command line names before work begins that may take hours:
   no file may overwrite another one, and the files to be written must be writable. */
#ifndef ISOMER_FILE_USE_H
#define ISOMER_FILE_USE_H
#include "arena.h"
#include "options.h"

/* How a file is used. OPERAND: read, and the RESULT may replace it. READ: read. ADDED_TO: read and
   extended, by one option only; whoever opens it finds out whether it can be written. WRITTEN:
   written, and must be different from all other files. RESULT: written, and may replace the OPERAND
   only. */
typedef enum FileUseKind {
    FILE_OPERAND,
    FILE_READ,
    FILE_ADDED_TO,
    FILE_WRITTEN,
    FILE_RESULT
} FileUseKind;
typedef struct FileUse {
    const char *name; /* the option or operand that names the file */
    const char *path;
    FileUseKind kind;
} FileUse;
typedef struct FileUses {
    Arena *arena;
    int n, room;
    FileUse *v;
} FileUses;
/* Adds a file, unless the path is NULL. Names and paths are not copied. */
void file_use_add(FileUses *, const char *name, const char *path, FileUseKind);
void file_use_add_list(FileUses *, const char *name, StringList paths, FileUseKind);
/* Whether both paths name the same regular file, which may not exist yet. */
bool file_same(const char *, const char *);
/* Returns false with E_USAGE if writing one of the files would destroy another, even if their paths
   are spelled differently. Devices may be given more than once. */
bool files_apart(const FileUses *, Error *);
/* Returns false with E_USAGE if this file, which the command line does not name, is one of those
   that are written or added to. what: what it is, as the end of a sentence ("has weights of M"). */
bool file_spared(const FileUses *, const char *path, const char *what, Error *);
/* Like files_apart; in addition returns false with E_ENVIRONMENT if a file that is to be written
   cannot be (file_writable). */
bool files_usable(const FileUses *, Error *);
#endif
