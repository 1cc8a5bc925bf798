/* taso.h -- reads TASO's substitution files (protobuf; Jia et al., SOSP'19) as rules.

   A rule is written as text, which is then read like any other rule. What TASO leaves to shapes is
   made explicit: the number of groups of a convolution is the channels of x divided by the channels
   of w, and a symbol where the left side does not fix it; SAME padding is that of ONNX; fused
   activations become nodes. */
#ifndef ISOMER_RULES_TASO_H
#define ISOMER_RULES_TASO_H
#include "rules/rule.h"

/* A rule of the file that has no counterpart here, by its number in the file, from 0. */
typedef struct TasoRefusal {
    int number;
    const char *reason;
} TasoRefusal;
typedef struct TasoRefusals {
    int n;
    TasoRefusal *v;
} TasoRefusals;

/* Whether the bytes look like such a file rather than text. */
bool taso_is(const void *bytes, size_t n);
/* Appends rules named taso-0, taso-1, .. after their numbers in the file. Fails with E_INVALID and
   the offset where the file is malformed. A rule that cannot be expressed is not an error: it is
   reported in `refused`, whose strings live in the arena. */
bool taso_parse(Arena *, const char *file, const void *bytes, size_t n, RuleSet *,
                TasoRefusals *refused, Error *);
/* Reads a file of rule text or a TASO file, according to its content. */
bool rules_load(Arena *, const char *path, RuleSet *, TasoRefusals *refused, Error *);
#endif
