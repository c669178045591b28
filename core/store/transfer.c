/* One HTTP exchange with a remote store: libcurl on the loop that the store runs on.
 *
 * A transfer waits for its turn at its endpoint, then it has a run: a handle of libcurl and what
 * has come so far. Runs are kept for the next transfers. */
#include "core/store/transfer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/text.h"
#include "core/store/multi.h"
#include "core/store/remote.h"

#define SPARE_RUNS_MAX 64
#define HEAD_BYTES_MAX (64U << 10)
#define RECEIVE_BYTES  (64L << 10) /* at a time */
#define GROW_BYTES     (16U << 10) /* the first of a body whose length is not said */
#define DRAIN_BYTES    (64U << 10) /* more than this is not waited for to keep a connection */
#define PROGRESS_BYTES 1024        /* fewer, in all the time that a store may be silent, are none */
#define WATCH_MS_MIN   10
#define WATCH_MS_MAX   1000
#define HOST_SHOWN_MAX 100

/* Where transfers take turns. */
struct endpoint {
    struct zd_list link;    /* of the pool */
    struct zd_list waiting; /* struct zd_transfer */
    char *url;              /* "http://host:port"; owned */
    uint32_t n_running;
};

struct zd_transfer_pool {
    struct zd_multi *multi;
    struct zd_list endpoints;
    struct zd_list running; /* struct run */
    struct zd_list spare;   /* struct run */
    struct zd_list over;    /* struct zd_transfer: done is to be called in the next turn */
    uv_timer_t soon;        /* calls it; the data of both is the pool */
    uv_timer_t watch;       /* looks for silent ones */
    uint32_t n_spare;
    uint32_t n_users;
    uint32_t n_handles; /* until they are closed */
    struct zd_transfer_counts counts;
};

/* A transfer that has its turn. */
struct run {
    struct zd_list link; /* of the pool */
    struct zd_transfer *transfer;
    struct endpoint *endpoint;
    CURL *easy; /* its private data is the run */
    struct curl_slist *headers;
    struct zd_text followed; /* the URL that was redirected to */
    char word[CURL_ERROR_SIZE];
    enum zd_status head_status; /* what on_head, or we, said of the head */
    bool has_head;
    bool is_enough; /* what follows is not wanted */
    uint32_t n_redirects;
    size_t head_bytes;
    uint64_t body_bytes; /* that have come, dropped ones included */
    size_t sent_bytes;   /* of the request's body */
    uint8_t *bytes;      /* owned */
    size_t len;
    size_t cap;
    size_t fresh_bytes; /* since heard_ms */
    uint64_t heard_ms;
};

size_t zd_transfer_endpoint_len(const char *url)
{
    const char *slashes = strstr(url, "://");
    const size_t begin = slashes == NULL ? 0 : (size_t)(slashes + 3 - url);
    return begin + strcspn(url + begin, "/?#");
}

static bool is_success(const struct zd_transfer *transfer)
{
    return transfer->head.code >= 200 && transfer->head.code < 300;
}

static bool is_redirect(const struct run *run)
{
    const uint32_t code = run->transfer->head.code;
    return run->transfer->redirects_max > 0 &&
           (code == 301 || code == 302 || code == 303 || code == 307 || code == 308);
}

/* ---- its end ---- */

static void on_soon(uv_timer_t *timer)
{
    struct zd_transfer_pool *pool = timer->data;
    struct zd_list ready;
    zd_list_take_all(&pool->over, &ready);
    for (struct zd_list *link; (link = zd_list_pop_front(&ready)) != NULL;) {
        struct zd_transfer *transfer = ZD_CONTAINER(link, struct zd_transfer, link);
        transfer->done(transfer);
    }
}

static void end_soon(struct zd_transfer *transfer)
{
    struct zd_transfer_pool *pool = transfer->pool;
    zd_list_remove(&transfer->link);
    transfer->is_over = true;
    zd_list_push_back(&pool->over, &transfer->link);
    (void)uv_timer_start(&pool->soon, on_soon, 0, 0);
}

