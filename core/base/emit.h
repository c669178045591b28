/* Writing JSON piece by piece into a text, with numbers that read back as the same value. */
#ifndef ZD_CORE_BASE_EMIT_H
#define ZD_CORE_BASE_EMIT_H

#include "core/base/decimal.h"
#include "core/base/json.h"
#include "core/base/text.h"

/* A document of the deepest that can be allowed, in a listing, in an answer. */
#define ZD_EMIT_DEPTH_MAX 128

/** A JSON text under construction; failures stick in text->status. */
struct zd_emit {
    struct zd_text *text; /* borrowed */
    bool pretty;          /* two spaces a level, one member a line */
    uint32_t depth;
    bool has_item[ZD_EMIT_DEPTH_MAX]; /* a comma is due before the next item of that level */
    bool after_key;
};

/** Begin; text is borrowed until the last call. Thread: any. */
void zd_emit_init(struct zd_emit *emit, struct zd_text *text, bool pretty);

void zd_emit_object(struct zd_emit *emit); /* { */
void zd_emit_object_end(struct zd_emit *emit);
void zd_emit_array(struct zd_emit *emit); /* [ */
void zd_emit_array_end(struct zd_emit *emit);
void zd_emit_key(struct zd_emit *emit, const char *name);

void zd_emit_string(struct zd_emit *emit, const char *utf8); /* NULL is null */
void zd_emit_string_span(struct zd_emit *emit, struct zd_span utf8);
/** A string that was made piece by piece; when its text failed, so does this one. */
void zd_emit_text(struct zd_emit *emit, const struct zd_text *utf8);
void zd_emit_u64(struct zd_emit *emit, uint64_t value);
void zd_emit_i64(struct zd_emit *emit, int64_t value);
void zd_emit_f64(struct zd_emit *emit, double value); /* NaN and infinities as their strings */
void zd_emit_bool(struct zd_emit *emit, bool value);
void zd_emit_null(struct zd_emit *emit);
void zd_emit_json(
    struct zd_emit *emit, const struct zd_json *json); /* a whole tree; NULL is null */
void zd_emit_raw(
    struct zd_emit *emit, struct zd_span json_text); /* text that is one JSON value already */

/** key + value, or its beginning, in one call. */
void zd_emit_member_object(struct zd_emit *emit, const char *name);
void zd_emit_member_array(struct zd_emit *emit, const char *name);
void zd_emit_member_string(struct zd_emit *emit, const char *name, const char *utf8);
void zd_emit_member_text(struct zd_emit *emit, const char *name, const struct zd_text *utf8);
void zd_emit_member_u64(struct zd_emit *emit, const char *name, uint64_t value);
void zd_emit_member_bool(struct zd_emit *emit, const char *name, bool value);
void zd_emit_member_json(struct zd_emit *emit, const char *name, const struct zd_json *json);

#endif
