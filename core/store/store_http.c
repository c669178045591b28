/* The store of HTTP: a key is a path below a URL. Only read.
 *
 *     read    GET, with a range if one is asked for -> judged by its head -> bytes
 *             where the place of the bytes is not clear beforehand: SIZE first
 *     status  SIZE: HEAD, or where a server has none, GET of the first byte
 *     list    GET of the directory: its index
 *
 * Every answer is judged before its body is taken. Absence is 404 and 410, and nothing else. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/store/http_answer.h"
#include "core/store/http_index.h"
#include "core/store/http_location.h"
#include "core/store/page.h"
#include "core/store/remote.h"
#include "core/store/transfer.h"

#define URL_BYTES_MAX (8U << 10)
#define RANGE_BYTES   80   /* of a line with a range */
#define TAGS          1024 /* that are remembered, a power of two */
#define REDIRECTS_MAX 5
#define SUFFIX_BYTES_MAX                                                                           \
    (256U << 10) /* behind the part of a suffix that is wanted, read with it                       \
                  */
#define SKIP_BYTES_MAX                                                                             \
    (64U << 20) /* of an object before a part, where a server knows no ranges                      \
                 */
#define INDEX_BYTES_MAX (32U << 20)
#define ATTEMPTS        3 /* at an object that changes between two requests */
#define LINES_MAX       (ZD_HTTP_HEADERS_MAX + 4)

/* A tag, found by the generation that is made of it. */
struct tag {
    struct zd_stat stat;
    char *etag; /* owned; NULL = an empty slot */
};

enum has_index {
    INDEX_UNKNOWN,
    INDEX_THERE,
    INDEX_MISSING,
};

struct http_store {
    struct zd_store store; /* first member */
    struct zd_remote *remote;
    char *url; /* owned; without a slash at its end */
    struct zd_http_headers headers;
    struct tag *tag;          /* TAGS of them, from the first one on; owned */
    bool absent_403;          /* 403 is absence, as the options say */
    bool has_no_head;         /* it refuses HEAD */
    bool has_head;            /* it has answered one: what it says of absence holds */
    enum has_index has_index; /* of the root */
};

enum step {
    STEP_GET,
    STEP_HEAD,
    STEP_BYTE, /* GET of the first byte, for the length */
    STEP_ROOT, /* does it have an index? */
    STEP_INDEX,
};

/* An operation under way. */
struct task {
    struct zd_transfer transfer; /* first member */
    struct http_store *http;
    struct zd_store_op *op;
    const char *key; /* of the operation; for a listing its prefix */
    enum step step;
    struct zd_range asked; /* of STEP_GET */
    bool is_status;
    bool is_part;                /* a range was asked for */
    bool has_tag;                /* If-None-Match or If-Match was */
    bool is_enough;              /* the head was: no byte is needed */
    struct zd_generation wanted; /* of STEP_GET behind a HEAD; or not set */
    bool is_stale;               /* it had another one */
    unsigned n_attempts;
    struct zd_stat stat;
    struct zd_text url;
    char range_line[RANGE_BYTES];
    char tag_line[ZD_TRANSFER_FIELD_BYTES_MAX + 20];
    const char *line[LINES_MAX];
    struct zd_buf *index; /* of a listing */
};

static struct http_store *http_of(struct zd_store *store)
{
    return ZD_CONTAINER(store, struct http_store, store);
}

static struct task *task_of(struct zd_transfer *transfer)
{
    return ZD_CONTAINER(transfer, struct task, transfer);
}

static struct zd_store_read *read_of(const struct task *task)
{
    return ZD_CONTAINER(task->op, struct zd_store_read, op);
}

/* ---- tags ---- */

static struct tag *slot_of(const struct http_store *http, struct zd_generation generation)
{
    return http->tag == NULL ? NULL : &http->tag[generation.word[0] & (TAGS - 1)];
}

static const struct tag *find_tag(const struct http_store *http, struct zd_generation generation)
{
    const struct tag *tag = slot_of(http, generation);
    const bool is_it =
        tag != NULL && tag->etag != NULL && zd_generation_equal(tag->stat.generation, generation);
    return is_it ? tag : NULL;
}

