/* Directories of stored keys, as HTML indexes.
 *
 * An index that is longer than WHOLE_INDEX_BYTES is streamed, without a tag: a directory of any
 * size takes no more memory. */
#include "server/handler/key_index.h"

#include <stdio.h>

#include "core/base/hash.h"
#include "server/data/key_list.h"
#include "server/http/escape.h"
#include "server/http/html.h"
#include "server/request/admit.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define INDEX_PAGE 250 /* entries added in one turn of the loop */
#define INDEX_BYTES                                                                                \
    (INDEX_PAGE * UINT64_C(2048)) /* of a page: names of 255 bytes, as text and in links */

#define WHOLE_INDEX_BYTES (256U << 10)
#define INDEX_END         "</pre></body></html>\n"

struct index {
    struct zd_key_list list;
    bool is_streamed;
    struct zd_text page;
    struct zd_hash hash; /* of the pages so far */
    size_t n_hashed;     /* bytes */
};

static struct index *index_of(const struct zd_request *req)
{
    return req->state;
}

static void state_free(struct zd_request *req)
{
    struct index *index = index_of(req);
    zd_key_list_release(&index->list);
    zd_text_done(&index->page);
    zd_free(index);
}

enum zd_next zd_key_index_missing(struct zd_request *req, uint64_t checked_ms)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_NOT_FOUND, "dataset '%s' has no key '%.256s'",
        req->dataset->config.name, req->path);
    const struct zd_problem problem = {
        .code = "key_not_found",
        .err = &err,
        .keep_until_ms = checked_ms == 0 ? 0 : zd_dataset_trusts_until(req->dataset, checked_ms),
    };
    return zd_respond_problem(req, &problem);
}

/* ---- the page ---- */

static void add_title(const struct zd_request *req, struct zd_text *page)
{
    zd_text_add(page, "Index of /zarr/");
    zd_text_add(page, req->dataset->config.name);
    zd_text_add(page, "/");
    if (req->path[0] != '\0') {
        zd_escape_html(page, req->path);
        zd_text_add(page, "/");
    }
}

/* The form of index that fsspec, GDAL, neuroglancer and N5 all read. */
static void begin_page(const struct zd_request *req, struct zd_text *page)
{
    zd_text_add(page, "<!doctype html><html><head><title>");
    add_title(req, page);
    zd_text_add(page, "</title></head><body>\n<h1>");
    add_title(req, page);
    zd_text_add(page, "</h1><pre><a href=\"../\">../</a>\n");
}

static void add_entry(struct zd_text *page, const struct zd_store_entry *entry)
{
    const char *slash = entry->is_prefix ? "/" : "";
    zd_text_add(page, "<a href=\"");
    (void)zd_escape_percent_encode(zd_span_of(entry->name), page);
    zd_text_add(page, slash);
    zd_text_add(page, "\">");
    zd_escape_html(page, entry->name);
    zd_text_add(page, slash);
    zd_text_add(page, "</a>\n");
}

/* Takes the lines that were added to the index since the last time. */
static void hash_page(struct index *index)
{
    const struct zd_span page = zd_text_span(&index->page);
    zd_hash_add(&index->hash,
        (struct zd_span){.ptr = page.ptr + index->n_hashed, .len = page.len - index->n_hashed});
    index->n_hashed = page.len;
}

static enum zd_next respond_page(struct zd_request *req)
{
    struct zd_text *page = &index_of(req)->page;
    zd_text_add(page, INDEX_END);
    ZD_AUTO(zd_buf) body = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_text_buf(page, &body);
    if (status != ZD_OK) {
        err.status = zd_fail(&err, status, "the index has more than %zu bytes", page->len_max);
        zd_fact_limit(&err, page->len_max, page->len);
        return zd_respond_error(req, NULL, &err);
    }
    hash_page(index_of(req));
    struct zd_representation representation = {
        .media_type = ZD_HTML_TYPE,
        .body = body,
    };
    zd_tag_format(representation.etag, index_of(req)->hash.value, "index");
    return zd_respond(req, &representation);
}

/* ---- a long index ---- */

static zd_step step_listed;

static enum zd_next list_on(struct zd_request *req)
{
    req->step = step_listed;
    zd_key_list_next(&index_of(req)->list);
    return ZD_WAIT;
}

