/* Data types as NumPy spells them: the type strings of Zarr v2. */
#ifndef ZD_CORE_GRID_TYPESTR_H
#define ZD_CORE_GRID_TYPESTR_H

#include "core/grid/dtype.h"

/** A data type, and how it is stored. */
struct zd_typestr {
    struct zd_dtype dtype;
    bool is_big; /* its units are stored big-endian */
};

/**
 * The data type of a type string ("<f4", "|b1").
 *
 * @retval ZD_INVALID     it is no type string
 * @retval ZD_UNSUPPORTED this build does not read elements of that kind; the text says which
 * Thread: any.
 */
ZD_RESULT zd_typestr_parse(const char *typestr, struct zd_typestr *ret_dtype, struct zd_error *err);

/** The same of a document's `dtype`, which may be the name of a type that NumPy lacks ("int4",
 * "bfloat16"; little-endian). */
ZD_RESULT zd_typestr_parse_stored(
    const char *text, struct zd_typestr *ret_dtype, struct zd_error *err);

/** The same; a name ("int32", little-endian) is one too: codecs' parameters have both. */
ZD_RESULT zd_typestr_parse_any(
    const char *text, struct zd_typestr *ret_dtype, struct zd_error *err);

/** Whether both are stored alike. */
bool zd_typestr_equal(const struct zd_typestr *a, const struct zd_typestr *b);

#endif
