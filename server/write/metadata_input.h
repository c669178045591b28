/* The input of a change of a hierarchy's documents. Thread: loop. */
#ifndef ZD_WRITE_METADATA_INPUT_H
#define ZD_WRITE_METADATA_INPUT_H

#include "core/dialect/written.h"
#include "server/data/catalog.h"

enum zd_metadata_kind {
    ZD_METADATA_PUT,       /* make a node, or replace its document */
    ZD_METADATA_PATCH,     /* change members of its document; the others stay as they are stored */
    ZD_METADATA_ERASE,     /* the node and everything below it */
    ZD_METADATA_PUT_KEY,   /* exactly these bytes, under the key of a document */
    ZD_METADATA_ERASE_KEY, /* the key of a document, and nothing else */
    ZD_METADATA_CONSOLIDATE, /* store the listing of a group that the caller has made */
};

/** A change. Everything borrowed during zd_metadata_want, which copies it or takes references. */
struct zd_metadata_input {
    enum zd_metadata_kind kind;
    const char *place;    /* the node's path, "" is the root; of PUT_KEY and ERASE_KEY: the key */
    struct zd_buf *bytes; /* PUT: a final v3 document as text; PUT_KEY: the bytes to store */
    /* PATCH: an object (RFC 7396) of members of the final v3 document: attributes, dimension_names,
     * shape, extensions. CONSOLIDATE: path below the group -> final v3 document. */
    const struct zd_json *json;
    /* PATCH, in place of json: elements that are about to be stored. The array's extensions are
     * changed as its document, found under the lock, requires; perhaps not at all. Or NULL. */
    const struct zd_written *written;
    struct zd_node *expected; /* only while the node's documents are those of this one; or NULL */
    /* PUT_KEY and ERASE_KEY: only while the key meets this condition. */
    enum zd_condition condition;
    struct zd_generation generation;
    bool expects_absent; /* of PUT: only while there is no node */
    bool erases_chunks;  /* of PUT: an array whose chunks would be orphaned loses them */
    bool keeps_children; /* of ERASE: a group with children stays (409 not_empty) */
    bool is_dry;         /* all checks, nothing stored */
    bool wants_node;     /* of PUT and PATCH: return the stored node */
    /* The caller holds a lock of the node's path (CHUNKS or APPEND, server/write/lock.h) until the
     * change has ended: an array whose shape or extensions it changes by PATCH. A shape set so must
     * not shrink. */
    bool has_lock;
};

#endif
