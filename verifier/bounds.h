/* bounds.h -- bounds of the elements of integer values. */
#ifndef ISOMER_BOUNDS_H
#define ISOMER_BOUNDS_H
#include "verifier/import.h"

/* Does every element of an integer value, computed over all integers, lie in the range of its
   element type? Conditions on sizes that this needs, and that do not follow from the assumptions,
   are added to m->lack. */
bool bounds_in_type(NfImport *, Value);
/* Sets v to the least and greatest number that an integer value's elements can be. False if these
   are unknown or depend on sizes. */
bool bounds_of_value(NfImport *, Value, int64_t v[2]);
#endif
