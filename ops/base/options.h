/* options.h -- a program's options as one table, from which parsing and --help are made. */
#ifndef ISOMER_OPTIONS_H
#define ISOMER_OPTIONS_H
#include "text.h"
#include <stddef.h>

typedef enum OptionKind {
    OPT_FLAG,
    OPT_INT,
    OPT_REAL,
    OPT_TEXT,
    OPT_WORD, /* a text: one of the words of `value`, "one|two" */
    OPT_LIST,
    OPT_COUNT,
    OPT_HEAD
} OptionKind;
/* A program's options are a struct. `at` is where the option's value lies in it (offsetof): a bool,
   int64_t, double, const char *, StringList or int (OPT_COUNT: how often given); OPT_HEAD is a
   heading of the help. A flag or an integer may also be stored as an int, as a public struct has
   it: `is_int`. */
typedef struct StringList {
    int n;
    const char **v;
} StringList;
typedef struct OptionDef {
    const char *name; /* "steps", given as --steps N or --steps=N */
    char letter;      /* 'q' for -q; 0: none */
    OptionKind kind;
    size_t at;
    bool is_int;
    const char *value;  /* name of its value in the help; NULL for flags */
    const char *help;   /* sentences; NULL: an earlier option, still accepted, not shown */
    double least, most; /* range of numbers; both 0: any */
    /* The value may be left out (--check, --check=5) and is then this; NULL: needed. */
    const char *when_bare;
    /* What it is when it is not given; 0, NULL, false or empty by default. */
    double default_value;
    const char *default_text;
    const char *old_name; /* an earlier name, still accepted, not shown; NULL: none */
} OptionDef;
/* A table ends with {0}; `options` is the struct that its entries are offsets in. */
void options_defaults(const OptionDef *, void *options);
/* Sets the defaults, then what argv[1..] says; other arguments go to *rest, and so does all that
   follows "--". E_USAGE names the option and what it expects. */
bool options_parse(Arena *, const OptionDef *, void *options, int argc, char *const argv[],
                   StringList *rest, Error *);
/* Whether an integer is within its range, or a text one of the option's words (NULL: the default).
   E_USAGE as from options_parse; for structs that a caller filled. */
bool option_valid(Arena *, const OptionDef *, const void *options, Error *);
/* Bytes, as 500M or 8G says them; NULL: 0. E_USAGE with the option's name. */
bool option_bytes(const char *name, const char *text, size_t *bytes, Error *);
/* --shard I/N, 0 <= I < N, of processes that share `folder` (--resume; NULL: E_USAGE). Where text
   is NULL, *shard and *nshard stay. */
bool option_shard(const char *text, const char *folder, int *shard, int *nshard, Error *);
void options_help(Text *, const char *usage, const char *summary, const OptionDef *);

/* What a program says about itself, in addition to its table. */
typedef struct ProgramText {
    const char *name, *usage;
    const char *summary; /* its first sentence says what the program is for */
    const char *more;    /* further paragraphs of the manual page, separated by empty lines; lines
                            that begin with two spaces are kept as they are; NULL: none */
} ProgramText;
/* Its help in a form: text, man (a manual page), bash or zsh (completion). E_USAGE: another one. */
bool options_document(Text *, const ProgramText *, const OptionDef *, const char *form, Error *);
/* The first lines of --version; the program adds a line "  NAME VERSION" for each library. */
void options_version(Text *, const char *program);
/* The two entries that every table ends with: `help` is a const char *, NULL when not asked for;
   `version` a bool. */
#define OPTION_VERSION(version_at)                                        \
    {                                                                     \
        .name = "version", .kind = OPT_FLAG, .at = (version_at),          \
        .help = "Prints the version of the program and of its libraries." \
    }
#define OPTION_JOBS(jobs_at, jobs_are)                                                 \
    {                                                                                  \
        .name = "jobs", .letter = 'j', .kind = OPT_INT, .at = (jobs_at), .value = "N", \
        .help = (jobs_are), .default_value = 1, .least = 1, .most = 256                \
    }
#define OPTION_HELP(help_at)                                                    \
    {                                                                           \
        .name = "help", .letter = 'h', .kind = OPT_TEXT, .at = (help_at),       \
        .value = "text|man|bash|zsh",                                           \
        .help = "Prints this help, a manual page, or a shell completion file.", \
        .when_bare = "text"                                                     \
    }
#endif
