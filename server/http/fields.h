/* Projection: the members of an answer that `fields=a.b,c` selects. */
#ifndef ZD_HTTP_FIELDS_H
#define ZD_HTTP_FIELDS_H

#include "core/base/emit.h"

#define ZD_FIELDS_MAX      64
#define ZD_FIELD_DEPTH_MAX 16 /* names in one field */

/** The fields of a request. Zeroed: everything. */
struct zd_fields {
    const char *field[ZD_FIELDS_MAX]; /* "metadata.attributes"; points into memory */
    uint32_t n;                       /* 0 = everything */
    char *memory;                     /* owned */
};

enum zd_field_match {
    ZD_FIELD_OUT,
    ZD_FIELD_PART, /* a member below it is selected */
    ZD_FIELD_WHOLE,
};

/**
 * Parse `a.b,c`.
 *
 * @param text  borrowed; empty: everything
 * @param known the valid first names, ended by NULL
 * @param ret_fields release with zd_fields_done
 * @retval ZD_INVALID an unknown first name, an empty one, too many; facts name, expected, found
 * Thread: any.
 */
ZD_RESULT zd_fields_parse(struct zd_span text, const char *const *known,
    struct zd_fields *ret_fields, struct zd_error *err);
void zd_fields_done(struct zd_fields *fields);

/** How much of a member is selected, by its dotted path. Thread: any. */
enum zd_field_match zd_fields_match(const struct zd_fields *fields, const char *path);

/** Add a member, or its selected parts; `path` ends in its name. */
void zd_fields_emit(const struct zd_fields *fields, const char *path, const char *name,
    const struct zd_json *json, struct zd_emit *emit);

#endif
