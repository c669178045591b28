/* An operation of a store of HTTP: the requests that it makes, one after the other. */
#include "core/store/http/http_task.h"

#include <stdio.h>
#include <string.h>

#include "core/store/contract/store_impl.h"
#include "core/store/http/http_answer.h"
#include "core/store/remote/remote.h"

#define URL_BYTES_MAX (8U << 10)
#define TAGS          1024 /* that are remembered, a power of two */
#define REDIRECTS_MAX 5

struct zd_http_store *zd_http_task_store(struct zd_store *store)
{
    return ZD_CONTAINER(store, struct zd_http_store, store);
}

struct zd_http_task *zd_http_task_of(struct zd_transfer *transfer)
{
    return ZD_CONTAINER(transfer, struct zd_http_task, transfer);
}

struct zd_store_read *zd_http_task_read(const struct zd_http_task *task)
{
    return ZD_CONTAINER(task->op, struct zd_store_read, op);
}

/* ---- tags ---- */

static struct zd_http_tag *slot_of(
    const struct zd_http_store *http, struct zd_generation generation)
{
    return http->tag == NULL ? NULL : &http->tag[generation.word[0] & (TAGS - 1)];
}

const struct zd_http_tag *zd_http_task_find_tag(
    const struct zd_http_store *http, struct zd_generation generation)
{
    const struct zd_http_tag *tag = slot_of(http, generation);
    const bool is_it =
        tag != NULL && tag->etag != NULL && zd_generation_equal(tag->stat.generation, generation);
    return is_it ? tag : NULL;
}

/* Without memory it is not remembered: more bytes are read than needed. */
void zd_http_task_remember_tag(
    struct zd_http_store *http, const struct zd_transfer_head *head, const struct zd_stat *stat)
{
    if (head->etag[0] == '\0' || zd_http_task_find_tag(http, stat->generation) != NULL) {
        return;
    }
    if (http->tag == NULL) {
        http->tag = zd_alloc_zero(TAGS, sizeof *http->tag);
    }
    struct zd_http_tag *slot = slot_of(http, stat->generation);
    char *etag = slot == NULL ? NULL : zd_strdup(head->etag);
    if (etag != NULL) {
        zd_free(slot->etag);
        *slot = (struct zd_http_tag){.stat = *stat, .etag = etag};
    }
}

void zd_http_task_free_tags(struct zd_http_store *http)
{
    for (size_t i = 0; http->tag != NULL && i < TAGS; i++) {
        zd_free(http->tag[i].etag);
    }
    zd_free(http->tag);
}

/* ---- the end of an operation ---- */

void zd_http_task_free(struct zd_http_task *task)
{
    zd_text_done(&task->url);
    zd_buf_unref(task->transfer.bytes);
    zd_free(task);
}

void zd_http_task_finish(struct zd_http_task *task, enum zd_status status)
{
    struct zd_store_op *op = task->op;
    op->status = status;
    op->private_state = NULL;
    zd_http_task_free(task);
    op->done(op);
}

/* The same, of a task whose operation has perhaps just been started. */
void zd_http_task_finish_later(struct zd_http_task *task, enum zd_status status, const char *what)
{
    struct zd_store_op *op = task->op;
    op->status = zd_fail(&op->err, status, "%s: %s", task->key, what);
    op->private_state = NULL;
    zd_http_task_free(task);
    zd_store_finish_later(op);
}

void zd_http_task_fault(struct zd_http_task *task, enum zd_remote_fault_kind kind, const char *what)
{
    task->op->fault = (struct zd_remote_fault){.kind = (uint8_t)kind};
    zd_http_task_finish(task, zd_fail(&task->op->err, ZD_STORE, "%s: %s", task->key, what));
}

/* Fail with the outcome of a transfer that has no answer. */
void zd_http_task_fail(struct zd_http_task *task)
{
    struct zd_store_op *op = task->op;
    struct zd_transfer *transfer = &task->transfer;
    const enum zd_status status = transfer->status;
    op->fault = transfer->fault;
    if (status == ZD_NOT_MODIFIED || op->err.status == status) {
        zd_http_task_finish(task, status);
        return;
    }
    op->status = zd_fail(&op->err, status, "%s: %s", task->key, transfer->err.text);
    op->err.facts = transfer->err.facts;
    zd_http_task_finish(task, op->status);
}

bool zd_http_task_has_failed(struct zd_http_task *task)
{
    const enum zd_status status = task->transfer.status;
    if (status == ZD_OK || (task->is_enough && status == ZD_AGAIN)) {
        return false;
    }
    zd_http_task_fail(task);
    return true;
}

