/* instance_inner.h -- what the files that make instances share. */
#ifndef ISOMER_INSTANCE_INNER_H
#define ISOMER_INSTANCE_INNER_H
#include "rules/rule.h"

/* blocks.c. */
/* Sets *text to the text of a part at the lengths of the instance's blocks; `conditions`: the part
   is a list of conditions. Fails with E_INVALID and the place in the file where blocks are not used
   as they must be. */
bool blocks_expand(Arena *, const Instance *, const RulePart *, bool conditions, const char **text,
                   Error *);
/* Converts the place of an error in the expanded text of a part to the place in the file. Returns
   false. */
bool blocks_place_error(Arena *, const Instance *, const RulePart *, bool conditions, Error *);

/* instance_symbols.c. */
/* Sets the graphs as stated and whole, the symbols, the real variables and the needs of an instance
   that has its graphs and conditions. Fails with E_INVALID if a condition names what has no
   value. */
bool instance_collect(World *, Arena *, Instance *, Error *);
#endif