static void fail(struct zd_transfer *transfer, enum zd_status status,
    enum zd_remote_fault_kind kind, const char *text)
{
    transfer->fault.kind = (uint8_t)kind;
    transfer->status = zd_fail(&transfer->err, status, "%s", text);
}

static void fail_memory(struct zd_transfer *transfer)
{
    fail(transfer, ZD_NO_MEMORY, ZD_REMOTE_FAULT_NONE, "no memory for a request to the store");
}

static void free_run(struct run *run)
{
    if (run != NULL) {
        curl_easy_cleanup(run->easy);
        curl_slist_free_all(run->headers);
        zd_text_done(&run->followed);
        zd_free(run->bytes);
        zd_free(run);
    }
}

/* The connection stays with the pool. */
static void put_aside(struct zd_transfer_pool *pool, struct run *run)
{
    struct endpoint *endpoint = run->endpoint;
    zd_list_remove(&run->link);
    endpoint->n_running--;
    run->transfer->run = NULL;
    if (zd_list_is_empty(&pool->running)) {
        (void)uv_timer_stop(&pool->watch);
    }
    if (pool->n_spare >= SPARE_RUNS_MAX) {
        free_run(run);
        return;
    }
    curl_easy_reset(run->easy);
    curl_slist_free_all(run->headers);
    zd_text_done(&run->followed);
    zd_free(run->bytes);
    *run = (struct run){.easy = run->easy};
    zd_list_push_front(&pool->spare, &run->link);
    pool->n_spare++;
}

static void give_turns(struct zd_transfer_pool *pool, struct endpoint *endpoint);