/* Without memory it is not remembered: more bytes are read than needed. */
static void remember_tag(
    struct http_store *http, const struct zd_transfer_head *head, const struct zd_stat *stat)
{
    if (head->etag[0] == '\0' || find_tag(http, stat->generation) != NULL) {
        return;
    }
    if (http->tag == NULL) {
        http->tag = zd_alloc_zero(TAGS, sizeof *http->tag);
    }
    struct tag *slot = slot_of(http, stat->generation);
    char *etag = slot == NULL ? NULL : zd_strdup(head->etag);
    if (etag != NULL) {
        zd_free(slot->etag);
        *slot = (struct tag){.stat = *stat, .etag = etag};
    }
}

static void free_tags(struct http_store *http)
{
    for (size_t i = 0; http->tag != NULL && i < TAGS; i++) {
        zd_free(http->tag[i].etag);
    }
    zd_free(http->tag);
}

/* ---- the end of an operation ---- */

static void free_task(struct task *task)
{
    zd_text_done(&task->url);
    zd_buf_unref(task->transfer.bytes);
    zd_buf_unref(task->index);
    zd_free(task);
}

static void finish(struct task *task, enum zd_status status)
{
    struct zd_store_op *op = task->op;
    op->status = status;
    op->private_state = NULL;
    free_task(task);
    op->done(op);
}

/* The same, of a task whose operation has perhaps just been started. */
static void finish_later(struct task *task, enum zd_status status, const char *what)
{
    struct zd_store_op *op = task->op;
    op->status = zd_fail(&op->err, status, "%s: %s", task->key, what);
    op->private_state = NULL;
    free_task(task);
    zd_store_finish_later(op);
}

static void finish_fault(struct task *task, enum zd_remote_fault_kind kind, const char *what)
{
    task->op->fault = (struct zd_remote_fault){.kind = (uint8_t)kind};
    finish(task, zd_fail(&task->op->err, ZD_STORE, "%s: %s", task->key, what));
}

/* What a transfer without an answer has come to. */
static void finish_failed(struct task *task)
{
    struct zd_store_op *op = task->op;
    struct zd_transfer *transfer = &task->transfer;
    const enum zd_status status = transfer->status;
    op->fault = transfer->fault;
    if (status == ZD_NOT_MODIFIED || op->err.status == status) {
        finish(task, status);
        return;
    }
    op->status = zd_fail(&op->err, status, "%s: %s", task->key, transfer->err.text);
    op->err.facts = transfer->err.facts;
    finish(task, op->status);
}

/* An answer that is neither a success nor absence. */
static void finish_refused(struct task *task)
{
    struct zd_store_op *op = task->op;
    const struct zd_transfer_head *head = &task->transfer.head;
    char code[ZD_HTTP_ANSWER_CODE_BYTES + 1];
    zd_http_answer_find_code(zd_buf_span(task->transfer.bytes), code);
    op->fault = zd_transfer_head_fault(head);
    if (op->fault.retry_after_ms > 0) {
        zd_fact_retry(&op->err, op->fault.retry_after_ms);
    }
    finish(task, zd_fail(&op->err, ZD_STORE, "%s: the store answered %u%s%s", task->key, head->code,
                     code[0] == '\0' ? "" : " ", code));
}

/* Whether an answer means that there is no such object. */
static bool is_absence(const struct task *task)
{
    const uint32_t code = task->transfer.head.code;
    const bool is_directory = code >= 300 && code < 400 && code != 304;
    return code == 404 || code == 410 || is_directory || (code == 403 && task->http->absent_403);
}

/* ---- requests ---- */

static void on_answer(struct zd_transfer *transfer);

static size_t add_lines(struct task *task)
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
    task->line[n] = NULL;
    return n;
}

static enum zd_status write_url(struct task *task, const char *key)
{
    const struct http_store *http = task->http;
    zd_text_clear(&task->url);
    (void)zd_text_add(&task->url, http->url);
    zd_http_location_add_key(&task->url, key);
    if (http->headers.query != NULL) {
        (void)zd_text_add(&task->url, http->headers.query);
    }
    return task->url.status;
}

