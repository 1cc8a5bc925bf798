/* feed.h -- provides the data of a model's inputs on a run: what options give, else the default
   that the model has for an input, else numbers drawn from what its graph allows (domain.h).
   Whatever runs a model uses the same feed: the built-in runtime, another runtime as the target, or
   one that gives a second opinion. */
#ifndef ISOMER_FEED_H
#define ISOMER_FEED_H
#include "graphs/compared.h"
#include "graphs/domain.h"
#include "graphs/npy.h"
#include "ops/base/options.h"

typedef struct FeedOption {
    /* The option's text (of a tensor: the file's path), for messages; the name of the input. */
    const char *text, *name;
    enum { FEED_DRAWN, FEED_RANGE, FEED_TENSOR } kind;
    Domain range; /* both bounds are included */
    Npy tensor;
} FeedOption;
typedef struct FeedOptions { /* if two name the same input, the last one holds */
    int n;
    FeedOption *v;
    uint64_t seed; /* of random data */
} FeedOptions;
/* Parses the options --input: NAME=random, NAME=NUMBER, NAME=LOW..HIGH, NAME=FILE.npy, or FILE.npz
   with an entry for some or all inputs. The seed is 0. Files are read; everything lives in the
   arena. */
bool feed_options(Arena *, StringList, FeedOptions *, Error *);
extern const char feed_help[]; /* describes these options for --help */
/* Checks that the options fit a graph whose inputs have these names. Returns false with E_USAGE if
   an option names no input, or if a file's array has another rank than its input. */
bool feed_fits(const FeedOptions *, World *, const Graph *, const char *const name[], Error *);
/* The sizes of the given tensors as --input-shape options, followed by `more`. */
StringList feed_shapes(Arena *, const FeedOptions *, StringList more);

typedef struct FeedInput {
    const char *name;
    DType dtype;
    Domain domain;
    bool has_default;         /* the model has a default for it */
    Compared compared;        /* numbers with which the graph compares it */
    const FeedOption *option; /* the option that gives it; NULL: none */
} FeedInput;
typedef struct Feed {
    uint64_t seed;
    int n;
    FeedInput *input;
    int attempt; /* 0: integers are as drawn; else some are replaced (feed_next) */
} Feed;
/* Makes a feed of n inputs. The feed keeps the array `input`, which lives in the arena and has
   domains by graph_domains, numbers by graph_compared and no options yet. Each option must name one
   of the inputs (feed_fits). Returns false if an option gives an input elements of another type, or
   numbers that its type does not have. Names and options are not copied. */
bool feed_new(const FeedOptions *, int n, FeedInput *input, Feed *, Error *);
int feed_find(const Feed *, const char *name); /* the index of an input, or -1 */
/* Writes the n elements of an input on a sample, which counts from 0. Data of files and defaults
   hold for sample 0 and, if they are not floats, for all samples; on other samples floats are
   drawn. default_bytes: the model's default, or NULL. Returns false if a file holds another number
   of elements. */
bool feed_data(const Feed *, int input, int sample, const void *default_bytes, int64_t n, void *out,
               Error *);
/* After a failed run: replaces integers that are drawn by others. The attempts are, in order, for
   one input at a time, the numbers with which the graph compares it; for one input at a time, zeros
   and ones (if the inputs are few); for all inputs, zeros and ones. Returns false when all were
   tried; the feed is then as at first. */
bool feed_next(Feed *);
/* Describes the integer inputs, in the arena: "ids: 0..29, types: zeros"; "" if there are none. */
const char *feed_print(Arena *, const Feed *);
/* Adds to the error of a run that failed with all attempts what was tried and how to give other
   data. */
void feed_explain(Arena *, const Feed *, Error *);
#endif
