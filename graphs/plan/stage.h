/* stage.h -- computes values of a model that is still being read, where the sizes of a result
   depend on data. Each value, once computed, is an input of what is computed later, so that an
   unrolled loop costs what its iterations cost. */
#ifndef ISOMER_STAGE_H
#define ISOMER_STAGE_H
#include "graphs/plan/execute.h"
#include "graphs/onnx/onnx.h"

/* Returns the bytes of input number `index`, of this type, or NULL if there are none; they must
   stay valid. usual: the model's default for the input (model_input_default), or NULL. */
typedef const void *(*StageInput)(void *user, int index, const char *name, const Type *,
                                  const void *usual);
typedef struct Stage Stage;
/* Lives in the World's arena. */
Stage *stage_new(World *, const Backend *, Device *, StageInput, void *user);
/* Makes a value known; the bytes must stay valid. */
void stage_keep(Stage *, Value, const void *bytes);
/* The values that are known: inputs, kept values and computed values. */
int stage_count(const Stage *);
Value stage_known(const Stage *, int k);
/* Computes a value; the function for OpenOptions.value. */
bool stage_value(void *stage, const Model *, Value, Type *, const void **bytes);
#endif