/* The request that the task is set up for. */
static void ask(struct task *task, enum step step, const char *key,
    enum zd_status (*on_head)(struct zd_transfer *transfer), size_t bytes_max)
{
    struct zd_remote *remote = task->http->remote;
    task->step = step;
    task->is_enough = false;
    zd_buf_unref(ZD_TAKE(task->transfer.bytes));
    if (write_url(task, key) != ZD_OK) {
        finish_later(task, task->url.status, "no room for its URL");
        return;
    }
    (void)add_lines(task);
    task->transfer = (struct zd_transfer){
        .settings = &remote->settings,
        .method = step == STEP_HEAD ? ZD_TRANSFER_HEAD : ZD_TRANSFER_GET,
        .url = task->url.at,
        .headers = task->line,
        .bytes_max = bytes_max,
        .redirects_max = REDIRECTS_MAX,
        .stops_at_slash = true,
        .on_head = on_head,
        .done = on_answer,
    };
    zd_transfer_start(remote->pool, &task->transfer);
}

/* ---- the length of an object ---- */

static enum zd_status judge_kind(struct task *task)
{
    struct zd_transfer *transfer = &task->transfer;
    transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
    ZD_TRY(zd_http_answer_judge_kind(&transfer->head, task->key, &transfer->err));
    transfer->fault.kind = ZD_REMOTE_FAULT_NONE;
    return ZD_OK;
}

/* The first byte, and all others where the server knows no ranges: those are only counted. */
static enum zd_status on_byte_head(struct zd_transfer *transfer)
{
    struct task *task = task_of(transfer);
    ZD_TRY(judge_kind(task));
    transfer->skip = UINT64_MAX;
    task->is_enough =
        transfer->head.code == 200 && transfer->head.content_length != ZD_TRANSFER_UNKNOWN;
    return task->is_enough ? ZD_AGAIN : ZD_OK;
}

static void send_byte(struct task *task)
{
    (void)snprintf(task->range_line, sizeof task->range_line, "Range: bytes=0-0");
    task->tag_line[0] = '\0';
    ask(task, STEP_BYTE, task->key, on_byte_head, 1);
}

static void send_size(struct task *task)
{
    task->range_line[0] = '\0';
    task->tag_line[0] = '\0';
    if (task->http->has_no_head) {
        send_byte(task);
    } else {
        ask(task, STEP_HEAD, task->key, NULL, 0);
    }
}

static void send_part(struct task *task, struct zd_range range);

/* The length of the object is known; a read goes on with the bytes. */
static void take_stat(struct task *task, uint64_t size)
{
    struct http_store *http = task->http;
    struct zd_store_op *op = task->op;
    struct zd_range range;
    const struct zd_stat stat = zd_http_answer_stat(&task->transfer.head, size);
    remember_tag(http, &task->transfer.head, &stat);
    task->stat = stat;
    if (task->is_status) {
        ZD_CONTAINER(op, struct zd_store_status, op)->stat = stat;
        finish(task, ZD_OK);
        return;
    }
    struct zd_store_read *read = read_of(task);
    read->stat = stat;
    const enum zd_status status = zd_store_judge_read(read, &stat, &range, &op->err);
    if (status == ZD_OK && range.len == 0) {
        read->bytes = zd_buf_new(0);
        finish(task, read->bytes != NULL
                         ? ZD_OK
                         : zd_fail(&op->err, ZD_NO_MEMORY, "%s: no memory", task->key));
    } else if (status != ZD_OK) {
        finish(task, status);
    } else {
        task->wanted = stat.generation;
        send_part(task, range);
    }
}

static void take_head(struct task *task)
{
    struct http_store *http = task->http;
    const struct zd_transfer_head *head = &task->transfer.head;
    if (head->code == 200 && head->content_length != ZD_TRANSFER_UNKNOWN) {
        http->has_head = true;
        if (judge_kind(task) != ZD_OK) {
            finish_fault(task, ZD_REMOTE_FAULT_BROKEN, task->transfer.err.text);
        } else {
            take_stat(task, head->content_length);
        }
    } else if (is_absence(task) && http->has_head) {
        finish(task, ZD_NOT_FOUND);
    } else if (head->code == 408 || head->code == 429 || head->code >= 500) {
        http->has_no_head = head->code == 501;
        if (http->has_no_head) {
            send_byte(task);
        } else {
            finish_refused(task);
        }
    } else { /* what it says of a GET counts */
        http->has_no_head = http->has_no_head || head->code == 405;
        send_byte(task);
    }
}

