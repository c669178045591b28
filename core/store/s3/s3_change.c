/* The change of an object.
 *
 *   start -> PUT or DELETE, an upload (s3_upload), or a batch of erasures (s3_batch) -> done
 *                 |
 *                 +-> without an answer, or the engine has failed: the object is looked at -> done
 */
#include "core/store/s3/s3_change.h"

#include <stdio.h>
#include <string.h>

#include "core/store/s3/s3_answer.h"
#include "core/store/s3/s3_read.h"

#define CONFLICTS_MAX 16

static void send_again(struct zd_s3_change *change);

static void end(struct zd_s3_change *change, enum zd_status status)
{
    change->status = status;
    change->done(change);
}

static bool is_erasure(const struct zd_s3_change *change)
{
    return change->bytes == NULL;
}

bool zd_s3_change_obeys_tags(const struct zd_s3_change *change)
{
    const struct zd_s3_abilities *able = &change->s3->able;
    return is_erasure(change) ? able->erases : able->swaps;
}

bool zd_s3_change_is_large(const struct zd_s3_change *change)
{
    return change->bytes != NULL && change->bytes->len > change->s3->sizes.upload_over;
}

/* ---- the end ---- */

static void remember_new(struct zd_s3_change *change, const char *etag, int64_t date_ms)
{
    struct zd_store_write *write = change->write;
    write->stat = (struct zd_stat){
        .generation = zd_s3_store_generation(etag, change->bytes->len),
        .size = change->bytes->len,
        .mtime_ms = date_ms,
    };
    zd_s3_store_remember(change->s3, &write->stat, etag);
}

/* Whether what was found, or not, is what was asked for. */
static bool has_happened(const struct zd_s3_change *change)
{
    const struct zd_store_status *found = &change->look;
    const struct zd_buf *bytes = change->bytes;
    char md5[ZD_S3_MD5_CHARS + 1];
    const char *tag = change->upload == NULL ? md5 : change->upload->tag;
    if (is_erasure(change)) {
        return found->op.status == ZD_NOT_FOUND;
    }
    if (found->op.status != ZD_OK ||
        (tag == md5 && zd_s3_sign_tag(zd_buf_span(bytes), md5) != ZD_OK)) {
        return false;
    }
    return tag[0] != '\0' &&
           zd_generation_equal(found->stat.generation, zd_s3_store_generation(tag, bytes->len));
}

/* Set the outcome of the operation, unless the change has been made. */
static void looked(struct zd_store_op *op)
{
    struct zd_s3_change *change = op->context;
    struct zd_store_write *write = change->write;
    if (has_happened(change)) {
        write->stat = change->look.stat;
        write->op.err = (struct zd_error){0};
        write->op.fault = (struct zd_remote_fault){0};
        end(change, ZD_OK);
        return;
    }
    write->op.fault.was_begun = true;
    end(change, write->op.err.status);
}

static void look(struct zd_s3_change *change)
{
    struct zd_store_status *status = &change->look;
    memset(status, 0, sizeof *status);
    status->op.store = &change->s3->store;
    status->op.done = looked;
    status->op.context = change;
    (void)snprintf(status->key, sizeof status->key, "%s", change->write->key);
    zd_s3_read_status(change->s3, status);
}

/* Settle the change by the engine's answer, err and fault included. */
static void settle(struct zd_s3_change *change, enum zd_status status, bool is_unsure)
{
    const bool has_lost =
        status == ZD_PRECONDITION || (status == ZD_NOT_FOUND && change->tag[0] != '\0');
    if (status == ZD_OK || has_lost || !is_unsure) {
        end(change, has_lost ? ZD_PRECONDITION : status);
        return;
    }
    change->write->op.err.status = ZD_STORE;
    look(change);
}

/* S3: another conditional request of the key runs. @return whether to ask again */
static bool collides(struct zd_s3_change *change, const char *code)
{
    return strcmp(code, "ConditionalRequestConflict") == 0 && ++change->n_conflicts < CONFLICTS_MAX;
}

/* ---- one request ---- */

/* Nothing is known of a change whose answer did not come. */
static enum zd_status judge(struct zd_s3_change *change)
{
    struct zd_store_op *op = &change->write->op;
    const char *key = change->write->key;
    enum zd_status status = zd_s3_answer_judge(&change->call, key, &op->err, &op->fault);
    if (change->call.transfer.status != ZD_OK && status != ZD_NO_MEMORY) {
        op->fault.was_begun = true;
        op->err.status = ZD_STORE;
        status = ZD_STORE;
    }
    if (status == ZD_OK && !is_erasure(change) && change->call.transfer.head.etag[0] == '\0') {
        status = zd_s3_answer_fail(
            &op->err, &op->fault, key, "the store's answer to a write has no ETag");
    }
    return status;
}

static bool is_unsure(const struct zd_s3_change *change)
{
    const struct zd_transfer *transfer = &change->call.transfer;
    return transfer->status == ZD_OK ? transfer->head.code >= 500 && transfer->head.code != 501
                                     : transfer->status != ZD_NO_MEMORY;
}

static void sent(struct zd_s3_call *call)
{
    struct zd_s3_change *change = call->context;
    if (collides(change, call->code)) {
        send_again(change);
        return;
    }
    const enum zd_status status = judge(change);
    if (status == ZD_OK && !is_erasure(change)) {
        const struct zd_transfer_head *head = &call->transfer.head;
        remember_new(change, head->etag, head->date_ms);
    }
    settle(change, status, is_unsure(change));
}

