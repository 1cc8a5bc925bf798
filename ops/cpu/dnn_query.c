/* dnn_query.c -- asks oneDNN which implementation it chose for a primitive. */
#include "ops/cpu/dnn.h"
#include <string.h>

const char *implementation(const_dnnl_primitive_desc_t pd) {
    const char *name = NULL;
    if (!pd || dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) != dnnl_success)
        return "";
    return name ? name : "";
}
bool is_reference(const_dnnl_primitive_desc_t pd) {
    return strncmp(implementation(pd), "ref", 3) == 0;
}
