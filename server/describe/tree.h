/* A consolidated listing: which nodes it shows, and its formats. No I/O. */
#ifndef ZD_DESCRIBE_TREE_H
#define ZD_DESCRIBE_TREE_H

#include "server/data/parent_groups.h"
#include "server/describe/node_json.h"

enum zd_tree_format {
    ZD_TREE_JSON,
    ZD_TREE_ZARR, /* one v3 group document with consolidated metadata */
};

/** What was asked. Strings owned. */
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
    bool check;     /* compare the stored listing with the live one */
    bool is_stored; /* show the stored listing, not the live nodes */
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

/** A listing under construction. */
struct zd_tree {
    struct zd_tree_ask ask;
    struct zd_meta *start; /* a reference */
    struct zd_reading reading;
    bool is_writable;              /* the dataset takes writes */
    struct zd_parent_groups above; /* parent groups that describe the rows */
    struct zd_tree_rows live;      /* what the store holds; in pre-order */
    struct zd_tree_rows stored;    /* the start's consolidated metadata */
    /* the answer so far */
    struct zd_emit emit;
    uint64_t n_shown;
    uint64_t n_bytes;
    char *last;    /* the path of the last node shown; owned, or NULL */
    bool has_more; /* the page is full, and a node for the next one is known */
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

/**
 * The live rows below the start as a listing to be stored: path below the start -> document. Nodes
 * whose documents are invalid are left out.
 *
 * @param ret_listing owned
 * @retval ZD_NO_MEMORY
 * Thread: any (worker).
 */
ZD_RESULT zd_tree_listing(
    const struct zd_tree *tree, struct zd_json **ret_listing, struct zd_error *err);

/*
 * The answer in pieces: zd_tree_begin, zd_tree_go_on for each lot of live rows, zd_tree_end. In
 * between the text may be taken and cleared, and the rows released. Thread: any (worker), one call
 * at a time. Failures are those of zd_tree_render.
 */

/** @param text borrowed until the end */
ZD_RESULT zd_tree_begin(struct zd_tree *tree, struct zd_text *text, struct zd_error *err);
/** The rows that are there, in pre-order after all before; nothing once has_more is set. */
ZD_RESULT zd_tree_go_on(struct zd_tree *tree, struct zd_error *err);
ZD_RESULT zd_tree_end(struct zd_tree *tree, struct zd_error *err);

/**
 * Make the whole answer from the start, the live rows and the start's stored block.
 *
 * @retval ZD_TOO_LARGE the text's ceiling, or a format that has no pages
 * @retval ZD_NO_MEMORY
 * Thread: any (worker).
 */
ZD_RESULT zd_tree_render(struct zd_tree *tree, struct zd_text *text, struct zd_error *err);

/** Free the rows: of a large hierarchy this takes long. Thread: any (worker). */
void zd_tree_release_rows(struct zd_tree *tree);

void zd_tree_done(struct zd_tree *tree);

/** The cursor that continues after a path, and back. @param ret_path owned @retval ZD_INVALID */
enum zd_status zd_tree_cursor_add(const char *path, struct zd_text *text);
ZD_RESULT zd_tree_cursor_parse(struct zd_span cursor, char **ret_path, struct zd_error *err);

#endif
