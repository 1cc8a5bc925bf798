/* infer.h -- conditions on sizes under which a rule that is false in general may hold: guesses from
   models, to be proved. */
#ifndef ISOMER_INFER_H
#define ISOMER_INFER_H
#include "verifier/refute.h"

enum { INFER_MODELS = 240 };
typedef struct ConditionGuess {
    int n;              /* 1, or 2 for a pair */
    const char *lit[2]; /* conditions, as text */
    int cover;          /* models in which the sides agree and it holds; 0: two guesses at once */
} ConditionGuess;

/* Guesses that hold in no model where the sides differ and in one at least where they agree, single
   ones first, those that cover most first; their number. If the sides differ in none, those in
   which the left side is undefined (a mean of nothing) count as such: what there is nothing to
   prove about may be what keeps the rest from being proved. Texts live in the arena. */
int infer_guesses(World *, Arena *, const Instance *, int n, const SizeModel *, int most,
                  ConditionGuess *out);
#endif
