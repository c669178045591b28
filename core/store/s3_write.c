/* Writes and erasures of objects in a bucket.
 *
 *   turn of the key -> PROBE -> LOOK -> CHANGE -> done
 *                                ^        |
 *                                +--------+  another one was quicker, and nobody minds
 *
 * CHANGE is one request, or an upload in parts (s3_upload) where the body is large and the engine
 * obeys the condition there. A change without an answer, or with one that says that the engine has
 * failed, is looked at once more: the object may be there, or gone.
 *
 * PROBE finds out what the engine does about conditions, before the first one. LOOK reads the old
 * object where it is kept, or its tag where a condition names a generation whose tag is not
 * remembered. What is staged, or kept, is in memory (s3_staged): nothing of it is in the bucket. */
#include "core/store/s3_write.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/store/s3_answer.h"
#include "core/store/s3_probe.h"
#include "core/store/s3_read.h"
#include "core/store/s3_staged.h"
#include "core/store/s3_upload.h"
#include "core/store/s3_upload_probe.h"

#define ROUNDS_MAX    16
#define OLD_BYTES_MAX (512U << 20) /* of an object that is kept */

struct writing {
    struct zd_s3_state state; /* first member */
    struct zd_s3_store *s3;
    struct zd_store_write *write;
    void *turn; /* what the turns have in op.private_state, until their end */
    bool is_erasure;
    bool is_starting; /* inside the call that started the operation: done must wait */
    bool is_changing; /* the engine has been asked for the change: there is no way back */
    uint32_t round;
    struct zd_buf *bytes; /* of the new object; shared; NULL: an erasure */
    bool has_looked;
    bool is_found;
    struct zd_stat found;
    struct zd_buf *old;                /* of what was found, where it is kept; owned */
    char tag[ZD_S3_TAG_BYTES_MAX + 3]; /* as the engine compares it; "" = no condition on one */
    struct zd_s3_probe_wait probe;
    struct zd_store_read read;
    struct zd_store_status status;
    struct zd_s3_call call;
    struct zd_s3_upload *upload; /* the last one; owned; NULL = none */
};

static struct writing *writing_of(struct zd_store_op *op)
{
    return op->private_state;
}

void zd_s3_write_discard(struct zd_s3_store *s3, struct zd_store_write *write)
{
    zd_s3_staged_drop(s3, write);
    zd_store_finish_later(&write->op);
}

/* ---- the end ---- */

static void end(struct writing *writing, enum zd_status status)
{
    struct zd_s3_store *s3 = writing->s3;
    struct zd_store_write *write = writing->write;
    const bool is_starting = writing->is_starting;
    if (write->phase == ZD_PHASE_COMMIT) {
        zd_s3_staged_drop(s3, write);
    }
    if (status == ZD_OK && write->keeps_old && writing->old != NULL) {
        status = zd_s3_staged_keep(s3, write, writing->old);
        if (status != ZD_OK) { /* the change has been made, and cannot be undone */
            status = zd_fail(&write->op.err, ZD_STORE,
                "%.200s: changed, but there is no memory for the old object", write->key);
        }
    }
    write->op.private_state = writing->turn;
    write->op.status = status;
    zd_s3_call_done(&writing->call);
    zd_free(writing->upload);
    zd_buf_unref(writing->bytes);
    zd_buf_unref(writing->old);
    zd_free(writing);
    zd_turns_end(&s3->turns, &write->op);
    if (is_starting) {
        write->op.private_state = NULL;
        zd_store_finish_later(&write->op);
    } else {
        zd_s3_store_end(&write->op);
    }
}

static bool has_condition(const struct writing *writing)
{
    return writing->write->condition != ZD_CONDITION_NONE;
}

/* ---- the change ---- */

static bool begin_round(struct writing *writing);
static bool change(struct writing *writing);

static void remember_new(struct writing *writing, const char *etag, int64_t date_ms)
{
    struct zd_store_write *write = writing->write;
    write->stat = (struct zd_stat){
        .generation = zd_s3_store_generation(etag, writing->bytes->len),
        .size = writing->bytes->len,
        .mtime_ms = date_ms,
    };
    zd_s3_store_remember(writing->s3, &write->stat, etag);
}

