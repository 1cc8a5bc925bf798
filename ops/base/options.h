/* options.h -- the options of a program as one table, from which the parser, --help, the manual
   page and the shell completions are made. */
#ifndef ISOMER_OPTIONS_H
#define ISOMER_OPTIONS_H
#include "text.h"
#include <stddef.h>

typedef enum OptionKind {
    OPT_FLAG,
    OPT_INT,
    OPT_REAL,
    OPT_TEXT,
    OPT_WORD, /* one of the words listed in `value`, as in "one|two" */
    OPT_LIST,
    OPT_COUNT,
    OPT_HEAD
} OptionKind;
/* A program keeps its options in a struct of its own. `at` is the offset (offsetof) of the option's
   value in this struct: a bool, int64_t, double, const char *, StringList or, for OPT_COUNT, an int
   that counts how often the option is given. OPT_HEAD is not an option but a heading of the help.
   With `is_int`, a flag or an integer is stored as an int, as public structs have it. */
typedef struct StringList {
    int n;
    const char **v;
} StringList;
typedef struct OptionDef {
    const char *name; /* without dashes: "steps" is given as --steps N or --steps=N */
    char letter;      /* 'q' for -q; 0: none */
    OptionKind kind;
    size_t at;
    bool is_int;
    const char *value;  /* how the help names the value; NULL for flags */
    const char *help;   /* full sentences; NULL: an obsolete option, still accepted but not shown */
    double least, most; /* the range of a number; both 0: any number */
    /* If not NULL, the value may be left out and is then this one: --check and --check=5 are both
       allowed. NULL: the value is required. */
    const char *when_bare;
    /* The value if the option is not given; 0, NULL, false or empty unless stated. */
    double default_value;
    const char *default_text;
    const char *old_name; /* an earlier name of the option, still accepted but not shown; NULL:
                             none */
} OptionDef;
/* A table ends with {0}. `options` is the struct to which the offsets `at` refer. */
void options_defaults(const OptionDef *, void *options);
/* Sets the defaults, then the options in argv[1..]. Other arguments, and all arguments after "--",
   go to *rest. E_USAGE names the option and says what it expects. */
bool options_parse(Arena *, const OptionDef *, void *options, int argc, char *const argv[],
                   StringList *rest, Error *);
/* Whether the number of this option is within its range, or its text is one of the allowed words
   (NULL, the default, is allowed too). Fails with E_USAGE like options_parse; meant for structs
   that a caller filled directly. */
bool option_valid(Arena *, const OptionDef *, const void *options, Error *);
/* Whether the option is a number whose default is negative, which stands for no value, and that is
   still negative. */
bool option_unset(const OptionDef *, const void *options, const void *defaults);
/* Converts a size such as "500M", "1.5G" (powers of 1024) or "4096" to bytes, at least 1; a text of
   NULL gives 0. E_USAGE names the option. */
bool option_bytes(const char *name, const char *text, size_t *bytes, Error *);
/* Parses the value I/N of --shard, 0 <= I < N. Such processes share `folder` (--resume); NULL is an
   E_USAGE. If text is NULL, *shard and *nshard are not changed. */
bool option_shard(const char *text, const char *folder, int *shard, int *nshard, Error *);
void options_help(Text *, const char *usage, const char *summary, const OptionDef *);

/* What a program says about itself, in addition to its table. */
typedef struct ProgramText {
    const char *name, *usage;
    const char *summary; /* the first sentence says what the program is for */
    const char *more;    /* further paragraphs of the manual page, separated by empty lines; a line
                            that begins with two spaces is not filled; NULL: none */
} ProgramText;
/* Appends the program's documentation in the given form: text (the help), man (a manual page), bash
   or zsh (a completion). Any other form is an E_USAGE. */
bool options_document(Text *, const ProgramText *, const OptionDef *, const char *form, Error *);
/* Appends the first lines of --version. The program adds a line for each of its libraries: two
   blanks, its name and its version. */
void options_version(Text *, const char *program);
/* Entries that several tables share. `version_at` is the offset of a bool; `help_at` that of a
   const char *, which is NULL unless the help was asked for; `jobs_at` that of an int64_t. */
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
