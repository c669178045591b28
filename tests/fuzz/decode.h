/* Shared by the fuzz targets of codecs: chains of one codec, and rules for all of them. */
#ifndef ZD_TESTS_FUZZ_DECODE_H
#define ZD_TESTS_FUZZ_DECODE_H

#include "core/codec/chain.h"
#include "tests/fuzz/input.h"

/** A chain to fuzz. */
struct zd_fuzz_chain {
    const char *codecs; /* JSON with ' for " */
    const char *data_type;
    uint32_t rank;
    uint64_t shape[ZD_RANK_MAX];
    bool is_n5;             /* of an N5 dataset */
    bool is_checked;        /* a byte that changes is always noticed */
    bool is_lossy;          /* elements may become others */
    bool has_zero_fill;     /* the fill value is 0, not 7 in its first byte */
    bool may_refuse;        /* elements may be refused, as those that no cast can give back */
    struct zd_chain *chain; /* opened at its first use, for as long as the program runs */
};

/**
 * Run an input: the first byte names the row; the rest is decoded as stored bytes, and also
 * encoded. Stored bytes decode to exactly a chunk or are refused; what decoded, or was an array
 * from the start, is the same after it was encoded and decoded (unless the codec is lossy); and a
 * byte that changed on the way is noticed or does no harm.
 */
void zd_fuzz_decode(struct zd_fuzz_chain *rows, size_t n_rows, struct zd_span input);

/** The parts of the chains' JSON. */
#define ZD_FUZZ_LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define ZD_FUZZ_BIG    "{'name':'bytes','configuration':{'endian':'big'}}"

#endif
