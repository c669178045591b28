/* Shared by tests of codecs: chains from a line of JSON. */
#ifndef ZD_TESTS_SUPPORT_CODEC_H
#define ZD_TESTS_SUPPORT_CODEC_H

#include "core/codec/chain.h"
#include "tests/support/unit.h"

/** A chain to open: what a document would say. */
struct zd_unit_chain {
    const char *codecs;           /* JSON with ' for " */
    const struct zd_json *parsed; /* the same, when it must not take memory; or NULL */
    const char *dtype;
    const struct zd_dtype *type; /* in its place, of those with a configuration; or NULL */
    uint32_t rank;
    uint64_t shape[ZD_RANK_MAX];
    const void *fill; /* NULL: zero */
    enum zd_judgement judgement;
    uint32_t depth;
    bool fixed;
    bool is_n5;
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

/** Elements, what a chain stores of them, and what that decodes to: in hexadecimal. */
struct zd_unit_coding {
    const char *codecs; /* JSON with ' for " */
    const char *dtype;
    uint32_t rank;
    uint64_t shape[3];
    const void *fill; /* NULL: zero */
    const char *decoded;
    const char *encoded;
    const char *again; /* NULL: the same elements */
};

/** Fails the test when one of that is not so. */
void zd_unit_check_coding(const struct zd_unit_coding *coding);

/** Opens it: the findings are those (as zd_unit_faults gives them), and "" means that it opens. */
void zd_unit_check_judged(const struct zd_unit_chain *what, const char *findings);

/** Decodes: ZD_CORRUPT, and the text has that in it. */
void zd_unit_check_corrupt(const struct zd_unit_chain *what, const char *encoded, const char *text);

/** A chain with parts: as many random runs, and those at the edges, decode to those bytes of
 * `whole`, which is what reaches the array->bytes codec. */
void zd_unit_check_parts(
    const struct zd_chain *chain, struct zd_buf *encoded, const struct zd_buf *whole, int n_runs);

/** The stored form of a chunk of bytes, and its decoded form. */
struct zd_unit_stored {
    const char *codecs;  /* JSON with ' for " */
    uint64_t n;          /* bytes expected */
    const char *stored;  /* hexadecimal */
    const char *decoded; /* the same; or NULL */
    const char *refusal; /* else: part of the text of what is corrupt, or not supported */
};

/** A chain of n elements of one byte; owned. */
struct zd_chain *zd_unit_byte_chain(const char *codecs, uint64_t n);

/** It decodes as the row says; a refusal names a codec. */
void zd_unit_check_stored(const struct zd_unit_stored *row);

/** n bytes, encoded within the bound, decode to themselves. */
void zd_unit_check_round_trip(const char *codecs, uint64_t n);

/**
 * Damage the stored form of n bytes. Without its end, or with a byte more, it does not decode. With
 * a flipped bit it is refused, or, if that is not noticed, harmless.
 *
 * @param is_checked a damaged form that decodes gives the original
 */
void zd_unit_check_damage(const char *codecs, uint64_t n, bool is_checked);

/** A chain of 1000 bytes refuses to decode the stored form of 64 MiB of zeros. */
void zd_unit_check_bomb(const char *codecs);

/** Some bytes of that many elements that compress a little; owned. */
struct zd_buf *zd_unit_elements(size_t len);

#endif
