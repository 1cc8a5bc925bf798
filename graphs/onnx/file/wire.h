/* wire.h -- reads protobuf's wire format in place, and writes fields. The file is mapped, a message
   is a slice of it, and a walker (Wire) steps through the fields of one message, checking every tag
   and length before it is used. Nothing is decoded or copied, so whatever is not understood can be
   written back as it is. */
#ifndef ISOMER_WIRE_H
#define ISOMER_WIRE_H
#include "ops/base/file.h"
#include "ops/base/text.h"
#include <onnx_fields.h> /* the field numbers of onnx.proto */

/* Bytes of a file; at == NULL means absent. */
typedef struct Slice {
    const unsigned char *at;
    size_t n;
} Slice;
typedef enum WireKind {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5
} WireKind;
typedef struct Field {
    uint32_t number;
    WireKind kind;
    uint64_t value; /* of a varint or fixed-size field */
    Slice bytes;    /* contents of a WIRE_BYTES field */
    Slice whole;    /* the tag, the length and the contents */
} Field;
typedef struct Wire {
    Slice rest; /* the bytes that were not read yet */
    /* The start of the file, from which positions in messages are counted. */
    const unsigned char *file;
    const char *place;  /* the file or part of it, for messages */
    const char *format; /* what the file should be, for messages: "an ONNX model" */
    Error *error;
    bool failed;
} Wire;

/* The deepest nesting of messages that is accepted: TypeProto and subgraphs are recursive. */
enum { WIRE_DEPTH = 64 };

/* Maps a file for reading. An empty file gives an empty slice. Returns false with E_ENVIRONMENT if
   the file cannot be read. */
bool file_map(const char *path, Slice *, Error *);
void file_unmap(Slice);
/* Sets *same to whether a file has exactly these contents; a piece without bytes stands for zeros.
   Returns false with E_ENVIRONMENT if the file cannot be read. */
bool file_holds(const char *path, int n, const Piece *, bool *same, Error *);
/* Gives the memory of a mapped file's pages back to the system; they are read again when they are
   next used. */
void file_release_pages(Slice);

/* A walker over a message of an ONNX model. Callers that read another format set `format`. `file`
   is the start of the file that contains the message. */
Wire wire_new(Slice message, const unsigned char *file, const char *place, Error *);
Wire wire_inner(const Wire *, Slice message); /* a walker over a message inside this one */
/* Reads the next field. Returns false at the end, and also if the bytes are not protobuf; then
   `failed` is set, and the error names the position of the byte. */
bool wire_next(Wire *, Field *);
/* Read a number without a tag, as packed lists contain them. They fail if the message ends before
   the number does. */
bool wire_varint(Wire *, uint64_t *);
bool wire_fixed(Wire *, unsigned bytes, uint64_t *);
/* Sets `failed` and an E_INVALID error at that byte; returns false. */
bool wire_fail(Wire *, const unsigned char *at, const char *what);
/* The same for a field that the format does not have, or has with another type; the message adds
   that the file may have another format. */
bool wire_fail_format(Wire *, const unsigned char *at, const char *what);
/* Whether the field has this kind; if not, fails. */
bool wire_want(Wire *, const Field *, WireKind);
/* Whether the field, a message that its message has at most once, comes for the first time; *seen
   becomes true. If not, fails: protobuf would merge both, but bytes that are written back unchanged
   must mean what was read. */
bool wire_once(Wire *, const Field *, bool *seen);

/* The contents of the last field of kind WIRE_BYTES with this number; absent if there is none.
   wire_read_bytes fails if the message is damaged or a field with this number has another kind. */
Slice wire_bytes(Wire, uint32_t number);
bool wire_read_bytes(Wire, uint32_t number, Slice *out);

Slice slice_of(const char *text);
Slice text_slice(const Text *);
bool slice_is(Slice, const char *text);
bool slice_equal(Slice, Slice);

/* ---- writing; each function writes the tag of the field, too */
void wire_put_int(Text *, uint32_t number, uint64_t value);
void wire_put_bytes(Text *, uint32_t number, const void *, size_t);
/* Writes the tag and the length; the caller adds the contents. */
void wire_put_length(Text *, uint32_t number, size_t bytes);
/* The same as pieces: the contents are not copied. */
void wire_put_slice(Pieces *, uint32_t number, const void *, size_t);
void wire_put_pieces(Pieces *, uint32_t number, const Pieces *);
/* Copies a message as field `number`, with its text field `name` replaced by this text. */
void wire_put_renamed(Pieces *, uint32_t number, Wire message, uint32_t name, const char *text);
#endif
