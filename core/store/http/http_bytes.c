/* Reading objects of a store of HTTP, and asking what they are.
 *
 *     bytes   GET, with a range if one is asked for; judged by its head before its body is taken
 *     size    GET of the first byte, whose absence can be believed at once; HEAD of a server that
 *             has no ranges; before the bytes, where their place is not clear beforehand
 */
#include "core/store/http/http_bytes.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/store/contract/store_impl.h"
#include "core/store/http/http_answer.h"
#include "core/store/http/http_task.h"

#define SUFFIX_BYTES_MAX (256U << 10) /* behind the part of a suffix: they are read with it */
#define SKIP_BYTES_MAX   (64U << 20)  /* before a part, where a server has no ranges */
#define ATTEMPTS         3            /* at an object that changes between two requests */

/* ---- the length of an object ---- */

static enum zd_status judge_kind(struct zd_http_task *task)
{
    struct zd_transfer *transfer = &task->transfer;
    transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
    ZD_TRY(zd_http_answer_judge_kind(&transfer->head, task->key, &transfer->err));
    transfer->fault.kind = ZD_REMOTE_FAULT_NONE;
    return ZD_OK;
}

/* The first byte, and all others where the server knows no ranges: those are only counted, or not
 * even that. */
static enum zd_status on_byte_head(struct zd_transfer *transfer)
{
    struct zd_http_task *task = zd_http_task_of(transfer);
    ZD_TRY(judge_kind(task));
    transfer->skip = UINT64_MAX;
    if (transfer->head.code == 200) { /* all of an object of one byte, or none, says nothing */
        const uint64_t size = transfer->head.content_length;
        task->http->has_no_ranges = task->http->has_no_ranges || size > 1;
        task->is_enough = size != ZD_TRANSFER_UNKNOWN;
    }
    return task->is_enough ? ZD_AGAIN : ZD_OK;
}

static void take_byte(struct zd_http_task *task);

static void send_byte(struct zd_http_task *task)
{
    (void)snprintf(task->range_line, sizeof task->range_line, "Range: bytes=0-0");
    task->tag_line[0] = '\0';
    const struct zd_http_asking asking = {
        .on_head = on_byte_head, .take = take_byte, .bytes_max = 1};
    zd_http_task_ask(task, ZD_TRANSFER_GET, task->key, &asking);
}

static void take_head(struct zd_http_task *task);

static void send_size(struct zd_http_task *task)
{
    task->range_line[0] = '\0';
    task->tag_line[0] = '\0';
    if (task->http->has_no_ranges && !task->http->has_no_head) {
        const struct zd_http_asking asking = {.take = take_head};
        zd_http_task_ask(task, ZD_TRANSFER_HEAD, task->key, &asking);
    } else {
        send_byte(task);
    }
}

static void send_part(struct zd_http_task *task, struct zd_range range);

/* The length of the object is known; a read goes on with the bytes. */
static void take_stat(struct zd_http_task *task, uint64_t size)
{
    struct zd_http_store *http = task->http;
    struct zd_store_op *op = task->op;
    struct zd_range range;
    const struct zd_stat stat = zd_http_answer_stat(&task->transfer.head, size);
    zd_http_task_remember_tag(http, &task->transfer.head, &stat);
    if (task->is_status) {
        ZD_CONTAINER(op, struct zd_store_status, op)->stat = stat;
        zd_http_task_finish(task, ZD_OK);
        return;
    }
    struct zd_store_read *read = zd_http_task_read(task);
    task->is_sized = true;
    task->size = size;
    read->stat = stat;
    const enum zd_status status = zd_store_judge_read(read, &stat, &range, &op->err);
    if (status == ZD_OK && range.len == 0) {
        read->bytes = zd_buf_new(0);
        zd_http_task_finish(task,
            read->bytes != NULL ? ZD_OK
                                : zd_fail(&op->err, ZD_NO_MEMORY, "%s: no memory", task->key));
    } else if (status != ZD_OK) {
        zd_http_task_finish(task, status);
    } else {
        task->wanted = stat.generation;
        send_part(task, range);
    }
}

static void take_head(struct zd_http_task *task)
{
    struct zd_http_store *http = task->http;
    const struct zd_transfer_head *head = &task->transfer.head;
    if (zd_http_task_has_failed(task)) {
        return;
    }
    if (head->code == 200 && head->content_length != ZD_TRANSFER_UNKNOWN) {
        http->has_head = true;
        if (judge_kind(task) != ZD_OK) {
            zd_http_task_fault(task, ZD_REMOTE_FAULT_BROKEN, task->transfer.err.text);
        } else {
            take_stat(task, head->content_length);
        }
    } else if (zd_http_task_is_absent(task) && http->has_head) {
        zd_http_task_finish(task, ZD_NOT_FOUND);
    } else if (head->code == 408 || head->code == 429 || head->code >= 500) {
        http->has_no_head = head->code == 501;
        if (http->has_no_head) {
            send_byte(task);
        } else {
            zd_http_task_refuse(task);
        }
    } else { /* what it says of a GET counts */
        http->has_no_head = http->has_no_head || head->code == 405;
        send_byte(task);
    }
}

