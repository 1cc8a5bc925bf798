/* wrap.h -- where the integers of a normal form are those of the element type. */
#ifndef ISOMER_WRAP_H
#define ISOMER_WRAP_H
#include "verifier/import.h"

/* Why the value, of that node and definition, may differ from its definition over all integers by
   more than a multiple of 2^bits; NULL: it does not. */
const char *integers_at_risk(NfImport *, Value, const Node *, Ex definition);
#endif
