/* A node as it was found: its documents parsed, and the state they were in. Thread: loop. */
#ifndef ZD_DATA_NODE_H
#define ZD_DATA_NODE_H

#include "core/array/layout.h"
#include "server/data/dataset.h"

#define ZD_NODE_KEY_HEAD_BYTES sizeof(uint32_t) /* dataset id */

/** The JSON library needs 13 to 77 times the bytes of a document, the shorter its values the more;
 * metadata is short numbers, and it is kept normalised beside its attributes. */
#define ZD_NODE_BYTES_PER_BYTE 48

/** Room for the key of a node's cache entry. */
struct zd_node_key {
    uint8_t byte[ZD_NODE_KEY_HEAD_BYTES + ZD_KEY_BYTES_MAX];
};

/** A node as it was found: immutable, kept in the metadata cache. */
struct zd_node {
    struct zd_cache_entry entry; /* first; key: dataset id, path */
    struct zd_dataset *dataset;
    char *path;            /* "" is the root */
    enum zd_status status; /* ZD_OK, or ZD_NOT_FOUND: absence is kept too */
    struct zd_meta *meta;  /* shared, without its listing (server/data/listing_read.h); NULL unless
                              ZD_OK */
    struct zd_layout *layout;              /* owned; NULL unless an array that is not refused */
    struct zd_stat stat[ZD_DOCUMENTS_MAX]; /* of its documents; generation zero = absent */
    uint64_t tag;        /* hash of the documents' generations: the node's part of entity tags */
    int64_t mtime_ms;    /* newest of its documents; 0 = unknown */
    uint64_t checked_ms; /* loop time when the store was asked last */
    uint64_t text_bytes; /* of its documents, without a listing */
    uint64_t tree_bytes; /* what is held of them, parsed: at most */
    /* Why there is no layout although the array is not refused, or NULL; owned. */
    struct zd_error *fault;
    /* Compared when the node is checked: the generation of every document that was looked for,
     * zero for absent ones, n_seen of them; owned. */
    struct zd_generation *seen;
    uint32_t n_seen;
    bool is_implied; /* only what is stored below it can tell whether it is there */
};

struct zd_node *zd_node_ref(struct zd_node *node);
void zd_node_unref(struct zd_node *node); /* accepts NULL */
ZD_OWN(zd_node, zd_node_unref);

/** The end of a node: for zd_cache_init of server->nodes. */
void zd_node_free(struct zd_cache_entry *entry);

/** The key of the cache entry of the node at a path. @param path at most ZD_KEY_BYTES_MAX bytes */
struct zd_span zd_node_cache_key(
    struct zd_node_key *key, const struct zd_dataset *dataset, struct zd_span path);

/**
 * A node without documents, in no cache.
 * @param path at most ZD_KEY_BYTES_MAX bytes
 * @return owned: a reference; NULL: no memory
 */
struct zd_node *zd_node_new(struct zd_dataset *dataset, struct zd_span path);

/**
 * A node with metadata that is not stored yet, for a write of chunks that comes first. It is in no
 * cache; its documents' generations and its tag are those of the stored node.
 *
 * @param node     an array
 * @param meta     the metadata that will be stored; shared
 * @param ret_node owned: a reference
 * @retval ZD_UNSUPPORTED a chunk is too large
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_node_foresee(const struct zd_node *node, struct zd_meta *meta,
    struct zd_node **ret_node, struct zd_error *err);

/** Set what parsing will take, at most. @param documents all of the node; borrowed. Thread: any. */
void zd_node_measure(
    struct zd_node *node, const struct zd_dialect *dialect, const struct zd_documents *documents);

/**
 * Set the model and the layout, once, and what they take.
 *
 * @param documents all of the node; borrowed
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_node_parse(struct zd_node *node, const struct zd_dialect *dialect,
    const struct zd_documents *documents, struct zd_error *err);

/** The last name of its path; of the root that of the dataset. Borrowed. */
const char *zd_node_name(const struct zd_node *node);

/** The cost of the node in the cache, in bytes. */
size_t zd_node_cost(const struct zd_node *node);

/** Set the state of its n documents, and with it the tag and the times. */
void zd_node_set_stat(struct zd_node *node, const struct zd_stat *stat, uint32_t n);

#endif