static void note_request(struct run *run)
{
    struct zd_transfer *transfer = run->transfer;
    long n_connected = 0;
    long request_bytes = 0;
    (void)curl_easy_getinfo(run->easy, CURLINFO_NUM_CONNECTS, &n_connected);
    (void)curl_easy_getinfo(run->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    transfer->pool->counts.n_connected += n_connected > 0 ? (uint64_t)n_connected : 0;
    transfer->fault.was_begun = transfer->method != ZD_TRANSFER_GET &&
                                transfer->method != ZD_TRANSFER_HEAD && request_bytes > 0;
}

/* ---- what has come ---- */

static void hear(struct run *run, size_t n_bytes)
{
    struct zd_transfer *transfer = run->transfer;
    run->fresh_bytes += n_bytes;
    if (transfer->first_ns == 0 || run->fresh_bytes >= PROGRESS_BYTES) {
        run->fresh_bytes = 0;
        run->heard_ms = uv_now(transfer->pool->watch.loop);
    }
}

static enum zd_status refuse_length(struct zd_transfer *transfer, uint64_t len)
{
    return zd_fail_limit(&transfer->err, transfer->bytes_max, len,
        "the store's answer has %llu bytes or more, %zu at most are taken", (unsigned long long)len,
        transfer->bytes_max);
}

/* How much of the body will be taken, as far as its head says. */
static uint64_t due_bytes(const struct zd_transfer *transfer)
{
    const uint64_t len = transfer->head.content_length;
    const uint64_t rest = len == ZD_TRANSFER_UNKNOWN ? len : len - zd_min_u64(transfer->skip, len);
    return transfer->take == 0 ? rest : zd_min_u64(rest, transfer->take);
}

/* The head of the last answer is there. */
static enum zd_status judge_head(struct run *run)
{
    struct zd_transfer *transfer = run->transfer;
    run->has_head = true;
    if (transfer->head.has_odd_length) {
        transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
        return zd_fail(
            &transfer->err, ZD_STORE, "the store's answer has a Content-Length that is no length");
    }
    if (!is_success(transfer) || transfer->method != ZD_TRANSFER_GET) {
        return ZD_OK;
    }
    if (transfer->on_head != NULL) {
        ZD_TRY(transfer->on_head(transfer));
    }
    const uint64_t due = due_bytes(transfer);
    return due != ZD_TRANSFER_UNKNOWN && due > transfer->bytes_max ? refuse_length(transfer, due)
                                                                   : ZD_OK;
}

/* Called by libcurl with each line; what it returns ends the transfer unless it is the length. */
static size_t on_head_line(char *line, size_t one, size_t len, void *context)
{
    struct run *run = context;
    struct zd_transfer *transfer = run->transfer;
    (void)one;
    hear(run, len);
    if (transfer->first_ns == 0) {
        transfer->first_ns = uv_hrtime();
    }
    run->head_bytes += len;
    if (run->head_bytes > HEAD_BYTES_MAX) {
        transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
        run->head_status = zd_fail(&transfer->err, ZD_STORE,
            "the head of the store's answer has more than %u bytes", HEAD_BYTES_MAX);
        return CURL_WRITEFUNC_ERROR;
    }
    if (run->has_head) { /* a trailer */
        return len;
    }
    struct zd_span text = {.ptr = (const uint8_t *)line, .len = len};
    while (text.len > 0 && (line[text.len - 1] == '\n' || line[text.len - 1] == '\r')) {
        text.len--;
    }
    zd_transfer_head_add(&transfer->head, transfer->field, transfer->n_fields, text);
    if (text.len == 0 && transfer->head.code >= 200) {
        run->head_status = judge_head(run);
    }
    return run->head_status == ZD_OK ? len : CURL_WRITEFUNC_ERROR;
}

static enum zd_status reserve(struct run *run, size_t len)
{
    struct zd_transfer *transfer = run->transfer;
    if (len <= run->cap - run->len) {
        return ZD_OK;
    }
    const uint64_t due = is_success(transfer) ? due_bytes(transfer) : ZD_TRANSFER_UNKNOWN;
    const size_t least = run->len + len;
    size_t cap = (size_t)zd_max_u64(zd_max_u64(least, 2 * (uint64_t)run->cap), GROW_BYTES);
    if (due != ZD_TRANSFER_UNKNOWN) {
        cap = (size_t)zd_max_u64(due, least); /* due <= bytes_max */
    } else if (is_success(transfer)) {
        cap = (size_t)zd_max_u64(zd_min_u64(cap, transfer->bytes_max), least);
    }
    uint8_t *bytes = zd_realloc(run->bytes, cap);
    if (bytes == NULL) {
        return zd_fail(&transfer->err, ZD_NO_MEMORY, "no memory for %zu bytes of a store", cap);
    }
    run->bytes = bytes;
    run->cap = cap;
    return ZD_OK;
}

static enum zd_status take_bytes(struct run *run, struct zd_span bytes)
{
    struct zd_transfer *transfer = run->transfer;
    if (is_success(transfer) && bytes.len > transfer->bytes_max - run->len) {
        return refuse_length(transfer, (uint64_t)run->len + bytes.len);
    }
    ZD_TRY(reserve(run, bytes.len));
    memcpy(run->bytes + run->len, bytes.ptr, bytes.len);
    run->len += bytes.len;
    return ZD_OK;
}

/* What is wanted of the next bytes of the body. */
static struct zd_span wanted_of(struct run *run, struct zd_span bytes)
{
    const struct zd_transfer *transfer = run->transfer;
    const bool succeeds = is_success(transfer);
    const uint64_t skip = succeeds ? transfer->skip : 0;
    const uint64_t take = succeeds ? transfer->take : ZD_TRANSFER_WORD_BYTES_MAX;
    const uint64_t dropped = skip - zd_min_u64(run->body_bytes, skip);
    const size_t n_first = (size_t)zd_min_u64(dropped, bytes.len);
    struct zd_span wanted = {.ptr = bytes.ptr + n_first, .len = bytes.len - n_first};
    if (take > 0) {
        wanted.len = (size_t)zd_min_u64(wanted.len, take - zd_min_u64(run->len, take));
        const uint64_t len = transfer->head.content_length;
        const uint64_t come = run->body_bytes + bytes.len;
        const bool is_short =
            len != ZD_TRANSFER_UNKNOWN && len - zd_min_u64(come, len) <= DRAIN_BYTES;
        run->is_enough = run->len + wanted.len >= take && !is_short;
    }
    return wanted;
}

static size_t on_body(char *data, size_t one, size_t len, void *context)
{
    struct run *run = context;
    (void)one;
    hear(run, len);
    if (is_redirect(run)) {
        return len;
    }
    const struct zd_span bytes = {.ptr = (const uint8_t *)data, .len = len};
    const struct zd_span wanted = wanted_of(run, bytes);
    run->body_bytes += len;
    run->transfer->n_bytes = run->body_bytes;
    run->head_status = take_bytes(run, wanted);
    return run->head_status == ZD_OK && !run->is_enough ? len : CURL_WRITEFUNC_ERROR;
}

/* The next bytes of the request's body. */
static size_t on_send(char *data, size_t one, size_t room, void *context)
{
    struct run *run = context;
    const struct zd_buf *body = run->transfer->body;
    (void)one;
    const size_t rest = body == NULL ? 0 : body->len - run->sent_bytes;
    const size_t len = (size_t)zd_min_u64(rest, room);
    if (len > 0) {
        memcpy(data, body->data + run->sent_bytes, len);
        run->sent_bytes += len;
    }
    hear(run, len);
    return len;
}

/* libcurl sends once more what a connection that had been closed did not take. */
static int on_seek(void *context, curl_off_t to, int origin)
{
    struct run *run = context;
    const size_t len = run->transfer->body == NULL ? 0 : run->transfer->body->len;
    if (origin != SEEK_SET || to < 0 || (uint64_t)to > len) {
        return CURL_SEEKFUNC_FAIL;
    }
    run->sent_bytes = (size_t)to;
    return CURL_SEEKFUNC_OK;
}

/* ---- what has happened ---- */

static enum zd_remote_fault_kind kind_of(CURLcode code)
{
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return ZD_REMOTE_FAULT_RETRYABLE;
    default: /* what was said will be said again */
        return ZD_REMOTE_FAULT_BROKEN;
    }
}

