/* Codecs: bytes <-> elements. One file a codec; the build lists them. */
#ifndef ZD_CORE_CODEC_CODEC_H
#define ZD_CORE_CODEC_CODEC_H

#include "core/base/buf.h"
#include "core/base/fault.h"
#include "core/grid/dtype.h"
#include "core/grid/selection.h"

enum zd_codec_kind {
    ZD_CODEC_ARRAY_ARRAY,
    ZD_CODEC_ARRAY_BYTES,
    ZD_CODEC_BYTES_BYTES,
};

/** How strictly a document is judged. */
enum zd_judgement {
    ZD_JUDGE_READ,  /* a stored document: tolerate with a warning what can mean only one thing */
    ZD_JUDGE_WRITE, /* a document that asks to be stored: any deviation is a fault */
};

/** The value between two codecs: an array, or a byte string. */
struct zd_repr {
    bool is_bytes;
    /* Other parts of the document are at fault, so that this is unknown: a configuration is then
     * judged as far as it does not depend on this, and opening fails. */
    bool lacks_dtype; /* dtype, fill */
    bool lacks_shape; /* rank, shape, size */
    /* array */
    struct zd_dtype dtype; /* of bytes: of the elements that they are; zeroed where they are none */
    uint32_t rank;
    uint64_t shape[ZD_RANK_MAX];
    const void *fill; /* one element, dtype.bytes long; borrowed during open; codecs that need it
                         later copy it */
    /* both: the size in memory; of elements of variable length without their bytes, which follow
     * them in the buffer, or are borrowed */
    uint64_t size;      /* bytes: exact, or an upper bound */
    bool size_is_exact; /* always true of arrays */
};

/** Whether all of it is known. */
static inline bool zd_codec_repr_is_known(const struct zd_repr *repr)
{
    return !repr->lacks_dtype && !repr->lacks_shape;
}

/** Whether a buffer has the size of that array; with elements of variable length, or more. */
static inline bool zd_codec_repr_has(const struct zd_repr *array, const struct zd_buf *data)
{
    return zd_dtype_is_variable(&array->dtype) ? data->len >= array->size
                                               : data->len == array->size;
}

/** The size in memory of an array of that data type, rank and shape; true when it does not fit. */
bool zd_codec_repr_overflows(const struct zd_repr *array, uint64_t *ret_size);

/**
 * More than any sensible writer makes of `size` bytes with a bytes->bytes codec that compresses:
 * what decoders accept when only an upper bound is known. Saturates at UINT64_MAX.
 */
uint64_t zd_codec_bound(uint64_t size);

/**
 * Whether a decoded size is what was expected: exactly, or at most, as the representation says.
 * @retval ZD_CORRUPT text and facts name the codec, the expected and the found size
 */
ZD_RESULT zd_codec_repr_check(
    const struct zd_repr *decoded, const char *codec, uint64_t found_bytes, struct zd_error *err);

/** More was decoded than expected. @param codec its name @return ZD_CORRUPT, with the same facts */
ZD_RESULT zd_codec_too_much(const struct zd_repr *decoded, const char *codec, struct zd_error *err);

/** The inputs for opening a codec. */
struct zd_codec_config {
    const struct zd_json *configuration; /* an object, or NULL when absent; borrowed */
    struct zd_pointer at;          /* of the codec in the document; faults point at or below it */
    const struct zd_repr *decoded; /* what comes out of decode; borrowed */
    enum zd_judgement judgement;
    uint32_t depth; /* of nesting within other codecs; <= ZD_CODEC_DEPTH_MAX */
    bool is_n5;     /* of an N5 dataset: blocks may be of more kinds than n5_default has */
};

#define ZD_CODEC_DEPTH_MAX  4
#define ZD_CHAIN_CODECS_MAX 32 /* of one chain */

struct zd_shard;

/** A codec. `state` is what open made: immutable afterwards, so any thread may decode with it. */
struct zd_codec {
    const char *name;
    const char *const *aliases; /* ended by NULL; NULL when there are none */
    enum zd_codec_kind kind;
    const char *schema;  /* JSON Schema of the configuration, for /v1/extensions */
    bool takes_variable; /* array->: it is opened for elements of variable length, too */

    /**
     * Optional. The name is another spelling: which codec stores the same bytes, and how that is
     * configured. One that always has such a codec defines nothing else. In v2, where every codec
     * takes bytes for items, this says of what size they are.
     * @param config     its `decoded` is NULL
     * @param item_bytes of what reaches the codec in v2; 1 in v3, where that is bytes
     * @param ret_codec  another one, or this one
     * @param ret_configuration owned
     * @retval ZD_INVALID the faults say what
     */
    ZD_RESULT (*translate)(const struct zd_codec_config *config, uint32_t item_bytes,
        const struct zd_codec **ret_codec, struct zd_json **ret_configuration,
        struct zd_faults *faults);

