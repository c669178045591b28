/* A node as GET nodes answers it: its children, its entity tag, its links. Thread: loop. */
#ifndef ZD_DESCRIBE_NODE_SHOW_H
#define ZD_DESCRIBE_NODE_SHOW_H

#include "core/base/hash.h"
#include "server/data/multiscale.h"
#include "server/data/shadowed.h"
#include "server/data/walk.h"
#include "server/describe/node_json.h"
#include "server/request/request.h"

/** A node on its way to be shown. */
struct zd_node_show {
    struct zd_request *req;  /* borrowed */
    struct zd_fields fields; /* what is shown; zeroed: everything */
    /* its own */
    struct zd_gather gather;  /* of the next four */
    struct zd_walk_want walk; /* over the children of a group; start = NULL: none */
    struct zd_parent_groups_want parent_groups; /* at the groups above */
    struct zd_multiscale multiscale;            /* of a group that has levels */
    struct zd_shadowed shadowed;                /* beside the node */
    struct zd_faults found;                     /* of what is shadowed */
    struct zd_text children;                    /* JSON: the list; "" = none is shown */
    struct zd_emit emit;                        /* into children */
    struct zd_hash hash;                        /* of all that the answer depends on */
    uint64_t checked_ms;                        /* the oldest knowledge in the answer, loop time */
    bool is_partial; /* a child could not be read: the answer is not cached */
};

void zd_node_show_init(struct zd_node_show *show, struct zd_request *req);
void zd_node_show_done(struct zd_node_show *show); /* accepts a zeroed one */

/** Find the children of a group, and begin the tag; once. @return ZD_NEXT; ZD_WAIT: the request
 * goes on when they are found */
enum zd_next zd_node_show_gather(struct zd_node_show *show, struct zd_node *node);

/** In place of that, for a group that does not exist: it has no children. */
void zd_node_show_no_children(struct zd_node_show *show);

/** Finish the tag, once the children are found. @param ret_etag quoted @retval ZD_TOO_LARGE the
 * children exceed limits.tree_bytes */
ZD_RESULT zd_node_show_tag(
    struct zd_node_show *show, char ret_etag[ZD_TAG_BYTES], struct zd_error *err);

/** Time of the newest change of what is shown; 0 = unknown. */
int64_t zd_node_show_mtime(const struct zd_node_show *show, const struct zd_node *node);

/** A node to show; it need not be stored. Everything borrowed. */
struct zd_node_shown {
    const char *path;
    const struct zd_meta *meta;
    const struct zd_faults *warnings; /* shown in place of the node's own; or NULL */
    bool can_slice;
};

/** Add the answer. Failures stick in the text. */
void zd_node_show_emit(
    const struct zd_node_show *show, const struct zd_node_shown *node, struct zd_text *text);

#endif
