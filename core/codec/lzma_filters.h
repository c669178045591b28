/* The filters of a stream of LZMA, as Python and numcodecs spell them. */
#ifndef ZD_CORE_CODEC_LZMA_FILTERS_H
#define ZD_CORE_CODEC_LZMA_FILTERS_H

#include <lzma.h>

#include "core/codec/parameter.h"

/** The filters that encode a chunk, in this order. May be copied. */
struct zd_lzma_filters {
    uint32_t n; /* 1 .. LZMA_FILTERS_MAX; the last one is LZMA1 or LZMA2 */
    struct zd_lzma_filter {
        lzma_vli id;
        union {
            lzma_options_lzma lzma;
            lzma_options_delta delta;
            lzma_options_bcj bcj;
        } options;
    } filter[LZMA_FILTERS_MAX];
};

/** The same for the library: terminated, with options that point into `filters`. */
struct zd_lzma_chain {
    lzma_filter filter[LZMA_FILTERS_MAX + 1];
};

/** Whether that is a preset: 0 to 9, perhaps with LZMA_PRESET_EXTREME. Thread: any. */
bool zd_lzma_filters_preset(int64_t number);

/** Start with a filter.
 * @param id     LZMA_FILTER_LZMA1 or LZMA_FILTER_LZMA2
 * @param preset is one
 * Thread: any. */
void zd_lzma_filters_init(struct zd_lzma_filters *filters, lzma_vli id, uint32_t preset);

/**
 * Read the member `filters`, a list that is there; false and faults when it is no chain.
 *
 * @param last the only filter that may stand at the end; LZMA_VLI_UNKNOWN: LZMA1 or LZMA2
 * Thread: any.
 */
bool zd_lzma_filters_read(
    const struct zd_parameters *parameters, lzma_vli last, struct zd_lzma_filters *ret_filters);

/** A dictionary longer than what is encoded is of no use: it then takes memory only. */
void zd_lzma_filters_trim(struct zd_lzma_filters *filters, uint64_t decoded_bytes);

/** For the library, as long as `filters` stays where it is. */
struct zd_lzma_chain zd_lzma_filters_chain(struct zd_lzma_filters *filters);

#endif
