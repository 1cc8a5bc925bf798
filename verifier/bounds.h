/* bounds.h -- between which numbers the integers of a value lie. */
#ifndef ISOMER_BOUNDS_H
#define ISOMER_BOUNDS_H
#include "verifier/import.h"

/* Whether every element of a value of an integer type, computed over all integers, lies in its
   type. What that needs of sizes and does not follow from the assumptions is added to m->lack. */
bool bounds_in_type(NfImport *, Value);
/* The numbers between which an integer value lies; false: they are unknown or depend on sizes. */
bool bounds_of_value(NfImport *, Value, int64_t v[2]);
#endif
