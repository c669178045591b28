/* Requests to a bucket: with credentials, signed, and their answers judged.
 *
 *   start -> digest of the body -> credentials? -> sent -> refused? -> done
 *                                   |    ^                  |
 *                                   search <----------------+  once a call
 */
#include "core/store/s3/s3_access.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/num.h"
#include "core/store/contract/store.h"

#define EMPTY_DIGEST     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define INLINE_BYTES     (16U << 10) /* so many are hashed on the loop */
#define LINES_BYTES_MAX  (32U << 10)
#define SEARCH_AGAIN_MS  1000 /* after the end of one */
#define FETCH_CONNECT_MS 2000
#define FETCH_SILENCE_MS 5000

static int64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

static char *copy_option(const struct zd_json *options, const char *name, bool *ok)
{
    const char *value = zd_json_string(zd_json_member(options, name));
    char *copy = value == NULL ? NULL : zd_strdup(value);
    *ok = *ok && (copy != NULL || value == NULL);
    return copy;
}

enum zd_status zd_s3_access_open(
    const struct zd_store_config *config, struct zd_s3_access *ret_access, struct zd_error *err)
{
    bool ok = true;
    ZD_TRY(zd_s3_bucket_init(config->location, config->options, &ret_access->bucket, err));
    zd_list_init(&ret_access->waiting);
    ret_access->loop = config->loop;
    ret_access->file = copy_option(config->options, "credentials_file", &ok);
    ret_access->profile = copy_option(config->options, "credentials_profile", &ok);
    ret_access->env = copy_option(config->options, "credentials_env", &ok);
    if (!ok) {
        return zd_fail(err, ZD_NO_MEMORY, "%.200s: no memory for the store", config->location);
    }
    ZD_TRY(zd_transfer_pool_take(&config->remote->pool, config->loop, err));
    ret_access->remote = config->remote;
    ret_access->fetch_settings = config->remote->settings;
    ret_access->fetch_settings.connect_ms =
        (uint32_t)zd_min_u64(config->remote->settings.connect_ms, FETCH_CONNECT_MS);
    ret_access->fetch_settings.silence_ms =
        (uint32_t)zd_min_u64(config->remote->settings.silence_ms, FETCH_SILENCE_MS);
    return ZD_OK;
}

void zd_s3_access_close(struct zd_s3_access *access)
{
    if (access->remote != NULL) {
        zd_transfer_pool_leave(&access->remote->pool);
    }
    zd_s3_search_done(&access->search);
    zd_s3_credentials_done(&access->credentials);
    zd_s3_sign_forget(&access->signer);
    zd_s3_bucket_done(&access->bucket);
    zd_free(access->file);
    zd_free(access->profile);
    zd_free(access->env);
    *access = (struct zd_s3_access){0};
}

/* ---- the end of a call ---- */

static void forget_lines(struct zd_s3_call *call)
{
    if (call->lines.cap > 0) {
        zd_s3_sign_wipe(call->lines.at, call->lines.cap);
    }
    zd_text_done(&call->lines);
    zd_text_done(&call->url);
}

static void finish(struct zd_s3_call *call)
{
    forget_lines(call);
    call->done(call);
}

static void no_work(uv_work_t *work)
{
    (void)work;
}

static void after_no_work(uv_work_t *work, int uv_status)
{
    (void)uv_status;
    finish(ZD_CONTAINER(work, struct zd_s3_call, work));
}

/* Its status is set. */
static void finish_later(struct zd_s3_call *call)
{
    const int uv_status = uv_queue_work(call->access->loop, &call->work, no_work, after_no_work);
    assert(uv_status == 0);
    (void)uv_status;
}

static void fail_memory(struct zd_s3_call *call)
{
    call->transfer.status =
        zd_fail(&call->transfer.err, ZD_NO_MEMORY, "no memory for a request to the store");
    finish_later(call);
}

static void fail_cancelled(struct zd_s3_call *call)
{
    call->transfer.status = zd_fail(&call->transfer.err, ZD_CANCELLED, "cancelled");
    finish_later(call);
}

void zd_s3_call_done(struct zd_s3_call *call)
{
    forget_lines(call);
    zd_buf_unref(ZD_TAKE(call->transfer.bytes));
}

struct zd_buf *zd_s3_call_take_bytes(struct zd_s3_call *call)
{
    return ZD_TAKE(call->transfer.bytes);
}

/* ---- sending ---- */

static void want_credentials(struct zd_s3_call *call);

