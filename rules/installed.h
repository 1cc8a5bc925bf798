/* installed.h -- finds the rules that come with the programs (the library, the search set and the
   discovered rules), next to the program that was built or installed with them, and the user's own
   rules. */
#ifndef ISOMER_RULES_INSTALLED_H
#define ISOMER_RULES_INSTALLED_H
#include "rules/rule.h"

enum { INSTALLED_PATH = 4096 };
/* Sets `out`, which has room for INSTALLED_PATH bytes, to the folder of the file that this code was
   loaded from. */
bool installed_folder(char *out);
/* Appends the rules in the order of the files' names. Of the discovered rules it takes those that
   paid off on this target, given by name; NULL or a target without such rules: none. Fails with
   E_ENVIRONMENT if there are no rules. */
bool installed_rules(Arena *, const char *target, RuleSet *, Error *);
/* The path of the user's own rules for a target: isomer/rules/NAME.rules in $XDG_DATA_HOME or
   ~/.local/share. NAME is the target's name, or "command" for a target that is a command line.
   Fails with E_ENVIRONMENT if neither this variable nor HOME is set. */
bool own_rules_path(Arena *, const char *target, char **path, Error *);
#endif
