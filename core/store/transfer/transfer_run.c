/* A transfer that has its turn: a handle of libcurl and what has come so far. */
#include "core/store/transfer/transfer_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/aside.h"
#include "core/base/num.h"
#include "core/store/remote/remote.h"
#include "core/store/transfer/transfer_host.h"

#define HEAD_BYTES_MAX (64U << 10)
#define RECEIVE_BYTES  (64L << 10) /* at a time */
#define GROW_BYTES     (16U << 10) /* the first of a body whose length is not said */
#define DRAIN_BYTES    (64U << 10) /* more than this is not waited for to keep a connection */
#define PROGRESS_BYTES 1024        /* fewer, in all the time that a store may be silent, are none */
#define HOST_SHOWN_MAX 100

static bool is_success(const struct zd_transfer *transfer)
{
    return transfer->head.code >= 200 && transfer->head.code < 300;
}

static bool is_redirect(const struct zd_transfer_run *run)
{
    const uint32_t code = run->transfer->head.code;
    return run->transfer->redirects_max > 0 &&
           (code == 301 || code == 302 || code == 303 || code == 307 || code == 308);
}

void zd_transfer_run_fail(struct zd_transfer *transfer, enum zd_status status,
    enum zd_remote_fault_kind kind, const char *text)
{
    transfer->fault.kind = (uint8_t)kind;
    transfer->status = zd_fail(&transfer->err, status, "%s", text);
}

void zd_transfer_run_fail_memory(struct zd_transfer *transfer)
{
    zd_transfer_run_fail(
        transfer, ZD_NO_MEMORY, ZD_REMOTE_FAULT_NONE, "no memory for a request to the store");
}

/* ---- what has come ---- */

static void hear(struct zd_transfer_run *run, size_t n_bytes)
{
    struct zd_transfer *transfer = run->transfer;
    run->fresh_bytes += n_bytes;
    if (transfer->first_ns == 0 || run->fresh_bytes >= PROGRESS_BYTES) {
        run->fresh_bytes = 0;
        run->heard_ms = uv_now(run->loop);
    }
}