/* Whether only other credentials can help. */
static bool is_refusal(const struct zd_s3_call *call)
{
    const uint32_t code = call->transfer.head.code;
    return code == 401 || code == 403 || strcmp(call->code, "ExpiredToken") == 0 ||
           strcmp(call->code, "InvalidToken") == 0 ||
           strcmp(call->code, "InvalidAccessKeyId") == 0 ||
           strcmp(call->code, "TokenRefreshRequired") == 0;
}

static bool may_search(const struct zd_s3_access *access)
{
    return !access->has_searched || uv_now(access->loop) - access->searched_ms >= SEARCH_AGAIN_MS;
}

/* @return whether the call begins again */
static bool repeat(struct zd_s3_call *call)
{
    struct zd_s3_access *access = call->access;
    const bool is_skewed = strcmp(call->code, "RequestTimeTooSkewed") == 0;
    if (call->is_again || call->is_cancelled || access->bucket.is_anonymous ||
        call->transfer.status != ZD_OK || (!is_skewed && !is_refusal(call))) {
        return false;
    }
    if (is_skewed && call->transfer.head.date_ms != 0) {
        access->skew_s = call->transfer.head.date_ms / 1000 - now_s();
    } else if (is_skewed || !(access->is_searching || may_search(access))) {
        return false;
    } else {
        access->credentials.refresh_s = INT64_MIN;
        access->credentials.expires_s = INT64_MIN;
    }
    call->is_again = true;
    return true;
}

static void sent(struct zd_transfer *transfer)
{
    struct zd_s3_call *call = ZD_CONTAINER(transfer, struct zd_s3_call, transfer);
    const uint32_t code = transfer->head.code;
    call->is_sent = false;
    if (transfer->status == ZD_OK && code >= 300 && transfer->bytes != NULL) {
        zd_s3_xml_error(zd_buf_span(transfer->bytes), call->code);
    }
    if (!repeat(call)) {
        finish(call);
        return;
    }
    zd_s3_call_done(call);
    want_credentials(call);
}

static enum zd_status on_head(struct zd_transfer *transfer)
{
    struct zd_s3_call *call = ZD_CONTAINER(transfer, struct zd_s3_call, transfer);
    return call->on_head(call);
}

static enum zd_status compose_url(
    struct zd_s3_call *call, struct zd_text *path, struct zd_text *query)
{
    const struct zd_s3_bucket *bucket = &call->access->bucket;
    zd_s3_bucket_add_path(bucket, call->key, path);
    if (call->whole_query != NULL) {
        zd_text_add(query, call->whole_query);
    } else {
        zd_s3_sign_add_query(query, call->query, call->n_query);
    }
    zd_text_addf(
        &call->url, "%s%s%s%s", bucket->origin, path->at, query->len == 0 ? "" : "?", query->at);
    ZD_TRY(path->status);
    ZD_TRY(query->status);
    return call->url.status;
}

static enum zd_status sign(struct zd_s3_call *call, const char *path, const char *query)
{
    static const char *const methods[] = {
        [ZD_TRANSFER_GET] = "GET",
        [ZD_TRANSFER_HEAD] = "HEAD",
        [ZD_TRANSFER_PUT] = "PUT",
        [ZD_TRANSFER_POST] = "POST",
        [ZD_TRANSFER_DELETE] = "DELETE",
    };
    struct zd_s3_access *access = call->access;
    const struct zd_s3_identity identity = {
        .access_key_id = access->credentials.access_key_id,
        .secret_access_key = access->credentials.secret_access_key,
        .session_token = access->credentials.session_token,
    };
    const struct zd_s3_signing signing = {
        .method = methods[call->method],
        .host = access->bucket.host,
        .path = path,
        .query = query,
        .header = call->header,
        .n_headers = call->n_headers,
        .payload_digest = call->digest,
        .region = access->bucket.region,
        .now_s = now_s() + access->skew_s,
    };
    return zd_s3_sign(&access->signer, &identity, &signing, &call->lines);
}

/* The lines of one text as a list. */
static void split_lines(struct zd_s3_call *call)
{
    size_t n = 0;
    for (char *at = call->lines.at; *at != '\0' && n < ZD_S3_LINES_MAX; n++) {
        char *end = strchr(at, '\n');
        call->headers[n] = at;
        *end = '\0';
        at = end + 1;
    }
    call->headers[n] = NULL;
}