/* The header that says the condition of a change; without a name: there is none. */
static struct zd_s3_pair condition_of(const struct zd_s3_change *change)
{
    const struct zd_store_write *write = change->write;
    const bool creates = !is_erasure(change) && (write->condition == ZD_CONDITION_ABSENT ||
                                                    (write->keeps_old && change->s3->able.creates));
    if (change->tag[0] != '\0') {
        return (struct zd_s3_pair){"if-match", change->tag};
    }
    return creates ? (struct zd_s3_pair){"if-none-match", "*"} : (struct zd_s3_pair){0};
}

/* @return false: it has ended, and its status is set */
static bool send_alone(struct zd_s3_change *change)
{
    struct zd_s3_call *call = &change->call;
    struct zd_store_write *write = change->write;
    const struct zd_s3_pair condition = condition_of(change);
    if (change->bytes != NULL && change->bytes->len > change->s3->sizes.put_bytes) {
        change->status = zd_fail(&write->op.err, ZD_UNABLE,
            "%.200s: %zu bytes need an upload in parts, but the store at this endpoint has no "
            "conditional uploads in parts",
            write->key, change->bytes->len);
        return false;
    }
    zd_free(ZD_TAKE(change->upload));
    zd_s3_call_done(call);
    *call = (struct zd_s3_call){
        .method = is_erasure(change) ? ZD_TRANSFER_DELETE : ZD_TRANSFER_PUT,
        .key = write->key,
        .body = change->bytes == NULL ? (struct zd_span){0} : zd_buf_span(change->bytes),
        .bytes_max = ZD_TRANSFER_WORD_BYTES_MAX,
        .done = sent,
        .context = change,
    };
    if (condition.name != NULL) {
        call->header[call->n_headers++] = condition;
    }
    zd_s3_call_start(&change->s3->access, call);
    return true;
}

static void send_again(struct zd_s3_change *change)
{
    if (!send_alone(change)) {
        change->done(change);
    }
}

/* ---- an upload in parts ---- */

static void uploaded(struct zd_s3_upload *upload)
{
    struct zd_s3_change *change = upload->context;
    struct zd_store_op *op = &change->write->op;
    if (upload->is_unsupported || collides(change, upload->code)) {
        struct zd_s3_upload_abilities *able = &change->s3->uploads;
        able->is_lacking = able->is_lacking || upload->is_unsupported;
        if (!zd_s3_change_start(change)) {
            change->done(change);
        }
        return;
    }
    op->err = upload->err;
    op->fault = upload->fault;
    if (upload->status == ZD_OK) {
        remember_new(change, upload->etag, upload->date_ms);
    }
    settle(change, upload->status, upload->is_unsure);
}

static bool comes_in_parts(const struct zd_s3_change *change, const struct zd_s3_pair *condition)
{
    const struct zd_s3_upload_abilities *able = &change->s3->uploads;
    const bool is_obeyed =
        condition->name == NULL || (change->tag[0] != '\0' ? able->swaps : able->creates);
    return zd_s3_change_is_large(change) && !able->is_lacking && is_obeyed;
}

/* @return as send_alone */
static bool upload(struct zd_s3_change *change, const struct zd_s3_pair *condition)
{
    struct zd_store_write *write = change->write;
    zd_free(change->upload);
    change->upload = zd_alloc_zero(1, sizeof *change->upload);
    if (change->upload != NULL) {
        change->upload->s3 = change->s3;
        change->upload->key = write->key;
        change->upload->bytes = zd_buf_span(change->bytes);
        change->upload->condition = *condition;
        change->upload->done = uploaded;
        change->upload->context = change;
        if (zd_s3_upload_start(change->upload) == ZD_OK) {
            return true;
        }
    }
    change->status = zd_fail(&write->op.err, ZD_NO_MEMORY, "%.200s: no memory", write->key);
    return false;
}

/* ---- an erasure among others ---- */

static void erased(struct zd_s3_erasure *erasure)
{
    struct zd_s3_change *change = ZD_CONTAINER(erasure, struct zd_s3_change, erasure);
    struct zd_store_op *op = &change->write->op;
    if (erasure->is_alone || collides(change, erasure->code)) {
        send_again(change);
        return;
    }
    op->err = erasure->err;
    op->fault = erasure->fault;
    settle(change, erasure->status, erasure->is_unsure && erasure->status != ZD_NO_MEMORY);
}

void zd_s3_change_foresee(struct zd_s3_change *change)
{
    zd_s3_batch_join(change->s3, &change->erasure);
}

static void add_to_batch(struct zd_s3_change *change)
{
    struct zd_s3_erasure *erasure = &change->erasure;
    erasure->key = change->write->key;
    erasure->tag = change->tag;
    erasure->done = erased;
    zd_s3_batch_add(change->s3, erasure);
}

/* ---- the whole ---- */

bool zd_s3_change_start(struct zd_s3_change *change)
{
    const struct zd_s3_pair condition = condition_of(change);
    const bool goes_alone = change->tag[0] != '\0' && !change->s3->able.erases_many;
    if (is_erasure(change) && !goes_alone) {
        add_to_batch(change);
        return true;
    }
    (void)zd_s3_batch_leave(change->s3, &change->erasure);
    return comes_in_parts(change, &condition) ? upload(change, &condition) : send_alone(change);
}

bool zd_s3_change_cancel(struct zd_s3_change *change)
{
    if (change->upload != NULL) {
        zd_s3_upload_cancel(change->upload);
    }
    return change->erasure.batch != NULL && zd_s3_batch_leave(change->s3, &change->erasure);
}

void zd_s3_change_done(struct zd_s3_change *change)
{
    (void)zd_s3_batch_leave(change->s3, &change->erasure);
    zd_s3_call_done(&change->call);
    zd_free(ZD_TAKE(change->upload));
}
