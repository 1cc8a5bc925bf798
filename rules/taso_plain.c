/* taso_plain.c -- TASO's operator kinds that are one operator without attributes here, in both
   directions. */
#include "rules/taso_inner.h"

static const struct {
    int kind;
    const Op *op;
} plain_operators[] = {
#define X(kind, name) {TASO_##kind, &op_##name},
    TASO_PLAIN(X)
#undef X
};
enum { PLAIN_OPERATORS = sizeof plain_operators / sizeof *plain_operators };
const Op *taso_plain_operator(int kind) {
    for (int k = 0; k < PLAIN_OPERATORS; k++)
        if (plain_operators[k].kind == kind) return plain_operators[k].op;
    return NULL;
}
int taso_plain_kind(const Op *op) {
    for (int k = 0; k < PLAIN_OPERATORS; k++)
        if (plain_operators[k].op == op) return plain_operators[k].kind;
    return TASO_NONE;
}
