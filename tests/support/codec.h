/* What tests of codecs share: chains from a line of JSON. */
#ifndef ZD_TESTS_SUPPORT_CODEC_H
#define ZD_TESTS_SUPPORT_CODEC_H

#include "core/codec/chain.h"
#include "tests/support/unit.h"

/** A chain to open: what a document would say. */
struct zd_unit_chain {
    const char *codecs;           /* JSON with ' for " */
    const struct zd_json *parsed; /* the same, when it must not take memory; or NULL */
    const char *dtype;
    uint32_t rank;
    uint64_t shape[ZD_RANK_MAX];
    const void *fill; /* NULL: zero */
    enum zd_judgement judgement;
    uint32_t depth;
    bool fixed;
};

/** A value of JSON from text with ' for ", owned; fails the test when malformed. */
struct zd_json *zd_unit_json(const char *text);

/** Open it; the findings go to faults, below the pointer "/codecs". */
ZD_RESULT zd_unit_chain_open(
    const struct zd_unit_chain *what, struct zd_chain **ret_chain, struct zd_faults *faults);

/** Open what must open; owned. */
struct zd_chain *zd_unit_chain(const struct zd_unit_chain *what);

/** The findings as lines "severity code pointer", for comparing; owned by the caller (zd_free). */
char *zd_unit_faults(const struct zd_faults *faults);

/** A chain with parts: as many random runs, and those at the edges, decode to those bytes of
 * `whole`, which is what reaches the array->bytes codec. */
void zd_unit_check_parts(
    const struct zd_chain *chain, struct zd_buf *encoded, const struct zd_buf *whole, int n_runs);

/** Some bytes of that many elements that compress a little; owned. */
struct zd_buf *zd_unit_elements(size_t len);

#endif