/* libcurl's own words name the host, and perhaps more of the URL, except those on certificates. */
static void fail_code(struct run *run, CURLcode code)
{
    struct zd_transfer *transfer = run->transfer;
    long number = 0;
    (void)curl_easy_getinfo(run->easy, CURLINFO_OS_ERRNO, &number);
    if (code == CURLE_OUT_OF_MEMORY) {
        fail_memory(transfer);
        return;
    }
    if (code == CURLE_OPERATION_TIMEDOUT) {
        fail(transfer, ZD_TIMEOUT, ZD_REMOTE_FAULT_TIMEOUT,
            "no connection to the store within remote.connect_ms");
        return;
    }
    transfer->fault.kind = (uint8_t)kind_of(code);
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
        transfer->status = zd_fail(&transfer->err, ZD_STORE, "%s",
            run->word[0] == '\0' ? curl_easy_strerror(code) : run->word);
        return;
    }
    const bool has_cause = code == CURLE_COULDNT_CONNECT && number > 0;
    transfer->status = zd_fail(&transfer->err, ZD_STORE, "%s%s%s", curl_easy_strerror(code),
        has_cause ? ": " : "", has_cause ? strerror((int)number) : "");
}

static void give_bytes(struct run *run)
{
    struct zd_transfer *transfer = run->transfer;
    uint8_t *bytes = run->bytes;
    if (run->len < run->cap) {
        bytes = zd_realloc(run->bytes, run->len);
        run->bytes = bytes == NULL ? run->bytes : bytes;
    }
    if (run->bytes == NULL) {
        run->bytes = zd_alloc(1);
    }
    transfer->bytes = run->bytes == NULL ? NULL : zd_buf_take(run->bytes, run->len);
    if (transfer->bytes == NULL) {
        fail_memory(transfer);
        return;
    }
    run->bytes = NULL;
    transfer->status = ZD_OK;
}

static void settle(struct run *run, CURLcode code)
{
    struct zd_transfer *transfer = run->transfer;
    if (run->head_status != ZD_OK) {
        transfer->status = run->head_status;
    } else if (code == CURLE_OK || run->is_enough) {
        give_bytes(run);
    } else {
        fail_code(run, code);
    }
}

/* ---- redirections ---- */

static bool has_same_part(CURLU *a, CURLU *b, CURLUPart part)
{
    char *of_a = NULL;
    char *of_b = NULL;
    const unsigned flags = part == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0;
    const bool is_same = curl_url_get(a, part, &of_a, flags) == CURLUE_OK &&
                         curl_url_get(b, part, &of_b, flags) == CURLUE_OK &&
                         strcasecmp(of_a, of_b) == 0;
    curl_free(of_a);
    curl_free(of_b);
    return is_same;
}

