/* weights.h -- says what it costs that the weights of a model do not stay in the cache. A step that
   is timed alone finds its weights where its last run left them; in a plan, the weights of the
   other steps displace them. */
#ifndef ISOMER_WEIGHTS_H
#define ISOMER_WEIGHTS_H
#include "graphs/plan/costdb.h"
#include "ops/backend/backend.h"

/* The seconds by which reading a byte of weights takes longer than from the cache of a core, if the
   weights of a model have this many bytes together. They are measured and kept in the cost file
   (NULL: none) under this identity; 0 if they are not there and `frozen` is set. If they cannot be
   measured, or far weights are not slower than near ones, the result is 0 and nothing is kept. */
double weights_cold(const Backend *, Device *, CostDb *, const char *identity, bool frozen,
                    double bytes);
/* How many copies of a step have together as many bytes of weights as the model. This applies to
   steps that do little else than read weights, of which some algorithms suffer more than others.
   Returns 1 for other steps, and if the weights stay in the cache. own: bytes of the step's
   weights; flops: its operations. */
int weights_copies(double model, double own, double flops);
/* Bytes of the weights that a step reads as a whole, which only products and convolutions do.
   known[j] says that the contents of view j never change. */
double weights_of(const Step *, const bool known[]);
#endif
