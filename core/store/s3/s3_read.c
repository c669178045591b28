/* Reads and statuses of objects in a bucket.
 *
 *   BYTES: GET, with a range ------------> done
 *     |  ^  it is no answer to a suffix, or lies behind the end
 *     v  |
 *   FIRST: GET of the first byte: status ---> done
 *     | 416: the object is empty, or the store reads no ranges
 *     v
 *   HEAD --------------------------------> done
 *
 * A status begins with FIRST and not with HEAD, because the answer to HEAD has no code that says
 * what is absent: the object, the bucket or the key of access. */
#include "core/store/s3/s3_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/store/contract/store_impl.h"
#include "core/store/s3/s3_answer.h"

#define RANGE_CHARS 64

enum step {
    STEP_BYTES,
    STEP_FIRST,
    STEP_HEAD,
};

struct reading {
    struct zd_s3_state state; /* first member */
    struct zd_s3_store *s3;
    struct zd_store_op *op;
    struct zd_store_read *read; /* NULL: a status */
    enum step step;
    bool has_range;         /* of STEP_BYTES: it asks for one */
    bool is_sized;          /* the size is known: the range is within the object */
    struct zd_range range;  /* that is asked for */
    struct zd_range wanted; /* within the object, when its head is there */
    struct zd_stat stat;
    bool is_misread; /* the answer is to another suffix */
    char range_value[RANGE_CHARS];
    char tag_value[ZD_S3_TAG_BYTES_MAX + 3];
    struct zd_s3_call call;
};

static const char *name_of(const struct reading *reading)
{
    return reading->read != NULL ? reading->read->key
                                 : ZD_CONTAINER(reading->op, struct zd_store_status, op)->key;
}

static void end(struct reading *reading, enum zd_status status)
{
    struct zd_store_op *op = reading->op;
    if (reading->read != NULL) {
        reading->read->stat = reading->stat;
    } else {
        ZD_CONTAINER(op, struct zd_store_status, op)->stat = reading->stat;
    }
    op->status = status;
    zd_s3_call_done(&reading->call);
    zd_free(reading);
    zd_s3_store_end(op);
}

/* ---- heads ---- */

static enum zd_status judge_part(const struct zd_transfer_head *head, const char *name,
    const struct zd_range *range, struct zd_error *err, struct zd_remote_fault *fault)
{
    if (!head->has_range || head->range_size == ZD_TRANSFER_UNKNOWN) {
        return zd_s3_answer_fail(err, fault, name,
            "the store's answer to a range has a missing or malformed Content-Range");
    }
    const uint64_t size = head->range_size;
    uint64_t first = range->first;
    uint64_t len = 0;
    if (range->kind == ZD_RANGE_SUFFIX) {
        len = zd_min_u64(range->len, size);
        first = size - len;
    } else if (first < size) {
        len = zd_min_u64(range->len, size - first);
    }
    if (head->range_first == first && head->range_len == len) {
        return ZD_OK;
    }
    fault->kind = ZD_REMOTE_FAULT_BROKEN;
    return zd_fail(err, ZD_STORE,
        "%.200s: the store sent %" PRIu64 " bytes from byte %" PRIu64 "; expected %" PRIu64
        " bytes from byte %" PRIu64,
        name, head->range_len, head->range_first, len, first);
}

static enum zd_status read_head(const struct zd_s3_call *call, const char *name,
    const struct zd_range *range, struct zd_stat *ret_stat, struct zd_error *err,
    struct zd_remote_fault *fault)
{
    const struct zd_transfer_head *head = &call->transfer.head;
    uint64_t size = head->content_length;
    if (head->code == 206 && range != NULL) {
        ZD_TRY(judge_part(head, name, range, err, fault));
        size = head->range_size;
    } else if (head->code != 200) {
        return zd_s3_answer_fail(err, fault, name, "the store's answer does not match the request");
    } else if (head->has_range || head->has_odd_range) {
        return zd_s3_answer_fail(
            err, fault, name, "the store sent part of the object with status 200; expected 206");
    }
    if (strncmp(head->content_type, "text/html", strlen("text/html")) == 0 &&
        call->field[ZD_S3_FIELD_REQUEST].value[0] == '\0') {
        return zd_s3_answer_fail(
            err, fault, name, "an HTML page came instead of the store's answer");
    }
    if (head->etag[0] == '\0') {
        return zd_s3_answer_fail(err, fault, name, "the store's answer has no ETag");
    }
    *ret_stat = (struct zd_stat){
        .generation = zd_s3_store_generation(head->etag, size == ZD_TRANSFER_UNKNOWN ? 0 : size),
        .size = size,
        .mtime_ms = head->last_modified_ms,
    };
    return ZD_OK;
}

