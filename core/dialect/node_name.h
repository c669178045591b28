/* The names of nodes. */
#ifndef ZD_CORE_DIALECT_NODE_NAME_H
#define ZD_CORE_DIALECT_NODE_NAME_H

#include "core/base/buf.h"

/** Whether a node below the root may have that name (Zarr v3, node names). Thread: any. */
bool zd_node_name_is_valid(struct zd_span name);

#endif
