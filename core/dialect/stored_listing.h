/* A stored consolidated listing: the map path -> document, kept as its text. An entry is parsed
 * when somebody wants it. */
#ifndef ZD_CORE_DIALECT_STORED_LISTING_H
#define ZD_CORE_DIALECT_STORED_LISTING_H

#include "core/base/json.h"
#include "core/base/text.h"

/** A listing: immutable, counted. Thread: any. */
struct zd_stored_listing;

/** An entry: what the text says of one node. Borrowed from the listing. */
struct zd_stored_entry {
    struct zd_span path;       /* relative to the group that holds the listing, no slash at either
                                  end; empty: the group itself, where keys can name it */
    struct zd_span document;   /* as stored: the text of a JSON value */
    struct zd_span attributes; /* the same, where they have a document of their own; else empty */
    bool is_group;
};

/** Which document of its node a key names. */
enum zd_listed {
    ZD_LISTED_NODE,
    ZD_LISTED_SECOND, /* the same, unless the node has the first as well */
    ZD_LISTED_ATTRIBUTES,
    ZD_LISTED_NOTHING,
};

/** The node that a key belongs to, and the kind of its document. */
struct zd_listed_key {
    struct zd_span path; /* the node's: a part of the key. Of ZD_LISTED_NOTHING the whole of it */
    enum zd_listed listed;
    bool is_group;
    bool is_aside; /* of ZD_LISTED_NOTHING: it has its place in such listings all the same */
};

/**
 * How the keys of a listing name nodes.
 * @param key      as it reads, without a leading slash
 * @param document text of a JSON value
 */
typedef struct zd_listed_key zd_stored_listing_tell(struct zd_span key, struct zd_span document);

/** Each key is the path of a node, and its document is one of final v3. */
zd_stored_listing_tell zd_stored_listing_tell_path;

/**
 * A listing and its index. Entries that are none stay in the text alone: keys that name no document
 * of the group or a descendant, of two spellings of a path that with a leading slash, and
 * attributes of no node.
 *
 * @param bytes that hold the text; a reference is taken
 * @param map   of them: text of an object that zd_json_grammar_check accepts
 * @param tell  what its keys say
 * @param ret_listing owned
 * @retval ZD_INVALID   a key is there twice; fact position, from the beginning of the bytes
 * @retval ZD_TOO_LARGE the index would be as large as the text: documents are longer than that
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_stored_listing_new(struct zd_buf *bytes, struct zd_span map,
    zd_stored_listing_tell *tell, struct zd_stored_listing **ret_listing, struct zd_error *err);

struct zd_stored_listing *zd_stored_listing_ref(struct zd_stored_listing *listing);
void zd_stored_listing_unref(struct zd_stored_listing *listing); /* accepts NULL */
ZD_OWN(zd_stored_listing, zd_stored_listing_unref);

/** Whether its keys say that. */
bool zd_stored_listing_is_told_by(
    const struct zd_stored_listing *listing, zd_stored_listing_tell *tell);

/** How many entries there are; NULL has none. */
size_t zd_stored_listing_count(const struct zd_stored_listing *listing);

/** Entry i in pre-order: children by the bytes of their names. */
struct zd_stored_entry zd_stored_listing_entry(const struct zd_stored_listing *listing, size_t i);

/** How many entries stand before a path, and whether it has one: that is the next. */
size_t zd_stored_listing_place(
    const struct zd_stored_listing *listing, struct zd_span path, bool *ret_is_there);

/** The entry of a path; false: there is none. */
bool zd_stored_listing_find(const struct zd_stored_listing *listing, struct zd_span path,
    struct zd_stored_entry *ret_entry);

/** The whole text. */
struct zd_span zd_stored_listing_text(const struct zd_stored_listing *listing);

/** A key of the text, without a leading slash, which some writers add. */
struct zd_span zd_stored_listing_path_of(struct zd_span key, bool *ret_has_slash);

/** Whether a path names a descendant: each of its names is one. */
bool zd_stored_listing_is_path(struct zd_span path, bool (*is_name)(struct zd_span name));

/** Bytes of its index, beside the text. */
uint64_t zd_stored_listing_index_bytes(const struct zd_stored_listing *listing);

/** How large a listing of a text of that length may be in memory, with its text. */
uint64_t zd_stored_listing_bytes_max(uint64_t len);

#endif