    /**
     * Optional, with translate: the way back, where the members are not the same.
     * @param configuration     of the codec that translate gives, as it writes it; or NULL
     * @param ret_configuration in this spelling; owned
     * @retval ZD_NO_MEMORY
     */
    ZD_RESULT (*spell)(const struct zd_json *configuration, struct zd_json **ret_configuration);

    /**
     * Judge the configuration and prepare.
     * @param ret_encoded what encode makes of config->decoded
     * @param ret_state   owned; given to close
     * @retval ZD_INVALID     the faults say what, or config->decoded lacks something
     * @retval ZD_UNSUPPORTED the faults say what
     */
    ZD_RESULT (*open)(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
        void **ret_state, struct zd_faults *faults);
    void (*close)(void *state); /* accepts NULL */

    /**
     * Encoded to decoded. Never makes more than the decoded size given to open; the bytes of
     * elements of variable length follow them (zd_variable_pack).
     * @param encoded  borrowed; may be returned with one more reference when nothing changes
     * @param ret_decoded owned
     * @retval ZD_CORRUPT
     * @retval ZD_UNSUPPORTED well formed, yet not safe to decode with this build's library
     */
    ZD_RESULT (*decode)(const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded,
        struct zd_error *err);
    /** Decoded to encoded. NULL: its chunks are only read. */
    ZD_RESULT (*encode)(const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded,
        struct zd_error *err);

    /** How many decoded bytes a typical core makes in a microsecond: the codec's class, a guess for
     * deciding where to decode. 0: it costs next to nothing. */
    uint64_t bytes_per_us;

    /** Optional: the same, where it depends on the configuration. */
    uint64_t (*find_bytes_per_us)(const void *state);

    /**
     * Optional, bytes->bytes. Some of the bytes that decode makes, in less time than all of them
     * take. Never other bytes than decode would make; but what is not needed is not looked at, so
     * a fault there goes unseen. A codec that verifies a checksum over all has no such function.
     * @param run       of the decoded bytes, whose size is exact; within it, and not empty
     * @param ret_bytes run.len bytes; owned
     * @retval as decode
     */
    ZD_RESULT (*decode_part)(const void *state, struct zd_buf *encoded, struct zd_byte_range run,
        struct zd_buf **ret_bytes, struct zd_error *err);
    /** With decode_part: about how many nanoseconds that takes. */
    uint64_t (*part_ns)(const void *state, struct zd_byte_range run);

    /** The configuration as a document has it, owned; NULL in ret_json when there is
     * none to write. */
    ZD_RESULT (*configuration)(const void *state, struct zd_json **ret_json);

    /** Optional. array->array that only permutes axes: output axis i is input axis order[i]; rank
     * entries. */
    const uint32_t *(*order)(const void *state);
    /** Optional. array->bytes that only lays elements out, in C order: whether each unit is
     * byte-swapped. */
    bool (*is_swapped)(const void *state);
    /** Optional. array->bytes made of inner chunks that can be read one by one. */
    const struct zd_shard *(*shard)(const void *state);
};

/** decode_part of an input of which parts cannot be decoded: all of it, and the run cut out.
 * Thread: any. */
ZD_RESULT zd_codec_cut(const struct zd_codec *codec, const void *state, struct zd_buf *encoded,
    struct zd_byte_range run, struct zd_buf **ret_bytes, struct zd_error *err);

/** How long `bytes` take at that rate, in nanoseconds; saturates. A rate of 0 takes no time. */
uint64_t zd_codec_ns(uint64_t bytes, uint64_t bytes_per_us);

/** The rate of a codec that is configured so. */
static inline uint64_t zd_codec_bytes_per_us(const struct zd_codec *codec, const void *state)
{
    return codec->find_bytes_per_us == NULL ? codec->bytes_per_us : codec->find_bytes_per_us(state);
}

/** Whether chunks can be encoded with it. */
static inline bool zd_codec_is_writable(const struct zd_codec *codec)
{
    return codec->encode != NULL || codec->translate != NULL;
}

/** All codecs, ended by NULL; generated from the files core/codec/codec_*.c. */
extern const struct zd_codec *const zd_codecs[];

/** The codec of that name or alias, or NULL. Thread: any. */
const struct zd_codec *zd_codec_find(const char *name);

#endif
