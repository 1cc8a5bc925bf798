/* sizes.h -- gives values to the sizes in the types of a graph's inputs, as the options
   --input-shape and --dim of the programs say. */
#ifndef ISOMER_SIZES_H
#define ISOMER_SIZES_H
#include "graphs/graph.h"
#include "ops/base/options.h"

/* The options. shapes: "NAME:1,3,224,224", where the name may be omitted if there is one input;
   dims: "NAME=8" for a named size. The first nfile of the shapes are those of files of --input
   (feed_shapes), for messages. */
typedef struct SizeOptions {
    StringList shapes, dims;
    int nfile;
} SizeOptions;
/* Binds the sizes of a graph whose input k is called name[k]; all that is given must agree. Other
   sizes are SIZE_UNKNOWN. A value that does not fit is E_USAGE; then *out has no sizes. *out lives
   in the arena and covers the symbols that exist now. */
bool sizes_given(World *, Arena *, const Graph *, const char *const name[], const SizeOptions *,
                 Sizes *out, Error *);
/* Does the same. A size without a value is 1 on the first axis of an input and, on other axes,
   another E_USAGE, with which *out holds the sizes that are known. */
bool sizes_bind(World *, Arena *, const Graph *, const char *const name[], const SizeOptions *,
                Sizes *out, Error *);

/* Whether the sizes that have numbers meet what the nodes of the graph require of them. Otherwise
   E_USAGE, at this option. */
bool sizes_allowed(World *, Arena *, const Graph *, Sizes, const char *option, Error *);

/* Guesses numbers for the sizes that have none: 1 for an open first axis, 16 for sizes that depend
   on data, 64 for others, unless a node of the graph needs other numbers. A size becomes 0 only if
   no other numbers are found, because nothing can be checked on tensors without elements. *sizes
   lives in the arena. Returns false if no numbers were found that meet all needs; *sizes is
   complete even then. */
bool sizes_guess(World *, Arena *, const Graph *, Sizes *sizes);

/* Appends a name to a list in a message, after a comma if it is not the first; appends ".." if
   there is no room for it. */
void name_list_add(char *list, size_t room, const char *name);
/* Sets E_USAGE because --dim names a size that the model does not have, and returns false. names:
   the sizes that it has; "": none. */
bool size_unknown(const char *option, const char *names, Error *);
/* Sets E_USAGE because `text`, a value of the option, names an input that is not among these n, or
   (name NULL) names none, and returns false. */
bool input_unknown(const char *option, const char *text, const char *name, int n,
                   const char *const names[], Error *);

/* The NAME of an option --dim NAME=NUMBER, in the arena; NULL with E_USAGE if it has another
   form. */
const char *dim_option_name(Arena *, const char *option, Error *);
/* The number of sizes that an option --input-shape NAME:1,3,.. gives for this input; -1 if it is
   for another input; -2 with E_USAGE if it has another form. only_input: the option need not name
   it. */
int shape_option_axes(const char *option, const char *input, bool only_input, Error *);
/* Whether all of the options have these forms, and numbers that a size can have; else E_USAGE. */
bool size_options_valid(Arena *, const SizeOptions *, Error *);
/* The size that the options give for an axis of an input, before the model is open; < 0: none. An
   InputSize of graphs/onnx/onnx.h, with a SizeOptions as `user` and the file's name of the size as
   `param`. */
int64_t size_given(const void *user, const char *input, int axis, const char *param);
#endif