/* ---- asking ---- */

static void done(struct zd_s3_call *call);
static enum zd_status on_head(struct zd_s3_call *call);

static void start(struct reading *reading, enum zd_transfer_method method)
{
    struct zd_s3_call *call = &reading->call;
    call->method = method;
    call->key = name_of(reading);
    call->done = done;
    call->on_head = on_head;
    call->context = reading;
    call->traceparent = reading->op->traceparent;
    zd_s3_call_start(&reading->s3->access, call);
}

static void begin_call(struct reading *reading, enum step step)
{
    zd_s3_call_done(&reading->call);
    reading->call = (struct zd_s3_call){.bytes_max = 1};
    reading->step = step;
}

static void add_header(struct reading *reading, const char *name, const char *value)
{
    struct zd_s3_call *call = &reading->call;
    call->header[call->n_headers++] = (struct zd_s3_pair){name, value};
}

static void ask_first(struct reading *reading)
{
    begin_call(reading, STEP_FIRST);
    reading->range = (struct zd_range){.kind = ZD_RANGE_FROM_TO, .first = 0, .len = 1};
    add_header(reading, "range", "bytes=0-0");
    start(reading, ZD_TRANSFER_GET);
}

static void ask_head(struct reading *reading)
{
    begin_call(reading, STEP_HEAD);
    start(reading, ZD_TRANSFER_HEAD);
}

static void ask_bytes(struct reading *reading)
{
    const struct zd_store_read *read = reading->read;
    const struct zd_range *range = &reading->range;
    begin_call(reading, STEP_BYTES);
    reading->call.bytes_max = read->bytes_max;
    reading->has_range = range->kind != ZD_RANGE_WHOLE;
    if (range->kind == ZD_RANGE_SUFFIX) {
        (void)snprintf(reading->range_value, RANGE_CHARS, "bytes=-%" PRIu64, range->len);
    } else if (reading->has_range) {
        (void)snprintf(reading->range_value, RANGE_CHARS, "bytes=%" PRIu64 "-%" PRIu64,
            range->first, range->first + range->len - 1);
    }
    if (reading->has_range) {
        add_header(reading, "range", reading->range_value);
    }
    const struct zd_s3_tag *tag = zd_generation_is_set(read->unless_generation)
                                      ? zd_s3_store_recall(reading->s3, read->unless_generation)
                                      : NULL;
    if (tag != NULL && !reading->is_sized) {
        (void)snprintf(reading->tag_value, sizeof reading->tag_value, "\"%s\"", tag->etag);
        add_header(reading, "if-none-match", reading->tag_value);
        reading->stat = tag->stat; /* what is not modified has this; a 304 may not say it */
    }
    start(reading, ZD_TRANSFER_GET);
}

/* Bound the end of a range below 2^63: no object is longer. */
static uint64_t bounded(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return ckd_add(&sum, a, b) || sum > INT64_MAX ? INT64_MAX : sum;
}

/* The range as it is asked for, where the size is not known. @return false: it says nothing */
static bool choose_range(struct reading *reading)
{
    const struct zd_range *range = &reading->read->range;
    reading->range = *range;
    switch (range->kind) {
    case ZD_RANGE_WHOLE:
        return true;
    case ZD_RANGE_FROM_TO:
        reading->range.len =
            bounded(range->first, range->len) - zd_min_u64(range->first, INT64_MAX);
        return reading->range.len > 0;
    case ZD_RANGE_SUFFIX:
        reading->range =
            (struct zd_range){.kind = ZD_RANGE_SUFFIX, .len = bounded(range->first, range->len)};
        return range->len > 0 && !reading->s3->misreads_suffixes;
    }
    return true;
}

