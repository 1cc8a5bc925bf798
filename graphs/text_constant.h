/* text_constant.h -- constants in the text form; for the files of graphs/ only. */
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
    Type type; /* of variables sizes may be symbols until bound */
    ConstantForm form;
    int n; /* LIST: elements; SPLAT: 1 */
    const double *real;
    const int64_t *integer; /* the same for integer types, exactly */
    const void *bytes;      /* HEX */
    size_t size;
    uint64_t seed;
    const char *at;
};
bool constant_parse(World *, Arena *, Scan *, LineConstant **out);
/* 0: the scan's error says why; type: with its sizes bound. */
Value constant_build(World *, const LineConstant *, const Type *, Scan *);
void constant_print(World *, Value, Text *);
/* Takes hex"00ff"; false without error: none there. */
bool hex_parse(Scan *, Arena *, const void **bytes, size_t *n);
void hex_print(const void *bytes, size_t n, Text *);
#endif