static enum zd_status compose(struct zd_s3_call *call)
{
    ZD_SCOPED_TEXT(path, ZD_S3_URL_BYTES_MAX);
    ZD_SCOPED_TEXT(query, ZD_S3_URL_BYTES_MAX);
    zd_text_init(&call->url, (size_t)2 * ZD_S3_URL_BYTES_MAX);
    zd_text_init(&call->lines, LINES_BYTES_MAX);
    ZD_TRY(compose_url(call, &path, &query));
    for (size_t i = 0; i < call->n_headers; i++) {
        zd_text_addf(&call->lines, "%s: %s\n", call->header[i].name, call->header[i].value);
    }
    if (call->traceparent != NULL && call->traceparent[0] != '\0') {
        zd_text_addf(&call->lines, "traceparent: %s\n", call->traceparent);
    }
    ZD_TRY(call->lines.status);
    if (!call->access->bucket.is_anonymous) {
        ZD_TRY(sign(call, path.at, query.at));
    }
    split_lines(call);
    return ZD_OK;
}

static void transmit(struct zd_s3_call *call)
{
    struct zd_s3_access *access = call->access;
    if (call->is_cancelled) {
        fail_cancelled(call);
        return;
    }
    const enum zd_status status = compose(call);
    if (status != ZD_OK) {
        call->transfer.status =
            zd_fail(&call->transfer.err, status == ZD_NO_MEMORY ? ZD_NO_MEMORY : ZD_STORE,
                status == ZD_NO_MEMORY ? "no memory for a request to the store"
                                       : "the request to the store is too long");
        finish_later(call);
        return;
    }
    call->code[0] = '\0';
    call->field[ZD_S3_FIELD_REGION] = (struct zd_transfer_field){.name = "x-amz-bucket-region"};
    call->field[ZD_S3_FIELD_REQUEST] = (struct zd_transfer_field){.name = "x-amz-request-id"};
    call->transfer = (struct zd_transfer){
        .settings = &access->remote->settings,
        .method = call->method,
        .url = call->url.at,
        .headers = call->headers,
        .body = call->body,
        .bytes_max = call->bytes_max,
        .field = call->field,
        .n_fields = ZD_S3_FIELDS,
        .on_head = call->on_head == NULL ? NULL : on_head,
        .done = sent,
    };
    call->is_sent = true;
    zd_transfer_start(access->remote->pool, &call->transfer);
}

/* ---- credentials ---- */

static bool has_credentials(const struct zd_s3_access *access)
{
    return access->credentials.access_key_id != NULL && now_s() < access->credentials.expires_s;
}

static bool search_is_due(const struct zd_s3_access *access)
{
    return now_s() >= access->credentials.refresh_s && may_search(access);
}

/* All operations that waited go on, with credentials or without. */
static void end_search(struct zd_s3_access *access)
{
    struct zd_list ready;
    access->is_searching = false;
    access->has_searched = true;
    access->searched_ms = uv_now(access->loop);
    if (access->status == ZD_OK) {
        zd_s3_credentials_done(&access->credentials);
        access->credentials = access->search.found;
        access->search.found = (struct zd_s3_credentials){0};
        zd_s3_sign_forget(&access->signer);
    }
    zd_s3_search_done(&access->search);
    zd_list_take_all(&access->waiting, &ready);
    for (struct zd_list *link; (link = zd_list_pop_front(&ready)) != NULL;) {
        struct zd_s3_call *call = ZD_CONTAINER(link, struct zd_s3_call, link);
        if (call->is_cancelled || has_credentials(access)) {
            transmit(call);
            continue;
        }
        call->transfer.status = access->status == ZD_OK ? ZD_STORE : access->status;
        call->transfer.err = access->err;
        call->transfer.fault = access->fault;
        finish_later(call);
    }
}

static bool somebody_waits(const struct zd_s3_access *access)
{
    const struct zd_list *head = &access->waiting;
    for (const struct zd_list *link = head->next; link != head; link = link->next) {
        if (!ZD_CONTAINER(link, struct zd_s3_call, link)->is_cancelled) {
            return true;
        }
    }
    return false;
}

static void fetched(struct zd_transfer *fetch);

/* The search has said what is next. */
static void go_on(struct zd_s3_access *access)
{
    struct zd_s3_search *search = &access->search;
    if (access->status == ZD_OK && !somebody_waits(access)) {
        access->status = zd_fail(&access->err, ZD_CANCELLED, "credentials are no longer wanted");
    }
    if (access->status != ZD_OK || search->fetch == ZD_S3_FETCH_NONE) {
        end_search(access);
        return;
    }
    access->fetch_header[0] = search->header;
    access->fetch_header[1] = NULL;
    access->fetch = (struct zd_transfer){
        .settings = &access->fetch_settings,
        .method = search->fetch == ZD_S3_FETCH_IDENTITY  ? ZD_TRANSFER_POST
                  : search->fetch == ZD_S3_FETCH_SESSION ? ZD_TRANSFER_PUT
                                                         : ZD_TRANSFER_GET,
        .url = search->url,
        .headers = access->fetch_header,
        .body = search->body == NULL ? (struct zd_span){0} : zd_buf_span(search->body),
        .bytes_max = ZD_S3_ANSWER_BYTES_MAX,
        .is_direct = search->fetch != ZD_S3_FETCH_IDENTITY,
        .done = fetched,
    };
    access->is_fetching = true;
    zd_transfer_start(access->remote->pool, &access->fetch);
}