static bool is_within(const char *url, const char *endpoint)
{
    char *user = NULL;
    CURLU *a = curl_url();
    CURLU *b = curl_url();
    const bool is_same =
        a != NULL && b != NULL && curl_url_set(a, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_set(b, CURLUPART_URL, endpoint, 0) == CURLUE_OK &&
        has_same_part(a, b, CURLUPART_SCHEME) && has_same_part(a, b, CURLUPART_HOST) &&
        has_same_part(a, b, CURLUPART_PORT) &&
        curl_url_get(a, CURLUPART_USER, &user, 0) == CURLUE_NO_USER;
    curl_free(user);
    curl_url_cleanup(a);
    curl_url_cleanup(b);
    return is_same;
}

/* Only endpoints of the configuration are ever asked. */
static enum zd_status judge_redirect(struct run *run, const char *url)
{
    struct zd_transfer *transfer = run->transfer;
    const uint32_t code = transfer->head.code;
    transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
    if (url == NULL) {
        return zd_fail(
            &transfer->err, ZD_STORE, "the store redirects (%u) and does not say where to", code);
    }
    if (run->n_redirects >= transfer->redirects_max) {
        return zd_fail(&transfer->err, ZD_STORE, "the store redirects more than %u times",
            transfer->redirects_max);
    }
    if (!is_within(url, run->endpoint->url)) {
        const size_t len = zd_transfer_endpoint_len(url);
        const bool is_shown = len <= HOST_SHOWN_MAX && memchr(url, '@', len) == NULL;
        return zd_fail(&transfer->err, ZD_STORE,
            "the store redirects (%u) to %.*s: only %s, which the location names, is asked", code,
            is_shown ? (int)len : 12, is_shown ? url : "another host", run->endpoint->url);
    }
    transfer->fault.kind = ZD_REMOTE_FAULT_NONE;
    return ZD_OK;
}

/* Whether one URL is the other with a slash behind its path. */
static bool is_directory_of(const char *url, const char *asked)
{
    const size_t len = strcspn(asked, "?#");
    return url != NULL && strncmp(url, asked, len) == 0 && url[len] == '/' &&
           (url[len + 1] == '\0' || url[len + 1] == '?');
}

/* @return false: it is an answer, or a fault */
static bool follow(struct run *run)
{
    struct zd_transfer *transfer = run->transfer;
    char *url = NULL;
    const char *asked = run->followed.len > 0 ? run->followed.at : transfer->url;
    (void)curl_easy_getinfo(run->easy, CURLINFO_REDIRECT_URL, &url);
    if (transfer->stops_at_slash && is_directory_of(url, asked)) {
        return false;
    }
    run->head_status = judge_redirect(run, url);
    if (run->head_status != ZD_OK) {
        return false;
    }
    note_request(run);
    run->n_redirects++;
    run->has_head = false;
    run->head_bytes = 0;
    zd_text_clear(&run->followed);
    const bool fits = zd_text_add(&run->followed, url) == ZD_OK;
    (void)curl_easy_setopt(run->easy, CURLOPT_URL, run->followed.at);
    if (!fits || zd_multi_add(transfer->pool->multi, run->easy) != ZD_OK) {
        run->head_status = zd_fail(&transfer->err, ZD_NO_MEMORY, "no memory for a redirection");
        return false;
    }
    return true;
}

static void on_over(void *context, CURL *easy, CURLcode code)
{
    struct zd_transfer_pool *pool = context;
    struct run *run = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&run);
    if (code == CURLE_OK && is_redirect(run) && follow(run)) {
        return;
    }
    struct zd_transfer *transfer = run->transfer;
    struct endpoint *endpoint = run->endpoint;
    note_request(run);
    settle(run, code);
    put_aside(pool, run);
    transfer->is_over = true;
    give_turns(pool, endpoint);
    transfer->done(transfer);
}

/* ---- silence ---- */