static void begin(struct reading *reading)
{
    if (reading->read == NULL || !choose_range(reading)) {
        ask_first(reading);
    } else {
        ask_bytes(reading);
    }
}

/* ---- answers ---- */

/* The body begins where the range does that was answered, or with the object. */
static enum zd_status take_wanted(struct reading *reading)
{
    struct zd_transfer *transfer = &reading->call.transfer;
    const struct zd_range *wanted = &reading->wanted;
    const uint64_t from = transfer->head.code == 206 ? transfer->head.range_first : 0;
    const uint64_t body =
        transfer->head.code == 206 ? transfer->head.range_len : reading->stat.size;
    if (wanted->len == 0) {
        transfer->skip = UINT64_MAX; /* to take 0 bytes would mean all of them */
        return ZD_OK;
    }
    transfer->skip = wanted->first - from;
    transfer->take = wanted->len == body - transfer->skip ? 0 : wanted->len;
    return ZD_OK;
}

static enum zd_status on_bytes(struct reading *reading)
{
    struct zd_store_read *read = reading->read;
    struct zd_transfer *transfer = &reading->call.transfer;
    const bool is_odd = reading->range.kind == ZD_RANGE_SUFFIX && transfer->head.code == 206;
    const enum zd_status status =
        read_head(&reading->call, read->key, reading->has_range ? &reading->range : NULL,
            &reading->stat, &transfer->err, &transfer->fault);
    reading->is_misread = status != ZD_OK && is_odd;
    ZD_TRY(status);
    if (reading->stat.size == ZD_TRANSFER_UNKNOWN) {
        return read->range.kind == ZD_RANGE_WHOLE
                   ? ZD_OK
                   : zd_s3_answer_fail(&transfer->err, &transfer->fault, read->key,
                         "the store's answer to a range has no length");
    }
    zd_s3_store_remember(reading->s3, &reading->stat, transfer->head.etag);
    ZD_TRY(zd_store_judge_read(read, &reading->stat, &reading->wanted, &transfer->err));
    return take_wanted(reading);
}

static enum zd_status on_first(struct reading *reading)
{
    struct zd_transfer *transfer = &reading->call.transfer;
    ZD_TRY(read_head(&reading->call, name_of(reading), &reading->range, &reading->stat,
        &transfer->err, &transfer->fault));
    transfer->take = 1; /* of an object that the store has sent as a whole */
    return ZD_OK;
}

static enum zd_status on_head(struct zd_s3_call *call)
{
    struct reading *reading = call->context;
    return reading->step == STEP_BYTES ? on_bytes(reading) : on_first(reading);
}

/* The size is known: the operation ends, or asks for bytes that are there. */
static void go_on_sized(struct reading *reading)
{
    struct zd_store_read *read = reading->read;
    if (reading->stat.size == ZD_TRANSFER_UNKNOWN) {
        end(reading, zd_s3_answer_fail(&reading->op->err, &reading->op->fault, name_of(reading),
                         "the store did not send the length of the object"));
        return;
    }
    zd_s3_store_remember(reading->s3, &reading->stat, reading->call.transfer.head.etag);
    if (read == NULL) {
        end(reading, ZD_OK);
        return;
    }
    const enum zd_status status =
        zd_store_judge_read(read, &reading->stat, &reading->wanted, &read->op.err);
    if (status != ZD_OK || reading->wanted.len == 0) {
        read->bytes = status == ZD_OK ? zd_buf_new(0) : NULL;
        const bool is_short = status == ZD_OK && read->bytes == NULL;
        end(reading, is_short ? zd_fail(&read->op.err, ZD_NO_MEMORY, "%.200s: no memory", read->key)
                              : status);
        return;
    }
    if (reading->is_sized) {
        read->op.fault.kind = ZD_REMOTE_FAULT_RETRYABLE;
        end(reading, zd_fail(&read->op.err, ZD_STORE,
                         "%.200s: the object changed while it was read", read->key));
        return;
    }
    reading->is_sized = true;
    reading->range = reading->wanted;
    ask_bytes(reading);
}

