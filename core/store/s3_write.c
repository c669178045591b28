/* Writes and erasures of objects in a bucket.
 *
 *   turn of the key -> PROBE -> LOOK -> CHANGE -> done
 *                                ^        |
 *                                +--------+  another one was quicker, and nobody minds
 *
 * A PUT without an answer, or with one that says that the engine has failed, is looked at once
 * more: the object may be there.
 *
 * PROBE finds out what the engine does about conditions, before the first one. LOOK reads the old
 * object where it is kept, or its tag where a condition names a generation whose tag is not
 * remembered. What is staged, or kept, is in memory: nothing of it is in the bucket. */
#include "core/store/s3_write.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/store/s3_answer.h"
#include "core/store/s3_probe.h"
#include "core/store/s3_read.h"

#define ROUNDS_MAX       16
#define STAGED_BYTES_MAX (UINT64_C(1) << 30) /* of a store, staged and kept */
#define OLD_BYTES_MAX    (512U << 20)        /* of an object that is kept */

struct staged {
    struct zd_staged staged; /* first member */
    struct zd_buf *bytes;    /* shared */
};

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
};

static struct writing *writing_of(struct zd_store_op *op)
{
    return op->private_state;
}

/* ---- what is staged ---- */

static uint64_t room_of(const struct zd_s3_store *s3)
{
    const struct zd_store_memory *memory = s3->memory;
    const uint64_t own = STAGED_BYTES_MAX - zd_min_u64(STAGED_BYTES_MAX, s3->staged_bytes);
    return memory == NULL
               ? own
               : zd_min_u64(own, memory->bytes_max - zd_min_u64(memory->bytes_max, memory->bytes));
}

static enum zd_status refuse_size(
    const struct zd_s3_store *s3, struct zd_store_write *write, uint64_t bytes)
{
    const uint64_t room = room_of(s3);
    const enum zd_status status = zd_fail(&write->op.err, ZD_NO_SPACE,
        "%.200s: objects that are to be stored in the bucket together would take %llu more bytes "
        "of memory, there is room for %llu",
        write->key, (unsigned long long)bytes, (unsigned long long)room);
    zd_fact_limit(&write->op.err, room, bytes);
    return status;
}

static void count_staged(struct zd_s3_store *s3, uint64_t bytes)
{
    s3->staged_bytes += bytes;
    if (s3->memory != NULL) {
        s3->memory->bytes += bytes;
    }
}

static void uncount_staged(struct zd_s3_store *s3, uint64_t bytes)
{
    s3->staged_bytes -= bytes;
    if (s3->memory != NULL) {
        s3->memory->bytes -= bytes;
    }
}

static enum zd_status stage(
    struct zd_s3_store *s3, struct zd_store_write *write, struct zd_buf *bytes)
{
    if (bytes->len > room_of(s3)) {
        return refuse_size(s3, write, bytes->len);
    }
    struct staged *staged = zd_alloc(sizeof *staged);
    if (staged == NULL) {
        return zd_fail(&write->op.err, ZD_NO_MEMORY, "%.200s: no memory", write->key);
    }
    *staged = (struct staged){
        .staged = {.store = &s3->store, .size = bytes->len},
        .bytes = zd_buf_ref(bytes),
    };
    count_staged(s3, bytes->len);
    write->staged = &staged->staged;
    return ZD_OK;
}

static struct zd_buf *bytes_of(const struct zd_staged *staged)
{
    return ZD_CONTAINER(staged, struct staged, staged)->bytes;
}

static void drop_staged(struct zd_s3_store *s3, struct zd_store_write *write)
{
    if (write->staged != NULL) {
        struct staged *staged = ZD_CONTAINER(write->staged, struct staged, staged);
        uncount_staged(s3, staged->bytes->len);
        zd_buf_unref(staged->bytes);
        zd_free(staged);
        write->staged = NULL;
    }
}

void zd_s3_write_discard(struct zd_s3_store *s3, struct zd_store_write *write)
{
    drop_staged(s3, write);
    zd_store_finish_later(&write->op);
}

/* ---- the end ---- */