static bool is_connected(const struct run *run)
{
    curl_off_t us = 0;
    (void)curl_easy_getinfo(run->easy, CURLINFO_PRETRANSFER_TIME_T, &us);
    return us > 0;
}

static void stop(struct run *run)
{
    struct zd_transfer *transfer = run->transfer;
    struct zd_transfer_pool *pool = transfer->pool;
    struct endpoint *endpoint = run->endpoint;
    note_request(run);
    zd_multi_remove(pool->multi, run->easy);
    put_aside(pool, run);
    end_soon(transfer);
    give_turns(pool, endpoint);
}

static void on_watch(uv_timer_t *timer)
{
    struct zd_transfer_pool *pool = timer->data;
    const uint64_t now_ms = uv_now(timer->loop);
    for (struct zd_list *link = pool->running.next; link != &pool->running;) {
        struct run *run = ZD_CONTAINER(link, struct run, link);
        link = link->next;
        const uint32_t silence_ms = run->transfer->settings->silence_ms;
        if (!is_connected(run)) {
            run->heard_ms = now_ms;
        } else if (now_ms - run->heard_ms >= silence_ms) {
            run->transfer->fault.kind = ZD_REMOTE_FAULT_TIMEOUT;
            run->transfer->status = zd_fail(&run->transfer->err, ZD_TIMEOUT,
                "the store was silent for %u ms (remote.silence_ms)", silence_ms);
            stop(run);
        }
    }
}

/* A timer that runs is early enough, or the next one will be. */
static void watch(struct zd_transfer_pool *pool, uint32_t silence_ms)
{
    const uint64_t every_ms = zd_min_u64(zd_max_u64(silence_ms / 4, WATCH_MS_MIN), WATCH_MS_MAX);
    if (!uv_is_active((uv_handle_t *)&pool->watch) ||
        uv_timer_get_repeat(&pool->watch) > every_ms) {
        (void)uv_timer_start(&pool->watch, on_watch, every_ms, every_ms);
    }
}

/* ---- its beginning ---- */

static struct run *run_new(struct zd_transfer_pool *pool)
{
    struct zd_list *link = zd_list_pop_front(&pool->spare);
    if (link != NULL) {
        pool->n_spare--;
        return ZD_CONTAINER(link, struct run, link);
    }
    struct run *run = zd_alloc_zero(1, sizeof *run);
    if (run != NULL) {
        run->easy = curl_easy_init();
    }
    if (run == NULL || run->easy == NULL) {
        free_run(run);
        return NULL;
    }
    return run;
}

static bool add_header(struct run *run, const char *line)
{
    struct curl_slist *longer = curl_slist_append(run->headers, line);
    run->headers = longer == NULL ? run->headers : longer;
    return longer != NULL;
}

