/* weights.h -- what it costs that the weights of a model do not stay in the cache: a step is timed
   with its weights where its last run left them, in a plan the other steps' weights come
   between. */
#ifndef ISOMER_WEIGHTS_H
#define ISOMER_WEIGHTS_H
#include "graphs/plan/costdb.h"
#include "ops/backend/backend.h"

/* Seconds by which a byte of a weight takes longer to be read than from the cache of a core, where
   the weights of a model have so many bytes together. Measured, and kept in the cost file (NULL:
   none) under this identity; 0 where it is not there and frozen, or cannot be measured. */
double weights_cold(const Backend *, Device *, CostDb *, const char *identity, bool frozen,
                    double bytes);
/* How many copies of a step have as many bytes of weights as the model: for steps that do little
   else than read weights, of which some algorithms suffer more than others. 1: for others, and
   where the weights stay in the cache. own: bytes of the step's weights. */
int weights_copies(double model, double own, double flops);
/* Bytes of the weights that a step reads whole: those of products and convolutions. known[j]: the
   contents of view j never change. */
double weights_of(const Step *, const bool known[]);
#endif
