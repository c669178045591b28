/* Memory for parsed nodes, in the cache or not: who has no room is refused, and nobody waits. A
 * request holds nodes while it waits for others, so waiting here could be for oneself. Thread:
 * loop. */
#ifndef ZD_RUNTIME_NODE_MEMORY_H
#define ZD_RUNTIME_NODE_MEMORY_H

#include "core/base/status.h"
#include "core/base/tally.h"

/** How much there is, and how much is taken. */
struct zd_node_memory {
    struct zd_tally held;    /* also given back by other threads */
    uint64_t bytes_max;      /* that nodes have for themselves */
    uint64_t bytes_admitted; /* that requests have been admitted for the nodes they keep */
};

/** The share of a request. Starts zeroed. */
struct zd_node_memory_share {
    struct zd_node_memory *parsed; /* NULL: nothing */
    uint64_t bytes;
};

void zd_node_memory_init(struct zd_node_memory *parsed, uint64_t bytes_max);

/**
 * Take so many bytes, to be given back by zd_tally_sub of parsed->held. Large nodes leave a quarter
 * to small ones, so that those find room beside any number of them.
 *
 * @param what they are for, for the message
 * @retval ZD_AGAIN     others have them
 * @retval ZD_TOO_LARGE there are never so many; facts limit and requested
 */
ZD_RESULT zd_node_memory_take(
    struct zd_node_memory *parsed, uint64_t bytes, const char *what, struct zd_error *err);

/** Take them whatever is left: for the nodes of a request that was admitted for them. */
void zd_node_memory_take_admitted(struct zd_node_memory *parsed, uint64_t bytes);

/** A request may keep nodes of so many bytes, in place of what it might before: there is more for
 * all. */
void zd_node_memory_admit(
    struct zd_node_memory *parsed, uint64_t bytes, struct zd_node_memory_share *share);

/** It keeps none any more. Accepts a zeroed share. */
void zd_node_memory_leave(struct zd_node_memory_share *share);

#endif