/* The condition of the request did not hold. */
static void lose(struct writing *writing)
{
    struct zd_store_write *write = writing->write;
    if (!has_condition(writing) && ++writing->round < ROUNDS_MAX) {
        (void)begin_round(writing);
        return;
    }
    if (!has_condition(writing)) {
        end(writing, zd_fail(&write->op.err, ZD_STORE,
                         "%.200s: others change the object all the time", write->key));
        return;
    }
    const bool creates = write->condition == ZD_CONDITION_ABSENT;
    end(writing, zd_fail(&write->op.err, ZD_PRECONDITION, "%.200s: the object %s", write->key,
                     creates ? "exists already" : "was replaced"));
}

/* Nothing is known of a change whose answer did not come. */
static enum zd_status judge_change(struct writing *writing)
{
    struct zd_store_op *op = &writing->write->op;
    enum zd_status status =
        zd_s3_answer_judge(&writing->call, writing->write->key, &op->err, &op->fault);
    if (writing->call.transfer.status != ZD_OK && status != ZD_NO_MEMORY) {
        op->fault.was_begun = true;
        op->err.status = ZD_STORE;
        status = ZD_STORE;
    }
    if (status == ZD_OK && !writing->is_erasure && writing->call.transfer.head.etag[0] == '\0') {
        status = zd_s3_answer_fail(
            &op->err, &op->fault, writing->write->key, "the store's answer to a write has no ETag");
    }
    return status;
}

static void look_at_status(struct writing *writing, void (*done)(struct zd_store_op *op))
{
    struct zd_store_status *status = &writing->status;
    memset(status, 0, sizeof *status);
    status->op.store = &writing->s3->store;
    status->op.done = done;
    status->op.context = writing;
    (void)snprintf(status->key, sizeof status->key, "%s", writing->write->key);
    zd_s3_read_status(writing->s3, status);
}

static bool is_unsure(const struct writing *writing)
{
    const struct zd_transfer *transfer = &writing->call.transfer;
    const bool has_failed = transfer->status == ZD_OK
                                ? transfer->head.code >= 500 && transfer->head.code != 501
                                : transfer->status != ZD_NO_MEMORY;
    return has_failed;
}

/* Whether what was found, or not, is what was asked for. */
static bool has_happened(const struct writing *writing)
{
    const struct zd_store_status *found = &writing->status;
    const struct zd_buf *bytes = writing->bytes;
    char md5[ZD_S3_MD5_CHARS + 1];
    const char *tag = writing->upload == NULL ? md5 : writing->upload->tag;
    if (writing->is_erasure) {
        return found->op.status == ZD_NOT_FOUND;
    }
    if (found->op.status != ZD_OK ||
        (tag == md5 && zd_s3_sign_tag(zd_buf_span(bytes), md5) != ZD_OK)) {
        return false;
    }
    return tag[0] != '\0' &&
           zd_generation_equal(found->stat.generation, zd_s3_store_generation(tag, bytes->len));
}

/* What the operation ends with is set, unless the change has been made. */
static void settled(struct zd_store_op *looking)
{
    struct writing *writing = looking->context;
    struct zd_store_write *write = writing->write;
    if (has_happened(writing)) {
        write->stat = writing->status.stat;
        write->op.err = (struct zd_error){0};
        write->op.fault = (struct zd_remote_fault){0};
        end(writing, ZD_OK);
        return;
    }
    write->op.fault.was_begun = true;
    end(writing, write->op.err.status);
}

static void changed(struct zd_s3_call *call)
{
    struct writing *writing = call->context;
    const bool collides = strcmp(call->code, "ConditionalRequestConflict") == 0;
    if (collides && ++writing->round < ROUNDS_MAX) {
        (void)change(writing); /* S3: another conditional request of the key runs; ask again */
        return;
    }
    const enum zd_status status = judge_change(writing);
    if (status == ZD_PRECONDITION || (status == ZD_NOT_FOUND && writing->tag[0] != '\0')) {
        lose(writing);
        return;
    }
    if (status != ZD_OK && is_unsure(writing)) {
        look_at_status(writing, settled);
        return;
    }
    if (status == ZD_OK && !writing->is_erasure) {
        const struct zd_transfer_head *head = &call->transfer.head;
        remember_new(writing, head->etag, head->date_ms);
    }
    end(writing, status);
}