/* Sends the lines of the index that are there. The head leaves with the first piece. */
static enum zd_next step_give(struct zd_request *req)
{
    struct index *index = index_of(req);
    const struct zd_representation answer = {.media_type = ZD_HTML_TYPE};
    struct zd_buf *piece = NULL;
    req->step = step_give;
    if (zd_request_want_room(req, index->page.len) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (!zd_stream_is_open(&req->stream) && zd_respond_stream(req, &answer) == ZD_DONE) {
        return ZD_DONE;
    }
    if (zd_text_buf(&index->page, &piece) != ZD_OK) {
        return zd_respond_no_memory(req, "an index");
    }
    zd_text_clear(&index->page);
    zd_request_give(req, piece, 0, piece->len);
    return index->list.list == NULL ? zd_request_end_stream(req) : list_on(req);
}

/* Judges the conditions of an answer without a tag. */
static enum zd_next step_stream(struct zd_request *req)
{
    struct zd_representation answer = {.media_type = ZD_HTML_TYPE};
    switch (zd_respond_condition(req, &answer)) {
    case ZD_NOT_MODIFIED:
        return zd_respond_not_modified(req, &answer);
    case ZD_PRECONDITION:
        return zd_respond_precondition(req, answer.etag);
    default:
        break;
    }
    if (req->is_head) {
        return zd_respond(req, &answer);
    }
    index_of(req)->is_streamed = true;
    zd_stream_init(&req->stream, 2 * INDEX_BYTES);
    return step_give(req);
}

static enum zd_next give_index(struct zd_request *req)
{
    const uint64_t bytes = zd_admit_stream_bytes(req, 4 * INDEX_BYTES);
    return index_of(req)->is_streamed ? step_give(req)
                                      : zd_admit_want_locked(req, bytes, step_stream, step_stream);
}

static enum zd_next end_page(struct zd_request *req)
{
    struct index *index = index_of(req);
    zd_key_list_release(&index->list);
    if (!index->is_streamed) {
        return respond_page(req);
    }
    zd_text_add(&index->page, INDEX_END);
    return step_give(req);
}

static enum zd_next step_listed(struct zd_request *req)
{
    struct index *index = index_of(req);
    const enum zd_status status = index->list.wait.status;
    const bool is_root = req->path[0] == '\0';
    if (status == ZD_NOT_FOUND && !is_root) {
        return zd_key_index_missing(req, 0);
    }
    if (status == ZD_NOT_FOUND) {
        return respond_page(req); /* nothing is stored yet */
    }
    if (status != ZD_OK) {
        return zd_respond_error(req, NULL, &index->list.wait.err);
    }
    const struct zd_store_list *list = index->list.list;
    for (size_t i = 0; i < list->n_entries; i++) {
        add_entry(&index->page, &list->entry[i]);
    }
    if (index->page.status != ZD_OK || !list->has_more || list->n_entries == 0) {
        return end_page(req);
    }
    if (index->is_streamed || index->page.len > WHOLE_INDEX_BYTES) {
        return give_index(req);
    }
    hash_page(index);
    return list_on(req);
}

static enum zd_next step_list(struct zd_request *req)
{
    struct index *index = index_of(req);
    char prefix[ZD_KEY_BYTES_MAX + 2];
    const bool is_root = req->path[0] == '\0';
    (void)snprintf(prefix, sizeof prefix, "%s%s", req->path, is_root ? "" : "/");
    index->list.wait = zd_machine_wait(&req->machine);
    req->step = step_listed;
    return zd_key_list_want(req->dataset, prefix, INDEX_PAGE, &index->list);
}

static enum zd_next step_index(struct zd_request *req)
{
    if (req->path[0] != '\0' && !zd_key_is_valid(req->path)) {
        return zd_key_index_missing(req, 0);
    }
    return zd_admit_want(req, INDEX_BYTES + WHOLE_INDEX_BYTES, step_list);
}

enum zd_next zd_key_index_show(struct zd_request *req)
{
    struct index *index = zd_request_new_state(req, sizeof *index, state_free);
    if (index == NULL) {
        return ZD_DONE;
    }
    zd_text_init(&index->page, req->server->config->settings.limits_tree_bytes);
    begin_page(req, &index->page);
    req->step = step_index;
    return ZD_NEXT;
}
