/* An element and its spellings: fill values, and elements in JSON and CSV. */
#ifndef ZD_CORE_GRID_SCALAR_H
#define ZD_CORE_GRID_SCALAR_H

#include "core/base/emit.h"
#include "core/grid/dtype.h"
#include "core/grid/scalar_style.h"

/**
 * The element that a fill value spells (Zarr v3, fill_value); not of variable
 * length.
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

/**
 * The same for an element in memory of its own, which may be of variable length: its bytes are
 * behind it then.
 * @param element dtype->bytes bytes or more, owned: freed, and another one in its place, unless it
 *                fails
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_scalar_replace(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t **element, bool *ret_noted, struct zd_error *err);

/** An element of variable length, as zd_scalar_read reads others.
 * @param ret_element with its bytes behind it (zd_variable_new); owned */
ZD_RESULT zd_scalar_read_variable(const struct zd_dtype *dtype, const struct zd_json *json,
    uint8_t **ret_element, struct zd_error *err);

/** The normal spelling of an element as a fill value, owned; NULL when memory is short. Thread:
 * any. */
struct zd_json *zd_scalar_json(const struct zd_dtype *dtype, const void *bytes);

/**
 * The element that a value of a body spells: as a fill value, or as zd_scalar_add writes it: raw
 * bits as base64, integers as strings, times as dates. Otherwise as zd_scalar_parse without
 * ret_noted.
 */
ZD_RESULT zd_scalar_read(const struct zd_dtype *dtype, const struct zd_json *json, void *ret_bytes,
    struct zd_error *err);

/** A ceiling for what zd_scalar_add adds. Thread: any. */
uint64_t zd_scalar_text_max(const struct zd_dtype *dtype);

/**
 * Add one element as text: a JSON value, or with bare_strings a CSV field.
 * Raw bits are base64, and so are strings of bytes without the zeros at their end; complex is
 * [re,im]; times are dates (ISO 8601), durations integers. Failures stick in the text. Thread: any.
 */
void zd_scalar_add(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, struct zd_text *text);

/** Add a text as a field of CSV, with quotes where it must have them (RFC 4180, 2.6). Thread: any.
 */
void zd_scalar_add_field(struct zd_span utf8, struct zd_text *text);

/** Decode exactly len bytes of base64; false: the text is not theirs. Thread: any. */
bool zd_scalar_read_base64(struct zd_span text, uint8_t *to, size_t len);

#endif
