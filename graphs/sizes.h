/* sizes.h -- values for the sizes in the types of a graph's inputs, as the programs' options
   --input-shape and --dim give them. */
#ifndef ISOMER_SIZES_H
#define ISOMER_SIZES_H
#include "graphs/graph.h"
#include "ops/base/options.h"

/* What the options say. shapes: "NAME:1,3,224,224" (the name may be left out where there is one
   input); dims: "NAME=8", a named size. */
typedef struct SizeOptions {
    StringList shapes, dims;
} SizeOptions;
/* name[k] is the name of input k. What nothing gives is 1 on an input's first axis; elsewhere it is
   E_USAGE, as is what does not fit. *out lives in the arena, holds what is known also where a size
   is missing (n == 0 for other errors), and covers the symbols there are now. */
bool sizes_bind(World *, Arena *, const Graph *, const char *const name[], const SizeOptions *,
                Sizes *out, Error *);

/* Numbers for the sizes that have none: of an open first axis 1, of others 64 or, where data
   decides them, 16, unless a node of the graph needs other ones; 0 only if no others are found,
   because nothing can be checked on tensors without elements. False: none were found at which all
   needs are met; *sizes is complete all the same. It lives in the arena. */
bool sizes_guess(World *, Arena *, const Graph *, Sizes *sizes);

/* Appends a name to a message's list, with a comma before it; "..": there is no more room. */
void name_list_add(char *list, size_t room, const char *name);
/* False, E_USAGE: --dim names a size that there is not. names: those that there are; "": none. */
bool size_unknown(const char *option, const char *names, Error *);
/* False, E_USAGE: `text`, a value of the option, names an input that is none of these n, or (NULL)
   names none. */
bool input_unknown(const char *option, const char *text, const char *name, int n,
                   const char *const names[], Error *);

/* The NAME of a --dim NAME=NUMBER; NULL: E_USAGE, it is not of this form. In the arena. */
const char *dim_option_name(Arena *, const char *option, Error *);
/* How many sizes an --input-shape NAME:1,3,.. gives for this input; -1: it is about another one.
   -2: E_USAGE, it is not of this form. */
int shape_option_axes(const char *option, const char *input, bool only_input, Error *);
/* The same options before a model is open: an InputSize of graphs/onnx/onnx.h. user: a
   SizeOptions. */
int64_t size_given(const void *user, const char *input, int axis, const char *param);
#endif
