/* items.h -- the table of items.def, and the items that operators have of their own. */
#ifndef ISOMER_ONNX_ITEMS_H
#define ISOMER_ONNX_ITEMS_H
#include "graphs/onnx/export/emit_draft.h"
#include "graphs/onnx/import/import.h"

/* import sets our attribute `attr` (-1: the item names none) and whatever else it says; false: the
   entry of the table does not fit, import_fail says why. */
#define ITEM(ours, special, import, export) bool import(Import *, int attr);
#include "graphs/onnx/items.def"
#undef ITEM
/* export writes what import would read; false: it cannot, draft_fail says why. */
#define ITEM(ours, special, import, export) bool export(Draft *, int attr);
#include "graphs/onnx/items.def"
#undef ITEM
#endif
