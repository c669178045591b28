/* Dialects: how the nodes of a hierarchy are kept in keys and documents. One file a dialect. */
#ifndef ZD_CORE_DIALECT_DIALECT_H
#define ZD_CORE_DIALECT_DIALECT_H

#include "core/base/emit.h"
#include "core/dialect/document_texts.h"
#include "core/dialect/meta.h"

/** How a dataset wants its documents read. */
struct zd_reading {
    bool zep10; /* `extensions` is understood (ZEP 10), not an unknown member (core 3.1) */
    enum zd_judgement judgement;
    /* For a document without its consolidated block. `nonfinite` is for documents to be written:
     * a bare NaN in them is reported as a fault of its member, not as malformed JSON. */
    struct zd_json_limits limits;
    size_t consolidated_bytes_max;
    bool is_reversed; /* axes of N5 come in the reverse order of `dimensions` */
};

/** A change to a stored consolidated listing. */
struct zd_listing_change {
    const char *path;               /* relative to the group that holds the listing */
    const struct zd_json *document; /* final v3; NULL: it goes, and everything below it */
    struct zd_documents stored;     /* the same as its dialect stores it, where that lists texts */
};

/** Bids: the highest wins, and 0 is none. Documents that make a node bid more than these. */
enum {
    ZD_BID_UNSURE = 1, /* a node, refused, if no other dialect wants the documents */
    ZD_BID_IMPLIED,    /* a group, if there is anything below it, and the root always */
};

/** A dialect. Paths are relative to the dataset: "" is the root, "a/b" a node; no slash at either
 * end. */
struct zd_dialect {
    const char *name; /* as clients see it: "v3", "v2", ... */
    uint32_t n_documents;

    /* Blocks of its arrays may be of all kinds that N5 has (zd_codec_config). */
    bool is_n5;

    /* Its documents are looked for before those of other dialects; where they make a node, no other
     * dialect is asked. */
    bool is_first;

    /* Its last document is the entry point of the hierarchy, with the same key for all nodes: where
     * none is there that the dialect bids for, no other document of it is looked for. The key of a
     * document does not tell its node (document_path is NULL), and groups need no document. */
    bool has_entry;

    /* The number of the document that is the stored listing of a group. It is looked for where the
     * others make a group: may_list tells; or with them, without may_list. 0: there is no such
     * document. */
    uint32_t listing_document;

    /** Whether documents that it bids for make a group that may have a listing; or NULL. */
    bool (*may_list)(const struct zd_documents *documents);

    /** How the keys of its listings name nodes; NULL without parse_entry. */
    zd_stored_listing_tell *tell;

    /** Listings have its documents as they are stored: a node keeps them (zd_meta_documents). */
    bool lists_texts;

    /** Add what a listing says of a node, as members of its map; NULL where none is written.
     * @param path relative to the group that holds the listing; not "" */
    void (*list)(const char *path, const struct zd_meta *meta, struct zd_emit *emit);

    /** The key of the i-th document of a node.
     * @retval ZD_TOO_LARGE the key does not fit
     * @retval ZD_NOT_FOUND that node has no such document */
    ZD_RESULT (*document_key)(const char *path, uint32_t i, struct zd_text *key);

    /** The node that a key is a document of (NULL with has_entry): appends its path. The names on
     * the way are not judged.
     * @retval ZD_NOT_FOUND it is no document's key */
    ZD_RESULT (*document_path)(struct zd_span key, struct zd_text *path);

    /** How sure this dialect is that the documents make a node of its own. Takes little time. */
    int (*bid)(const struct zd_documents *documents);

    /**
     * Documents to a node. A faulty or foreign document still makes one, refused, with its faults:
     * only missing memory fails.
     * @param ret_meta owned
     */
    ZD_RESULT (*parse)(const struct zd_documents *documents, const struct zd_reading *reading,
        struct zd_meta **ret_meta, struct zd_error *err);

    /** The same for one node of a stored consolidated listing; NULL in a dialect that reads none.
     */
    ZD_RESULT (*parse_entry)(const struct zd_stored_entry *entry, const struct zd_reading *reading,
        struct zd_meta **ret_meta, struct zd_error *err);

    /** Whether documents that were made here keep the limits of reading them again; NULL in a
     * dialect that is only read.
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
     * The child that a listed entry may be: appends its name, with which the entry begins;
     * ZD_NOT_FOUND when it is none. A candidate is a node only if its documents are there.
     * @param entry     relative to the listed prefix, without slash at the end
     * @param is_prefix the entry is a prefix (a directory), not a key
     */
    ZD_RESULT (*child_name)(struct zd_span entry, bool is_prefix, struct zd_text *name);

    /* Writing: all NULL in a dialect that is only read. Outputs begin empty, as
     * zd_document_texts_init leaves them. Texts of documents were parsed before, and are JSON. */

    /**
     * The documents of a node, all of them.
     * @param listing of final v3 documents, or NULL: none is stored
     * @param faults  what this dialect cannot say: with one that refuses, `out` is of no use
     */
    void (*render)(const struct zd_json *document, const struct zd_stored_listing *listing,
        struct zd_document_texts *out, struct zd_faults *faults);

    /** The documents with a merge patch (RFC 7396) of the final v3 document applied; everything
     * else stays as it is stored. @param faults as of render */
    void (*patch)(const struct zd_documents *stored, const struct zd_json *patch,
        struct zd_document_texts *out, struct zd_faults *faults);

    /**
     * The documents of a node that a client describes by one of this dialect, in place of a final
     * v3 one; they are not judged yet. NULL: there is no such.
     * @param text any bytes
     * @retval ZD_NOT_FOUND it is none of this dialect
     */
    ZD_RESULT (*take)(
        struct zd_span text, const struct zd_json_limits *limits, struct zd_document_texts *out);

    /** The documents of a group with another listing. @param listing NULL: none any more */
    void (*set_listing)(const struct zd_documents *stored, const struct zd_stored_listing *listing,
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

/**
 * Whether chunks of an array may be changed, as far as its document says: the dialect is written,
 * and the keys are not of a proposal.
 * @retval ZD_READ_ONLY the text says why
 * Thread: any.
 */
ZD_RESULT zd_dialect_check_writes_chunks(const struct zd_meta *meta, struct zd_error *err);

/**
 * The node that a key is a document of, in a dialect whose documents are judged before they are
 * stored.
 *
 * @param ret_path    cleared first
 * @param ret_dialect or NULL
 * @retval ZD_NOT_FOUND it is no such document's key
 * Thread: any.
 */
ZD_RESULT zd_dialect_written_node_path(
    const char *key, struct zd_text *ret_path, const struct zd_dialect **ret_dialect);

/** The same in a dialect that comes first. */
ZD_RESULT zd_dialect_first_node_path(const char *key, struct zd_text *ret_path);

/**
 * The limits of a document that lists others: of its bytes a limit of its own, and the values grow
 * with the bytes as they do in one document. Thread: any.
 *
 * @param n_levels of nesting above the documents that it lists
 */
struct zd_json_limits zd_dialect_listing_limits(
    const struct zd_reading *reading, uint32_t n_levels);

/** All dialects, ended by NULL; generated from the files core/dialect/dialect_*.c. */
extern const struct zd_dialect *const zd_dialects[];

/** The dialect of that name, or NULL. Thread: any. */
const struct zd_dialect *zd_dialect_find(const char *name);

/**
 * The node that a key is a document of, in any dialect whose keys tell it.
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

#endif