static void uploaded(struct zd_s3_upload *upload)
{
    struct writing *writing = upload->context;
    struct zd_store_op *op = &writing->write->op;
    struct zd_s3_upload_abilities *able = &writing->s3->uploads;
    const bool collides = strcmp(upload->code, "ConditionalRequestConflict") == 0;
    if (upload->is_unsupported || (collides && ++writing->round < ROUNDS_MAX)) {
        able->is_lacking = able->is_lacking || upload->is_unsupported;
        (void)change(writing);
        return;
    }
    op->err = upload->err;
    op->fault = upload->fault;
    if (upload->status == ZD_OK) {
        remember_new(writing, upload->etag, upload->date_ms);
        end(writing, ZD_OK);
    } else if (upload->status == ZD_PRECONDITION ||
               (upload->status == ZD_NOT_FOUND && writing->tag[0] != '\0')) {
        lose(writing);
    } else if (upload->is_unsure) {
        op->err.status = ZD_STORE;
        look_at_status(writing, settled);
    } else {
        end(writing, upload->status);
    }
}

/* The header that says the condition of a change; without a name: there is none. */
static struct zd_s3_pair condition_of(const struct writing *writing)
{
    const struct zd_store_write *write = writing->write;
    const bool creates =
        !writing->is_erasure && (write->condition == ZD_CONDITION_ABSENT ||
                                    (write->keeps_old && writing->s3->able.creates));
    if (writing->tag[0] != '\0') {
        return (struct zd_s3_pair){"if-match", writing->tag};
    }
    return creates ? (struct zd_s3_pair){"if-none-match", "*"} : (struct zd_s3_pair){0};
}

static bool is_large(const struct writing *writing)
{
    return writing->bytes != NULL && writing->bytes->len > writing->s3->sizes.upload_over;
}

static bool comes_in_parts(const struct writing *writing, const struct zd_s3_pair *condition)
{
    const struct zd_s3_upload_abilities *able = &writing->s3->uploads;
    const bool is_obeyed =
        condition->name == NULL || (writing->tag[0] != '\0' ? able->swaps : able->creates);
    return is_large(writing) && !able->is_lacking && is_obeyed;
}

/* @return false: the operation has ended, as of the next one */
static bool upload(struct writing *writing, const struct zd_s3_pair *condition)
{
    struct zd_store_write *write = writing->write;
    zd_free(writing->upload);
    writing->upload = zd_alloc_zero(1, sizeof *writing->upload);
    if (writing->upload != NULL) {
        writing->upload->s3 = writing->s3;
        writing->upload->key = write->key;
        writing->upload->bytes = zd_buf_span(writing->bytes);
        writing->upload->condition = *condition;
        writing->upload->done = uploaded;
        writing->upload->context = writing;
        if (zd_s3_upload_start(writing->upload) == ZD_OK) {
            return true;
        }
    }
    end(writing, zd_fail(&write->op.err, ZD_NO_MEMORY, "%.200s: no memory", write->key));
    return false;
}

static bool change(struct writing *writing)
{
    struct zd_s3_call *call = &writing->call;
    struct zd_store_write *write = writing->write;
    const struct zd_s3_pair condition = condition_of(writing);
    if (comes_in_parts(writing, &condition)) {
        return upload(writing, &condition);
    }
    if (writing->bytes != NULL && writing->bytes->len > writing->s3->sizes.put_bytes) {
        end(writing, zd_fail(&write->op.err, ZD_UNABLE,
                         "%.200s: %zu bytes are more than one request has, and the store at this "
                         "endpoint does not obey conditions of uploads in parts, or has none",
                         write->key, writing->bytes->len));
        return false;
    }
    zd_free(ZD_TAKE(writing->upload));
    zd_s3_call_done(call);
    *call = (struct zd_s3_call){
        .method = writing->is_erasure ? ZD_TRANSFER_DELETE : ZD_TRANSFER_PUT,
        .key = write->key,
        .body = writing->bytes == NULL ? (struct zd_span){0} : zd_buf_span(writing->bytes),
        .bytes_max = ZD_TRANSFER_WORD_BYTES_MAX,
        .done = changed,
        .context = writing,
    };
    if (condition.name != NULL) {
        call->header[call->n_headers++] = condition;
    }
    writing->is_changing = true;
    zd_s3_call_start(&writing->s3->access, call);
    return true;
}

/* ---- looking ---- */

/* @return false: the tag is too long, or forgotten meanwhile */
static bool set_tag(struct writing *writing, struct zd_generation generation)
{
    const struct zd_s3_tag *tag = zd_s3_store_recall(writing->s3, generation);
    if (tag != NULL) {
        zd_s3_store_spell(writing->s3, tag->etag, writing->tag);
    }
    return tag != NULL;
}

