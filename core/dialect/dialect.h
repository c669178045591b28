/* Dialects: how the nodes of a hierarchy are kept in keys and documents. One file a dialect. */
#ifndef ZD_CORE_DIALECT_DIALECT_H
#define ZD_CORE_DIALECT_DIALECT_H

#include "core/dialect/document_texts.h"
#include "core/dialect/meta.h"

/** How a dataset wants its documents read. */
struct zd_reading {
    bool zep10; /* `extensions` is understood (ZEP 10), not an unknown member (core 3.1) */
    enum zd_judgement judgement;
    /* Of one document without its consolidated block. `nonfinite` is for documents to be written:
     * a bare NaN in them is reported as a fault of its member, not as malformed JSON. */
    struct zd_json_limits limits;
    size_t consolidated_bytes_max;
};

/** An entry of a stored consolidated listing. */
struct zd_stored_node {
    const char
        *path; /* relative to the group that holds the listing, no slash at either end; borrowed */
    const struct zd_json *document; /* as stored; borrowed */
};

/** A change to a stored consolidated listing. */
struct zd_listing_change {
    const char *path;               /* relative to the group that holds the listing */
    const struct zd_json *document; /* final v3; NULL: it goes, and everything below it */
};

/** A dialect. Paths are relative to the dataset: "" is the root, "a/b" a node; no slash at either
 * end. */
struct zd_dialect {
    const char *name; /* as clients see it: "v3", "v2", ... */
    uint32_t n_documents;

    /** The key of the i-th document of a node. @retval ZD_TOO_LARGE the key does not fit */
    ZD_RESULT (*document_key)(const char *path, uint32_t i, struct zd_text *key);

    /** The node that a key is a document of: appends its path. The names on the way are not judged.
     * @retval ZD_NOT_FOUND it is no document's key */
    ZD_RESULT (*document_path)(struct zd_span key, struct zd_text *path);

    /** How sure this dialect is that the documents make a node of its own: 0 no, the highest bid
     * wins. */
    int (*bid)(const struct zd_documents *documents);

    /**
     * Documents to a node. A faulty or foreign document still makes one, refused, with its faults:
     * only missing memory fails.
     * @param ret_meta owned
     */
    ZD_RESULT (*parse)(const struct zd_documents *documents, const struct zd_reading *reading,
        struct zd_meta **ret_meta, struct zd_error *err);

    /** The same for one document of a stored consolidated listing. */
    ZD_RESULT (*parse_json)(const struct zd_json *document, const struct zd_reading *reading,
        struct zd_meta **ret_meta, struct zd_error *err);

    /** Whether documents that were made here keep the limits of reading them again.
     * @retval ZD_TOO_LARGE facts limit and requested */
    ZD_RESULT (*check)(const struct zd_documents *documents, const struct zd_reading *reading,
        struct zd_error *err);

    /** The key of a chunk, index[0 .. rank) inside the grid, below the node's path. */
    ZD_RESULT (*chunk_key)(
        const struct zd_meta *meta, const char *path, const uint64_t *index, struct zd_text *key);

    /**
     * The chunk that a key names: `key` is relative to the node ("c/0/1"). Exact: "c/00/1" names
     * none.
     * @retval ZD_NOT_FOUND     it is no chunk key of that array
     * @retval ZD_OUT_OF_BOUNDS it would be one of a larger grid
     */
    ZD_RESULT (*chunk_index)(const struct zd_meta *meta, const char *key, uint64_t *ret_index);

    /** The prefix to list for the children of a group ("" or ending in '/'). */
    ZD_RESULT (*children_prefix)(const char *path, struct zd_text *prefix);

    /**
     * The child that a listed entry may be: appends its name; ZD_NOT_FOUND when it is none. A
     * candidate is a node only if its documents are there.
     * @param entry     relative to the listed prefix, without slash at the end
     * @param is_prefix the entry is a prefix (a directory), not a key
     */
    ZD_RESULT (*child_name)(struct zd_span entry, bool is_prefix, struct zd_text *name);

    /** Entry i of a group's stored consolidated listing, with leading slash and faulty paths sorted
     * out; ZD_NOT_FOUND past the end. */
    ZD_RESULT (*stored_node)(
        const struct zd_meta *meta, size_t *iter, struct zd_stored_node *ret_node);

    /* Writing: all NULL in a dialect that is only read. Outputs begin empty, as
     * zd_document_texts_init leaves them. Texts of documents were parsed before, and are JSON. */

    /** The documents of a node. @param listing path -> final v3 document, or NULL: none is stored
     */
    void (*render)(const struct zd_json *document, const struct zd_json *listing,
        struct zd_document_texts *out);

    /** The documents with a merge patch (RFC 7396) of the final v3 document applied; everything
     * else stays as it is stored. */
    void (*patch)(const struct zd_documents *stored, const struct zd_json *patch,
        struct zd_document_texts *out);

    /** The documents of a group with another listing. @param listing NULL: none any more */
    void (*set_listing)(const struct zd_documents *stored, const struct zd_json *listing,
        struct zd_document_texts *out);

    /** The same with single entries changed, n of them, in the listing that is there. */
    void (*change_listing)(const struct zd_documents *stored,
        const struct zd_listing_change *change, size_t n, struct zd_document_texts *out);
};

/** Whether nodes of that dialect can be made and changed. */
static inline bool zd_dialect_is_writable(const struct zd_dialect *dialect)
{
    return dialect->render != NULL;
}

/** All dialects, ended by NULL; generated from the files core/dialect/dialect_*.c. */
extern const struct zd_dialect *const zd_dialects[];

/** The dialect of that name, or NULL. Thread: any. */
const struct zd_dialect *zd_dialect_find(const char *name);

/**
 * The node that a key is a document of, in any dialect.
 *
 * @param ret_path cleared first
 * @retval ZD_NOT_FOUND it is no document's key
 * Thread: any.
 */
ZD_RESULT zd_dialect_node_path(const char *key, struct zd_text *ret_path);

/**
 * A final v3 document as a client gives it for a node of any dialect, judged.
 *
 * @param ret_meta owned; refused, with its faults, when the document is faulty
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_dialect_judge(struct zd_span text, const struct zd_reading *reading,
    struct zd_meta **ret_meta, struct zd_error *err);

/** The final v3 document of a group of which nothing is said. Owned; NULL without memory. Thread:
 * any. */
struct zd_json *zd_dialect_new_group(void);

/** Whether a node below the root may have that name (Zarr v3, node names). Thread: any. */
bool zd_dialect_node_name_is_valid(struct zd_span name);

#endif
