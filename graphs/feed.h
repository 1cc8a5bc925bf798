/* feed.h -- what the inputs of a model hold on a run: what options say, what the model says they
   are where nothing is given, or numbers drawn from what its graph allows (domain.h). There is one
   feed for everything that runs a model: the built-in runtime, another runtime as the target, one
   that gives a second opinion. */
#ifndef ISOMER_FEED_H
#define ISOMER_FEED_H
#include "graphs/compared.h"
#include "graphs/domain.h"
#include "graphs/npy.h"
#include "ops/base/options.h"

typedef struct FeedOption {
    const char *text, *name; /* as it was given; of the input */
    enum { FEED_DRAWN, FEED_RANGE, FEED_TENSOR } kind;
    Domain range; /* both ends are drawn */
    Npy tensor;
} FeedOption;
typedef struct FeedOptions { /* of two that name one input the last one holds */
    int n;
    FeedOption *v;
    uint64_t seed; /* of what is drawn */
} FeedOptions;
/* Options --input: NAME=random, NAME=NUMBER, NAME=LOW..HIGH, NAME=FILE.npy, or FILE.npz with an
   entry for each input or some; the seed is 0. Files are read; all lives in the arena. */
bool feed_options(Arena *, StringList, FeedOptions *, Error *);
extern const char feed_help[]; /* what these options are, for --help */
/* Whether they fit a graph whose inputs have these names. False, E_USAGE: one is for no input of
   it, or a file's array has another rank than its input. */
bool feed_fits(const FeedOptions *, World *, const Graph *, const char *const name[], Error *);
/* As --input-shape would say the sizes of its tensors, then `more`. */
StringList feed_shapes(Arena *, const FeedOptions *, StringList more);

typedef struct FeedInput {
    const char *name;
    DType dtype;
    Domain domain;
    bool known;               /* the model says what it is where nothing is given */
    Compared compared;        /* numbers that the graph asks for */
    const FeedOption *option; /* NULL: none */
} FeedInput;
typedef struct Feed {
    uint64_t seed;
    int n;
    FeedInput *input;
    int attempt; /* 0: integers as drawn; else some are others instead (feed_next) */
} Feed;
/* input: n of them in the arena, their domains by graph_domains, their numbers by graph_compared,
   their options still NULL; the feed keeps the array. Each option is for one of them (feed_fits).
   False: one gives an input another element type, or numbers that its type has not. The names and
   options are not copied. */
bool feed_new(const FeedOptions *, int n, FeedInput *input, Feed *, Error *);
int feed_find(const Feed *, const char *name); /* -1: no such input */
/* The elements of an input on a sample, from 0. What files give is the first sample; on others
   floats are drawn, integers stay. usual: what the model says it is, or NULL. False: a file holds
   another number of elements. */
bool feed_data(const Feed *, int input, int sample, const void *usual, int64_t n, void *out,
               Error *);
/* Where the model did not run: other integers to be tried in place of those that are drawn, what
   the graph compares an input with, then zeros and ones, one input at a time, then all at once.
   False: all were tried; the feed is as it was at first. */
bool feed_next(Feed *);
/* What the integer inputs are, in the arena: "ids: 0..29, types: zeros"; "" if there are none. */
const char *feed_print(Arena *, const Feed *);
/* Adds to the error of a run for which no other inputs helped: what was tried, and how to give
   others. */
void feed_explain(Arena *, const Feed *, Error *);
#endif
