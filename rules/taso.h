/* taso.h -- TASO's substitution files (protobuf; Jia et al., SOSP'19) as rules of ours. A rule is
   written as text, which is then read like any other. What TASO leaves to shapes is written out: a
   convolution's number of groups is channels of x over channels of w, a symbol where the left side
   does not fix it; SAME padding is ONNX's; fused activations are nodes. */
#ifndef ISOMER_RULES_TASO_H
#define ISOMER_RULES_TASO_H
#include "rules/rule.h"

/* Rules of the file that have no counterpart here, by their number in it, from 0. */
typedef struct TasoRefusal {
    int number;
    const char *reason;
} TasoRefusal;
typedef struct TasoRefusals {
    int n;
    TasoRefusal *v;
} TasoRefusals;

bool taso_is(const void *bytes, size_t n); /* looks like such a file, not like text */
/* Appends taso-0, taso-1, .. (the number is the rule's in its file). E_INVALID with the byte where
   it is not such a file; a rule that cannot be expressed is not an error: it is reported in
   `refused`, whose strings live in the arena. */
bool taso_parse(Arena *, const char *file, const void *bytes, size_t n, RuleSet *,
                TasoRefusals *refused, Error *);
/* A file of rule text or of TASO's, by its content. */
bool rules_load(Arena *, const char *path, RuleSet *, TasoRefusals *refused, Error *);
#endif
