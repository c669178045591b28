/* Streams of the library zfp. It reads as far as a stream tells it to: so it gets a copy that is as
 * long as any stream of that array, zeros behind the end, and what it has read is judged after. */
#include "core/codec/zfp_stream.h"

#include <inttypes.h>
#include <string.h>
#include <zfp.h>

#include "core/base/num.h"

#define BOUND_FACTOR     20                  /* what a stream may be longer than its array ... */
#define BOUND_BYTES      (UINT64_C(1) << 20) /* ... beside that much */
#define WORD_BYTES       8                   /* of the longest words of which a stream is made */
#define READ_AHEAD_BYTES 16
#define HEADER_BYTES     64 /* more than any header, of ZFP_HEADER_MAX_BITS */
#define BITS_PER_BYTE    8U
#define HEADER_SIZE_BITS 48 /* in which a header tells the shape, shared by all dimensions */

/* The objects of zfp. */
struct work {
    zfp_stream *stream;
    zfp_field *field;
    bitstream *bits; /* the one that is read or written */
    uint8_t *copy;   /* of a stream; owned */
};

static void work_free(struct work *work)
{
    if (work == NULL) {
        return;
    }
    if (work->bits != NULL) {
        stream_close(work->bits);
    }
    if (work->stream != NULL) {
        zfp_stream_close(work->stream);
    }
    if (work->field != NULL) {
        zfp_field_free(work->field);
    }
    zd_free(work->copy);
    zd_free(work);
}

ZD_OWN(work, work_free);

static const zfp_type types[] = {
    [ZD_ZFP_NONE] = zfp_type_none,
    [ZD_ZFP_INT32] = zfp_type_int32,
    [ZD_ZFP_INT64] = zfp_type_int64,
    [ZD_ZFP_FLOAT] = zfp_type_float,
    [ZD_ZFP_DOUBLE] = zfp_type_double,
};

enum zd_zfp_type zd_zfp_type_of(const struct zd_dtype *dtype)
{
    static const struct {
        const char *name;
        enum zd_zfp_type type;
    } names[] = {
        {"int32", ZD_ZFP_INT32},
        {"int64", ZD_ZFP_INT64},
        {"float32", ZD_ZFP_FLOAT},
        {"float64", ZD_ZFP_DOUBLE},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        if (strcmp(names[i].name, dtype->name) == 0) {
            return names[i].type;
        }
    }
    return ZD_ZFP_NONE;
}

static enum zd_status no_memory(const struct zd_zfp *zfp, struct zd_error *err)
{
    return zd_fail(err, ZD_NO_MEMORY, "%s: cannot allocate a stream", zfp->codec);
}

static enum zd_status corrupt(const struct zd_zfp *zfp, const char *what, struct zd_error *err)
{
    const enum zd_status status = zd_fail(err, ZD_CORRUPT, "%s: %s", zfp->codec, what);
    zd_fact_name(err, zfp->codec);
    return status;
}

static uint64_t count_of(const struct zd_zfp *zfp)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < zfp->rank; i++) {
        n *= zfp->shape[i]; /* the size of a chunk, which fits */
    }
    return n;
}

/* The last dimension is x. NULL when memory is short. */
static zfp_field *field_new(const struct zd_zfp *zfp)
{
    const zfp_type type = types[zfp->type];
    const uint64_t *shape = zfp->shape;
    switch (zfp->rank) {
    case 1:
        return zfp_field_1d(NULL, type, shape[0]);
    case 2:
        return zfp_field_2d(NULL, type, shape[1], shape[0]);
    case 3:
        return zfp_field_3d(NULL, type, shape[2], shape[1], shape[0]);
    default:
        return zfp_field_4d(NULL, type, shape[3], shape[2], shape[1], shape[0]);
    }
}

/* NULL when memory is short. */
static struct work *work_new(const struct zd_zfp *zfp)
{
    ZD_AUTO(work) work = zd_alloc_zero(1, sizeof *work);
    if (work == NULL) {
        return NULL;
    }
    work->stream = zfp_stream_open(NULL);
    work->field = field_new(zfp);
    return work->stream == NULL || work->field == NULL ? NULL : ZD_TAKE(work);
}

/* From the beginning of those bytes on; false when memory is short. */
static bool work_rewind(struct work *work, void *bytes, size_t len)
{
    if (work->bits != NULL) {
        stream_close(work->bits);
    }
    work->bits = stream_open(bytes, len);
    zfp_stream_set_bit_stream(work->stream, work->bits);
    if (work->bits == NULL) {
        return false;
    }
    zfp_stream_rewind(work->stream);
    return true;
}

