/* Prepared answers: what they hold, and which requests share one. */
#include "server/front/prepared.h"

#include <microhttpd.h>
#include <string.h>

#include "core/base/num.h"
#include "server/front/response.h"
#include "server/request/handler.h"
#include "server/runtime/server.h"

#define COST_BYTES 2048 /* of one besides its bodies: headers, structures */

void zd_prepared_free(struct zd_cache_entry *entry)
{
    struct zd_prepared *prepared = ZD_CONTAINER(entry, struct zd_prepared, entry);
    for (size_t i = 0; i < ZD_CODINGS; i++) {
        if (prepared->form[i].response != NULL) {
            MHD_destroy_response(prepared->form[i].response);
        }
        zd_buf_unref(prepared->form[i].body);
    }
    zd_free(prepared->key);
    zd_free(prepared->reason);
    zd_free(prepared);
}

struct zd_prepared *zd_prepared_new(const struct zd_request *req)
{
    struct zd_prepared *prepared = zd_alloc_zero(1, sizeof *prepared);
    if (prepared == NULL) {
        return NULL;
    }
    prepared->entry.refs = 1;
    prepared->entry.owner = req->dataset;
    prepared->n_changes = req->n_changes;
    prepared->route = req->route;
    prepared->route_number = req->route_number;
    for (size_t i = 0; i < ZD_CODINGS; i++) {
        zd_list_init(&prepared->form[i].waiters);
    }
    return prepared;
}

void zd_prepared_unref(struct zd_front *front, struct zd_prepared *prepared)
{
    if (prepared != NULL) {
        zd_cache_unref(&front->prepared, &prepared->entry);
    }
}

static size_t cost_of(const struct zd_prepared *prepared)
{
    size_t bytes = COST_BYTES + prepared->entry.map.key.len;
    for (size_t i = 0; i < ZD_CODINGS; i++) {
        bytes += prepared->form[i].body == NULL ? 0 : prepared->form[i].body->len;
    }
    return bytes;
}

void zd_prepared_charge(struct zd_front *front, struct zd_prepared *prepared)
{
    zd_cache_charge(&front->prepared, &prepared->entry, cost_of(prepared));
}

/* ---- the table ---- */

/* Which answers share a key. A target holds neither a space nor a line break. */
struct sharing {
    bool is_part;     /* requests with the same Range */
    bool by_identity; /* requests of the same client */
};

/* A key cut short would be that of other requests. @param ret_key borrowed until the scratch text
 * is used again */
static enum zd_status key_of(
    const struct zd_request *req, struct sharing sharing, struct zd_span *ret_key)
{
    const struct zd_text *target = &zd_front_exchange(req)->memory.target;
    if (!sharing.is_part && !sharing.by_identity) {
        *ret_key = zd_text_span(target);
        return ZD_OK;
    }
    struct zd_text *key = &req->server->front->scratch;
    zd_text_clear(key);
    zd_text_add_bytes(key, target->at, target->len);
    if (sharing.is_part) {
        zd_text_add(key, " ");
        zd_text_add(key, req->conditions.range);
    }
    if (sharing.by_identity) {
        zd_text_add(key, "\n");
        zd_text_add(key, req->identity == NULL ? "" : req->identity);
    }
    *ret_key = zd_text_span(key);
    return key->status;
}

static struct zd_prepared *find_under(const struct zd_request *req, struct sharing sharing)
{
    struct zd_span key;
    if (key_of(req, sharing, &key) != ZD_OK) {
        return NULL;
    }
    struct zd_map_entry *found = zd_map_find(&req->server->front->prepared.map, key);
    return found == NULL ? NULL : ZD_CONTAINER(found, struct zd_prepared, entry.map);
}

struct zd_prepared *zd_prepared_find(const struct zd_request *req, bool is_part)
{
    struct zd_prepared *prepared = find_under(req, (struct sharing){.is_part = is_part});
    if (prepared == NULL && req->server->front->keeps_by_identity) {
        prepared = find_under(req, (struct sharing){.is_part = is_part, .by_identity = true});
    }
    zd_cache_count(&req->server->front->prepared, prepared == NULL ? NULL : &prepared->entry);
    return prepared;
}

void zd_prepared_put(const struct zd_request *req, struct zd_prepared *prepared)
{
    struct zd_cache *cache = &req->server->front->prepared;
    const struct sharing sharing = {
        .is_part = prepared->is_part,
        .by_identity = prepared->route != NULL && prepared->route->depends_on_identity,
    };
    struct zd_span key;
    if (key_of(req, sharing, &key) != ZD_OK) {
        return;
    }
    req->server->front->keeps_by_identity |= sharing.by_identity;
    prepared->key = zd_strndup((const char *)key.ptr, key.len);
    if (prepared->key == NULL) {
        return;
    }
    prepared->entry.map.key = zd_span_of(prepared->key);
    struct zd_map_entry *older = zd_map_find(&cache->map, prepared->entry.map.key);
    if (older != NULL) {
        zd_cache_drop(cache, ZD_CONTAINER(older, struct zd_cache_entry, map));
    }
    if (zd_cache_put(cache, &prepared->entry) == ZD_OK) {
        zd_cache_charge(cache, &prepared->entry, cost_of(prepared));
    }
}

/* ---- forms ---- */

/* Headers copied from one response to another. */
struct copying {
    struct MHD_Response *to;
    const char *etag; /* NULL: as it is */
};

static enum MHD_Result copy_header(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    const struct copying *copying = cls;
    if (strcmp(name, "X-Request-Id") == 0) {
        return MHD_YES;
    }
    const bool is_tag = copying->etag != NULL && strcmp(name, "ETag") == 0;
    zd_response_add(copying->to, name, is_tag ? copying->etag : value);
    return MHD_YES;
}

struct MHD_Response *zd_prepared_copy(
    const struct zd_request *req, const struct zd_prepared_form *form, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = zd_response_of_window(form->body, first, len);
    if (response != NULL) {
        struct copying copying = {.to = response};
        zd_response_add(response, "X-Request-Id", req->id);
        (void)MHD_get_response_headers(form->response, copy_header, &copying);
    }
    return response;
}

enum zd_status zd_prepared_begin_form(
    struct zd_prepared_form *form, struct zd_buf *body, struct MHD_Response *response)
{
    const char *id = response == NULL ? NULL : MHD_get_response_header(response, "X-Request-Id");
    if (id == NULL) {
        if (response != NULL) {
            MHD_destroy_response(response);
        }
        return ZD_NO_MEMORY;
    }
    form->id = (char *)(uintptr_t)id;
    form->response = response;
    form->body = body == NULL ? NULL : zd_buf_ref(body);
    return ZD_OK;
}

enum zd_status zd_prepared_finish_form(
    struct zd_prepared *prepared, enum zd_coding coding, struct zd_buf *body)
{
    const struct zd_prepared_form *plain = &prepared->form[ZD_PLAIN];
    struct zd_prepared_form *form = &prepared->form[coding];
    struct MHD_Response *response = zd_response_of_window(body, 0, body->len);
    zd_tag_code(form->etag, plain->etag, coding);
    if (response != NULL) {
        struct copying copying = {.to = response, .etag = form->etag};
        zd_response_add(response, "X-Request-Id", ZD_RESPONSE_ANY_ID);
        (void)MHD_get_response_headers(plain->response, copy_header, &copying);
        zd_response_add(response, "Content-Encoding", zd_compress_name(coding));
    }
    return zd_prepared_begin_form(form, body, response);
}
