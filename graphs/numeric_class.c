/* numeric_class.c -- reads the table of numerical classes: by word, by bit, as a tolerance. */
#include "graphs/numeric_class.h"
#include "ops/base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *word;
    unsigned bit;
    double rtol;
} table[] = {{"exact", CLASS_EXACT, 1e-5},
#define X(id, word, rtol, off) {word, id, rtol},
             NUMERIC_CLASSES(X)
#undef X
};
enum { ROWS = sizeof table / sizeof *table };

const char *classes_text(Arena *a, unsigned classes) {
    if (!classes) return table[0].word;
    Text t = text_new(a);
    for (int k = 1; k < ROWS; k++)
        if (classes & table[k].bit) text_add(&t, "%s%s", t.size ? "+" : "", table[k].word);
    return t.data;
}

static bool row_among(int row, unsigned among) {
    return table[row].bit ? (table[row].bit & among) != 0 : among == (unsigned)CLASSES_ANY;
}

static bool parse_among(const char *text, unsigned among, unsigned *classes) {
    *classes = 0;
    for (const char *p = text;;) {
        size_t n = strcspn(p, "+,");
        int k = 0;
        while (k < ROWS && (strlen(table[k].word) != n || memcmp(table[k].word, p, n))) k++;
        if (k == ROWS || !row_among(k, among)) return false;
        *classes |= table[k].bit;
        if (!p[n]) return true;
        p += n + 1;
    }
}

bool classes_parse(const char *text, unsigned *classes) {
    return parse_among(text, (unsigned)CLASSES_ANY, classes);
}

bool classes_option(const char *option, const char *text, unsigned among, unsigned *classes,
                    Error *e) {
    char words[sizeof CLASS_WORDS] = "";
    if (parse_among(text, among, classes)) return true;
    for (int k = 0; k < ROWS; k++)
        if (row_among(k, among))
            snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s",
                     *words ? ", " : "", table[k].word);
    return error_set(e, E_USAGE, option,
                     "expects one or more of %s, joined by + or commas, not \"%s\"", words, text);
}

Tolerance classes_tolerance(unsigned classes, DType t) {
    double rtol = table[0].rtol;
    for (int k = 1; k < ROWS; k++)
        if (classes & table[k].bit) rtol = fmax(rtol, table[k].rtol);
    if (dtype_class(t) != 'F') return (Tolerance){0, 0};
    /* Roundings of 16-bit types are coarser than what any class changes. */
    if (t == DT_FLOAT16) rtol = 1e-2;
    if (t == DT_BFLOAT16) rtol = 5e-2;
    return (Tolerance){rtol, 1e-7};
}
