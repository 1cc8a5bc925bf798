/* stage.h -- values of a model that is still being read, computed from its inputs: what the sizes
   of a result depend on where they depend on data. A value once computed is an input of what is
   computed later, so that a loop costs what its iterations cost. */
#ifndef ISOMER_STAGE_H
#define ISOMER_STAGE_H
#include "graphs/plan/execute.h"
#include "graphs/onnx/onnx.h"

/* The bytes of input number `index`, of this type; NULL: there are none. They must stay. usual:
   what it is where a caller gives nothing (model_input_default), or NULL. */
typedef const void *(*StageInput)(void *user, int index, const char *name, const Type *,
                                  const void *usual);
typedef struct Stage Stage;
/* Lives in the World's arena. */
Stage *stage_new(World *, const Backend *, Device *, StageInput, void *user);
/* The value is known from now on; the bytes must stay. */
void stage_keep(Stage *, Value, const void *bytes);
/* What is known: inputs, what was kept and what was computed. */
int stage_count(const Stage *);
Value stage_known(const Stage *, int k);
/* For OpenOptions.value. */
bool stage_value(void *stage, const Model *, Value, Type *, const void **bytes);
#endif