static void set_mode(const struct zd_zfp *zfp, zfp_stream *stream)
{
    switch (zfp->mode) {
    case ZD_ZFP_REVERSIBLE:
        zfp_stream_set_reversible(stream);
        return;
    case ZD_ZFP_EXPERT:
        (void)zfp_stream_set_params(stream, zfp->minbits, zfp->maxbits, zfp->maxprec, zfp->minexp);
        return;
    case ZD_ZFP_ACCURACY:
        (void)zfp_stream_set_accuracy(stream, zfp->tolerance);
        return;
    case ZD_ZFP_RATE:
        (void)zfp_stream_set_rate(stream, zfp->rate, types[zfp->type], zfp->rank, zfp_false);
        return;
    case ZD_ZFP_PRECISION:
        (void)zfp_stream_set_precision(stream, zfp->precision);
        return;
    }
}

/* The most that a decoder reads: whatever the bits are, and where maxbits are less than what the
 * head of a block needs. 0: too much. */
static uint64_t most_bytes(const zfp_stream *stream, const zfp_field *field)
{
    zfp_stream widest = *stream;
    widest.maxbits = ZFP_MAX_BITS;
    const uint64_t bytes = zfp_stream_maximum_size(&widest, field);
    const uint64_t array_bytes = zfp_field_size(field, NULL) * zfp_type_size(field->type);
    return bytes / BOUND_FACTOR > array_bytes + BOUND_BYTES / BOUND_FACTOR ? 0 : bytes;
}

/* zfp: a header has 48 bits for the shape, 24 for each of two dimensions and so on. */
static bool header_holds(const struct zd_zfp *zfp)
{
    const uint32_t n_bits = HEADER_SIZE_BITS / zfp->rank;
    bool holds = true;
    for (uint32_t i = 0; i < zfp->rank; i++) {
        holds = holds && (zfp->shape[i] - 1) >> n_bits == 0;
    }
    return holds;
}

static enum zd_status find_bound(
    const struct zd_zfp *zfp, uint64_t *ret_bytes, struct zd_error *err)
{
    ZD_AUTO(work) work = work_new(zfp);
    if (work == NULL) {
        return no_memory(zfp, err);
    }
    if (zfp->has_header && !header_holds(zfp)) {
        return zd_fail(err, ZD_UNSUPPORTED,
            "%s: the chunk has more elements along an axis than a zfp header can state",
            zfp->codec);
    }
    set_mode(zfp, work->stream);
    const uint64_t bytes = most_bytes(work->stream, work->field);
    if (bytes == 0) {
        return zd_fail(err, ZD_UNSUPPORTED,
            "%s: the compressed chunk could be more than %d times as long as the chunk, which is "
            "not supported",
            zfp->codec, BOUND_FACTOR);
    }
    *ret_bytes = bytes;
    return ZD_OK;
}

enum zd_status zd_zfp_prepare(struct zd_zfp *zfp, const struct zd_codec_config *config,
    uint64_t *ret_bytes, struct zd_faults *faults)
{
    const struct zd_repr *decoded = config->decoded;
    struct zd_error err = {0};
    if (decoded->rank > ZD_ZFP_RANK_MAX) {
        zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", zfp->codec, &config->at,
            "at most 4 dimensions", NULL, "%s: %" PRIu32 " dimensions; zfp supports at most 4",
            zfp->codec, decoded->rank);
        return ZD_UNSUPPORTED;
    }
    zfp->rank = decoded->rank == 0 ? 1 : decoded->rank;
    zfp->shape[0] = 1;
    memcpy(zfp->shape, decoded->shape, decoded->rank * sizeof zfp->shape[0]);
    const enum zd_status status = find_bound(zfp, ret_bytes, &err);
    if (status == ZD_UNSUPPORTED) {
        zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", zfp->codec, &config->at,
            NULL, NULL, "%s", err.text);
    }
    return status;
}

/* ---- decode ---- */

/* The stream's bytes with zeros behind them. */
static uint8_t *padded_copy(struct zd_span stream, uint64_t bytes)
{
    uint8_t *copy = zd_alloc_zero(1, zd_max_u64(bytes, stream.len) + READ_AHEAD_BYTES);
    if (copy != NULL && stream.len > 0) {
        memcpy(copy, stream.ptr, stream.len);
    }
    return copy;
}