/* libcurl would ask for a permission that few stores give before the first second is over. */
static bool set_headers(struct run *run)
{
    const char *const *line = run->transfer->headers;
    bool fits = add_header(run, "Expect:");
    while (fits && line != NULL && *line != NULL) {
        fits = add_header(run, *line++);
    }
    (void)curl_easy_setopt(run->easy, CURLOPT_HTTPHEADER, run->headers);
    (void)curl_easy_setopt(run->easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    return fits;
}

static void set_method(struct run *run)
{
    static const char *const name[] = {
        [ZD_TRANSFER_GET] = NULL,
        [ZD_TRANSFER_HEAD] = NULL,
        [ZD_TRANSFER_PUT] = "PUT",
        [ZD_TRANSFER_POST] = "POST",
        [ZD_TRANSFER_DELETE] = "DELETE",
    };
    const struct zd_transfer *transfer = run->transfer;
    const enum zd_transfer_method method = transfer->method;
    if (method == ZD_TRANSFER_PUT || method == ZD_TRANSFER_POST) {
        const curl_off_t len = transfer->body == NULL ? 0 : (curl_off_t)transfer->body->len;
        (void)curl_easy_setopt(run->easy, CURLOPT_UPLOAD, 1L);
        (void)curl_easy_setopt(run->easy, CURLOPT_INFILESIZE_LARGE, len);
        (void)curl_easy_setopt(run->easy, CURLOPT_READFUNCTION, on_send);
        (void)curl_easy_setopt(run->easy, CURLOPT_READDATA, run);
        (void)curl_easy_setopt(run->easy, CURLOPT_SEEKFUNCTION, on_seek);
        (void)curl_easy_setopt(run->easy, CURLOPT_SEEKDATA, run);
    } else if (method == ZD_TRANSFER_HEAD) {
        (void)curl_easy_setopt(run->easy, CURLOPT_NOBODY, 1L);
    }
    if (name[method] != NULL) {
        (void)curl_easy_setopt(run->easy, CURLOPT_CUSTOMREQUEST, name[method]);
    }
}

static void set_trust(struct run *run)
{
    const char *file = run->transfer->settings->ca_file;
    if (file == NULL || file[0] == '\0') {
        file = getenv("SSL_CERT_FILE"); /* as OpenSSL's own programs understand it */
    }
    (void)curl_easy_setopt(run->easy, CURLOPT_SSL_VERIFYPEER, 1L);
    (void)curl_easy_setopt(run->easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (file != NULL && file[0] != '\0') {
        (void)curl_easy_setopt(run->easy, CURLOPT_CAINFO, file);
        (void)curl_easy_setopt(run->easy, CURLOPT_CAPATH, NULL);
    }
}

static void set_limits(struct run *run)
{
    const struct zd_transfer *transfer = run->transfer;
    CURL *easy = run->easy;
    (void)curl_easy_setopt(easy, CURLOPT_URL, transfer->url);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)transfer->settings->connect_ms);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* nobody waits for a look-up */
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, RECEIVE_BYTES);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "zarrd");
    if (transfer->is_direct) {
        (void)curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    }
}

static void set_callbacks(struct run *run)
{
    CURL *easy = run->easy;
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, run);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, run->word);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head_line);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, run);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, run);
}

static bool begin(struct zd_transfer_pool *pool, struct run *run)
{
    struct zd_transfer *transfer = run->transfer;
    zd_text_init(&run->followed, HEAD_BYTES_MAX);
    transfer->began_ns = uv_hrtime();
    run->heard_ms = uv_now(pool->watch.loop);
    set_limits(run);
    set_trust(run);
    set_callbacks(run);
    set_method(run);
    return set_headers(run) && zd_multi_add(pool->multi, run->easy) == ZD_OK;
}

static void give_turn(
    struct zd_transfer_pool *pool, struct endpoint *endpoint, struct zd_transfer *transfer)
{
    struct run *run = run_new(pool);
    if (run == NULL) {
        fail_memory(transfer);
        end_soon(transfer);
        return;
    }
    run->transfer = transfer;
    run->endpoint = endpoint;
    transfer->run = run;
    endpoint->n_running++;
    pool->counts.n_started++;
    zd_list_push_back(&pool->running, &run->link);
    if (!begin(pool, run)) {
        put_aside(pool, run);
        fail_memory(transfer);
        end_soon(transfer);
        return;
    }
    watch(pool, transfer->settings->silence_ms);
}

static void give_turns(struct zd_transfer_pool *pool, struct endpoint *endpoint)
{
    while (!zd_list_is_empty(&endpoint->waiting)) {
        struct zd_transfer *first = ZD_CONTAINER(endpoint->waiting.next, struct zd_transfer, link);
        if (endpoint->n_running >= first->settings->connections) {
            return;
        }
        zd_list_remove(&first->link);
        give_turn(pool, endpoint, first);
    }
}

static struct endpoint *endpoint_of(struct zd_transfer_pool *pool, const char *url)
{
    const size_t len = zd_transfer_endpoint_len(url);
    for (struct zd_list *link = pool->endpoints.next; link != &pool->endpoints; link = link->next) {
        struct endpoint *endpoint = ZD_CONTAINER(link, struct endpoint, link);
        if (strncmp(endpoint->url, url, len) == 0 && endpoint->url[len] == '\0') {
            return endpoint;
        }
    }
    struct endpoint *endpoint = zd_alloc_zero(1, sizeof *endpoint);
    if (endpoint != NULL) {
        endpoint->url = zd_strndup(url, len);
    }
    if (endpoint == NULL || endpoint->url == NULL) {
        zd_free(endpoint);
        return NULL;
    }
    zd_list_init(&endpoint->waiting);
    zd_list_push_front(&pool->endpoints, &endpoint->link);
    return endpoint;
}

