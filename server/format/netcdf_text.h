/* The pieces of a netCDF classic header (The NetCDF Classic Format Specification; CDF-5 by
 * PnetCDF's): big-endian numbers, names, attributes. Failures stick in the text. Thread: any. */
#ifndef ZD_FORMAT_NETCDF_TEXT_H
#define ZD_FORMAT_NETCDF_TEXT_H

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/grid/dtype.h"

enum zd_netcdf_type {
    ZD_NETCDF_NONE,
    ZD_NETCDF_BYTE,
    ZD_NETCDF_CHAR,
    ZD_NETCDF_SHORT,
    ZD_NETCDF_INT,
    ZD_NETCDF_FLOAT,
    ZD_NETCDF_DOUBLE,
    ZD_NETCDF_UBYTE, /* this and those behind it are of CDF-5 alone */
    ZD_NETCDF_USHORT,
    ZD_NETCDF_UINT,
    ZD_NETCDF_INT64,
    ZD_NETCDF_UINT64,
};

#define ZD_NETCDF_DIMENSION 10U /* tags of lists */
#define ZD_NETCDF_VARIABLE  11U
#define ZD_NETCDF_ATTRIBUTE 12U

#define ZD_NETCDF_ALIGN          4
#define ZD_NETCDF_NAME_BYTES_MAX 200 /* of names that are made legal; readers take 256 */

/** A header, or a part of it, under construction. */
struct zd_netcdf_text {
    struct zd_text text;
    bool is_cdf5; /* counts and lengths have 64 bits */
};

void zd_netcdf_text_add_u32(struct zd_netcdf_text *to, uint32_t value);
void zd_netcdf_text_add_u64(struct zd_netcdf_text *to, uint64_t value);

/** A count or a length: of CDF-2 in 32 bits, where too large a one is 2^32 - 1. */
void zd_netcdf_text_add_count(struct zd_netcdf_text *to, uint64_t value);

/** A list of so many items; none is "absent". */
void zd_netcdf_text_add_list(struct zd_netcdf_text *to, uint32_t tag, uint64_t n_items);

/** A name as it is, with its length, filled up. */
void zd_netcdf_text_add_name(struct zd_netcdf_text *to, const char *name);

/** Fill up what n_bytes are to a multiple of ZD_NETCDF_ALIGN. */
void zd_netcdf_text_pad(struct zd_text *text, uint64_t n_bytes);

/** Attributes: their names, which are legal, and values. */
void zd_netcdf_text_add_string(struct zd_netcdf_text *to, const char *name, struct zd_span value);

/** @param values n of them, elements as in memory of a type that has a type there */
void zd_netcdf_text_add_values(struct zd_netcdf_text *to, const char *name,
    const struct zd_dtype *dtype, const void *values, size_t n);

/** The type there; ZD_NETCDF_NONE: there is none. Floats of less than 32 bits are FLOAT, bool is
 * BYTE, times are INT64 if their ticks are days or shorter units, one each. */
enum zd_netcdf_type zd_netcdf_text_type(const struct zd_dtype *dtype);

/** Bytes of an element there. @param type not NONE */
uint32_t zd_netcdf_text_type_bytes(enum zd_netcdf_type type);

/** Add elements as they are there: of that type, big-endian. */
void zd_netcdf_text_add_elements(
    struct zd_text *text, const struct zd_dtype *dtype, const uint8_t *elements, size_t n);

/**
 * Add a name made legal to a list of names, each ended by NUL: letters, digits, underscores and
 * characters beyond ASCII stay, and behind the first one what the specification allows; anything
 * else becomes an underscore. A name that the list has gets a number: "a_2".
 *
 * @param from names[from ..) is the list
 * @return where the name begins in names
 */
size_t zd_netcdf_text_name(struct zd_text *names, size_t from, struct zd_span name);

#endif
