/* A codec chain: array->array codecs, one array->bytes codec, bytes->bytes codecs (Zarr v3,
 * codecs). */
#ifndef ZD_CORE_CODEC_CHAIN_H
#define ZD_CORE_CODEC_CHAIN_H

#include "core/codec/codec.h"

/** An opened chain: immutable, counted. */
struct zd_chain;

/**
 * Open the codecs of a document.
 *
 * A chain has array->array codecs, one array->bytes codec, then bytes->bytes codecs (Zarr v3,
 * codecs). When reading, unknown codecs with must_understand false are dropped if the rest is such
 * a chain; an empty list, or one without an array->bytes codec, implies `bytes` little-endian, with
 * a warning.
 *
 * @param codecs   the JSON list; borrowed
 * @param at       its place
 * @param decoded  what comes out of decode; its fill is copied; when it lacks something the codecs
 *                 are judged, and nothing is opened
 * @param depth    of nesting within other codecs, 0 at the top
 * @param fixed    every codec must have a computable size and none may be dropped or implied
 * (index_codecs)
 * @param is_n5    of an N5 dataset (zd_codec_config)
 * @param ret_chain owned
 * @retval ZD_INVALID     the faults say what, or `decoded` lacks something
 * @retval ZD_UNSUPPORTED the faults say what
 * Thread: any.
 */
struct zd_chain_config {
    const struct zd_json *codecs;
    struct zd_pointer at;
    const struct zd_repr *decoded;
    enum zd_judgement judgement;
    uint32_t depth;
    bool fixed;
    bool is_n5;
};
ZD_RESULT zd_chain_open(
    const struct zd_chain_config *config, struct zd_chain **ret_chain, struct zd_faults *faults);

struct zd_chain *zd_chain_ref(struct zd_chain *chain);
void zd_chain_unref(struct zd_chain *chain); /* accepts NULL */
ZD_OWN(zd_chain, zd_chain_unref);

/** Decode and encode whole chunks. encode: as zd_chain_check_encodes allows. decode: exactly
 * decoded->size bytes, elements in C order, little-endian. Thread: any. */
ZD_RESULT zd_chain_decode(const struct zd_chain *chain, struct zd_buf *encoded,
    struct zd_buf **ret_decoded, struct zd_error *err);
ZD_RESULT zd_chain_encode(const struct zd_chain *chain, struct zd_buf *decoded,
    struct zd_buf **ret_encoded, struct zd_error *err);

/**
 * Whether some of the bytes that reach the array->bytes codec can be decoded alone: one codec is
 * behind it, and has such a function. The array->bytes codec has a fixed size (it is `bytes`).
 */
bool zd_chain_has_parts(const struct zd_chain *chain);

/**
 * Decode some of those bytes. The chain has parts.
 * @param run       of the bytes before they were compressed: within the chunk's size, not empty
 * @param ret_bytes run.len bytes, as they would reach the array->bytes codec; owned
 * @retval as zd_chain_decode; faults in what is not needed go unseen
 * Thread: any.
 */
ZD_RESULT zd_chain_decode_part(const struct zd_chain *chain, struct zd_buf *encoded,
    struct zd_byte_range run, struct zd_buf **ret_bytes, struct zd_error *err);

/** About how long that takes, in nanoseconds; more than zd_chain_decode_ns when it does not pay. */
uint64_t zd_chain_part_ns(const struct zd_chain *chain, struct zd_byte_range run);

/** About how long decoding a whole chunk takes, in nanoseconds: a guess by the codecs' classes.
 * Saturates at UINT64_MAX. */
uint64_t zd_chain_decode_ns(const struct zd_chain *chain);

/** The representations that the chain decodes to and encodes to. Borrowed. */
const struct zd_repr *zd_chain_decoded(const struct zd_chain *chain);
const struct zd_repr *zd_chain_encoded(const struct zd_chain *chain);

/** The most bytes that an encoded chunk can have; shards may have gaps, within reason. */
uint64_t zd_chain_encoded_max(const struct zd_chain *chain);

/** The codecs in the order of the document, dropped ones left out. */
uint32_t zd_chain_count(const struct zd_chain *chain);
const struct zd_codec *zd_chain_codec(const struct zd_chain *chain, uint32_t i);
const void *zd_chain_state(const struct zd_chain *chain, uint32_t i);

/** Whether an unknown codec was dropped: such a chain must not encode. */
bool zd_chain_is_partial(const struct zd_chain *chain);

/**
 * Whether elements can be made chunks of: no codec of the chain or of its shards is only read, and
 * none was dropped.
 * @retval ZD_UNSUPPORTED text and facts name the codec, where it is known
 * Thread: any.
 */
ZD_RESULT zd_chain_check_encodes(const struct zd_chain *chain, struct zd_error *err);

/** The list as a document has it: every codec an object, without must_understand. Owned; NULL when
 * memory is short. */
struct zd_json *zd_chain_json(const struct zd_chain *chain);

/**
 * The permutation of all array->array codecs together: axis i of what reaches the array->bytes
 * codec is axis ret_order[i] of the decoded array. False when one of them does more than permute.
 */
bool zd_chain_order(const struct zd_chain *chain, uint32_t ret_order[ZD_RANK_MAX]);

/** Its depth, as zd_chain_open was given it. */
uint32_t zd_chain_depth(const struct zd_chain *chain);

/** The array->bytes codec's place in the chain. */
uint32_t zd_chain_array_bytes(const struct zd_chain *chain);

/** The structure of a shard (codec sharding_indexed). Owned by the codec's state. */
struct zd_shard {
    uint32_t rank;
    uint64_t chunk_shape[ZD_RANK_MAX]; /* of an inner chunk, as it reaches the codec (after the
                                          outer permutation) */
    uint64_t grid[ZD_RANK_MAX];        /* inner chunks per dimension: shard shape / chunk_shape */
    uint64_t n_chunks;                 /* product(grid) */
    struct zd_chain *inner;            /* decodes one inner chunk */
    struct zd_chain *index;            /* decodes the index: uint64 of shape grid + [2] */
    uint64_t index_bytes;              /* encoded size of the index */
    bool index_at_start;
    bool index_is_plain;   /* its entries are stored as they are decoded, checksums behind them */
    bool index_is_implied; /* the document does not say how it is encoded: zd_shard_index_decode */
    const struct zd_json
        *codecs; /* the inner codecs' document and its place, so that a chain can be opened */
    struct zd_pointer
        codecs_at; /* for another element order over the same bytes; borrowed from the state */
};

/** Both words of an index entry of a missing inner chunk (Zarr v3, sharding). */
#define ZD_SHARD_MISSING UINT64_MAX

#endif
