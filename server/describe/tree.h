/* A consolidated listing: which nodes it shows, and its formats. No I/O. */
#ifndef ZD_DESCRIBE_TREE_H
#define ZD_DESCRIBE_TREE_H

#include "server/data/parent_groups.h"
#include "server/describe/node_json.h"
#include "server/describe/tree_document.h"

/** The parameters of a listing. Strings owned. */
struct zd_tree_ask {
    char *path; /* of the start */
    uint64_t depth_max;
    char *match;             /* a glob on the path, or NULL */
    enum zd_node_type type;  /* ZD_NODE_UNKNOWN: all */
    struct zd_fields fields; /* of each node */
    uint64_t limit;          /* nodes of this answer; >= 1 */
    uint64_t bytes_max;      /* a page that has so many is full, a document too large; 0: no end */
    char *after;             /* only nodes after this path, or NULL */
    enum zd_tree_format format;
    enum zd_view_kind view; /* format zarr: the documents are those of this view */
    bool check;             /* compare the stored listing with the live one */
    bool is_stored;         /* show the stored listing, not the live nodes */
    bool pretty;
};

/** A node of a listing. */
struct zd_tree_row {
    char *path;           /* in the dataset; owned */
    struct zd_meta *meta; /* a reference; NULL when it could not be read */
    char *why;            /* then: the error of the store; owned */
    const char *why_code; /* then: a problem's code; static */
    bool can_slice;
};

/** Nodes in pre-order. */
struct zd_tree_rows {
    struct zd_tree_row *row;
    size_t n;
    size_t cap;
};

#define ZD_TREE_MISSING_BYTES (6 << 20) /* of the paths that are missing, at most */

/** How an entry of the stored listing compares with the live nodes. */
enum zd_tree_mark {
    ZD_TREE_EQUAL,
    ZD_TREE_SURPLUS,   /* stored but not live */
    ZD_TREE_DIFFERING, /* both, and not equal */
};

/** Stored and live nodes side by side: both are in pre-order. */
struct zd_tree_check {
    size_t next;            /* entry of the listing that no live row has been compared with */
    uint8_t *mark;          /* enum zd_tree_mark of each entry; owned */
    struct zd_text missing; /* paths that are live but not stored, each ended by NUL */
};

/** A listing under construction. */
struct zd_tree {
    struct zd_tree_ask ask;
    struct zd_meta *start;             /* a reference */
    struct zd_stored_listing *listing; /* what the start has stored, where it is shown or compared,
                                          or NULL; a reference */
    struct zd_reading reading;
    bool is_writable;              /* the dataset takes writes */
    bool is_incomplete;            /* the store has no listings: live nodes may be missing */
    struct zd_parent_groups above; /* parent groups that describe the rows */
    struct zd_tree_rows live;      /* what the store holds; in pre-order */
    struct zd_tree_check check;
    /* the answer so far */
    struct zd_emit emit;
    struct zd_tree_document document; /* of a format that is one */
    size_t n_entries;                 /* of the listing that were looked at */
    uint64_t n_shown;
    uint64_t n_bytes;
    size_t len_before; /* of the text, at the beginning of this call */
    char *last;        /* the path of the last node shown; owned, or NULL */
    bool has_more;     /* the page is full, and a node for the next one is known */
    bool has_entries;  /* some are left for the page */
    uint32_t part;     /* of the end, that comes next */
    size_t part_at;    /* in it */
    bool has_ended;
};

/** Whether to show a node below the start. Thread: any. */
bool zd_tree_wants(const struct zd_tree_ask *ask, const char *path, enum zd_node_type type);

/**
 * Add a row at the end.
 *
 * @param meta a reference is taken; NULL: err says why
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_tree_add(struct zd_tree_rows *rows, const char *path, struct zd_meta *meta,
    bool can_slice, const struct zd_error *err);

/** Add the live rows below the start as the text of a listing to be stored. Nodes whose documents
 * are invalid are left out. Failures stick in the text. Thread: any (worker). */
void zd_tree_add_listing(const struct zd_tree *tree, struct zd_text *text);

/*
 * The answer in pieces: zd_tree_begin, then zd_tree_go_on for each lot of live rows or, while
 * has_entries says so, of stored ones, and zd_tree_end until has_ended. In between the text may be
 * taken and cleared, and the rows released. Thread: any (worker), one call at a time. Failures are
 * those of zd_tree_render.
 */

/** @param text borrowed until the end */
ZD_RESULT zd_tree_begin(struct zd_tree *tree, struct zd_text *text, struct zd_error *err);
/** The live rows that are there, in pre-order after all before, are shown, or only compared. Of the
 * stored ones, which are then shown in their place, as many as give about n nodes. */
ZD_RESULT zd_tree_go_on(struct zd_tree *tree, size_t n, struct zd_error *err);
/** About so many bytes of what follows the nodes. */
ZD_RESULT zd_tree_end(struct zd_tree *tree, size_t len, struct zd_error *err);

/**
 * Make the whole answer from the start, the live rows and the stored listing.
 *
 * @retval ZD_TOO_LARGE the text's ceiling, or a format that has no pages
 * @retval ZD_NO_MEMORY
 * Thread: any (worker).
 */
ZD_RESULT zd_tree_render(struct zd_tree *tree, struct zd_text *text, struct zd_error *err);

/** Free the rows: of a large hierarchy this takes long. Thread: any (worker). */
void zd_tree_release_rows(struct zd_tree *tree);

void zd_tree_done(struct zd_tree *tree);

#endif
