/* items.h -- declares the functions of the special items listed in items.def. (Items that only one
   operator needs are in that operator's file.) */
#ifndef ISOMER_ONNX_ITEMS_H
#define ISOMER_ONNX_ITEMS_H
#include "graphs/onnx/export/emit_draft.h"
#include "graphs/onnx/import/import.h"

/* An import function sets the operator's attribute `attr` (-1 if the item names none) and whatever
   else the item implies. It returns false, after import_fail, if this entry of the table does not
   fit the node. */
#define ITEM(ours, special, import, export) bool import(Import *, int attr);
#include "graphs/onnx/items.def"
#undef ITEM
/* An export function writes what the import function would read. It returns false, after
   draft_fail, if that cannot be expressed. */
#define ITEM(ours, special, import, export) bool export(Draft *, int attr);
#include "graphs/onnx/items.def"
#undef ITEM
#endif
