/* model_extras.c -- reads the parts of a file that are outside its graph and refer to names of the
   graph. Training information (TrainingInfoProto) contains graphs that use names of the main graph
   and give initializers new values: such names must stay, and such initializers are not constants.
   Quantization annotations name the tensors that contain scales. */
#include "graphs/onnx/model.h"

static Slice message_part(const Model *m, Slice message, uint32_t number) {
    return wire_bytes(model_wire(m, message, NULL), number);
}

static bool pin_name(Model *m, Slice name, bool trained, Error *e) {
    NameId id = name_id(m, name, e);
    if (id) m->name[id].pinned = m->name[id].used = true, m->name[id].trained |= trained;
    return id || !name.n;
}

static bool read_training(Model *m, Slice training, Error *e) {
    OnnxNode uses = {.reason = NULL};
    Wire w = model_wire(m, training, e);
    for (Field f; wire_next(&w, &f);) {
        if (f.number < TRAINING_INFO_INITIALIZATION || f.number > TRAINING_INFO_UPDATE_BINDING)
            continue;
        if (!wire_want(&w, &f, WIRE_BYTES)) return false;
        if (f.number <= TRAINING_INFO_ALGORITHM
                ? !subgraph_uses(m, &uses, f.bytes, e)
                : !pin_name(m, message_part(m, f.bytes, STRING_STRING_ENTRY_KEY), true, e))
            return false;
    }
    for (int k = 0; k < uses.ncapture; k++)
        m->name[uses.capture[k]].pinned = m->name[uses.capture[k]].used = true;
    return !w.failed;
}

/* Pins the tensors that the values of the annotation's entries name. */
static bool read_annotation(Model *m, Slice annotation, Error *e) {
    Wire w = model_wire(m, annotation, e);
    for (Field f; wire_next(&w, &f);)
        if (f.number == TENSOR_ANNOTATION_QUANT_PARAMETER_TENSOR_NAMES &&
            (!wire_want(&w, &f, WIRE_BYTES) ||
             !pin_name(m, message_part(m, f.bytes, STRING_STRING_ENTRY_VALUE), false, e)))
            return false;
    return !w.failed;
}

bool extras_read(Model *m, Error *e) {
    for (int k = 0; k < m->x.training.n; k++)
        if (!read_training(m, m->x.training.v[k], e)) return false;
    for (int k = 0; k < m->x.g.annotation.n; k++)
        if (!read_annotation(m, m->x.g.annotation.v[k], e)) return false;
    return true;
}
