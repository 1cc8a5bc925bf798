/* options.h -- a program's options as one table, from which parsing and --help are made. */
#ifndef ISOMER_OPTIONS_H
#define ISOMER_OPTIONS_H
#include "text.h"

typedef enum OptionKind { OPT_FLAG, OPT_INT, OPT_REAL, OPT_TEXT, OPT_LIST, OPT_COUNT, OPT_HEAD } OptionKind;
/* `into` points at bool, int64_t, double, const char *, StringList or int (OPT_COUNT: how often given); OPT_HEAD
   is a heading of the help. */
typedef struct StringList {
    int n;
    const char **v;
} StringList;
typedef struct OptionDef {
    const char *name; /* "steps", given as --steps N or --steps=N */
    char letter;      /* 'q' for -q; 0: none */
    OptionKind kind;
    void *into;
    const char *value;     /* name of its value in the help; NULL for flags */
    const char *help;      /* one sentence */
    double least, most;    /* range of numbers; both 0: any */
    const char *when_bare; /* the value may be left out (--check, --check=5) and is then this; NULL: needed */
} OptionDef;
/* Parses argv[1..]; what is no option goes to *rest. E_USAGE names the option and what was expected; "--" ends
   options. The table ends with {0}. */
bool options_parse(Arena *, const OptionDef *, int argc, char *const argv[], StringList *rest, Error *);
void options_help(Text *, const char *usage, const char *summary, const OptionDef *);
#endif
