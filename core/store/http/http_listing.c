/* Listings of a store of HTTP: the index that its server gives of a directory. */
#include "core/store/http/http_listing.h"

#include <assert.h>
#include <string.h>

#include "core/store/contract/store_impl.h"
#include "core/store/http/http_index.h"
#include "core/store/http/http_task.h"
#include "core/store/contract/listing_pages.h"
#include "core/store/remote/remote.h"

#define INDEX_BYTES_MAX (32U << 20)

/* An index that a worker reads. */
struct indexing {
    uv_work_t work;
    struct zd_store_list *list;
    struct zd_listing_pages *names; /* owned until they are the cursor */
    struct zd_buf *index;
    char content_type[ZD_TRANSFER_FIELD_BYTES_MAX + 1];
    enum zd_status status;
    struct zd_error err;
};

static void free_indexing(struct indexing *indexing)
{
    zd_listing_pages_free(indexing->names);
    zd_buf_unref(indexing->index);
    zd_free(indexing);
}

static enum zd_status take_entry(void *context, const char *name, bool is_prefix)
{
    struct indexing *indexing = context;
    indexing->list->n_visited++;
    return zd_listing_pages_add(indexing->names, name, is_prefix, &indexing->err);
}

static void work_index(uv_work_t *work)
{
    struct indexing *indexing = ZD_CONTAINER(work, struct indexing, work);
    indexing->status = zd_http_index_read(
        zd_buf_span(indexing->index), indexing->content_type, take_entry, indexing, &indexing->err);
    if (indexing->status == ZD_OK) {
        zd_listing_pages_sort(indexing->names);
    } else if (indexing->status == ZD_NO_MEMORY) {
        indexing->status = zd_fail(&indexing->err, ZD_NO_MEMORY, "no memory for a listing");
    }
}

/* The first page; the names of others are kept. */
static enum zd_status give_first(struct indexing *indexing)
{
    struct zd_store_list *list = indexing->list;
    ZD_TRY(zd_listing_pages_count(indexing->names, 0, &list->op.err));
    ZD_TRY(zd_listing_pages_give(indexing->names, list));
    if (list->has_more) {
        list->cursor = zd_listing_pages_cursor(ZD_TAKE(indexing->names));
    }
    return ZD_OK;
}

static void judge_page(struct zd_store_list *list);

static void after_index(uv_work_t *work, int uv_status)
{
    struct indexing *indexing = ZD_CONTAINER(work, struct indexing, work);
    struct zd_store_list *list = indexing->list;
    struct zd_store_op *op = &list->op;
    op->status = indexing->status;
    if (uv_status == UV_ECANCELED) {
        op->status = zd_fail(&op->err, ZD_CANCELLED, "cancelled before it started");
    } else if (op->status == ZD_OK) {
        op->status = give_first(indexing);
    } else {
        op->err = indexing->err;
    }
    if (op->status == ZD_OK && list->prefix[0] == '\0') {
        zd_http_task_store(op->store)->has_index = ZD_HTTP_INDEX_THERE;
    }
    free_indexing(indexing);
    zd_store_count_visited(list);
    if (op->status == ZD_NOT_FOUND) {
        judge_page(list);
        return;
    }
    op->done(op);
}

static enum zd_status on_index_head(struct zd_transfer *transfer)
{
    if (transfer->head.is_encoded) {
        transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
        return zd_fail(&transfer->err, ZD_STORE,
            "the store sent its index with a Content-Encoding that was not requested");
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
            task, ZD_REMOTE_FAULT_BROKEN, "expected a directory index, got an HTML page");
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

static struct indexing *indexing_new(struct zd_http_task *task)
{
    struct indexing *indexing = zd_alloc_zero(1, sizeof *indexing);
    if (indexing == NULL) {
        return NULL;
    }
    indexing->list = ZD_CONTAINER(task->op, struct zd_store_list, op);
    indexing->names = zd_listing_pages_new(&task->http->remote->listings);
    if (indexing->names == NULL) {
        zd_free(indexing);
        return NULL;
    }
    return indexing;
}

static void read_index(struct zd_http_task *task)
{
    struct zd_store_op *op = task->op;
    struct zd_transfer *transfer = &task->transfer;
    struct indexing *indexing = indexing_new(task);
    const enum zd_status status =
        indexing == NULL ? zd_fail(&op->err, ZD_NO_MEMORY, "no memory for a listing")
                         : zd_listing_pages_count(indexing->names, transfer->bytes->len, &op->err);
    if (status != ZD_OK) {
        if (indexing != NULL) {
            free_indexing(indexing);
        }
        zd_http_task_finish(task, status);
        return;
    }
    indexing->index = ZD_TAKE(transfer->bytes);
    memcpy(indexing->content_type, transfer->head.content_type, sizeof indexing->content_type);
    zd_http_task_free(task);
    op->private_state = NULL;
    const int uv_status = uv_queue_work(op->store->loop, &indexing->work, work_index, after_index);
    assert(uv_status == 0);
    (void)uv_status;
}

static void take_index(struct zd_http_task *task)
{
    const uint32_t code = task->transfer.head.code;
    if (zd_http_task_has_failed(task)) {
        return;
    }
    if (code == 200 && task->is_root) {
        take_root(task);
    } else if (code == 200) {
        read_index(task);
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
            "an HTTP index lists one directory, not the directories below it");
        zd_store_finish_later(&list->op);
        return;
    }
    if (list->cursor != NULL) {
        list->op.status = zd_listing_pages_give(zd_listing_pages_of(list->cursor), list);
        zd_store_finish_later(&list->op);
        return;
    }
    struct zd_http_task *task = zd_http_task_new(store, &list->op, list->prefix);
    if (task != NULL) {
        send_index(task);
    }
}
