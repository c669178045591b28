/* Where the drafts of 2019 to January 2023 keep documents and chunks: in two trees. */
#ifndef ZD_CORE_DIALECT_DRAFTS_DRAFT_KEYS_H
#define ZD_CORE_DIALECT_DRAFTS_DRAFT_KEYS_H

#include "core/dialect/dialect.h"

/** The keys of one draft. */
struct zd_draft_keys {
    const char *meta;      /* "meta/root": the prefix of documents, without slash */
    const char *data;      /* of chunks */
    const char *root_join; /* between `meta` and the root's own document: "." or "/" */
    const char *suffix;    /* of a document's key: ".json" */
};

/** The key of a node's document. @param type "array" or "group" */
ZD_RESULT zd_draft_keys_add_document(
    const struct zd_draft_keys *keys, const char *path, const char *type, struct zd_text *key);

/** zd_dialect.children_prefix */
ZD_RESULT zd_draft_keys_add_children(
    const struct zd_draft_keys *keys, const char *path, struct zd_text *prefix);

/** zd_dialect.child_name: a document's key names its node, a prefix a group. One that has both is
 * named twice. */
ZD_RESULT zd_draft_keys_add_child(
    const struct zd_draft_keys *keys, struct zd_span entry, bool is_prefix, struct zd_text *name);

/** The prefix of a node's chunks, ending in '/'. */
ZD_RESULT zd_draft_keys_add_data(
    const struct zd_draft_keys *keys, const char *path, struct zd_text *key);

#endif
