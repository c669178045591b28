/* One element and its spellings: fill values, and elements in JSON and CSV. */
#ifndef ZD_CORE_GRID_SCALAR_H
#define ZD_CORE_GRID_SCALAR_H

#include "core/base/emit.h"
#include "core/grid/dtype.h"

/**
 * The element that a fill value spells (Zarr v3, fill_value).
 *
 * @param json      borrowed; a ZD_JSON_NONFINITE is accepted for floats and within complex
 * @param ret_bytes dtype->bytes bytes, little-endian; the caller's memory, untouched on failure
 * @param ret_noted true when the spelling is one that a writer must not use (a number beyond the
 * finite range, which becomes an infinity, a bare NaN, short hex); untouched on failure; NULL: such
 * a spelling is refused
 * @retval ZD_INVALID facts expected and found
 * Thread: any.
 */
ZD_RESULT zd_scalar_parse(const struct zd_dtype *dtype, const struct zd_json *json, void *ret_bytes,
    bool *ret_noted, struct zd_error *err);

/** The normal spelling of an element as a fill value, owned; NULL when memory is short. Thread:
 * any. */
struct zd_json *zd_scalar_json(const struct zd_dtype *dtype, const void *bytes);

/** How an answer wants its numbers. */
struct zd_scalar_style {
    bool nan_null;     /* NaN and infinities as null, not as strings */
    bool ints_string;  /* 64-bit integers as strings */
    bool bare_strings; /* no quotes around NaN and infinities (CSV) */
};

/**
 * Add one element as text: a JSON value, or with bare_strings a CSV field.
 * Raw bits are base64, complex is [re,im]. Failures stick in the text. Thread: any.
 */
void zd_scalar_add(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, struct zd_text *text);

/** Standard base64 (RFC 4648, 4). Failures stick in the text. */
enum zd_status zd_scalar_add_base64(struct zd_text *text, struct zd_span bytes);

/** Decode exactly len bytes of it; false: the text is not their base64. Thread: any. */
bool zd_scalar_read_base64(struct zd_span text, uint8_t *to, size_t len);

#endif