static bool obeys_tags(const struct writing *writing)
{
    const struct zd_s3_abilities *able = &writing->s3->able;
    return writing->is_erasure ? able->erases : able->swaps;
}

/* What was found passes the condition: the change is made of it and of nothing newer. */
static void change_found(struct writing *writing)
{
    struct zd_store_write *write = writing->write;
    const enum zd_status status =
        zd_store_judge_write(write, writing->is_found ? &writing->found : NULL, &write->op.err);
    if (status != ZD_OK) {
        end(writing, status);
        return;
    }
    if (writing->is_erasure && !writing->is_found) {
        end(writing, ZD_NOT_FOUND);
        return;
    }
    if (writing->old != NULL && writing->old->len > zd_s3_staged_room(writing->s3)) {
        end(writing, zd_s3_staged_refuse(writing->s3, write, writing->old->len));
        return;
    }
    if (writing->is_found && obeys_tags(writing) && (has_condition(writing) || write->keeps_old) &&
        !set_tag(writing, writing->found.generation)) {
        end(writing, zd_fail(&write->op.err, ZD_STORE,
                         "%.200s: the store's tag of the object is too long", write->key));
        return;
    }
    (void)change(writing);
}

static void take_found(
    struct writing *writing, const struct zd_store_op *op, const struct zd_stat *stat)
{
    struct zd_store_op *own = &writing->write->op;
    if (op->status == ZD_TOO_LARGE) {
        end(writing, zd_s3_staged_refuse(writing->s3, writing->write, stat->size));
        return;
    }
    if (op->status != ZD_OK && op->status != ZD_NOT_FOUND) {
        own->err = op->err;
        own->fault = op->fault;
        end(writing, op->status);
        return;
    }
    writing->is_found = op->status == ZD_OK;
    writing->found = *stat;
    change_found(writing);
}

static void old_read(struct zd_store_op *op)
{
    struct writing *writing = op->context;
    zd_buf_unref(writing->old);
    writing->old = ZD_TAKE(writing->read.bytes);
    take_found(writing, op, &writing->read.stat);
}

static void status_read(struct zd_store_op *op)
{
    struct writing *writing = op->context;
    take_found(writing, op, &writing->status.stat);
}

static void look(struct writing *writing)
{
    struct zd_s3_store *s3 = writing->s3;
    const char *key = writing->write->key;
    if (writing->write->keeps_old) {
        memset(&writing->read, 0, sizeof writing->read);
        writing->read.op.store = &s3->store;
        writing->read.op.done = old_read;
        writing->read.op.context = writing;
        writing->read.bytes_max = (size_t)zd_min_u64(OLD_BYTES_MAX, zd_s3_staged_room(s3));
        (void)snprintf(writing->read.key, sizeof writing->read.key, "%s", key);
        zd_s3_read(s3, &writing->read);
        return;
    }
    look_at_status(writing, status_read);
}

/* @return false: the operation has ended */
static bool begin_round(struct writing *writing)
{
    struct zd_store_write *write = writing->write;
    const enum zd_status status = zd_s3_probe_judge(writing->s3, write, writing->is_erasure);
    writing->tag[0] = '\0';
    if (status != ZD_OK) {
        end(writing, status);
        return false;
    }
    const bool has_tag = write->condition == ZD_CONDITION_GENERATION && obeys_tags(writing) &&
                         set_tag(writing, write->generation);
    if (write->keeps_old || writing->is_erasure ||
        (write->condition == ZD_CONDITION_GENERATION && !has_tag)) {
        look(writing);
        return true;
    }
    return change(writing);
}

/* ---- the beginning ---- */

/* What the engine does about conditions is found out first. @return false: the operation has ended
 */
static bool prepare(struct writing *writing)
{
    struct zd_s3_store *s3 = writing->s3;
    struct zd_error *err = &writing->write->op.err;
    const bool may_need = has_condition(writing) || writing->write->keeps_old;
    enum zd_status status;
    if (may_need && !s3->able.is_known) {
        status = zd_s3_probe_want(s3, &writing->probe, err);
    } else if (may_need && is_large(writing) && !s3->uploads.is_known) {
        status = zd_s3_upload_probe_want(s3, &writing->probe, err);
    } else {
        return begin_round(writing);
    }
    if (status != ZD_OK) {
        end(writing, status);
    }
    return status == ZD_OK;
}

