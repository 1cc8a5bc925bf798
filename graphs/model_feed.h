/* model_feed.h -- makes the feed of a model: defaults come from the file, bounds of random data
   from its graph. */
#ifndef ISOMER_MODEL_FEED_H
#define ISOMER_MODEL_FEED_H
#include "graphs/feed.h"
#include "graphs/onnx/onnx.h"

/* Makes the feed of a model at these sizes. Everything, names included, lives in the arena, so the
   model may be closed. Returns false with the errors of feed_fits and feed_new. */
bool model_feed(Arena *, World *, const Model *, Sizes, const FeedOptions *, Feed *, Error *);
#endif
