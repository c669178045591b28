/* A consolidated listing as one document, for other readers. Thread: any (worker). */
#ifndef ZD_DESCRIBE_TREE_DOCUMENT_H
#define ZD_DESCRIBE_TREE_DOCUMENT_H

#include "core/array/rendition.h"
#include "core/base/emit.h"
#include "core/dialect/dialect.h"

enum zd_tree_format {
    ZD_TREE_JSON,      /* no document of a hierarchy: pages of nodes */
    ZD_TREE_ZARR,      /* one v3 group document with consolidated metadata */
    ZD_TREE_ZMETADATA, /* a .zmetadata of v2 */
};

/** A document while it is made. Starts with its first three members. */
struct zd_tree_document {
    enum zd_tree_format format;
    enum zd_view_kind view;    /* of format zarr */
    struct zd_emit *emit;      /* borrowed */
    struct zd_faults left_out; /* of format zmetadata: the nodes that v2 cannot say, a warning each
                                  with the path as its name */
    uint64_t n_left_out;       /* all of them */
};

/** Its name, as clients ask for it. */
const char *zd_tree_document_name(enum zd_tree_format format);

/** Whether listings may have a node: its documents are valid, supported here or not. */
bool zd_tree_document_may_have(const struct zd_meta *meta);

/**
 * The beginning, inside the object, up to the map of nodes. Failures stick in the text.
 * @param start the group, which is not refused
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_tree_document_begin(struct zd_tree_document *document, const struct zd_meta *start);

/**
 * A node below it. What the format cannot say is left out, as is what a view cannot show.
 * @param path relative to the group
 * @param meta or NULL: why says why it could not be read
 * @retval ZD_UNSUPPORTED, ZD_NO_MEMORY as zd_rendition_document
 */
ZD_RESULT zd_tree_document_add(struct zd_tree_document *document, const char *path,
    struct zd_meta *meta, const char *why, struct zd_error *err);

/** Write the members after the nodes, without the end of the object. The form of v2 also lists the
 * nodes left out. */
void zd_tree_document_end(struct zd_tree_document *document);

void zd_tree_document_done(struct zd_tree_document *document); /* leaves a zeroed one */

#endif