void zd_transfer_start(struct zd_transfer_pool *pool, struct zd_transfer *transfer)
{
    assert(transfer->settings->connections >= 1 && transfer->settings->silence_ms >= 1);
    transfer->status = ZD_OK;
    transfer->err = (struct zd_error){0};
    transfer->fault = (struct zd_remote_fault){0};
    transfer->bytes = NULL;
    transfer->n_bytes = 0;
    transfer->began_ns = 0;
    transfer->first_ns = 0;
    transfer->link = (struct zd_list){0};
    transfer->pool = pool;
    transfer->run = NULL;
    transfer->is_over = false;
    zd_transfer_head_init(&transfer->head, transfer->field, transfer->n_fields);
    struct endpoint *endpoint = endpoint_of(pool, transfer->url);
    if (endpoint == NULL) {
        fail_memory(transfer);
        end_soon(transfer);
        return;
    }
    zd_list_push_back(&endpoint->waiting, &transfer->link);
    give_turns(pool, endpoint);
}

void zd_transfer_cancel(struct zd_transfer *transfer)
{
    if (transfer->is_over) {
        return;
    }
    fail(transfer, ZD_CANCELLED, ZD_REMOTE_FAULT_NONE, "cancelled before the store had answered");
    if (transfer->run != NULL) {
        stop(transfer->run);
    } else {
        end_soon(transfer);
    }
}

/* ---- the pool ---- */

static enum zd_status pool_new(
    uv_loop_t *loop, struct zd_transfer_pool **ret_pool, struct zd_error *err)
{
    struct zd_transfer_pool *pool = zd_alloc_zero(1, sizeof *pool);
    if (pool == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for connections to remote stores");
    }
    const enum zd_status status = zd_multi_open(loop, on_over, pool, &pool->multi, err);
    if (status != ZD_OK) {
        zd_free(pool);
        return status;
    }
    zd_list_init(&pool->endpoints);
    zd_list_init(&pool->running);
    zd_list_init(&pool->spare);
    zd_list_init(&pool->over);
    (void)uv_timer_init(loop, &pool->soon);
    (void)uv_timer_init(loop, &pool->watch);
    pool->soon.data = pool;
    pool->watch.data = pool;
    pool->n_handles = 2;
    *ret_pool = pool;
    return ZD_OK;
}

enum zd_status zd_transfer_pool_take(
    struct zd_transfer_pool **shared, uv_loop_t *loop, struct zd_error *err)
{
    if (*shared == NULL) {
        ZD_TRY(pool_new(loop, shared, err));
    }
    (*shared)->n_users++;
    return ZD_OK;
}

static void on_closed(uv_handle_t *handle)
{
    struct zd_transfer_pool *pool = handle->data;
    if (--pool->n_handles == 0) {
        zd_free(pool);
    }
}

void zd_transfer_pool_leave(struct zd_transfer_pool **shared)
{
    struct zd_transfer_pool *pool = *shared;
    if (--pool->n_users > 0) {
        return;
    }
    assert(zd_list_is_empty(&pool->running) && zd_list_is_empty(&pool->over));
    *shared = NULL;
    for (struct zd_list *link; (link = zd_list_pop_front(&pool->spare)) != NULL;) {
        free_run(ZD_CONTAINER(link, struct run, link));
    }
    for (struct zd_list *link; (link = zd_list_pop_front(&pool->endpoints)) != NULL;) {
        struct endpoint *endpoint = ZD_CONTAINER(link, struct endpoint, link);
        zd_free(endpoint->url);
        zd_free(endpoint);
    }
    zd_multi_close(pool->multi);
    uv_close((uv_handle_t *)&pool->soon, on_closed);
    uv_close((uv_handle_t *)&pool->watch, on_closed);
}

struct zd_transfer_counts zd_transfer_pool_counts(const struct zd_transfer_pool *pool)
{
    return pool->counts;
}
