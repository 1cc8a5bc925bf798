/* model_feed.h -- the feed of a model: what its inputs hold where nothing is given comes from the
   file and from what the graph allows. */
#ifndef ISOMER_MODEL_FEED_H
#define ISOMER_MODEL_FEED_H
#include "graphs/feed.h"
#include "graphs/onnx/onnx.h"

/* At these sizes. Everything, the names too, lives in the arena: the model may be closed. False:
   see feed_new. */
bool model_feed(Arena *, World *, const Model *, Sizes, const FeedOptions *, Feed *, Error *);
#endif