static void take_byte(struct task *task)
{
    const struct zd_transfer *transfer = &task->transfer;
    const struct zd_transfer_head *head = &transfer->head;
    if (head->code == 206 && head->has_range && head->range_size != ZD_TRANSFER_UNKNOWN) {
        take_stat(task, head->range_size);
    } else if (head->code == 200) {
        take_stat(task,
            head->content_length == ZD_TRANSFER_UNKNOWN ? transfer->n_bytes : head->content_length);
    } else if (head->code == 416 && head->range_size == 0) {
        take_stat(task, 0);
    } else if (is_absence(task)) {
        finish(task, ZD_NOT_FOUND);
    } else {
        finish_refused(task);
    }
}

/* ---- the bytes of an object ---- */

/* The size is known: the answer, and what is wanted of it. */
static enum zd_status judge_sized(struct task *task, uint64_t size, struct zd_range *ret_due)
{
    struct zd_store_read *read = read_of(task);
    struct zd_transfer *transfer = &task->transfer;
    const struct zd_stat stat = zd_http_answer_stat(&transfer->head, size);
    read->stat = stat;
    remember_tag(task->http, &transfer->head, &stat);
    if (zd_generation_is_set(task->wanted) && !zd_generation_equal(task->wanted, stat.generation)) {
        task->is_stale = true;
        return zd_fail(&transfer->err, ZD_STORE, "the object keeps changing while it is read");
    }
    return zd_store_judge_read(read, &stat, ret_due, &read->op.err);
}

