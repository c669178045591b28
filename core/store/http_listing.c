/* Listings of a store of HTTP: the index that its server gives of a directory. */
#include "core/store/http_listing.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/store/http_index.h"
#include "core/store/http_task.h"
#include "core/store/page.h"

#define INDEX_BYTES_MAX (32U << 20)

struct cursor {
    struct zd_store_cursor cursor; /* first member */
    struct zd_buf *index;
    char content_type[ZD_TRANSFER_FIELD_BYTES_MAX + 1];
};

/* What a worker makes a page of. */
struct paging {
    struct zd_page page;
    struct zd_store_list *list;
    char last[256 + 1]; /* as `shown`: links may come twice, one after the other */
};

static void free_cursor(struct zd_store_cursor *cursor)
{
    struct cursor *own = ZD_CONTAINER(cursor, struct cursor, cursor);
    zd_buf_unref(own->index);
    zd_free(own);
}

static enum zd_status take_entry(void *context, const char *name, bool is_prefix)
{
    struct paging *paging = context;
    char shown[256 + 1];
    (void)snprintf(shown, sizeof shown, "%s%s", name, is_prefix ? "/" : "");
    if (strcmp(shown, paging->last) == 0) {
        return ZD_OK;
    }
    (void)snprintf(paging->last, sizeof paging->last, "%s", shown);
    paging->list->n_visited++;
    return zd_page_offer(&paging->page, name, is_prefix);
}

static void work_page(uv_work_t *work)
{
    struct zd_store_list *list =
        ZD_CONTAINER(ZD_CONTAINER(work, struct zd_store_op, work), struct zd_store_list, op);
    const struct cursor *cursor = ZD_CONTAINER(list->cursor, struct cursor, cursor);
    struct paging paging = {.list = list};
    zd_page_init(&paging.page, list->after, list->n_max);
    list->op.status = zd_http_index_read(
        zd_buf_span(cursor->index), cursor->content_type, take_entry, &paging, &list->op.err);
    if (list->op.status == ZD_OK) {
        zd_page_finish(&paging.page, list);
    } else if (list->op.status == ZD_NO_MEMORY) {
        list->op.status = zd_fail(&list->op.err, ZD_NO_MEMORY, "no memory for a listing");
    }
    zd_page_done(&paging.page);
}

static void judge_page(struct zd_store_list *list);

static void after_page(uv_work_t *work, int uv_status)
{
    struct zd_store_op *op = ZD_CONTAINER(work, struct zd_store_op, work);
    struct zd_store_list *list = ZD_CONTAINER(op, struct zd_store_list, op);
    if (uv_status == UV_ECANCELED) {
        op->status = zd_fail(&op->err, ZD_CANCELLED, "cancelled before it started");
    }
    if (op->status == ZD_OK && list->prefix[0] == '\0') {
        zd_http_task_store(op->store)->has_index = ZD_HTTP_INDEX_THERE;
    }
    zd_store_count_visited(list);
    if (op->status == ZD_NOT_FOUND) {
        judge_page(list);
        return;
    }
    op->done(op);
}

static void queue_page(struct zd_store_op *op)
{
    op->private_state = NULL;
    const int uv_status = uv_queue_work(op->store->loop, &op->work, work_page, after_page);
    assert(uv_status == 0);
    (void)uv_status;
}

static enum zd_status on_index_head(struct zd_transfer *transfer)
{
    if (transfer->head.is_encoded) {
        transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
        return zd_fail(&transfer->err, ZD_STORE,
            "the store sends its index with a Content-Encoding that was not asked for");
    }
    return ZD_OK;
}

static void take_index(struct zd_http_task *task);

static void send_index(struct zd_http_task *task)
{
    const struct zd_http_asking asking = {
        .on_head = on_index_head, .take = take_index, .bytes_max = INDEX_BYTES_MAX};
    zd_http_task_ask(task, ZD_TRANSFER_GET, task->is_root ? "" : task->key, &asking);
}

/* Nothing is listed: because nothing is there, because the server has no indexes, or because it
 * refuses one of its own. */
