/* The documents of a node of the drafts of 2019 to January 2023 to a node. */
#ifndef ZD_CORE_DIALECT_DRAFTS_DRAFT_NODE_H
#define ZD_CORE_DIALECT_DRAFTS_DRAFT_NODE_H

#include "core/dialect/dialect.h"
#include "core/dialect/v3/draft_entry.h"

/** The documents of a node: its own two, of which one is expected, those that the dialect adds, and
 * last the entry point. */
enum {
    ZD_DRAFT_ARRAY,
    ZD_DRAFT_GROUP,
    ZD_DRAFT_N_OWN,
};

/** zd_dialect.bid. @param n_documents of the dialect */
int zd_draft_node_bid(
    const struct zd_documents *documents, enum zd_draft draft, uint32_t n_documents);

/**
 * zd_dialect.parse. Without a document of its own the node is a group that is only implied.
 *
 * @param dialect  the draft's
 * @param ret_meta owned
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_draft_node_parse(const struct zd_dialect *dialect, enum zd_draft draft,
    const struct zd_documents *documents, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err);

#endif
