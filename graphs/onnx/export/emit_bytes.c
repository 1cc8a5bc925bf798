/* emit_bytes.c -- encodes a node as the contents of a NodeProto. Attributes are encoded by
   protobuf-c, except tensors, whose bytes are copied. */
#include "graphs/onnx/export/export.h"
#include "onnx.pb-c.h"
#include <string.h>

static void pack_strings(Arena *a, const OnnxAttr *x, Onnx__AttributeProto *p) {
    p->n_strings = (size_t)x->n;
    p->strings = ARENA_NEW(a, ProtobufCBinaryData, x->n);
    for (int k = 0; k < x->n; k++)
        p->strings[k] =
            (ProtobufCBinaryData){strlen(x->texts[k]), (uint8_t *)(uintptr_t)x->texts[k]};
}

/* Returns the contents of an AttributeProto. */
static Text attr_bytes(Arena *a, const OnnxAttr *x) {
    Onnx__AttributeProto p = ONNX__ATTRIBUTE_PROTO__INIT;
    p.name = (char *)(uintptr_t)x->name, p.has_type = 1,
    p.type = (Onnx__AttributeProto__AttributeType)x->kind;
    if (x->kind == ONNX_ATTR_FLOAT) p.has_f = 1, p.f = x->f;
    if (x->kind == ONNX_ATTR_INT) p.has_i = 1, p.i = x->i;
    if (x->kind == ONNX_ATTR_TEXT)
        p.has_s = 1, p.s = (ProtobufCBinaryData){strlen(x->text), (uint8_t *)(uintptr_t)x->text};
    if (x->kind == ONNX_ATTR_TEXTS) pack_strings(a, x, &p);
    if (x->kind == ONNX_ATTR_FLOATS)
        p.n_floats = (size_t)x->n, p.floats = (float *)(uintptr_t)x->floats;
    if (x->kind == ONNX_ATTR_INTS) p.n_ints = (size_t)x->n, p.ints = (int64_t *)(uintptr_t)x->ints;
    const size_t n = onnx__attribute_proto__get_packed_size(&p);
    Text out = text_new(a);
    uint8_t *bytes = arena_alloc_raw(a, n);
    onnx__attribute_proto__pack(&p, bytes);
    text_bytes(&out, (const char *)bytes, n);
    if (x->kind == ONNX_ATTR_TENSOR) wire_put_bytes(&out, ATTRIBUTE_T, x->tensor.at, x->tensor.n);
    return out;
}

Slice emit_bytes(Arena *a, const OnnxNodeDraft *e, const char *const in[], const char *const out[],
                 const char *name, const char *doc) {
    Text t = text_new(a);
    for (int k = 0; k < e->nin; k++) wire_put_bytes(&t, NODE_INPUT, in[k], strlen(in[k]));
    for (int k = 0; k < e->nout; k++) wire_put_bytes(&t, NODE_OUTPUT, out[k], strlen(out[k]));
    wire_put_bytes(&t, NODE_NAME, name, strlen(name));
    wire_put_bytes(&t, NODE_OP_TYPE, e->type, strlen(e->type));
    for (int k = 0; k < e->nattr; k++) {
        const Text attr = attr_bytes(a, &e->attr[k]);
        wire_put_bytes(&t, NODE_ATTRIBUTE, attr.data, attr.size);
    }
    if (doc) wire_put_bytes(&t, NODE_DOC_STRING, doc, strlen(doc));
    if (*e->domain) wire_put_bytes(&t, NODE_DOMAIN, e->domain, strlen(e->domain));
    return text_slice(&t);
}

void onnx_versions(Text *t) {
    text_add(t, "  protobuf-c %s\n  onnx.proto of IR %d\n", protobuf_c_version(),
             (int)ONNX__VERSION__IR_VERSION);
}