static void finish_unlisted(struct zd_http_task *task)
{
    struct zd_store_op *op = task->op;
    struct zd_store_list *list = ZD_CONTAINER(op, struct zd_store_list, op);
    list->is_incomplete = task->http->has_index == ZD_HTTP_INDEX_MISSING;
    if (list->is_incomplete || task->odd == 0) {
        zd_http_task_finish(task, ZD_NOT_FOUND);
    } else if (task->odd == 200) {
        zd_http_task_fault(
            task, ZD_REMOTE_FAULT_BROKEN, "the store sends a page where its index is due");
    } else {
        op->fault = (struct zd_remote_fault){.kind = ZD_REMOTE_FAULT_REFUSED};
        zd_http_task_finish(
            task, zd_fail(&op->err, ZD_STORE, "%s: the store answered %u", task->key, task->odd));
    }
}

/* No index there: there may be one of other directories, or none at all. Where the root has had
 * one, another answer in its place is a fault. */
static void take_no_index(struct zd_http_task *task, uint32_t odd)
{
    struct zd_http_store *http = task->http;
    const bool is_root = task->is_root || task->key[0] == '\0';
    task->odd = task->is_root ? task->odd : odd;
    if (is_root && (odd == 0 || http->has_index == ZD_HTTP_INDEX_UNKNOWN)) {
        http->has_index = ZD_HTTP_INDEX_MISSING;
    }
    if (http->has_index == ZD_HTTP_INDEX_UNKNOWN) {
        task->is_root = true;
        send_index(task);
    } else {
        finish_unlisted(task);
    }
}

/* A page that is no index. */
static void judge_page(struct zd_store_list *list)
{
    struct zd_http_task *task = zd_http_task_new(list->op.store, &list->op, list->prefix);
    free_cursor(ZD_TAKE(list->cursor));
    if (task != NULL) {
        take_no_index(task, 200);
    }
}

static enum zd_status no_entry(void *context, const char *name, bool is_prefix)
{
    (void)context;
    (void)name;
    (void)is_prefix;
    return ZD_AGAIN; /* one is enough */
}

static void take_root(struct zd_http_task *task)
{
    const struct zd_transfer *transfer = &task->transfer;
    const enum zd_status status = zd_http_index_read(
        zd_buf_span(transfer->bytes), transfer->head.content_type, no_entry, NULL, NULL);
    task->http->has_index =
        status == ZD_OK || status == ZD_AGAIN ? ZD_HTTP_INDEX_THERE : ZD_HTTP_INDEX_MISSING;
    finish_unlisted(task);
}

static void take_index(struct zd_http_task *task)
{
    struct zd_store_op *op = task->op;
    struct zd_store_list *list = ZD_CONTAINER(op, struct zd_store_list, op);
    struct zd_transfer *transfer = &task->transfer;
    const uint32_t code = transfer->head.code;
    if (zd_http_task_has_failed(task)) {
        return;
    }
    if (code == 200 && task->is_root) {
        take_root(task);
    } else if (code == 200) {
        struct cursor *cursor = zd_alloc_zero(1, sizeof *cursor);
        if (cursor == NULL) {
            zd_http_task_finish(task, zd_fail(&op->err, ZD_NO_MEMORY, "no memory for a listing"));
            return;
        }
        cursor->cursor.free = free_cursor;
        cursor->index = ZD_TAKE(transfer->bytes);
        memcpy(cursor->content_type, transfer->head.content_type, sizeof cursor->content_type);
        list->cursor = &cursor->cursor;
        zd_http_task_free(task);
        queue_page(op);
    } else if (zd_http_task_is_absent(task) || code == 405 || code == 501) {
        take_no_index(task, 0);
    } else if (code == 401 || code == 403) {
        take_no_index(task, code);
    } else {
        zd_http_task_refuse(task);
    }
}

void zd_http_listing_start(struct zd_store *store, struct zd_store_list *list)
{
    if (list->deep) {
        list->op.status = zd_fail(&list->op.err, ZD_UNSUPPORTED,
            "an index of HTTP lists one directory, and nothing below it");
        zd_store_finish_later(&list->op);
        return;
    }
    if (list->cursor != NULL) {
        queue_page(&list->op);
        return;
    }
    struct zd_http_task *task = zd_http_task_new(store, &list->op, list->prefix);
    if (task != NULL) {
        send_index(task);
    }
}
