/* table.c -- the table of operators, made from ops.def: each line OP(name) stands for the constant
   op_name, defined in the operator's file. */
#include "ops/operator/signature.h"
#include <stdio.h>
#include <string.h>

static const Op *const table[] = {
#define OP(name) &op_##name,
#include "ops/ops.def"
#undef OP
};

int op_count(void) { return (int)(sizeof table / sizeof *table); }
const Op *op_at(int k) { return table[k]; }
const Op *op_find(const char *name) {
    for (int k = 0; k < op_count(); k++)
        if (!strcmp(table[k]->name, name)) return table[k];
    return NULL;
}
int op_index(const Op *op) {
    for (int k = 0; k < op_count(); k++)
        if (table[k] == op) return k;
    return -1;
}
bool op_algebraic(const Op *op) { return op->define || op->expand; }
OpKernel op_kernel(const char *name) {
    const Op *op = op_find(name);
    return op ? op->kernel : NULL;
}

/* Counts the names of a declaration such as "x w b?" or "xs..": returns the number of all, and
   stores that of the required ones and whether the last is variadic. */
static int names(const char *text, int *needed, bool *variadic) {
    int n = 0;
    *needed = 0;
    *variadic = false;
    for (const char *s = text; *(s += strspn(s, " "));) {
        size_t length = strcspn(s, " ");
        *variadic = length > 2 && !strncmp(s + length - 2, "..", 2);
        *needed += s[length - 1] != '?';
        n++;
        s += length;
    }
    return n;
}
int op_arity(const Op *op, bool *variadic) {
    int needed;
    names(op->in, &needed, variadic);
    return needed;
}
int op_input_count(const Op *op) {
    int needed;
    bool variadic;
    return names(op->in, &needed, &variadic);
}
int op_input_named(const Op *op, const char *name) {
    int k = 0;
    for (const char *s = op->in; *(s += strspn(s, " ")); k++) {
        size_t length = strcspn(s, " ");
        if (length == strlen(name) && !strncmp(s, name, length)) return k;
        s += length;
    }
    return -1;
}
int op_input_any(const Op *op, const char *name) {
    char optional[64];
    snprintf(optional, sizeof optional, "%s?", name);
    const int k = op_input_named(op, name);
    return k >= 0 ? k : op_input_named(op, optional);
}
bool op_input_needed(const Op *op, int input) {
    int k = 0;
    for (const char *s = op->in; *(s += strspn(s, " ")); k++) {
        size_t length = strcspn(s, " ");
        if (k == input) return s[length - 1] != '?' && s[length - 1] != '.';
        s += length;
    }
    return false;
}
int op_output_count(const Op *op, bool *variadic) {
    int needed;
    return names(op->out, &needed, variadic);
}
