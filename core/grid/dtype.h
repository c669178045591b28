/* Data types of elements. */
#ifndef ZD_CORE_GRID_DTYPE_H
#define ZD_CORE_GRID_DTYPE_H

#include <stdatomic.h>

#include "core/base/small_float.h"
#include "core/base/status.h"
#include "core/base/text.h"

enum zd_dtype_kind {
    ZD_DTYPE_BOOL,
    ZD_DTYPE_INT,
    ZD_DTYPE_UINT,
    ZD_DTYPE_FLOAT,
    ZD_DTYPE_COMPLEX,
    ZD_DTYPE_RAW,         /* opaque bytes: r<N>, raw_bytes */
    ZD_DTYPE_TIME,        /* ticks since 1970-01-01T00:00; the least integer is NaT, "not a time" */
    ZD_DTYPE_DURATION,    /* ticks; the least integer is NaT, too */
    ZD_DTYPE_UTF32,       /* code points; zeros at the end are none */
    ZD_DTYPE_CHARS,       /* bytes; zeros at the end are none */
    ZD_DTYPE_SMALL_FLOAT, /* one that NumPy lacks */
    ZD_DTYPE_SMALL_COMPLEX, /* two such floats, or halves */
    /* of variable length: in memory each element is a span (core/grid/variable.h) */
    ZD_DTYPE_STRING, /* UTF-8 */
    ZD_DTYPE_BYTES,  /* opaque bytes */
    ZD_DTYPE_LIST,   /* numbers of one type (zd_dtype_list_item) */
    ZD_DTYPE_STRUCT, /* fields, one after the other, without gaps */
};

/** Units of times (NumPy, datetime units). */
enum zd_dtype_unit {
    ZD_DTYPE_YEARS,
    ZD_DTYPE_MONTHS,
    ZD_DTYPE_WEEKS,
    ZD_DTYPE_DAYS,
    ZD_DTYPE_HOURS,
    ZD_DTYPE_MINUTES,
    ZD_DTYPE_SECONDS,
    ZD_DTYPE_MILLISECONDS,
    ZD_DTYPE_MICROSECONDS,
    ZD_DTYPE_NANOSECONDS,
    ZD_DTYPE_PICOSECONDS,
    ZD_DTYPE_FEMTOSECONDS,
    ZD_DTYPE_ATTOSECONDS,
    ZD_DTYPE_GENERIC, /* nobody knows what */
};

#define ZD_DTYPE_BYTES_MAX 65536 /* of one element: r524288 */
#define ZD_DTYPE_SCALE_MAX INT32_MAX
#define ZD_DTYPE_NAT       INT64_MIN /* NaT */

#define ZD_DTYPE_UNITS_DIFFER UINT32_MAX /* each field of a structure has its own */

struct zd_struct_fields;

/** A data type. By value; the fields of a structure are borrowed: arrays (struct zd_meta) and
 * chains of codecs hold a reference. */
struct zd_dtype {
    enum zd_dtype_kind kind;
    uint32_t bytes;          /* of one element in memory; >= 1 */
    uint32_t unit_bytes;     /* what byte order swaps: 4 for complex64; 1 when there is none */
    enum zd_dtype_unit unit; /* of times and durations: a tick is `scale` units */
    const struct zd_small_float *small; /* of small floats, static; of other kinds NULL */
    struct zd_struct_fields *fields;    /* of structures; of other kinds NULL */
    uint32_t scale;                     /* 1 .. ZD_DTYPE_SCALE_MAX; of other kinds 0 */
    uint8_t n_low_bits; /* of each byte, where the others say nothing: 4 of int4; 0: all count */
    char name[32];      /* as in a v3 document: "float32", "r24" */
};

#define ZD_STRUCT_FIELDS_MAX 1024 /* of one structure, those of structures in it included */
#define ZD_STRUCT_DEPTH_MAX  8
#define ZD_FIELD_RANK_MAX    8 /* of a field that is an array */

/** A field. Those of a field that is a structure follow it, one deeper. */
struct zd_field {
    char *name;
    uint32_t depth;
    uint32_t offset; /* in the element */
    struct zd_dtype dtype;
    /* Fields of v2 may be arrays of a shape: items of dtype in C order. v3 has no such type. */
    uint32_t rank; /* 0: one item */
    uint32_t shape[ZD_FIELD_RANK_MAX];
    uint32_t n_items; /* product(shape[0 .. rank)) */
    bool is_big;      /* of a document of v2: stored big-endian, when that differs between fields */
};

/** The bytes of a field in an element; those of one that is a structure are its fields'. */
static inline uint32_t zd_dtype_field_bytes(const struct zd_field *field)
{
    return field->dtype.bytes * field->n_items;
}

/** The fields of a structure (core/grid/struct_fields.h): counted, immutable once they are
 * finished. */
struct zd_struct_fields {
    _Atomic uint32_t refs;
    uint32_t n; /* 1 .. ZD_STRUCT_FIELDS_MAX */
    uint32_t n_room;
    bool is_loose;  /* some field is (zd_dtype_is_loose) */
    bool is_legacy; /* "structured": no byte order means little, base64 is a fill value */
    bool is_mixed;  /* is_big of some fields, and not of others that could be */
    bool has_array; /* some field is one */
    char *typestr;  /* NumPy's, as JSON in ASCII: [["x","<f4"],["in",[["n","<i2"]]]] */
    char *descr;    /* the same as Python has it: [('x', '<f4'), ('in', [('n', '<i2')])] */
    struct zd_field *field;
};