static enum zd_status judge_whole(struct task *task)
{
    struct zd_transfer *transfer = &task->transfer;
    struct zd_range due;
    if (transfer->head.content_length == ZD_TRANSFER_UNKNOWN) { /* judged at its end */
        transfer->bytes_max = task->is_part ? SKIP_BYTES_MAX : read_of(task)->bytes_max;
        return ZD_OK;
    }
    ZD_TRY(judge_sized(task, transfer->head.content_length, &due));
    if (due.first > SKIP_BYTES_MAX) {
        transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
        return zd_fail(&transfer->err, ZD_STORE,
            "the server sends no ranges, and the part begins %llu bytes behind the beginning",
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
    struct task *task = task_of(transfer);
    const struct zd_transfer_head *head = &transfer->head;
    struct zd_range due;
    ZD_TRY(judge_kind(task));
    if (head->code == 200) {
        return judge_whole(task);
    }
    transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
    if (head->code != 206 || !task->is_part) {
        return zd_fail(&transfer->err, ZD_STORE, "the store answered %u, where 200%s is due",
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
static void write_condition(struct task *task)
{
    const struct zd_store_read *read = read_of(task);
    const struct tag *unless = find_tag(task->http, read->unless_generation);
    const struct tag *only = find_tag(task->http, read->only_generation);
    task->tag_line[0] = '\0';
    if (unless != NULL) {
        (void)snprintf(task->tag_line, sizeof task->tag_line, "If-None-Match: %s", unless->etag);
    } else if (only != NULL && strncmp(only->etag, "W/", 2) != 0) {
        (void)snprintf(task->tag_line, sizeof task->tag_line, "If-Match: %s", only->etag);
    }
    task->has_tag = task->tag_line[0] != '\0';
}

/* A range with len >= 1, or the whole. */
static void send_part(struct task *task, struct zd_range range)
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
    ask(task, STEP_GET, task->key, on_bytes_head, read_of(task)->bytes_max);
}

/* The object, or more of it than was wanted: all of it where its length was not known. */
static enum zd_status cut_unsized(struct task *task, struct zd_buf *bytes)
{
    struct zd_range due;
    ZD_TRY(judge_sized(task, bytes->len, &due));
    bytes->data += due.first; /* nobody else has it yet */
    bytes->cap -= due.first;
    bytes->len = (size_t)due.len;
    return ZD_OK;
}

static void take_bytes(struct task *task)
{
    struct zd_store_read *read = read_of(task);
    struct zd_transfer *transfer = &task->transfer;
    const bool was_sized =
        transfer->head.code == 206 || transfer->head.content_length != ZD_TRANSFER_UNKNOWN;
    enum zd_status status = was_sized ? ZD_OK : cut_unsized(task, transfer->bytes);
    if (status != ZD_OK) {
        transfer->status = status;
        finish_failed(task);
        return;
    }
    if (was_sized && transfer->take != transfer->bytes->len) {
        finish_fault(task, ZD_REMOTE_FAULT_RETRYABLE, "the store's answer was cut short");
        return;
    }
    read->bytes = ZD_TAKE(transfer->bytes);
    zd_store_count_bytes(read->op.store, read->bytes->len);
    finish(task, ZD_OK);
}

/* The head had all that was needed. */
static void take_nothing(struct task *task)
{
    struct zd_store_read *read = read_of(task);
    read->bytes = zd_buf_new(0);
    finish(task, read->bytes != NULL
                     ? ZD_OK
                     : zd_fail(&read->op.err, ZD_NO_MEMORY, "%s: no memory", task->key));
}

static void start_again(struct task *task)
{
    if (++task->n_attempts < ATTEMPTS) {
        task->is_stale = false;
        send_size(task);
    } else {
        finish_fault(task, ZD_REMOTE_FAULT_RETRYABLE, "the object keeps changing while it is read");
    }
}

static void take_get(struct task *task)
{
    struct zd_store_read *read = read_of(task);
    const uint32_t code = task->transfer.head.code;
    if (code == 200 || code == 206) {
        take_bytes(task);
    } else if (code == 304 && task->has_tag && zd_generation_is_set(read->unless_generation)) {
        const struct tag *tag = find_tag(task->http, read->unless_generation);
        read->stat =
            tag == NULL ? (struct zd_stat){.generation = read->unless_generation} : tag->stat;
        finish(task, ZD_NOT_MODIFIED);
    } else if (code == 412 && task->has_tag) {
        finish(task,
            zd_fail(&read->op.err, ZD_PRECONDITION, "%s: the object was replaced", task->key));
    } else if (code == 416 && task->is_part) { /* it ends before the range */
        start_again(task);
    } else if (is_absence(task)) {
        finish(task, ZD_NOT_FOUND);
    } else {
        finish_refused(task);
    }
}

/* ---- listings ---- */

struct cursor {
    struct zd_store_cursor cursor; /* first member */
    struct zd_buf *index;
    char content_type[ZD_TRANSFER_FIELD_BYTES_MAX + 1];
};

/* What a worker makes a page of. */
struct paging {
    struct zd_page page;
    struct zd_store_list *list;
    char last[256]; /* links may come twice, one after the other */
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

static void after_page(uv_work_t *work, int uv_status)
{
    struct zd_store_op *op = ZD_CONTAINER(work, struct zd_store_op, work);
    struct zd_store_list *list = ZD_CONTAINER(op, struct zd_store_list, op);
    if (uv_status == UV_ECANCELED) {
        op->status = zd_fail(&op->err, ZD_CANCELLED, "cancelled before it started");
    }
    if (op->status == ZD_NOT_FOUND) { /* a page, but no index */
        http_of(op->store)->has_index = INDEX_MISSING;
        list->is_incomplete = true;
    } else if (op->status == ZD_OK && list->prefix[0] == '\0') {
        http_of(op->store)->has_index = INDEX_THERE;
    }
    zd_store_count_visited(list);
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

static void send_index(struct task *task, enum step step)
{
    task->range_line[0] = '\0';
    task->tag_line[0] = '\0';
    ask(task, step, step == STEP_ROOT ? "" : task->key, on_index_head, INDEX_BYTES_MAX);
}

static void finish_unlisted(struct task *task)
{
    struct zd_store_list *list = ZD_CONTAINER(task->op, struct zd_store_list, op);
    list->is_incomplete = task->http->has_index == INDEX_MISSING;
    finish(task, ZD_NOT_FOUND);
}

/* No index there: there may be one of other directories, or none at all. */
static void take_no_index(struct task *task)
{
    struct http_store *http = task->http;
    const bool is_root = task->step == STEP_ROOT || task->key[0] == '\0';
    if (is_root) {
        http->has_index = INDEX_MISSING;
    }
    if (http->has_index == INDEX_UNKNOWN) {
        send_index(task, STEP_ROOT);
    } else {
        finish_unlisted(task);
    }
}

static enum zd_status no_entry(void *context, const char *name, bool is_prefix)
{
    (void)context;
    (void)name;
    (void)is_prefix;
    return ZD_AGAIN; /* one is enough */
}

static void take_root(struct task *task)
{
    const struct zd_transfer *transfer = &task->transfer;
    const enum zd_status status = zd_http_index_read(
        zd_buf_span(transfer->bytes), transfer->head.content_type, no_entry, NULL, NULL);
    task->http->has_index = status == ZD_OK || status == ZD_AGAIN ? INDEX_THERE : INDEX_MISSING;
    finish_unlisted(task);
}

static void take_index(struct task *task)
{
    struct zd_store_op *op = task->op;
    struct zd_store_list *list = ZD_CONTAINER(op, struct zd_store_list, op);
    struct zd_transfer *transfer = &task->transfer;
    const uint32_t code = transfer->head.code;
    const bool is_root = task->step == STEP_ROOT || task->key[0] == '\0';
    if (code == 200 && task->step == STEP_ROOT) {
        take_root(task);
    } else if (code == 200) {
        struct cursor *cursor = zd_alloc_zero(1, sizeof *cursor);
        if (cursor == NULL) {
            finish(task, zd_fail(&op->err, ZD_NO_MEMORY, "no memory for a listing"));
            return;
        }
        cursor->cursor.free = free_cursor;
        cursor->index = ZD_TAKE(transfer->bytes);
        memcpy(cursor->content_type, transfer->head.content_type, sizeof cursor->content_type);
        list->cursor = &cursor->cursor;
        free_task(task);
        queue_page(op);
    } else if (is_absence(task) || (is_root && (code == 401 || code == 403)) || code == 405 ||
               code == 501) {
        take_no_index(task);
    } else {
        finish_refused(task);
    }
}

/* ---- answers ---- */

static void on_answer(struct zd_transfer *transfer)
{
    struct task *task = task_of(transfer);
    const bool has_head = task->is_enough && transfer->status == ZD_AGAIN;
    if (task->op->cancelled && (transfer->status == ZD_OK || task->is_stale)) {
        finish(task, zd_fail(&task->op->err, ZD_CANCELLED, "cancelled between two requests"));
        return;
    }
    if (task->is_stale) {
        start_again(task);
        return;
    }
    if (transfer->status != ZD_OK && !has_head) {
        finish_failed(task);
        return;
    }
    switch (task->step) {
    case STEP_GET:
        if (has_head) {
            take_nothing(task);
        } else {
            take_get(task);
        }
        return;
    case STEP_HEAD:
        take_head(task);
        return;
    case STEP_BYTE:
        take_byte(task);
        return;
    case STEP_ROOT:
    case STEP_INDEX:
        take_index(task);
        return;
    }
}

/* ---- operations ---- */

/* @return NULL: the operation ends later, without memory */
static struct task *task_new(struct zd_store *store, struct zd_store_op *op, const char *key)
{
    struct task *task = zd_alloc_zero(1, sizeof *task);
    if (task == NULL) {
        op->status = zd_fail(&op->err, ZD_NO_MEMORY, "%s: no memory to ask for it", key);
        zd_store_finish_later(op);
        return NULL;
    }
    task->http = http_of(store);
    task->op = op;
    task->key = key;
    zd_text_init(&task->url, URL_BYTES_MAX);
    op->private_state = task;
    return task;
}

/* Where the range is nothing, or would bring much that nobody wants, the length is asked first. */
static bool needs_size(const struct zd_range *range)
{
    return range->kind != ZD_RANGE_WHOLE &&
           (range->len == 0 || (range->kind == ZD_RANGE_SUFFIX && range->first > SUFFIX_BYTES_MAX));
}

static void http_read(struct zd_store *store, struct zd_store_read *read)
{
    struct task *task = task_new(store, &read->op, read->key);
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

static void http_status(struct zd_store *store, struct zd_store_status *status)
{
    struct task *task = task_new(store, &status->op, status->key);
    if (task != NULL) {
        task->is_status = true;
        send_size(task);
    }
}

static void http_list(struct zd_store *store, struct zd_store_list *list)
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
    struct task *task = task_new(store, &list->op, list->prefix);
    if (task != NULL) {
        send_index(task, STEP_INDEX);
    }
}

static void http_cancel(struct zd_store *store, struct zd_store_op *op)
{
    struct task *task = op->private_state;
    (void)store;
    if (task != NULL) {
        zd_transfer_cancel(&task->transfer);
    }
}

/* Never called: a store that is not writable refuses writes before, and nothing is staged. */
static void http_write(struct zd_store *store, struct zd_store_write *write)
{
    (void)store;
    write->op.status =
        zd_fail(&write->op.err, ZD_READ_ONLY, "%s: a store of HTTP is only read", write->key);
    zd_store_finish_later(&write->op);
}

/* ---- the store ---- */

static enum zd_status http_find_place(
    const char *location, uint64_t *ret_place, struct zd_error *err)
{
    ZD_AUTO_TEXT url = NULL;
    ZD_TRY(zd_http_location_parse(location, &url, err));
    *ret_place = 0;
    return ZD_OK;
}

static void http_close(struct zd_store *store)
{
    struct http_store *http = http_of(store);
    if (http->remote != NULL) {
        zd_transfer_pool_leave(&http->remote->pool);
    }
    zd_http_location_free_headers(&http->headers);
    free_tags(http);
    zd_free(http->url);
    zd_free(store->location);
    zd_free(http);
}

static enum zd_status read_options(
    struct http_store *http, const struct zd_json *options, struct zd_error *err)
{
    const char *file = zd_json_string(zd_json_member(options, "headers_file"));
    const char *word = zd_json_string(zd_json_member(options, "store_403"));
    http->absent_403 = word != NULL && strcmp(word, "absent") == 0;
    return file == NULL ? ZD_OK : zd_http_location_read_headers(file, &http->headers, err);
}

static enum zd_status open_http(
    struct http_store *http, const struct zd_store_config *config, struct zd_error *err)
{
    ZD_TRY(zd_http_location_parse(config->location, &http->url, err));
    ZD_TRY(read_options(http, config->options, err));
    ZD_TRY(zd_transfer_pool_take(&config->remote->pool, config->loop, err));
    http->remote = config->remote;
    const struct zd_span endpoint = {
        .ptr = (const uint8_t *)http->url, .len = zd_transfer_endpoint_len(http->url)};
    http->store.endpoint = zd_hash_of(endpoint, 0) | 1;
    return ZD_OK;
}

static enum zd_status http_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    if (config->writable) {
        return zd_fail(err, ZD_INVALID, "a store of HTTP cannot be writable: it is only read");
    }
    if (config->remote == NULL) {
        return zd_fail(err, ZD_UNSUPPORTED, "no remote store may be opened here");
    }
    struct http_store *http = zd_alloc_zero(1, sizeof *http);
    if (http == NULL || zd_store_init(&http->store, config) != ZD_OK) {
        zd_free(http);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a store of HTTP");
    }
    const enum zd_status status = open_http(http, config, err);
    if (status != ZD_OK) {
        http_close(&http->store);
        return status;
    }
    *ret_store = &http->store;
    return ZD_OK;
}

const struct zd_store_ops zd_store_ops_http = {
    .scheme = "http",
    .accepts = zd_http_location_is_ours,
    .usage = "http://HOST/PATH, https://HOST/PATH",
    .meaning = "what a server of HTTP has below a URL, only read",
    .is_remote = true,
    .is_read_only = true,
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"headers_file\":{\"type\":\"string\",\"minLength\":1},"
              "\"store_403\":{\"enum\":[\"fault\",\"absent\"]},"
              "\"absent_ms\":{\"type\":\"integer\",\"minimum\":0}},"
              "\"additionalProperties\":false}",
    .default_revalidate_ms = 5000,
    .open = http_open,
    .close = http_close,
    .find_place = http_find_place,
    .read = http_read,
    .status = http_status,
    .list = http_list,
    .write = http_write,
    .erase = http_write,
    .discard = http_write,
    .cancel = http_cancel,
};
