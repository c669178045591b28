/* Nodes as JSON, as the resources nodes and tree answer with them, and what writes answer. */
#ifndef ZD_DESCRIBE_NODE_JSON_H
#define ZD_DESCRIBE_NODE_JSON_H

#include "core/array/rewrite.h"
#include "core/base/emit.h"
#include "core/dialect/dialect.h"
#include "server/http/fields.h"

/** A node to be shown. Everything borrowed and immutable. */
struct zd_node_view {
    const char *path; /* in the dataset */
    const struct zd_meta *meta;
    const struct zd_faults *warnings;      /* shown in place of the node's own; or NULL */
    const struct zd_faults *more_warnings; /* shown besides; or NULL */
    const struct zd_fields *fields;
    const char *tier;   /* of storage, declared by a parent group; or NULL */
    bool can_slice;     /* its chunks can be read; false for an array that is over a limit */
    bool is_writable;   /* its dataset takes writes */
    bool hides_listing; /* no warnings of its consolidated metadata: they would name nodes below */
};

/** The first names of fields of a node, ended by NULL. */
extern const char *const zd_node_fields[];

/**
 * Add the members path, node_type, dialect, metadata, and array or refused, as far as the fields
 * want them. Failures stick in the text. Thread: any.
 */
void zd_node_json_emit(const struct zd_node_view *view, struct zd_emit *emit);

/** Add the member warnings: what was tolerated or ignored; of view->warnings, which let a document
 * be stored, also what is not supported. */
void zd_node_json_emit_warnings(const struct zd_node_view *view, struct zd_emit *emit);

/** The name in the member node_type; NULL: unknown. */
const char *zd_node_json_type_name(enum zd_node_type type);

/** Add a shape, or an index, as a list. */
void zd_node_json_emit_lengths(struct zd_emit *emit, const uint64_t *length, uint32_t n);

/** Add the member `"chunks": {"written", "erased", "unchanged"}`: what a write did to them. */
void zd_node_json_emit_counts(const struct zd_edit_counts *counts, struct zd_emit *emit);

#endif
