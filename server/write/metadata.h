/* Changing the documents of a hierarchy: nodes made, replaced, patched, resized, erased, and stored
 * consolidated metadata kept in step. Thread: loop. */
#ifndef ZD_WRITE_METADATA_H
#define ZD_WRITE_METADATA_H

#include "core/dialect/written.h"
#include "server/data/catalog.h"
#include "server/data/reader.h"

enum zd_metadata_kind {
    ZD_METADATA_PUT,       /* make a node, or replace its document */
    ZD_METADATA_PATCH,     /* change members of its document; the others stay as they are stored */
    ZD_METADATA_ERASE,     /* the node: an array with its chunks, a group as is_recursive says */
    ZD_METADATA_PUT_KEY,   /* exactly these bytes, under the key of a document */
    ZD_METADATA_ERASE_KEY, /* the key of a document, and nothing else */
    ZD_METADATA_CONSOLIDATE, /* store the listing of a group that the caller has made */
};

/** A change. Everything borrowed during zd_metadata_want, which copies it or takes references. */
struct zd_metadata_input {
    enum zd_metadata_kind kind;
    uint64_t client;      /* who asks, for fairness (server/write/lock.h); 0: nobody known */
    const char *place;    /* the node's path, "" is the root; of PUT_KEY and ERASE_KEY: the key */
    struct zd_buf *bytes; /* PUT: a final v3 document as text; PUT_KEY: the bytes to store */
    /* PATCH: an object (RFC 7396) of members of the final v3 document: attributes, dimension_names,
     * shape, extensions. */
    const struct zd_json *json;
    struct zd_stored_listing *listing; /* CONSOLIDATE: of final v3 documents */
    /* PATCH, in place of json: elements that are about to be stored. The array's extensions are
     * changed as its document, found under the lock, requires; perhaps not at all. Or NULL. */
    const struct zd_written *written;
    struct zd_node *expected; /* only while the node's documents are those of this one; or NULL */
    /* PUT_KEY and ERASE_KEY: only while the key meets this condition. */
    enum zd_condition condition;
    struct zd_generation generation;
    bool expects_absent; /* of PUT: only while there is no node */
    bool erases_chunks;  /* of PUT: an array whose chunks would be orphaned loses them */
    bool is_recursive;   /* of ERASE: with everything below it, whatever that is; without it a group
                            that is not empty stays (not_empty), as the root does */
    bool is_dry;         /* all checks, nothing stored */
    bool wants_node;     /* of PUT and PATCH: return the stored node */
    /* PUT and PUT_KEY: the client may not learn what is stored. PUT needs erases_chunks wherever
     * an array has chunks, whatever its document; PUT_KEY makes no array of chunks that are there.
     */
    bool is_blind;
    /* PUT: whether the client may make a missing parent; else the change fails. Called with
     * `maker` while the caller waits, never after. NULL: it may make any. */
    bool (*may_make)(const void *maker, const char *path);
    const void *maker;
    /* For PUT, PUT_KEY and PATCH: levels of a group that the client may not read are not judged.
     * Asked while the caller waits, never after. Zeroed: it may read all. */
    struct zd_reader reader;
    /* The caller holds a lock of the node's path (CHUNKS or APPEND, server/write/lock.h) until the
     * change has ended: an array whose shape or extensions it changes by PATCH. A shape set so must
     * not shrink. */
    bool has_lock;
};

struct zd_metadata_want {
    struct zd_wait wait;
    /* out */
    const char *code; /* of the problem, where the status says too little: "chunks_exist" ...; or
                         NULL */
    /* PUT, PATCH and PUT_KEY, with ZD_OK, ZD_INVALID and ZD_UNSUPPORTED: the document, judged to be
     * written: its faults are warnings, or why it is refused. A reference for the caller; NULL if
     * judging was never reached. */
    struct zd_meta *meta;
    /* With ZD_OK, if wants_node: the node as this change has stored it, whatever other writers have
     * made of it since; it is in no cache. A reference for the caller; NULL of a dry run. */
    struct zd_node *node;
    struct zd_stat stat;   /* with ZD_OK, of PUT_KEY: of the stored object */
    uint64_t n_children;   /* with the code not_empty, of ERASE: directly below the node */
    bool blames_input;     /* the sent document alone is at fault, whatever is stored */
    bool parent_is_denied; /* a missing parent may not be made: may_make has refused it */
    size_t parent_len;     /* of its path: the first bytes of the node's */
    bool has_made;         /* with ZD_OK: there was no such node, or key, before */
    bool is_stored;        /* the change is made: with an error too, when a later step failed */
    void *load;            /* its own: NULL when nothing is under way */
};

