/* wrap.h -- checks that a normal form over all integers is right for integers of a limited type,
   which wrap. */
#ifndef ISOMER_WRAP_H
#define ISOMER_WRAP_H
#include "verifier/import.h"

/* Returns why the value, with this node and definition, may differ from its definition over all
   integers by something other than a multiple of 2^bits; NULL if it does not. */
const char *integers_at_risk(NfImport *, Value, const Node *, Ex definition);
#endif
