/* wire.h -- protobuf's wire format, read in place. A file is mapped, a message is a slice of it, a
   walker steps through the fields of one message and checks every tag and length before it is used.
   Nothing is decoded or copied: what is not understood can be written back as it stands. */
#ifndef ISOMER_WIRE_H
#define ISOMER_WIRE_H
#include "ops/base/text.h"
#include <onnx_fields.h> /* the numbers of fields, of onnx.proto */

typedef struct Slice {
    const unsigned char *at;
    size_t n;
} Slice; /* at == NULL: absent */
typedef enum WireKind {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5
} WireKind;
typedef struct Field {
    uint32_t number;
    WireKind kind;
    uint64_t value; /* of a varint or fixed field */
    Slice bytes;    /* contents of a WIRE_BYTES field */
    Slice whole;    /* tag, length and contents */
} Field;
typedef struct Wire {
    Slice rest;
    const unsigned char *file; /* byte offsets in messages count from here */
    const char *place;
    const char *format; /* what the file should be, for messages: "an ONNX model" */
    Error *error;
    bool failed;
} Wire;

enum { WIRE_DEPTH = 64 }; /* how deep messages may nest: TypeProto and subgraphs are recursive */

/* Read-only; E_ENVIRONMENT if it cannot be read; an empty file is an empty slice. */
bool file_map(const char *path, Slice *, Error *);
void file_unmap(Slice);
/* Whether a file has exactly these contents; E_ENVIRONMENT if it cannot be read. */
bool file_holds(const char *path, int n, const Piece *, bool *same, Error *);
/* Returns the pages of a mapped file to the system until they are read again. */
void file_release_pages(Slice);

/* Of an ONNX model; who reads another format sets `format`. */
Wire wire_new(Slice message, const unsigned char *file, const char *place, Error *);
Wire wire_inner(const Wire *, Slice message); /* a walker of a message inside this one */
/* false: at the end, or not protobuf: then `failed`, and the error names the byte. */
bool wire_next(Wire *, Field *);
/* A number by itself, as a packed list has it; false: it is not whole. */
bool wire_varint(Wire *, uint64_t *);
bool wire_fixed(Wire *, unsigned bytes, uint64_t *);
/* E_INVALID at that byte; false. */
bool wire_fail(Wire *, const unsigned char *at, const char *what);
/* The same for a field that the format does not have, or not with this type: the file may be of
   another format. */
bool wire_fail_format(Wire *, const unsigned char *at, const char *what);
/* False and an error: the field has another kind. */
bool wire_want(Wire *, const Field *, WireKind);

/* The contents of the last WIRE_BYTES field of this number; absent: there is none. wire_read_bytes:
   false and an error: the message is damaged, or the field has another kind. */
Slice wire_bytes(Wire, uint32_t number);
bool wire_read_bytes(Wire, uint32_t number, Slice *out);

Slice slice_of(const char *text);
Slice text_slice(const Text *);
bool slice_is(Slice, const char *text);
bool slice_equal(Slice, Slice);

/* Writing. A field is written with its tag. */
void wire_put_int(Text *, uint32_t number, uint64_t value);
void wire_put_bytes(Text *, uint32_t number, const void *, size_t);
/* Tag and length; the contents follow. */
void wire_put_length(Text *, uint32_t number, size_t bytes);
/* The same in pieces: contents are not copied. */
void wire_put_slice(Pieces *, uint32_t number, const void *, size_t);
void wire_put_pieces(Pieces *, uint32_t number, const Pieces *);
/* A message as it is, but for a text: its field `name` becomes this one. */
void wire_put_renamed(Pieces *, uint32_t number, Wire message, uint32_t name, const char *text);
#endif