/* The shape may be another one, as of an array that a filter had made flat; not the size. */
static bool header_agrees(const struct zd_zfp *zfp, const zfp_field *field)
{
    const uint64_t sizes[] = {field->nx, field->ny, field->nz, field->nw};
    uint64_t n = 1;
    for (size_t i = 0; i < ZD_COUNT_OF(sizes); i++) {
        if (sizes[i] > 0 && ckd_mul(&n, n, sizes[i])) {
            return false;
        }
    }
    return field->type == types[zfp->type] && n == count_of(zfp);
}

/* How the stream is read is told by its header, of which a short copy is looked at. */
static enum zd_status read_header(
    const struct zd_zfp *zfp, struct zd_span encoded, struct work *work, struct zd_error *err)
{
    uint64_t head[HEADER_BYTES / WORD_BYTES] = {0};
    if (encoded.len > 0) {
        memcpy(head, encoded.ptr, zd_min_u64(encoded.len, sizeof head));
    }
    if (!work_rewind(work, head, sizeof head)) {
        return no_memory(zfp, err);
    }
    const size_t n_bits = zfp_read_header(work->stream, work->field, ZFP_HEADER_FULL);
    if (n_bits == 0 || zd_div_up(n_bits, BITS_PER_BYTE) > encoded.len) {
        return corrupt(zfp, "the stream does not begin with a zfp header", err);
    }
    if (!header_agrees(zfp, work->field)) {
        return corrupt(zfp, "the header describes another array than the chunk", err);
    }
    return ZD_OK;
}

enum zd_status zd_zfp_decode(
    const struct zd_zfp *zfp, struct zd_span encoded, void *to, struct zd_error *err)
{
    ZD_AUTO(work) work = work_new(zfp);
    if (work == NULL) {
        return no_memory(zfp, err);
    }
    set_mode(zfp, work->stream);
    if (zfp->has_header) {
        ZD_TRY(read_header(zfp, encoded, work, err));
    }
    const uint64_t bytes = most_bytes(work->stream, work->field);
    if (bytes == 0) {
        return corrupt(zfp, "the header describes invalid blocks", err);
    }
    work->copy = padded_copy(encoded, bytes);
    if (work->copy == NULL || !work_rewind(work, work->copy, bytes)) {
        return no_memory(zfp, err);
    }
    if (zfp->has_header) {
        (void)zfp_read_header(work->stream, work->field, ZFP_HEADER_FULL);
    }
    zfp_field_set_pointer(work->field, to);
    /* Builds of zfp differ in their words: the longest ones have 8 bytes. */
    const uint64_t n_read = zd_div_up(zfp_decompress(work->stream, work->field), WORD_BYTES);
    const uint64_t n_stored = zd_div_up(encoded.len, WORD_BYTES);
    if (n_read > n_stored) {
        return corrupt(zfp, "the stream ends too early", err);
    }
    return n_read == n_stored ? ZD_OK : corrupt(zfp, "bytes follow the end of the stream", err);
}

/* ---- encode ---- */

enum zd_status zd_zfp_encode(
    const struct zd_zfp *zfp, const void *from, struct zd_buf **ret_stream, struct zd_error *err)
{
    ZD_AUTO(work) work = work_new(zfp);
    uint64_t most = 0;
    if (work == NULL) {
        return no_memory(zfp, err);
    }
    ZD_TRY(find_bound(zfp, &most, err));
    ZD_AUTO(zd_buf) buf = zd_buf_new(most + READ_AHEAD_BYTES);
    if (buf == NULL || !work_rewind(work, buf->data, most)) {
        return no_memory(zfp, err);
    }
    set_mode(zfp, work->stream);
    zfp_field_set_pointer(work->field, (void *)(uintptr_t)from); /* zfp only reads it */
    if (zfp->has_header) {
        (void)zfp_write_header(work->stream, work->field, ZFP_HEADER_FULL);
    }
    buf->len = zfp_compress(work->stream, work->field);
    if (buf->len == 0) {
        return zd_fail(err, ZD_INTERNAL, "%s: zfp failed to compress the chunk", zfp->codec);
    }
    while (buf->len % WORD_BYTES != 0) {
        buf->data[buf->len++] = 0; /* what reads longer words finds whole ones */
    }
    *ret_stream = ZD_TAKE(buf);
    return ZD_OK;
}
