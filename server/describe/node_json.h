/* A node as JSON: what `nodes` and `tree` say of it alike. */
#ifndef ZD_DESCRIBE_NODE_JSON_H
#define ZD_DESCRIBE_NODE_JSON_H

#include "core/dialect/dialect.h"
#include "server/http/fields.h"

/** A node to be shown. Everything borrowed and immutable. */
struct zd_node_view {
    const char *path; /* in the dataset */
    const struct zd_meta *meta;
    const struct zd_faults *warnings;      /* told in place of the node's own; or NULL */
    const struct zd_faults *more_warnings; /* besides; or NULL */
    const struct zd_fields *fields;
    const char *tier; /* of storage, as a group above says; or NULL */
    bool can_slice;   /* its chunks can be read; false for an array that is over a limit */
    bool is_writable; /* its dataset takes writes */
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

#endif
