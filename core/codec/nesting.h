/* Strings in nested lists, behind them their type and the shape of the lists: what the codecs
 * `json2` and `msgpack2` of numcodecs have in common. Chunks of such codecs are read, not
 * written. */
#ifndef ZD_CORE_CODEC_NESTING_H
#define ZD_CORE_CODEC_NESTING_H

#include "core/codec/codec.h"

/** How the lists are nested. */
struct zd_nesting {
    uint32_t rank;
    uint64_t length[ZD_RANK_MAX];  /* of the lists of dimension d */
    uint64_t n_items[ZD_RANK_MAX]; /* elements of such a list: product(length[d .. rank)) */
};

/** A chunk, and the two ways in which its lists may be nested: the state of such a codec. */
struct zd_nested {
    uint64_t n;            /* elements */
    struct zd_nesting own; /* as the chunk is */
    /* With its dimensions reversed: zarr-python nests a chunk in F order by the array's dimensions,
     * and what it reads of that are the elements one after the other in F order. */
    struct zd_nesting turned;
};

/** The differences between such codecs. */
struct zd_nesting_format {
    const char *name;              /* of the codec */
    const char *const *parameters; /* that say how it was written, ended by NULL: all is read */
    uint32_t byte_bytes;           /* most that one byte of a string takes */
    uint32_t mark_bytes;           /* most around or in front of an element */
};

/** Part of a codec's table: opens it for elements of string, and of nothing else. */
ZD_RESULT zd_nesting_open(const struct zd_nesting_format *format,
    const struct zd_codec_config *config, struct zd_repr *ret_encoded, void **ret_state,
    struct zd_faults *faults);

/** Part of a codec's table: there is none to write. */
ZD_RESULT zd_nesting_configuration(const void *state, struct zd_json **ret_json);

/**
 * The byte at that position is not the expected one.
 * @param codec its name; static
 * @return ZD_CORRUPT, with the codec and `expected` as facts
 * Thread: any.
 */
ZD_RESULT zd_nesting_corrupt(
    const char *codec, size_t at, const char *expected, struct zd_error *err);

#endif