/** The most memory that a change of the node at a path takes, or of a key below it, but for what
 * its input holds: something of every node on the way. The caller has admitted it. */
uint64_t zd_metadata_bytes(const char *path);

/**
 * Make a change. Until it begins to store or to erase, it can be withdrawn; then it belongs to
 * itself, and is completed, or not made at all. In this order it
 *
 *   - waits for other changes of the same path (server/write/lock.h), and reads what is stored,
 *     past the caches;
 *   - judges the new document (ZD_JUDGE_WRITE: every fault at once) and its place;
 *   - stages and commits missing parents as groups, the document, and the stored consolidated
 *     metadata of every ancestor. When one of them fails, everything committed by then is undone,
 *     except parents that another process has made nodes below. When another process has written
 *     meanwhile the change begins again, unless that breaks `expected` or a condition;
 *   - erases the chunks outside of a new shape, or all keys of an erased node, but nothing that
 *     another process has written since: it stops when the node exists again, or is another one;
 *   - reports events.
 *
 * A document that orphans chunks (erases_chunks) is staged; then the old one is erased, then the
 * chunks, and only then it is committed: in between there is no node, so that no reader decodes the
 * chunks as what they are not. The store keeps what is erased (server/write/kept.h) until all is
 * stored: when that fails, the chunks are put back, then the document. Of more chunks than
 * zd_memory.kept_bytes allows the rest is erased for good; then there may be no node any more, and
 * the error says so.
 *
 * An erasure takes the documents first, the node's own before all below it, so that no reader
 * sees half an array. Consolidated metadata that cannot be refreshed is dropped; where even that
 * fails everything is put back.
 *
 * wait.status:
 *   ZD_OK
 *   ZD_NOT_FOUND     there is no such node (ERASE_KEY: no such key; written: no array of that type)
 *   ZD_INVALID       a parent may not be made (parent_is_denied); the document is faulty:
 *                    meta->faults, when meta is set (422); without meta it is not JSON, or the path
 *                    is not made of node names (code bad_body, bad_path), or the place forbids it
 *                    (code parent_is_array, chunks_exist, not_empty); PUT_KEY: chunks of the array
 *                    would be decoded as what they are not
 *   ZD_UNSUPPORTED   it names what this server does not know, and the dataset does not
 *                    accept_unknown
 *   ZD_PRECONDITION  `expected`, `expects_absent` or the condition does not hold
 *   ZD_READ_ONLY     the store takes no writes, or the node's dialect is read-only
 *   ZD_TOO_LARGE, ZD_NO_SPACE, ZD_STORE, ZD_NO_MEMORY ...: nothing was changed, or what the text
 *                    says
 *
 * @param want zeroed but for wait.done and wait.context
 * @return ZD_NEXT or ZD_WAIT
 */
enum zd_next zd_metadata_want(struct zd_dataset *dataset, const struct zd_metadata_input *input,
    struct zd_metadata_want *want);

/**
 * The same for the shape of an array that its caller writes into.
 *
 * @param node     the array; the caller holds ZD_LOCK_APPEND of its path
 * @param shape    no dimension is shorter than it is
 * @param expected set it only while the array's document is the one of this node; NULL: a dry run
 */
enum zd_next zd_metadata_want_shape(const struct zd_node *node, const uint64_t *shape,
    struct zd_node *expected, struct zd_metadata_want *want);

/** Stop waiting, and release what was received: a change that has begun to be stored goes on, any
 * other is not made. Accepts a zeroed want. Not while the caller must keep a lock for the change
 * (has_lock). */
void zd_metadata_release(struct zd_metadata_want *want);

/** The change is withdrawn: unless it has begun to be stored, it is not made, and ends
 * with ZD_CANCELLED, soon. @return whether nothing is under way (any more) */
bool zd_metadata_withdraw(struct zd_metadata_want *want);

/** Whether the change has begun to be stored, or is made. */
bool zd_metadata_is_storing(const struct zd_metadata_want *want);

#endif
