/* The store of HTTP: a key is a path below a URL. Only read.
 *
 *     zd_store_read, _status   http_bytes     every answer is judged by its head (http_answer)
 *     zd_store_list            http_listing   the index of a directory (http_index)
 *
 * Both make requests (http_task) by transfers of the loop's pool. Absence is 404 and 410, and
 * nothing else. */
#include <string.h>

#include "core/base/hash.h"
#include "core/store/contract/store_impl.h"
#include "core/store/http/http_bytes.h"
#include "core/store/http/http_listing.h"
#include "core/store/http/http_task.h"
#include "core/store/remote/remote.h"
#include "core/base/secret_file.h"

static void http_cancel(struct zd_store *store, struct zd_store_op *op)
{
    struct zd_http_task *task = op->private_state;
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
        zd_fail(&write->op.err, ZD_READ_ONLY, "%s: HTTP stores are read-only", write->key);
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

static enum zd_status judge_file(const struct zd_json *options, struct zd_error *err)
{
    const char *file = zd_json_string(zd_json_member(options, "headers_file"));
    return file == NULL ? ZD_OK : zd_secret_file_judge("headers_file", file, err);
}

static enum zd_status http_judge(
    const char *location, const struct zd_json *options, struct zd_error *err)
{
    ZD_AUTO_TEXT url = NULL;
    ZD_TRY(zd_http_location_parse(location, &url, err));
    return judge_file(options, err);
}

static enum zd_status http_find_place_now(const char *location, uint64_t *ret_place)
{
    return http_find_place(location, ret_place, NULL) == ZD_OK ? ZD_OK : ZD_AGAIN;
}

static void http_close(struct zd_store *store)
{
    struct zd_http_store *http = zd_http_task_store(store);
    if (http->remote != NULL) {
        zd_transfer_pool_leave(&http->remote->pool);
    }
    zd_http_location_free_headers(&http->headers);
    zd_http_task_free_tags(http);
    zd_free(http->url);
    zd_free(store->location);
    zd_free(http);
}

static enum zd_status read_options(
    struct zd_http_store *http, const struct zd_json *options, struct zd_error *err)
{
    const char *file = zd_json_string(zd_json_member(options, "headers_file"));
    const char *word = zd_json_string(zd_json_member(options, "store_403"));
    http->absent_403 = word != NULL && strcmp(word, "absent") == 0;
    return file == NULL ? ZD_OK : zd_http_location_read_headers(file, &http->headers, err);
}

static enum zd_status open_http(
    struct zd_http_store *http, const struct zd_store_config *config, struct zd_error *err)
{
    ZD_TRY(zd_http_location_parse(config->location, &http->url, err));
    ZD_TRY(judge_file(config->options, err));
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
    if (config->remote == NULL) {
        return zd_fail(err, ZD_UNSUPPORTED, "remote stores cannot be opened here");
    }
    struct zd_http_store *http = zd_alloc_zero(1, sizeof *http);
    if (http == NULL || zd_store_init(&http->store, config) != ZD_OK) {
        zd_free(http);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for an HTTP store");
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
    .meaning = "objects below an HTTP(S) URL (read-only)",
    .is_remote = true,
    .is_read_only = true,
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"headers_file\":{\"type\":\"string\",\"minLength\":1},"
              "\"store_403\":{\"enum\":[\"error\",\"absent\"]},"
              "\"absent_ms\":{\"type\":\"integer\",\"minimum\":0}},"
              "\"additionalProperties\":false}",
    .judge = http_judge,
    .default_revalidate_ms = ZD_REMOTE_REVALIDATE_MS,
    .open = http_open,
    .close = http_close,
    .find_place = http_find_place,
    .find_place_now = http_find_place_now,
    .read = zd_http_bytes_read,
    .status = zd_http_bytes_status,
    .list = zd_http_listing_start,
    .write = http_write,
    .erase = http_write,
    .discard = http_write,
    .cancel = http_cancel,
};