/* An answer that is neither a success nor absence. */
void zd_http_task_refuse(struct zd_http_task *task)
{
    struct zd_store_op *op = task->op;
    const struct zd_transfer_head *head = &task->transfer.head;
    char code[ZD_HTTP_ANSWER_CODE_BYTES + 1];
    zd_http_answer_find_code(zd_buf_span(task->transfer.bytes), code);
    op->fault = zd_transfer_head_fault(head);
    if (op->fault.retry_after_ms > 0) {
        zd_fact_retry(&op->err, op->fault.retry_after_ms);
    }
    zd_http_task_finish(task, zd_fail(&op->err, ZD_STORE, "%s: the store answered %u%s%s",
                                  task->key, head->code, code[0] == '\0' ? "" : " ", code));
}

/* Whether an answer means that there is no such object. Of redirections only one to a directory is
 * an answer; 300, 305 and the like say nothing of that. */
bool zd_http_task_is_absent(const struct zd_http_task *task)
{
    const uint32_t code = task->transfer.head.code;
    const bool is_directory =
        code == 301 || code == 302 || code == 303 || code == 307 || code == 308;
    return code == 404 || code == 410 || is_directory || (code == 403 && task->http->absent_403);
}

/* ---- requests ---- */

static void on_answer(struct zd_transfer *transfer)
{
    struct zd_http_task *task = zd_http_task_of(transfer);
    const bool may_go_on =
        transfer->status == ZD_OK || transfer->status == ZD_AGAIN || task->is_stale;
    if (task->op->cancelled && may_go_on) {
        zd_http_task_finish(
            task, zd_fail(&task->op->err, ZD_CANCELLED, "cancelled between two requests"));
        return;
    }
    task->take(task);
}

static size_t add_lines(struct zd_http_task *task)
{
    const struct zd_http_headers *headers = &task->http->headers;
    size_t n = 0;
    task->line[n++] = "Accept-Encoding: identity";
    for (size_t i = 0; i < headers->n; i++) {
        task->line[n++] = headers->line[i];
    }
    if (task->range_line[0] != '\0') {
        task->line[n++] = task->range_line;
    }
    if (task->tag_line[0] != '\0') {
        task->line[n++] = task->tag_line;
    }
    if (task->op->traceparent[0] != '\0') {
        (void)snprintf(
            task->trace_line, sizeof task->trace_line, "traceparent: %s", task->op->traceparent);
        task->line[n++] = task->trace_line;
    }
    task->line[n] = NULL;
    return n;
}

static enum zd_status write_url(struct zd_http_task *task, const char *key)
{
    const struct zd_http_store *http = task->http;
    zd_text_clear(&task->url);
    (void)zd_text_add(&task->url, http->url);
    zd_http_location_add_key(&task->url, key);
    if (http->headers.query != NULL) {
        (void)zd_text_add(&task->url, http->headers.query);
    }
    return task->url.status;
}

/* The request that the task is set up for. */
void zd_http_task_ask(struct zd_http_task *task, enum zd_transfer_method method, const char *key,
    const struct zd_http_asking *asking)
{
    struct zd_remote *remote = task->http->remote;
    task->take = asking->take;
    task->is_enough = false;
    zd_buf_unref(ZD_TAKE(task->transfer.bytes));
    if (write_url(task, key) != ZD_OK) {
        zd_http_task_finish_later(task, task->url.status, "no memory for the URL");
        return;
    }
    (void)add_lines(task);
    task->transfer = (struct zd_transfer){
        .settings = &remote->settings,
        .method = method,
        .url = task->url.at,
        .headers = task->line,
        .bytes_max = asking->bytes_max,
        .redirects_max = REDIRECTS_MAX,
        .stops_at_slash = true,
        .on_head = asking->on_head,
        .done = on_answer,
    };
    zd_transfer_start(remote->pool, &task->transfer);
}

/* @return NULL: the operation ends later, without memory */
struct zd_http_task *zd_http_task_new(
    struct zd_store *store, struct zd_store_op *op, const char *key)
{
    struct zd_http_task *task = zd_alloc_zero(1, sizeof *task);
    if (task == NULL) {
        op->status = zd_fail(&op->err, ZD_NO_MEMORY, "%s: no memory for the request", key);
        zd_store_finish_later(op);
        return NULL;
    }
    task->http = zd_http_task_store(store);
    task->op = op;
    task->key = key;
    zd_text_init(&task->url, URL_BYTES_MAX);
    op->private_state = task;
    return task;
}