static void probed(struct zd_s3_probe_wait *wait)
{
    struct writing *writing = ZD_CONTAINER(wait, struct writing, probe);
    struct zd_store_op *op = &writing->write->op;
    if (op->cancelled) {
        end(writing, zd_fail(&op->err, ZD_CANCELLED, "cancelled"));
    } else if (wait->status != ZD_OK) {
        op->err = wait->err;
        op->fault = wait->fault;
        end(writing, wait->status);
    } else {
        (void)prepare(writing);
    }
}

/* A change that has been asked for is not left half-way: nobody would know what has happened. */
static void cancel(struct zd_store_op *op)
{
    struct writing *writing = writing_of(op);
    struct zd_store_op *looking =
        writing->write->keeps_old ? &writing->read.op : &writing->status.op;
    if (writing->upload != NULL) {
        zd_s3_upload_cancel(writing->upload);
    } else if (!writing->is_changing && looking->private_state != NULL) {
        ((struct zd_s3_state *)looking->private_state)->cancel(looking);
    }
}

static void fail_memory(struct zd_s3_store *s3, struct zd_store_write *write)
{
    if (write->phase == ZD_PHASE_COMMIT) {
        zd_s3_staged_drop(s3, write);
    }
    write->op.status = zd_fail(&write->op.err, ZD_NO_MEMORY, "%.200s: no memory", write->key);
    zd_turns_end(&s3->turns, &write->op);
    write->op.private_state = NULL;
    zd_store_finish_later(&write->op);
}

static struct writing *writing_new(struct zd_s3_store *s3, struct zd_store_write *write)
{
    struct writing *writing = zd_alloc_zero(1, sizeof *writing);
    if (writing == NULL) {
        return NULL;
    }
    struct zd_buf *bytes =
        write->phase == ZD_PHASE_COMMIT ? zd_s3_staged_bytes(write->staged) : write->bytes;
    writing->state.cancel = cancel;
    writing->s3 = s3;
    writing->write = write;
    writing->is_erasure = write->phase == ZD_PHASE_WHOLE && write->bytes == NULL;
    writing->bytes = bytes == NULL ? NULL : zd_buf_ref(bytes);
    writing->probe.done = probed;
    writing->turn = write->op.private_state;
    return writing;
}

/* The operation has its turn. */
static void run(struct zd_store_op *op)
{
    struct zd_store_write *write = ZD_CONTAINER(op, struct zd_store_write, op);
    struct zd_s3_store *s3 = zd_s3_store_of(op->store);
    struct writing *writing = writing_new(s3, write);
    if (writing == NULL) {
        fail_memory(s3, write);
        return;
    }
    op->private_state = writing;
    writing->is_starting = true;
    if (prepare(writing)) {
        writing->is_starting = false;
    }
}

void zd_s3_write_init(struct zd_s3_store *s3)
{
    zd_turns_init(&s3->turns, run);
    s3->sizes = (struct zd_s3_sizes){
        .upload_over = ZD_S3_UPLOAD_OVER_BYTES,
        .part_bytes = ZD_S3_UPLOAD_PART_BYTES,
        .put_bytes = ZD_S3_UPLOAD_PUT_BYTES,
    };
}

void zd_s3_write(struct zd_s3_store *s3, struct zd_store_write *write)
{
    if (write->phase == ZD_PHASE_STAGE) {
        write->op.status = zd_s3_staged_keep(s3, write, write->bytes);
        zd_store_finish_later(&write->op);
        return;
    }
    zd_turns_take(&s3->turns, &write->op, zd_key_hash(write->key));
}

void zd_s3_write_erase(struct zd_s3_store *s3, struct zd_store_write *erase)
{
    zd_turns_take(&s3->turns, &erase->op, zd_key_hash(erase->key));
}

bool zd_s3_write_leave(struct zd_s3_store *s3, struct zd_store_op *op)
{
    if (!zd_turns_leave(&s3->turns, op)) {
        return false;
    }
    struct zd_store_write *write = ZD_CONTAINER(op, struct zd_store_write, op);
    op->private_state = NULL;
    if (write->phase == ZD_PHASE_COMMIT) {
        zd_s3_staged_drop(s3, write);
    }
    op->status = zd_fail(&op->err, ZD_CANCELLED, "cancelled before it started");
    zd_store_finish_later(op);
    return true;
}