static void end_bytes(struct reading *reading)
{
    struct zd_store_read *read = reading->read;
    struct zd_transfer *transfer = &reading->call.transfer;
    struct zd_buf *bytes = zd_s3_call_take_bytes(&reading->call);
    if (reading->stat.size == ZD_TRANSFER_UNKNOWN) {
        reading->stat.size = bytes->len;
        reading->stat.generation = zd_s3_store_generation(transfer->head.etag, bytes->len);
        zd_s3_store_remember(reading->s3, &reading->stat, transfer->head.etag);
        const enum zd_status status =
            zd_store_judge_read(read, &reading->stat, &reading->wanted, &read->op.err);
        if (status != ZD_OK) {
            zd_buf_unref(bytes);
            end(reading, status);
            return;
        }
    }
    if (bytes->len != reading->wanted.len) {
        zd_buf_unref(bytes);
        end(reading, zd_s3_answer_fail(&read->op.err, &read->op.fault, read->key,
                         "the store's answer is shorter than its Content-Length"));
        return;
    }
    zd_store_count_bytes(&reading->s3->store, bytes->len);
    read->bytes = bytes;
    end(reading, ZD_OK);
}

/* 416 and its like for a suffix, since some stores want no suffix longer than the object. */
static bool is_range_refused(const struct reading *reading)
{
    const struct zd_transfer *transfer = &reading->call.transfer;
    const uint32_t code = transfer->status == ZD_OK ? transfer->head.code : 0;
    const bool is_suffix = reading->range.kind == ZD_RANGE_SUFFIX;
    return code == 416 || (is_suffix && (code == 500 || code == 501));
}

static void answered_bytes(struct reading *reading)
{
    struct zd_store_read *read = reading->read;
    if (reading->is_misread && !reading->op->cancelled) {
        reading->s3->misreads_suffixes = true;
        ask_first(reading);
        return;
    }
    if (reading->has_range && !reading->is_sized && is_range_refused(reading)) {
        ask_first(reading);
        return;
    }
    const enum zd_status status =
        zd_s3_answer_judge(&reading->call, read->key, &read->op.err, &read->op.fault);
    if (status == ZD_OK) {
        end_bytes(reading);
    } else {
        end(reading, status);
    }
}

static void answered_first(struct reading *reading)
{
    const struct zd_transfer *transfer = &reading->call.transfer;
    if (transfer->status == ZD_OK && transfer->head.code == 416) {
        ask_head(reading);
        return;
    }
    const enum zd_status status = zd_s3_answer_judge(
        &reading->call, name_of(reading), &reading->op->err, &reading->op->fault);
    if (status != ZD_OK) {
        end(reading, status);
        return;
    }
    go_on_sized(reading);
}

static void answered_head(struct reading *reading)
{
    struct zd_store_op *op = reading->op;
    const char *name = name_of(reading);
    enum zd_status status = zd_s3_answer_judge(&reading->call, name, &op->err, &op->fault);
    if (status == ZD_OK) {
        status = read_head(&reading->call, name, NULL, &reading->stat, &op->err, &op->fault);
    }
    if (status != ZD_OK) {
        end(reading, status);
        return;
    }
    go_on_sized(reading);
}

static void done(struct zd_s3_call *call)
{
    struct reading *reading = call->context;
    switch (reading->step) {
    case STEP_BYTES:
        answered_bytes(reading);
        return;
    case STEP_FIRST:
        answered_first(reading);
        return;
    case STEP_HEAD:
        answered_head(reading);
        return;
    }
}

/* ---- operations ---- */

static void cancel(struct zd_store_op *op)
{
    zd_s3_call_cancel(&((struct reading *)op->private_state)->call);
}

static void start_op(struct zd_s3_store *s3, struct zd_store_op *op, struct zd_store_read *read)
{
    struct reading *reading = zd_alloc_zero(1, sizeof *reading);
    if (reading == NULL) {
        op->status = zd_fail(&op->err, ZD_NO_MEMORY, "no memory for a read");
        zd_store_finish_later(op);
        return;
    }
    reading->state.cancel = cancel;
    reading->s3 = s3;
    reading->op = op;
    reading->read = read;
    op->private_state = reading;
    begin(reading);
}

void zd_s3_read(struct zd_s3_store *s3, struct zd_store_read *read)
{
    start_op(s3, &read->op, read);
}

void zd_s3_read_status(struct zd_s3_store *s3, struct zd_store_status *status)
{
    start_op(s3, &status->op, NULL);
}
