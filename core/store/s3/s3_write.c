/* Writes and erasures of objects in a bucket.
 *
 *   turn of the key -> PROBE -> LOOK -> CHANGE -> done
 *                                ^        |
 *                                +--------+  another one was quicker, and nobody minds
 *
 * PROBE finds out what the engine does about conditions, before the first one. LOOK reads the old
 * object where it is kept, or its tag where a condition names a generation whose tag is not
 * remembered. CHANGE is s3_change. What is staged, or kept, is in memory (s3_staged): nothing of it
 * is in the bucket. */
#include "core/store/s3/s3_write.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/store/contract/store_impl.h"
#include "core/store/s3/s3_change.h"
#include "core/store/s3/s3_probe.h"
#include "core/store/s3/s3_read.h"
#include "core/store/s3/s3_staged.h"
#include "core/store/s3/s3_upload_probe.h"

#define ROUNDS_MAX    16
#define OLD_BYTES_MAX (512U << 20) /* of an object that is kept */

struct writing {
    struct zd_s3_state state; /* first member */
    struct zd_s3_store *s3;
    struct zd_store_write *write;
    void *turn; /* what the turns have in op.private_state, until their end */
    bool is_erasure;
    bool must_wait; /* inside a call of the operation's owner: done is for later */
    bool is_changing;
    uint32_t round;
    struct zd_buf *bytes; /* of the new object; shared; NULL: an erasure */
    bool is_found;
    struct zd_stat found;
    struct zd_buf *old; /* of what was found, where it is kept; owned */
    uint64_t reserved;  /* bytes: the room for it, while it is changed */
    struct zd_s3_change change;
    struct zd_s3_race_wait probe;
    struct zd_store_read read;
    struct zd_store_status status;
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
    const bool must_wait = writing->must_wait;
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
    zd_s3_change_done(&writing->change);
    zd_buf_unref(writing->bytes);
    zd_buf_unref(writing->old);
    zd_free(writing);
    zd_turns_end(&s3->turns, &write->op);
    if (must_wait) {
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
                         "%.200s: gave up: other writers keep changing the object", write->key));
        return;
    }
    const bool creates = write->condition == ZD_CONDITION_ABSENT;
    end(writing, zd_fail(&write->op.err, ZD_PRECONDITION, "%.200s: the object %s", write->key,
                     creates ? "exists already" : "was replaced"));
}

static void let_go_of_room(struct writing *writing)
{
    zd_s3_staged_uncount(writing->s3, writing->reserved);
    writing->reserved = 0;
}

static void changed(struct zd_s3_change *change)
{
    struct writing *writing = ZD_CONTAINER(change, struct writing, change);
    let_go_of_room(writing);
    if (change->status == ZD_PRECONDITION) {
        writing->is_changing = false;
        lose(writing);
        return;
    }
    end(writing, change->status);
}

/* There is room for the old object; others that are changed meanwhile take no part of it.
 * @return false: the operation has ended */
static bool change(struct writing *writing)
{
    writing->reserved = writing->old == NULL ? 0 : writing->old->len;
    zd_s3_staged_count(writing->s3, writing->reserved);
    writing->is_changing = true;
    const bool runs = zd_s3_change_start(&writing->change);
    if (!runs) {
        changed(&writing->change);
    }
    return runs;
}

/* ---- looking ---- */

/* @return false: the tag is too long, or forgotten meanwhile */
static bool set_tag(struct writing *writing, struct zd_generation generation)
{
    const struct zd_s3_tag *tag = zd_s3_store_recall(writing->s3, generation);
    if (tag != NULL) {
        zd_s3_store_spell(writing->s3, tag->etag, writing->change.tag);
    }
    return tag != NULL;
}

/* The object passes the condition: change exactly that version of it. */
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
    if (writing->is_found && zd_s3_change_obeys_tags(&writing->change) &&
        (has_condition(writing) || write->keeps_old) &&
        !set_tag(writing, writing->found.generation)) {
        end(writing,
            zd_fail(&write->op.err, ZD_STORE, "%.200s: the object's ETag is too long", write->key));
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
    struct zd_store_status *status = &writing->status;
    const char *key = writing->write->key;
    if (writing->is_erasure) {
        zd_s3_change_foresee(&writing->change);
    }
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
    memset(status, 0, sizeof *status);
    status->op.store = &s3->store;
    status->op.done = status_read;
    status->op.context = writing;
    (void)snprintf(status->key, sizeof status->key, "%s", key);
    zd_s3_read_status(s3, status);
}

/* @return false: the operation has ended */
static bool begin_round(struct writing *writing)
{
    struct zd_store_write *write = writing->write;
    const enum zd_status status = zd_s3_probe_judge(writing->s3, write, writing->is_erasure);
    writing->change.tag[0] = '\0';
    if (status != ZD_OK) {
        end(writing, status);
        return false;
    }
    const bool has_tag = write->condition == ZD_CONDITION_GENERATION &&
                         zd_s3_change_obeys_tags(&writing->change) &&
                         set_tag(writing, write->generation);
    if (write->keeps_old || writing->is_erasure ||
        (write->condition == ZD_CONDITION_GENERATION && !has_tag)) {
        look(writing);
        return true;
    }
    return change(writing);
}

/* ---- the beginning ---- */

/* Probe first how the engine treats conditions. @return false: the operation has ended
 */
static bool prepare(struct writing *writing)
{
    struct zd_s3_store *s3 = writing->s3;
    struct zd_error *err = &writing->write->op.err;
    const bool may_need = has_condition(writing) || writing->write->keeps_old;
    enum zd_status status;
    if (may_need && !s3->able.is_known) {
        status = zd_s3_probe_want(s3, &writing->probe, err);
    } else if (may_need && zd_s3_change_is_large(&writing->change) && !s3->uploads.is_known) {
        status = zd_s3_upload_probe_want(s3, &writing->probe, err);
    } else {
        return begin_round(writing);
    }
    if (status != ZD_OK) {
        end(writing, status);
    }
    return status == ZD_OK;
}

static void probed(struct zd_s3_race_wait *wait)
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

static void cancel(struct zd_store_op *op)
{
    struct writing *writing = writing_of(op);
    struct zd_store_op *looking =
        writing->write->keeps_old ? &writing->read.op : &writing->status.op;
    if (writing->is_changing && zd_s3_change_cancel(&writing->change)) {
        let_go_of_room(writing);
        writing->must_wait = true;
        end(writing, zd_fail(&op->err, ZD_CANCELLED, "cancelled"));
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
    writing->change.s3 = s3;
    writing->change.write = write;
    writing->change.bytes = writing->bytes;
    writing->change.done = changed;
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
    writing->must_wait = true;
    if (prepare(writing)) {
        writing->must_wait = false;
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
