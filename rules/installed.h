/* installed.h -- the rules that come with the programs: the library, the search set and what was
   discovered, next to the program that was built or installed with it; and the user's own. */
#ifndef ISOMER_RULES_INSTALLED_H
#define ISOMER_RULES_INSTALLED_H
#include "rules/rule.h"

enum { INSTALLED_PATH = 4096 };
/* INSTALLED_PATH bytes: the folder of the file that this code was loaded from. */
bool installed_folder(char *out);
/* Appends them in the order of the files' names; of the discovered ones those that paid on this
   target (its name; NULL, or one without such rules: none). E_ENVIRONMENT: there are no rules. */
bool installed_rules(Arena *, const char *target, RuleSet *, Error *);
/* Where the user's own rules for a target lie: isomer/rules/NAME.rules in $XDG_DATA_HOME or
   ~/.local/share; NAME is the target's, "command" for one that is a command line. E_ENVIRONMENT:
   neither this variable nor HOME is set. */
bool own_rules_path(Arena *, const char *target, char **path, Error *);
#endif