/**
 * The data type of that name (Zarr v3, data types; r<N> included), or one of its aliases. Types
 * that have a configuration are not found: zd_dtype_of_ticks and zd_dtype_of_bytes make them.
 *
 * @retval ZD_UNSUPPORTED no such type in this build (also a malformed r<N>)
 * Thread: any.
 */
ZD_RESULT zd_dtype_find(const char *name, struct zd_dtype *ret_dtype);

/** The names of the data types without configuration, aliases left out, ended by NULL ("r*" stands
 * for the raw bits). */
extern const char *const zd_dtype_names[];

/** The other name of such a data type, or NULL: it has one at most. Thread: any. */
const char *zd_dtype_alias(const char *name);

/** "numpy.datetime64" or "numpy.timedelta64". @retval ZD_UNSUPPORTED no such name, or no such scale
 * Thread: any. */
ZD_RESULT zd_dtype_of_ticks(
    const char *name, enum zd_dtype_unit unit, uint64_t scale, struct zd_dtype *ret_dtype);

/** "fixed_length_utf32", "null_terminated_bytes" or "raw_bytes" of so many bytes.
 * @retval ZD_UNSUPPORTED no such name, or no such length; Thread: any. */
ZD_RESULT zd_dtype_of_bytes(const char *name, uint64_t bytes, struct zd_dtype *ret_dtype);

/** A unit's name ("ns", "generic"), and the unit of a name; the micro sign is read as u. */
const char *zd_dtype_unit_name(enum zd_dtype_unit unit);
bool zd_dtype_unit_find(struct zd_span name, enum zd_dtype_unit *ret_unit);

/** Whether elements of both are the same in memory and mean the same. Thread: any. */
bool zd_dtype_equal(const struct zd_dtype *a, const struct zd_dtype *b);

#define ZD_DTYPE_TYPESTR_BYTES 40

/** NumPy's typestr: "<f4", "|b1", "|V3", "<M8[10us]"; of a type that NumPy lacks that of the type
 * it is answered as (core/grid/widen.h). Thread: any. */
/** Not of structures, whose fields have it. */
void zd_dtype_typestr(const struct zd_dtype *dtype, char ret_typestr[ZD_DTYPE_TYPESTR_BYTES]);
enum zd_status zd_dtype_add_typestr(const struct zd_dtype *dtype, struct zd_text *text);

/** Swap the byte order of n_elements elements from one place to another (which may be the same). */
void zd_dtype_swap(const struct zd_dtype *dtype, void *to, const void *from, size_t n_elements);

/** The same of some fields of structures, where they are.
 * @param is_big of each field */
void zd_dtype_swap_fields(
    const struct zd_dtype *dtype, void *elements, size_t n_elements, const bool *is_big);

/** Whether bytes of such elements may be stored that spell the same element: any but 0 is true, and
 * of int4 the high bits say nothing. Thread: any. */
static inline bool zd_dtype_is_loose(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_BOOL || dtype->n_low_bits > 0 ||
           (dtype->fields != NULL && dtype->fields->is_loose);
}

/** Make them elements as they are in memory: 0 and 1, integers with their sign, zeros above others.
 */
void zd_dtype_settle(const struct zd_dtype *dtype, void *elements, size_t n_elements);

/** Write one element n_elements times. */
void zd_dtype_fill(const struct zd_dtype *dtype, void *to, const void *element, size_t n_elements);

/** Whether its elements have lengths of their own: in memory they are spans, which must never leave
 * the process, nor come from outside. Thread: any. */
static inline bool zd_dtype_is_variable(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_STRING || dtype->kind == ZD_DTYPE_BYTES ||
           dtype->kind == ZD_DTYPE_LIST;
}

/** The type of lists of numbers of that type, as arrays of objects in v2 can have; v3 has no such
 * type, and its name, "v2.list.int32", is in no document that is stored. False: it is no type of
 * NumPy's numbers, or bool. Thread: any. */
bool zd_dtype_of_list(const struct zd_dtype *item, struct zd_dtype *ret_dtype);

/** The type of the numbers. Thread: any. */
struct zd_dtype zd_dtype_list_item(const struct zd_dtype *dtype);

/** Whether elements have the same bits, one by one; at any address. Thread: any. */
bool zd_dtype_same_elements(
    const struct zd_dtype *dtype, const void *a, const void *b, uint64_t n_elements);

/** A copy of an element with all its bytes, owned (zd_free); NULL without memory. */
uint8_t *zd_dtype_copy(const struct zd_dtype *dtype, const void *element);

/** Whether elements of that type have an order, and therefore extremes. Thread: any. */
bool zd_dtype_is_ordered(const struct zd_dtype *dtype);

/** Whether they are floats, small ones too. Thread: any. */
static inline bool zd_dtype_is_float(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_FLOAT || dtype->kind == ZD_DTYPE_SMALL_FLOAT;
}

/** Whether they are pairs of floats. Thread: any. */
static inline bool zd_dtype_is_complex(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_COMPLEX || dtype->kind == ZD_DTYPE_SMALL_COMPLEX;
}

/** How many bits of an integer count. Thread: any. */
static inline uint32_t zd_dtype_n_bits(const struct zd_dtype *dtype)
{
    return dtype->n_low_bits > 0 ? dtype->n_low_bits : dtype->bytes * 8;
}

/** Whether they are times or durations. Thread: any. */
static inline bool zd_dtype_is_ticks(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_TIME || dtype->kind == ZD_DTYPE_DURATION;
}

#endif
