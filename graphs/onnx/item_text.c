/* item_text.c -- parses items. The kind of an item follows from the first of these that it
   contains: "==", a ":" without "=", or what stands after "=" and at the end of the item. */
#include "graphs/onnx/item_text.h"
#include <stdlib.h>
#include <string.h>

static const char input_mark[] = "input:", list_mark[] = "list:", number_mark[] = "number:";
enum { INPUT_MARK = sizeof input_mark - 1 };

/* Returns the text after the mark, or NULL if `text` does not start with it. */
static const char *after(const char *text, const char *mark) {
    const size_t n = strlen(mark);
    return strncmp(text, mark, n) ? NULL : text + n;
}

/* Parses an item that sets the attribute `ours`. source: the text after "=", or the attribute's
   name if there is no "=". */
static ItemText item_filling(const char *ours, char *source) {
    ItemText item = {.kind = ITEM_ATTR, .ours = ours, .input = -1};
    char *last = &source[strlen(source) - 1], *bar = strchr(source, '|');
    if (*last == '!') {
        *last = 0;
        return item.kind = ITEM_FIXED, item.value = source, item;
    }
    if (!strncmp(source, input_mark, INPUT_MARK)) {
        item.kind = ITEM_INPUT;
        item.input = atoi(source + INPUT_MARK);
        return item.list = strchr(source, '[') != NULL, item;
    }
    const char *list = after(source, list_mark), *number = after(source, number_mark);
    if (list || number) {
        item.kind = ITEM_CONSTANT, item.list = list != NULL;
        return item.theirs = list ? list : number, item;
    }
    item.capitals = *last == '^';
    if (item.capitals) *last = 0;
    if (bar) *bar = 0, item.input = atoi(bar + 1 + INPUT_MARK);
    return item.theirs = source, item;
}

static ItemText item_parse(char *text) {
    char *same = strstr(text, "=="), *colon = strchr(text, ':'), *equal = strchr(text, '=');
    const bool written = *text == '+';
    if (same) {
        *same = 0;
        return (ItemText){ITEM_EQUALS, NULL, text + written, same + 2, -1, false, false, written};
    }
    if (colon && !equal) {
        *colon = 0;
        if (!strcmp(colon + 1, "ignore"))
            return (ItemText){.kind = ITEM_IGNORED, .theirs = text, .input = -1};
        return (ItemText){.kind = ITEM_SPECIAL, .ours = text, .value = colon + 1, .input = -1};
    }
    if (!equal) return item_filling(text, text);
    *equal = 0;
    return item_filling(text, equal + 1);
}

bool item_next(Arena *a, const char **list, ItemText *out) {
    if (!*list || !*(*list += strspn(*list, " "))) return false;
    const size_t n = strcspn(*list, " ");
    *out = item_parse(arena_string(a, *list, n));
    *list += n;
    return true;
}

bool items_have_special(Arena *a, const char *list, const char *ours, const char *name) {
    for (ItemText item; item_next(a, &list, &item);)
        if (item.kind == ITEM_SPECIAL && !strcmp(item.ours, ours) &&
            (!name || !strcmp(item.value, name)))
            return true;
    return false;
}
