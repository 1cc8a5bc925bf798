/* text_constant.h -- parses, builds and prints constants of the text form. Only the files of
   graphs/ include it. */
#ifndef ISOMER_TEXT_CONSTANT_H
#define ISOMER_TEXT_CONSTANT_H
#include "graphs/tables.h"

typedef enum ConstantForm {
    CONSTANT_LIST,
    CONSTANT_SPLAT,
    CONSTANT_SEED,
    CONSTANT_HEX
} ConstantForm;
struct LineConstant {
    Type type; /* its sizes may be symbols until variables are bound */
    ConstantForm form;
    int n; /* number of elements given; 1 for SPLAT */
    const double *real;
    const int64_t *integer; /* in place of `real` for integer types */
    const void *bytes;      /* the contents of HEX, `size` bytes */
    size_t size;
    uint64_t seed;
    const char *at; /* position in the text, for errors */
};
/* Parses a type and the contents after it. Returns false on error. */
bool constant_parse(World *, Arena *, Scan *, LineConstant **out);
/* Makes the constant; the type has its sizes bound. Returns 0 on error; the scan's error says
   why. */
Value constant_build(World *, const LineConstant *, const Type *, Scan *);
void constant_print(World *, Value, Text *);
/* Parses hex"00ff" into the arena. Returns false without an error if the scan is not at such
   text. */
bool hex_parse(Scan *, Arena *, const void **bytes, size_t *n);
void hex_print(const void *bytes, size_t n, Text *);
#endif
