/* The parameters of a request for a listing. */
#ifndef ZD_DESCRIBE_TREE_ASK_H
#define ZD_DESCRIBE_TREE_ASK_H

#include "server/describe/tree.h"
#include "server/http/params.h"

/**
 * Read depth, limit, cursor, node_type, match, fields and check.
 *
 * @param nodes_max the highest limit, and the one without a parameter
 * @param ask       path and format are set; gets the rest
 * @retval ZD_INVALID a value is none, or does not go with another parameter
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_tree_ask_parse(const struct zd_params *params, uint64_t nodes_max,
    struct zd_tree_ask *ask, struct zd_error *err);

/** Whether the answer for a hierarchy of more than n nodes may be sent before it is whole: it is no
 * page of so many nodes, which ends soon, and no document that is refused when it has more. */
bool zd_tree_ask_may_be_long(const struct zd_tree_ask *ask, uint64_t n);

#endif
