/* classifier.c -- shared by the classifiers of ai.onnx.ml: their attribute and their labels. */
#include "ops/operator/op.h"

const AttrDef classifier_attrs[] = {
    {"post", A_ENUM, "none", "none logistic softmax", .draw = "none logistic softmax"}, {0}};

const char *labels_fit(Call *c, int input) {
    return rank_of(c, input) == 1 && c->in[input]->dtype == DT_INT64
               ? NULL
               : "only labels that are a list of integers are supported";
}