static void fetched(struct zd_transfer *fetch)
{
    struct zd_s3_access *access = ZD_CONTAINER(fetch, struct zd_s3_access, fetch);
    ZD_AUTO(zd_buf) bytes = ZD_TAKE(fetch->bytes);
    access->is_fetching = false;
    if (fetch->status == ZD_OK) {
        access->status = zd_s3_search_answer(
            &access->search, fetch->head.code, zd_buf_span(bytes), now_s(), &access->err);
        access->fault.kind = (uint8_t)(fetch->head.code >= 500 ? ZD_REMOTE_FAULT_RETRYABLE
                                                               : ZD_REMOTE_FAULT_REFUSED);
    } else {
        access->status = zd_fail(&access->err, fetch->status, "credentials: %s", fetch->err.text);
        access->fault = fetch->fault;
    }
    if (bytes != NULL) {
        zd_s3_sign_wipe(bytes->data, bytes->len);
    }
    go_on(access);
}

static void work_search(uv_work_t *work)
{
    struct zd_s3_access *access = ZD_CONTAINER(work, struct zd_s3_access, work);
    const struct zd_s3_credentials_options options = {
        .file = access->file,
        .profile = access->profile,
        .env = access->env,
        .region = access->bucket.region,
    };
    access->status = zd_s3_search_begin(&options, &access->search, &access->err);
}

static void after_search(uv_work_t *work, int uv_status)
{
    struct zd_s3_access *access = ZD_CONTAINER(work, struct zd_s3_access, work);
    if (uv_status == UV_ECANCELED) {
        access->status = zd_fail(&access->err, ZD_CANCELLED, "cancelled before it started");
    }
    access->fault = (struct zd_remote_fault){.kind = ZD_REMOTE_FAULT_REFUSED};
    go_on(access);
}

static void want_credentials(struct zd_s3_call *call)
{
    struct zd_s3_access *access = call->access;
    if (access->bucket.is_anonymous ||
        (has_credentials(access) && !access->is_searching && !search_is_due(access))) {
        transmit(call);
        return;
    }
    zd_list_push_back(&access->waiting, &call->link);
    if (!access->is_searching) {
        access->is_searching = true;
        const int uv_status = uv_queue_work(access->loop, &access->work, work_search, after_search);
        assert(uv_status == 0);
        (void)uv_status;
    }
}

/* ---- the beginning of a call ---- */

static void work_digest(uv_work_t *work)
{
    struct zd_s3_call *call = ZD_CONTAINER(work, struct zd_s3_call, work);
    if (zd_s3_sign_digest(call->body, call->digest) != ZD_OK) {
        call->digest[0] = '\0';
    }
}

static void after_digest(uv_work_t *work, int uv_status)
{
    struct zd_s3_call *call = ZD_CONTAINER(work, struct zd_s3_call, work);
    if (uv_status == UV_ECANCELED || call->is_cancelled) {
        fail_cancelled(call);
    } else if (call->digest[0] == '\0') {
        fail_memory(call);
    } else {
        want_credentials(call);
    }
}

void zd_s3_call_start(struct zd_s3_access *access, struct zd_s3_call *call)
{
    const size_t len = call->body.len;
    call->access = access;
    call->transfer = (struct zd_transfer){0};
    call->code[0] = '\0';
    call->link = (struct zd_list){0};
    call->is_sent = false;
    call->is_cancelled = false;
    call->is_again = false;
    zd_text_init(&call->url, 0);
    zd_text_init(&call->lines, 0);
    if (len > INLINE_BYTES && !access->bucket.is_anonymous) {
        const int uv_status = uv_queue_work(access->loop, &call->work, work_digest, after_digest);
        assert(uv_status == 0);
        (void)uv_status;
        return;
    }
    (void)snprintf(call->digest, sizeof call->digest, "%s", EMPTY_DIGEST);
    if (len > 0 && zd_s3_sign_digest(call->body, call->digest) != ZD_OK) {
        fail_memory(call);
        return;
    }
    want_credentials(call);
}

void zd_s3_call_cancel(struct zd_s3_call *call)
{
    struct zd_s3_access *access = call->access;
    call->is_cancelled = true;
    if (call->is_sent) {
        zd_transfer_cancel(&call->transfer);
    } else if (access->is_fetching && !somebody_waits(access)) {
        zd_transfer_cancel(&access->fetch);
    }
}