static void end(struct writing *writing, enum zd_status status)
{
    struct zd_s3_store *s3 = writing->s3;
    struct zd_store_write *write = writing->write;
    const bool is_starting = writing->is_starting;
    if (write->phase == ZD_PHASE_COMMIT) {
        drop_staged(s3, write);
    }
    if (status == ZD_OK && write->keeps_old && writing->old != NULL) {
        status = stage(s3, write, writing->old);
        if (status != ZD_OK) { /* the change has been made, and cannot be undone */
            status = zd_fail(&write->op.err, ZD_STORE,
                "%.200s: changed, but there is no memory for the old object", write->key);
        }
    }
    write->op.private_state = writing->turn;
    write->op.status = status;
    zd_s3_call_done(&writing->call);
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

static enum zd_status refuse(struct writing *writing, const char *what)
{
    return zd_fail(&writing->write->op.err, ZD_UNABLE,
        "%.200s: the store at this endpoint does not obey %s, which this change needs",
        writing->write->key, what);
}

/* An erasure that undoes goes without: of what was stored too much, nothing else would be left. */
static enum zd_status judge_ability(struct writing *writing)
{
    const struct zd_s3_abilities *able = &writing->s3->able;
    const struct zd_store_write *write = writing->write;
    if (!has_condition(writing)) {
        return ZD_OK;
    }
    if (writing->is_erasure) {
        return able->erases || write->is_undo
                   ? ZD_OK
                   : refuse(writing, "conditions of erasures (DELETE with If-Match)");
    }
    if (write->condition == ZD_CONDITION_ABSENT) {
        return able->creates
                   ? ZD_OK
                   : refuse(writing, "conditions of creation (PUT with If-None-Match: *)");
    }
    return able->swaps ? ZD_OK : refuse(writing, "conditions of replacement (PUT with If-Match)");
}

/* ---- the change ---- */

static bool begin_round(struct writing *writing);
static void change(struct writing *writing);

static void remember_new(struct writing *writing)
{
    struct zd_store_write *write = writing->write;
    const struct zd_transfer_head *head = &writing->call.transfer.head;
    write->stat = (struct zd_stat){
        .generation = zd_s3_store_generation(head->etag, writing->bytes->len),
        .size = writing->bytes->len,
        .mtime_ms = head->date_ms,
    };
    zd_s3_store_remember(writing->s3, &write->stat, head->etag);
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
    return has_failed && !writing->is_erasure;
}

/* What the operation ends with is set, unless the object is the one that was sent. */
static void settled(struct zd_store_op *looking)
{
    struct writing *writing = looking->context;
    struct zd_store_write *write = writing->write;
    const struct zd_stat *found = &writing->status.stat;
    char tag[ZD_S3_MD5_CHARS + 1];
    if (looking->status == ZD_OK && zd_s3_sign_tag(zd_buf_span(writing->bytes), tag) == ZD_OK &&
        zd_generation_equal(found->generation, zd_s3_store_generation(tag, writing->bytes->len))) {
        write->stat = *found;
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
        change(writing); /* S3: another conditional request of the key runs; ask again */
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
        remember_new(writing);
    }
    end(writing, status);
}

static void change(struct writing *writing)
{
    struct zd_s3_call *call = &writing->call;
    const struct zd_store_write *write = writing->write;
    const bool creates = !writing->is_erasure && writing->tag[0] == '\0' &&
                         (write->condition == ZD_CONDITION_ABSENT ||
                             (write->keeps_old && writing->s3->able.creates));
    zd_s3_call_done(call);
    *call = (struct zd_s3_call){
        .method = writing->is_erasure ? ZD_TRANSFER_DELETE : ZD_TRANSFER_PUT,
        .key = write->key,
        .body = writing->bytes,
        .bytes_max = ZD_TRANSFER_WORD_BYTES_MAX,
        .done = changed,
        .context = writing,
    };
    if (writing->tag[0] != '\0') {
        call->header[call->n_headers++] = (struct zd_s3_pair){"if-match", writing->tag};
    } else if (creates) {
        call->header[call->n_headers++] = (struct zd_s3_pair){"if-none-match", "*"};
    }
    writing->is_changing = true;
    zd_s3_call_start(&writing->s3->access, call);
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
    if (writing->old != NULL && writing->old->len > room_of(writing->s3)) {
        end(writing, refuse_size(writing->s3, write, writing->old->len));
        return;
    }
    if (writing->is_found && obeys_tags(writing) && (has_condition(writing) || write->keeps_old) &&
        !set_tag(writing, writing->found.generation)) {
        end(writing, zd_fail(&write->op.err, ZD_STORE,
                         "%.200s: the store's tag of the object is too long", write->key));
        return;
    }
    change(writing);
}

static void take_found(
    struct writing *writing, const struct zd_store_op *op, const struct zd_stat *stat)
{
    struct zd_store_op *own = &writing->write->op;
    if (op->status == ZD_TOO_LARGE) {
        end(writing, refuse_size(writing->s3, writing->write, stat->size));
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
        writing->read.bytes_max = (size_t)zd_min_u64(OLD_BYTES_MAX, room_of(s3));
        (void)snprintf(writing->read.key, sizeof writing->read.key, "%s", key);
        zd_s3_read(s3, &writing->read);
        return;
    }
    look_at_status(writing, status_read);
}

/* @return false: the operation has ended */
static bool begin_round(struct writing *writing)
{
    const struct zd_store_write *write = writing->write;
    const enum zd_status status = judge_ability(writing);
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
    } else {
        change(writing);
    }
    return true;
}

/* ---- the beginning ---- */

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
        (void)begin_round(writing);
    }
}

/* A change that has been asked for is not left half-way: nobody would know what has happened. */
static void cancel(struct zd_store_op *op)
{
    struct writing *writing = writing_of(op);
    struct zd_store_op *looking =
        writing->write->keeps_old ? &writing->read.op : &writing->status.op;
    if (!writing->is_changing && looking->private_state != NULL) {
        ((struct zd_s3_state *)looking->private_state)->cancel(looking);
    }
}

static void fail_memory(struct zd_s3_store *s3, struct zd_store_write *write)
{
    if (write->phase == ZD_PHASE_COMMIT) {
        drop_staged(s3, write);
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
    struct zd_buf *bytes = write->phase == ZD_PHASE_COMMIT ? bytes_of(write->staged) : write->bytes;
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
    if (s3->able.is_known || (!has_condition(writing) && !write->keeps_old)) {
        if (begin_round(writing)) {
            writing->is_starting = false;
        }
    } else if (zd_s3_probe_want(s3, &writing->probe, &op->err) == ZD_OK) {
        writing->is_starting = false;
    } else {
        end(writing, ZD_NO_MEMORY);
    }
}

void zd_s3_write_init(struct zd_s3_store *s3)
{
    zd_turns_init(&s3->turns, run);
}

void zd_s3_write(struct zd_s3_store *s3, struct zd_store_write *write)
{
    if (write->phase == ZD_PHASE_STAGE) {
        write->op.status = stage(s3, write, write->bytes);
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
        drop_staged(s3, write);
    }
    op->status = zd_fail(&op->err, ZD_CANCELLED, "cancelled before it started");
    zd_store_finish_later(op);
    return true;
}
