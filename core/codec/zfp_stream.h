/* Streams of the library zfp, of which two codecs are made: `zfp`, and `zfpy` of numcodecs with a
 * header. */
#ifndef ZD_CORE_CODEC_ZFP_STREAM_H
#define ZD_CORE_CODEC_ZFP_STREAM_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/codec/codec.h"

#define ZD_ZFP_RANK_MAX    4
#define ZD_ZFP_RATE_MAX    128 /* bits a number; what is more is never used */
#define ZD_ZFP_MAXPREC_MAX 64
#define ZD_ZFP_MAXBITS_MAX 16658 /* of a block */

enum zd_zfp_type {
    ZD_ZFP_NONE, /* zfp has no such numbers */
    ZD_ZFP_INT32,
    ZD_ZFP_INT64,
    ZD_ZFP_FLOAT,
    ZD_ZFP_DOUBLE,
};

enum zd_zfp_mode {
    ZD_ZFP_REVERSIBLE,
    ZD_ZFP_EXPERT,
    ZD_ZFP_ACCURACY,
    ZD_ZFP_RATE,
    ZD_ZFP_PRECISION,
};

/** The type and the mode of compression. */
struct zd_zfp {
    const char *codec; /* its name, for texts; static */
    enum zd_zfp_type type;
    uint32_t rank; /* 1 .. ZD_ZFP_RANK_MAX */
    uint64_t shape[ZD_ZFP_RANK_MAX];
    bool has_header; /* which then says all this: it must agree */
    enum zd_zfp_mode mode;
    double tolerance;   /* ACCURACY: >= 0 */
    double rate;        /* RATE: > 0, <= ZD_ZFP_RATE_MAX */
    uint32_t precision; /* PRECISION: 0 for all of it */
    uint32_t minbits;   /* EXPERT: <= maxbits <= ZD_ZFP_MAXBITS_MAX */
    uint32_t maxbits;
    uint32_t maxprec; /* EXPERT: 1 .. ZD_ZFP_MAXPREC_MAX */
    int32_t minexp;
};

/** The type of zfp for elements that it takes as they are: float32, float64, int32, int64. */
enum zd_zfp_type zd_zfp_type_of(const struct zd_dtype *dtype);

/**
 * Set the shape, by that of the chunk, and find out how long a stream can be. Blocks have 4^rank
 * numbers even where the array is thinner, so that this can be far more than the array: then it is
 * refused.
 *
 * @param zfp       all but rank and shape are set
 * @param config    what the codec is opened with: all of the decoded representation is known
 * @param ret_bytes the most bytes of a stream
 * @retval ZD_UNSUPPORTED the faults say what zfp cannot hold
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_zfp_prepare(struct zd_zfp *zfp, const struct zd_codec_config *config,
    uint64_t *ret_bytes, struct zd_faults *faults);

/**
 * Decompress a whole stream.
 *
 * @param to room for the numbers, aligned as they need
 * @retval ZD_CORRUPT     it ends too early, goes on too long, or its header tells of something else
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_zfp_decode(
    const struct zd_zfp *zfp, struct zd_span stream, void *to, struct zd_error *err);

/** Compress; the stream is owned. Thread: any. */
ZD_RESULT zd_zfp_encode(
    const struct zd_zfp *zfp, const void *from, struct zd_buf **ret_stream, struct zd_error *err);

#endif