static enum zd_status refuse_length(struct zd_transfer *transfer, uint64_t len)
{
    return zd_fail_limit(&transfer->err, transfer->bytes_max, len,
        "the store's answer has at least %llu bytes; the limit is %zu", (unsigned long long)len,
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
static enum zd_status judge_head(struct zd_transfer_run *run)
{
    struct zd_transfer *transfer = run->transfer;
    run->has_head = true;
    if (transfer->head.has_odd_length) {
        transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
        return zd_fail(
            &transfer->err, ZD_STORE, "the store's answer has a malformed Content-Length");
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
    struct zd_transfer_run *run = context;
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

static enum zd_status reserve(struct zd_transfer_run *run, size_t len)
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
        return zd_fail(&transfer->err, ZD_NO_MEMORY, "no memory for %zu bytes from a store", cap);
    }
    run->bytes = bytes;
    run->cap = cap;
    return ZD_OK;
}

static enum zd_status take_bytes(struct zd_transfer_run *run, struct zd_span bytes)
{
    struct zd_transfer *transfer = run->transfer;
    if (is_success(transfer) && bytes.len > transfer->bytes_max - run->len) {
        return refuse_length(transfer, (uint64_t)run->len + bytes.len);
    }
    if (bytes.len == 0) { /* all of it is passed over */
        return ZD_OK;
    }
    ZD_TRY(reserve(run, bytes.len));
    memcpy(run->bytes + run->len, bytes.ptr, bytes.len);
    run->len += bytes.len;
    return ZD_OK;
}

/* The wanted part of the next bytes of the body. */
static struct zd_span wanted_of(struct zd_transfer_run *run, struct zd_span bytes)
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
    struct zd_transfer_run *run = context;
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
    struct zd_transfer_run *run = context;
    const struct zd_span body = run->transfer->body;
    (void)one;
    const size_t len = (size_t)zd_min_u64(body.len - run->sent_bytes, room);
    if (len > 0) {
        memcpy(data, body.ptr + run->sent_bytes, len);
        run->sent_bytes += len;
    }
    hear(run, len);
    return len;
}

/* libcurl sends once more what a connection that had been closed did not take. */
static int on_seek(void *context, curl_off_t to, int origin)
{
    struct zd_transfer_run *run = context;
    if (origin != SEEK_SET || to < 0 || (uint64_t)to > run->transfer->body.len) {
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
static void fail_code(struct zd_transfer_run *run, CURLcode code)
{
    struct zd_transfer *transfer = run->transfer;
    long number = 0;
    (void)curl_easy_getinfo(run->easy, CURLINFO_OS_ERRNO, &number);
    if (code == CURLE_OUT_OF_MEMORY) {
        zd_transfer_run_fail_memory(transfer);
        return;
    }
    if (code == CURLE_OPERATION_TIMEDOUT) {
        zd_transfer_run_fail(transfer, ZD_TIMEOUT, ZD_REMOTE_FAULT_TIMEOUT,
            "no connection to the store within remote.connect_ms");
        return;
    }
    transfer->fault.kind = (uint8_t)kind_of(code);
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
        transfer->status = zd_fail(&transfer->err, ZD_STORE, "%s" ZD_ASIDE("%s%s"),
            curl_easy_strerror(code), run->word[0] == '\0' ? "" : ": ", run->word);
        return;
    }
    const bool has_cause = code == CURLE_COULDNT_CONNECT && number > 0;
    transfer->status = zd_fail(&transfer->err, ZD_STORE, "%s%s%s", curl_easy_strerror(code),
        has_cause ? ": " : "", has_cause ? strerror((int)number) : "");
}

static void give_bytes(struct zd_transfer_run *run)
{
    struct zd_transfer *transfer = run->transfer;
    if (run->len < run->cap) {
        uint8_t *bytes = zd_realloc(run->bytes, run->len);
        run->bytes = bytes == NULL ? run->bytes : bytes;
    }
    if (run->bytes == NULL) {
        run->bytes = zd_alloc(1);
    }
    transfer->bytes = run->bytes == NULL ? NULL : zd_buf_take(run->bytes, run->len);
    if (transfer->bytes == NULL) {
        zd_transfer_run_fail_memory(transfer);
        return;
    }
    run->bytes = NULL;
    transfer->status = ZD_OK;
}

void zd_transfer_run_note(struct zd_transfer_run *run)
{
    struct zd_transfer *transfer = run->transfer;
    long n_connected = 0;
    long request_bytes = 0;
    (void)curl_easy_getinfo(run->easy, CURLINFO_NUM_CONNECTS, &n_connected);
    (void)curl_easy_getinfo(run->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    *run->n_connected += n_connected > 0 ? (uint64_t)n_connected : 0;
    transfer->fault.was_begun = transfer->method != ZD_TRANSFER_GET &&
                                transfer->method != ZD_TRANSFER_HEAD && request_bytes > 0;
}

void zd_transfer_run_settle(struct zd_transfer_run *run, CURLcode code)
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

/* ---- where to ---- */

/* Every URL that libcurl is given passes here, so that no client of the program asks a near host
 * through the proxy of the environment. */
static void set_url(struct zd_transfer_run *run, const char *url)
{
    const bool is_direct = run->transfer->is_direct || zd_transfer_host_is_near(url);
    (void)curl_easy_setopt(run->easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(run->easy, CURLOPT_NOPROXY, is_direct ? "*" : NULL);
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
static enum zd_status judge_redirect(struct zd_transfer_run *run, const char *url)
{
    struct zd_transfer *transfer = run->transfer;
    const uint32_t code = transfer->head.code;
    transfer->fault.kind = ZD_REMOTE_FAULT_BROKEN;
    if (url == NULL) {
        return zd_fail(
            &transfer->err, ZD_STORE, "the store redirected (%u) without a Location", code);
    }
    if (run->n_redirects >= transfer->redirects_max) {
        return zd_fail(&transfer->err, ZD_STORE, "the store redirected more than %u times",
            transfer->redirects_max);
    }
    if (!is_within(url, run->endpoint)) {
        const size_t len = zd_transfer_endpoint_len(url);
        const bool is_shown = len <= HOST_SHOWN_MAX && memchr(url, '@', len) == NULL;
        return zd_fail(&transfer->err, ZD_STORE,
            "the store redirected (%u)" ZD_ASIDE(
                " to %.*s") "; only the host of the location" ZD_ASIDE(" (%s)") " may be contacted",
            code, is_shown ? (int)len : 12, is_shown ? url : "another host", run->endpoint);
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
bool zd_transfer_run_follow(struct zd_transfer_run *run, CURLcode code)
{
    if (code != CURLE_OK || !is_redirect(run)) {
        return false;
    }
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
    zd_transfer_run_note(run);
    run->n_redirects++;
    run->has_head = false;
    run->head_bytes = 0;
    zd_text_clear(&run->followed);
    const bool fits = zd_text_add(&run->followed, url) == ZD_OK;
    set_url(run, run->followed.at);
    if (!fits || zd_curl_loop_add(run->multi, run->easy) != ZD_OK) {
        run->head_status = zd_fail(&transfer->err, ZD_NO_MEMORY, "no memory for a redirection");
        return false;
    }
    return true;
}

/* ---- its beginning and its end ---- */

static bool add_header(struct zd_transfer_run *run, const char *line)
{
    struct curl_slist *longer = curl_slist_append(run->headers, line);
    run->headers = longer == NULL ? run->headers : longer;
    return longer != NULL;
}

/* Before libcurl sends a body, it would ask for permission and wait for it up to a second: few
 * stores answer that. */
static bool set_headers(struct zd_transfer_run *run)
{
    const struct zd_transfer *transfer = run->transfer;
    const char *const *line = transfer->headers;
    bool fits = transfer->body.len == 0 || add_header(run, "Expect:");
    while (fits && line != NULL && *line != NULL) {
        fits = add_header(run, *line++);
    }
    (void)curl_easy_setopt(run->easy, CURLOPT_HTTPHEADER, run->headers);
    (void)curl_easy_setopt(run->easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    return fits;
}

static void set_method(struct zd_transfer_run *run)
{
    const struct zd_transfer *transfer = run->transfer;
    const enum zd_transfer_method method = transfer->method;
    if (method == ZD_TRANSFER_PUT || method == ZD_TRANSFER_POST) {
        (void)curl_easy_setopt(run->easy, CURLOPT_UPLOAD, 1L);
        (void)curl_easy_setopt(run->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)transfer->body.len);
        (void)curl_easy_setopt(run->easy, CURLOPT_READFUNCTION, on_send);
        (void)curl_easy_setopt(run->easy, CURLOPT_READDATA, run);
        (void)curl_easy_setopt(run->easy, CURLOPT_SEEKFUNCTION, on_seek);
        (void)curl_easy_setopt(run->easy, CURLOPT_SEEKDATA, run);
    } else if (method == ZD_TRANSFER_HEAD) {
        (void)curl_easy_setopt(run->easy, CURLOPT_NOBODY, 1L);
    }
    if (method != ZD_TRANSFER_GET && method != ZD_TRANSFER_HEAD) {
        (void)curl_easy_setopt(
            run->easy, CURLOPT_CUSTOMREQUEST, zd_transfer_exchange_method_name(method));
    }
}

static void set_trust(struct zd_transfer_run *run)
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

static void set_limits(struct zd_transfer_run *run)
{
    const struct zd_transfer *transfer = run->transfer;
    CURL *easy = run->easy;
    set_url(run, transfer->url);
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
}

static void set_callbacks(struct zd_transfer_run *run)
{
    CURL *easy = run->easy;
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, run);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, run->word);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head_line);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, run);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, run);
}

bool zd_transfer_run_begin(struct zd_transfer_run *run)
{
    struct zd_transfer *transfer = run->transfer;
    zd_text_init(&run->followed, HEAD_BYTES_MAX);
    transfer->began_ns = uv_hrtime();
    run->heard_ms = uv_now(run->loop);
    set_limits(run);
    set_trust(run);
    set_callbacks(run);
    set_method(run);
    return set_headers(run) && zd_curl_loop_add(run->multi, run->easy) == ZD_OK;
}

bool zd_transfer_run_is_connected(const struct zd_transfer_run *run)
{
    curl_off_t us = 0;
    (void)curl_easy_getinfo(run->easy, CURLINFO_PRETRANSFER_TIME_T, &us);
    return us > 0;
}

struct zd_transfer_run *zd_transfer_run_new(void)
{
    struct zd_transfer_run *run = zd_alloc_zero(1, sizeof *run);
    if (run != NULL) {
        run->easy = curl_easy_init();
    }
    if (run == NULL || run->easy == NULL) {
        zd_transfer_run_free(run);
        return NULL;
    }
    return run;
}

void zd_transfer_run_free(struct zd_transfer_run *run)
{
    if (run != NULL) {
        curl_easy_cleanup(run->easy);
        curl_slist_free_all(run->headers);
        zd_text_done(&run->followed);
        zd_free(run->bytes);
        zd_free(run);
    }
}

/* Its handle is reset: libcurl counts dead connections in it, and gives up after five of them. */
void zd_transfer_run_clear(struct zd_transfer_run *run)
{
    curl_easy_reset(run->easy);
    curl_slist_free_all(run->headers);
    zd_text_done(&run->followed);
    zd_free(run->bytes);
    *run = (struct zd_transfer_run){.easy = run->easy};
}