static void take_byte(struct zd_http_task *task)
{
    const struct zd_transfer *transfer = &task->transfer;
    const struct zd_transfer_head *head = &transfer->head;
    if (zd_http_task_has_failed(task)) {
        return;
    }
    const bool is_sized = head->has_range && head->range_size != ZD_TRANSFER_UNKNOWN;
    if (head->code == 206 && is_sized) {
        take_stat(task, head->range_size);
    } else if (head->code == 206 && !task->http->has_no_ranges) { /* HEAD may say the length */
        task->http->has_no_ranges = true;
        send_size(task);
    } else if (head->code == 200) {
        take_stat(task,
            head->content_length == ZD_TRANSFER_UNKNOWN ? transfer->n_bytes : head->content_length);
    } else if (head->code == 416 && head->range_size == 0) {
        take_stat(task, 0);
    } else if (zd_http_task_is_absent(task)) {
        zd_http_task_finish(task, ZD_NOT_FOUND);
    } else {
        zd_http_task_refuse(task);
    }
}

/* ---- the bytes of an object ---- */

/* The size is known: the answer, and what is wanted of it. */
static enum zd_status judge_sized(
    struct zd_http_task *task, uint64_t size, struct zd_range *ret_due)
{
    struct zd_store_read *read = zd_http_task_read(task);
    struct zd_transfer *transfer = &task->transfer;
    const struct zd_stat stat = zd_http_answer_stat(&transfer->head, size);
    read->stat = stat;
    zd_http_task_remember_tag(task->http, &transfer->head, &stat);
    if (zd_generation_is_set(task->wanted) && !zd_generation_equal(task->wanted, stat.generation)) {
        task->is_stale = true;
        return zd_fail(
            &transfer->err, ZD_STORE, "gave up: the object changed at each attempt to read it");
    }
    return zd_store_judge_read(read, &stat, ret_due, &read->op.err);
}

static enum zd_status judge_whole(struct zd_http_task *task)
{
    struct zd_transfer *transfer = &task->transfer;
    struct zd_range due;
    const bool is_unsized = transfer->head.content_length == ZD_TRANSFER_UNKNOWN;
    if (is_unsized && !task->is_part) { /* judged at its end */
        return ZD_OK;
    }
    if (is_unsized && !task->is_sized) { /* there is no memory for more than the part */
        task->is_stale = true;
        return zd_fail(&transfer->err, ZD_STORE, "the server sent no length");
    }
    ZD_TRY(judge_sized(task, is_unsized ? task->size : transfer->head.content_length, &due));
    if (due.first > SKIP_BYTES_MAX) {
        transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
        return zd_fail(&transfer->err, ZD_STORE,
            "the server does not support ranges, and the requested part begins at byte %llu",
            (unsigned long long)due.first);
    }
    transfer->skip = due.first;
    transfer->take = due.len;
    task->is_enough = due.len == 0;
    return task->is_enough ? ZD_AGAIN : ZD_OK;
}

/* Called with the head of a success: nothing of the body has come. */
static enum zd_status on_bytes_head(struct zd_transfer *transfer)
{
    struct zd_http_task *task = zd_http_task_of(transfer);
    const struct zd_transfer_head *head = &transfer->head;
    struct zd_range due;
    ZD_TRY(judge_kind(task));
    if (head->code == 200) {
        return judge_whole(task);
    }
    transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
    if (head->code != 206 || !task->is_part) {
        return zd_fail(&transfer->err, ZD_STORE, "the store answered %u; expected 200%s",
            head->code, task->is_part ? " or 206" : "");
    }
    ZD_TRY(zd_http_answer_judge_part(head, &task->asked, &transfer->err));
    transfer->fault.kind = ZD_REMOTE_FAULT_NONE;
    ZD_TRY(judge_sized(task, head->range_size, &due));
    transfer->skip = due.first - head->range_first;
    transfer->take = due.len;
    task->is_enough = due.len == 0;
    return task->is_enough ? ZD_AGAIN : ZD_OK;
}

/* The condition that the caller's generations mean, if their tags are remembered. */
static void write_condition(struct zd_http_task *task)
{
    const struct zd_store_read *read = zd_http_task_read(task);
    const struct zd_http_tag *unless = zd_http_task_find_tag(task->http, read->unless_generation);
    const struct zd_http_tag *only = zd_http_task_find_tag(task->http, read->only_generation);
    task->tag_line[0] = '\0';
    if (unless != NULL) {
        (void)snprintf(task->tag_line, sizeof task->tag_line, "If-None-Match: %s", unless->etag);
    } else if (only != NULL && strncmp(only->etag, "W/", 2) != 0) {
        (void)snprintf(task->tag_line, sizeof task->tag_line, "If-Match: %s", only->etag);
    }
    task->has_tag = task->tag_line[0] != '\0';
}

static void take_get(struct zd_http_task *task);

