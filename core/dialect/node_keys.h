/* Keys of a hierarchy whose nodes are prefixes: documents, chunks and children of a node lie below
 * its path. Hooks of struct zd_dialect, whose documentation holds. Thread: any. */
#ifndef ZD_CORE_DIALECT_NODE_KEYS_H
#define ZD_CORE_DIALECT_NODE_KEYS_H

#include "core/dialect/meta.h"

ZD_RESULT zd_node_keys_chunk(
    const struct zd_meta *meta, const char *path, const uint64_t *index, struct zd_text *key);
ZD_RESULT zd_node_keys_chunk_index(
    const struct zd_meta *meta, const char *key, uint64_t *ret_index);
ZD_RESULT zd_node_keys_children_prefix(const char *path, struct zd_text *prefix);

/** Whether a dialect that reserves no names has a node of that name: in those that begin with "__"
 * anything goes. */
bool zd_node_keys_is_name(struct zd_span name);

/** The child's name for such a dialect. */
ZD_RESULT zd_node_keys_child_name(struct zd_span entry, bool is_prefix, struct zd_text *name);

#endif
