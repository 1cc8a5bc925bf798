/* infer.h -- guesses conditions on sizes under which a rule that is false in general may hold. The
   guesses come from models (SizeModel) and have yet to be proved. */
#ifndef ISOMER_INFER_H
#define ISOMER_INFER_H
#include "verifier/refute.h"

enum { INFER_MODELS = 240 };
typedef struct ConditionGuess {
    int n;              /* 1, or 2 for a pair of conditions */
    const char *lit[2]; /* conditions, as text */
    /* How many models there are in which the sides agree and the conditions hold; 0 for a pair that
       was formed from two guesses of this list. */
    int cover;
} ConditionGuess;

/* Writes at most `most` guesses and returns how many. The conditions of a guess hold in no model
   where the sides differ. Single conditions come first, those that cover most models first; then
   pairs of these; then other pairs, those that cover most models first. A guess with a `cover` of 0
   may hold in no model. If the sides differ in no model, the models in which the left side is
   undefined (a mean of nothing) count as those where they differ: cases about which nothing need be
   proved may be what prevents the proof of the others. Texts live in the arena. */
int infer_guesses(World *, Arena *, const Instance *, int n, const SizeModel *, int most,
                  ConditionGuess *out);
#endif