/* A range with len >= 1, or the whole. */
static void send_part(struct zd_http_task *task, struct zd_range range)
{
    uint64_t end = 0;
    const bool is_open = ckd_add(&end, range.first, range.len) || end > INT64_MAX;
    const unsigned long long first = range.first;
    task->asked = range;
    task->is_part = range.kind != ZD_RANGE_WHOLE && !(is_open && range.kind == ZD_RANGE_SUFFIX);
    task->range_line[0] = '\0';
    if (task->is_part && range.kind == ZD_RANGE_SUFFIX) {
        (void)snprintf(task->range_line, sizeof task->range_line, "Range: bytes=-%llu",
            (unsigned long long)end);
    } else if (task->is_part && is_open) {
        (void)snprintf(task->range_line, sizeof task->range_line, "Range: bytes=%llu-", first);
    } else if (task->is_part) {
        (void)snprintf(task->range_line, sizeof task->range_line, "Range: bytes=%llu-%llu", first,
            (unsigned long long)end - 1);
    }
    write_condition(task);
    const struct zd_http_asking asking = {.on_head = on_bytes_head,
        .take = take_get,
        .bytes_max = zd_http_task_read(task)->bytes_max};
    zd_http_task_ask(task, ZD_TRANSFER_GET, task->key, &asking);
}

static void take_bytes(struct zd_http_task *task)
{
    struct zd_store_read *read = zd_http_task_read(task);
    struct zd_transfer *transfer = &task->transfer;
    const bool was_sized = task->is_part || transfer->head.content_length != ZD_TRANSFER_UNKNOWN;
    struct zd_range whole;
    const enum zd_status status =
        was_sized ? ZD_OK : judge_sized(task, transfer->bytes->len, &whole);
    if (status != ZD_OK) {
        transfer->status = status;
        zd_http_task_fail(task);
        return;
    }
    if (was_sized && transfer->take != transfer->bytes->len) {
        zd_http_task_fault(task, ZD_REMOTE_FAULT_RETRYABLE, "the store's answer was cut short");
        return;
    }
    read->bytes = ZD_TAKE(transfer->bytes);
    zd_store_count_bytes(read->op.store, read->bytes->len);
    zd_http_task_finish(task, ZD_OK);
}

/* The head had all that was needed. */
static void take_nothing(struct zd_http_task *task)
{
    struct zd_store_read *read = zd_http_task_read(task);
    read->bytes = zd_buf_new(0);
    zd_http_task_finish(task,
        read->bytes != NULL ? ZD_OK
                            : zd_fail(&read->op.err, ZD_NO_MEMORY, "%s: no memory", task->key));
}

static void start_again(struct zd_http_task *task)
{
    if (++task->n_attempts < ATTEMPTS) {
        task->is_stale = false;
        send_size(task);
    } else {
        zd_http_task_fault(task, ZD_REMOTE_FAULT_RETRYABLE,
            "gave up: the object changed at each attempt to read it");
    }
}

static void take_get(struct zd_http_task *task)
{
    struct zd_store_read *read = zd_http_task_read(task);
    const uint32_t code = task->transfer.head.code;
    if (task->is_stale) {
        start_again(task);
        return;
    }
    if (zd_http_task_has_failed(task)) {
        return;
    }
    if (task->transfer.status == ZD_AGAIN) {
        take_nothing(task);
    } else if (code == 200 || code == 206) {
        take_bytes(task);
    } else if (code == 304 && task->has_tag && zd_generation_is_set(read->unless_generation)) {
        const struct zd_http_tag *tag = zd_http_task_find_tag(task->http, read->unless_generation);
        read->stat =
            tag == NULL ? (struct zd_stat){.generation = read->unless_generation} : tag->stat;
        zd_http_task_finish(task, ZD_NOT_MODIFIED);
    } else if (code == 412 && strncmp(task->tag_line, "If-Match:", strlen("If-Match:")) == 0) {
        zd_http_task_finish(task,
            zd_fail(&read->op.err, ZD_PRECONDITION, "%s: the object was replaced", task->key));
    } else if (code == 416 && task->is_part) { /* it ends before the range */
        start_again(task);
    } else if (zd_http_task_is_absent(task)) {
        zd_http_task_finish(task, ZD_NOT_FOUND);
    } else {
        zd_http_task_refuse(task);
    }
}

/* ---- operations ---- */

/* Where the range is nothing, or would bring much that nobody wants, the length is asked first. */
static bool needs_size(const struct zd_range *range)
{
    return range->kind != ZD_RANGE_WHOLE &&
           (range->len == 0 || (range->kind == ZD_RANGE_SUFFIX && range->first > SUFFIX_BYTES_MAX));
}

void zd_http_bytes_read(struct zd_store *store, struct zd_store_read *read)
{
    struct zd_http_task *task = zd_http_task_new(store, &read->op, read->key);
    if (task == NULL) {
        return;
    }
    task->asked = read->range;
    if (needs_size(&read->range)) {
        send_size(task);
    } else {
        send_part(task, read->range);
    }
}

void zd_http_bytes_status(struct zd_store *store, struct zd_store_status *status)
{
    struct zd_http_task *task = zd_http_task_new(store, &status->op, status->key);
    if (task != NULL) {
        task->is_status = true;
        send_size(task);
    }
}
