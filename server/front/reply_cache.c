/* Prepared answers: their parts, their keys, and how requests get them.
 *
 *     target -> answer --+-- plain: response, body, tag
 *                        +-- gzip:  made from it when the first client asks, by one job
 *                        +-- zstd:  likewise
 *
 * A part of a large object is kept by itself, under its target and the Range header that asked for
 * it. While no request has asked for the body of an object, its head alone is kept, for 304s. Where
 * the route depends on the client, or the answer leaves out things that the client may not see, the
 * key has the client's identity. An answer that is not put under its target lives as long as its
 * request. */
#include "server/front/reply_cache.h"

#include <microhttpd.h>
#include <string.h>

#include "core/base/num.h"
#include "server/front/cors.h"
#include "server/front/response.h"
#include "server/front/response_form.h"
#include "server/front/response_headers.h"
#include "server/http/accept.h"
#include "server/request/handler.h"
#include "server/request/identity.h"
#include "server/request/task.h"
#include "server/runtime/server.h"

#define COST_BYTES      2048 /* of one besides its bodies: headers, structures */
#define ENTRY_PART      2    /* one part of the cache is the most that an answer takes */
#define RANGE_BYTES_MAX 64   /* of a Range header; others are not prepared */

/* A prepared answer: a representation or a problem. */
struct zd_prepared {
    struct zd_cache_entry entry; /* first; key: target, of a part also its Range */
    char *key;                   /* NULL: never put in the table */
    uint64_t keep_until_ms;      /* after it the handler must say that the tag is the same */
    uint64_t n_changes;          /* of the owner, before it was made: after another one likewise */
    const struct zd_route *route;
    uint32_t route_number;
    /* a representation */
    struct zd_form form[ZD_CODINGS]; /* the plain one is always made */
    const char *media_type;          /* in the plain response, or NULL */
    bool accepts_ranges;
    bool is_part; /* of status 206 */
    bool may_be_coded;
    int64_t mtime_ms;
    /* a problem: its document is the plain body */
    const struct zd_problem_kind *problem; /* NULL: a representation */
    size_t instance_at;                    /* where the id stands in the document */
    char *reason;                          /* for the log; owned, or NULL */
};

static void prepared_free(struct zd_cache_entry *entry)
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

/* Not in the table. A reference; NULL without memory. */
static struct zd_prepared *prepared_new(const struct zd_request *req)
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

static void prepared_unref(struct zd_front *front, struct zd_prepared *prepared)
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

/* ---- the table ---- */

/* Which answers share a key. A target holds neither a space nor a line break. */
struct sharing {
    bool is_part;       /* requests with the same Range */
    bool is_private;    /* requests with a credential: no shared cache may keep their answers */
    bool by_identity;   /* requests of the same client */
    const char *origin; /* requests of the pages of that origin, which the answer names; or NULL */
};

/* Makes the key whole: a short one would be the key of other requests. @param ret_key borrowed
 * until the scratch text is used again */
static enum zd_status key_of(
    const struct zd_request *req, struct sharing sharing, struct zd_span *ret_key)
{
    const struct zd_text *target = &zd_front_exchange(req)->memory.target;
    const char *prefix = req->client.prefix; /* the key alone does not depend on it */
    const bool is_plain = !sharing.is_part && !sharing.is_private && !sharing.by_identity;
    if (is_plain && prefix == NULL && sharing.origin == NULL) {
        *ret_key = zd_text_span(target);
        return ZD_OK;
    }
    struct zd_text *key = &req->server->front->scratch;
    zd_text_clear(key);
    zd_text_add_bytes(key, target->at, target->len);
    if (prefix != NULL) {
        zd_text_addf(key, "\r%s", prefix); /* links have it */
    }
    if (sharing.is_part) {
        zd_text_add(key, " ");
        zd_text_add(key, req->conditions.range);
    }
    if (sharing.is_private) {
        zd_text_add(key, "\np");
    }
    if (sharing.origin != NULL) {
        zd_text_addf(key, "\no%s", sharing.origin);
    }
    if (sharing.by_identity) {
        zd_text_add(key, "\n");
        zd_text_add_u64(key, req->identity == NULL ? 0 : req->identity->number);
    }
    *ret_key = zd_text_span(key);
    return key->status;
}

/* NULL: the answer names the same origin to all. */
static const char *origin_of(const struct zd_request *req)
{
    const char *origin = zd_cors_origin(req);
    return origin == zd_cors_origin_of_all(req->server) ? NULL : origin;
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

/* Finds the prepared answer of a request, or of the part that it asks for; NULL: there is none.
 * Borrowed. */
static struct zd_prepared *find(const struct zd_request *req, bool is_part)
{
    struct sharing sharing = {
        .is_part = is_part,
        .is_private = req->has_credential,
        .by_identity = req->is_limited,
        .origin = origin_of(req),
    };
    struct zd_prepared *prepared = find_under(req, sharing);
    if (prepared == NULL && req->server->front->keeps_by_identity && !sharing.by_identity) {
        sharing.by_identity = true;
        prepared = find_under(req, sharing);
    }
    zd_cache_count(&req->server->front->prepared, prepared == NULL ? NULL : &prepared->entry);
    return prepared;
}

/* Puts the answer in place of an older one; without memory it stays outside. */
static void put(const struct zd_request *req, struct zd_prepared *prepared)
{
    struct zd_cache *cache = &req->server->front->prepared;
    const struct sharing sharing = {
        .is_part = prepared->is_part,
        .is_private = req->has_credential,
        .by_identity =
            req->is_limited || (prepared->route != NULL && prepared->route->depends_on_identity),
        .origin = origin_of(req),
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

static struct zd_exchange_now *now_of(const struct zd_request *req)
{
    return &zd_front_exchange(req)->now;
}

static struct zd_reply_cache_want *want_of(const struct zd_request *req)
{
    return &zd_front_exchange(req)->prepared_want;
}

/* Stale answers are prepared, too: an equal tag makes them fresh again. */
static bool may_keep(const struct zd_request *req, uint64_t keep_until_ms)
{
    return keep_until_ms != 0 && !req->server->is_draining && zd_request_is_reading(req) &&
           (req->dataset == NULL || !req->dataset->is_retired);
}

/* Whether a request asks for a part, and sets no condition on it. */
static bool asks_part(const struct zd_request *req)
{
    const struct zd_conditions *sent = &req->conditions;
    return sent->range != NULL && !req->is_head && sent->if_range == NULL &&
           !zd_conditions_exist(sent) &&
           strnlen(sent->range, RANGE_BYTES_MAX + 1) <= RANGE_BYTES_MAX;
}

/* ---- giving a form ---- */

static enum zd_next answer_form(
    struct zd_request *req, const struct zd_prepared *prepared, const struct zd_form *form)
{
    if (!zd_request_is_reading(req)) {
        return zd_response_give_form(req, form, MHD_HTTP_OK);
    }
    if (prepared->is_part) {
        return zd_response_give_form(req, form, MHD_HTTP_PARTIAL_CONTENT);
    }
    switch (zd_request_condition(req, form->etag, prepared->mtime_ms)) {
    case ZD_NOT_MODIFIED:
        return zd_response_give_form(req, form, MHD_HTTP_NOT_MODIFIED);
    case ZD_PRECONDITION:
        return zd_respond_precondition(req, form->etag);
    default:
        break;
    }
    uint64_t first = 0;
    uint64_t len = 0;
    if (prepared->accepts_ranges && req->conditions.range != NULL) {
        switch (zd_request_range(req, form->body->len, form->etag, &first, &len)) {
        case ZD_RANGE_PART:
            return zd_response_give_part(req, form, first, len);
        case ZD_RANGE_OUTSIDE:
            return zd_respond_range_outside(req, form->body->len);
        case ZD_RANGE_NONE:
            break;
        }
    }
    return zd_response_give_form(req, form, MHD_HTTP_OK);
}

/* ---- making a form ---- */

/* A form under way. */
struct coding_job {
    struct zd_job job;
    struct zd_server *server;     /* borrowed: outlives all work */
    struct zd_prepared *prepared; /* a reference */
    enum zd_coding coding;
    struct zd_buf *body; /* out; owned */
    enum zd_status status;
};

static void compress(struct zd_job *job)
{
    struct coding_job *coding_job = ZD_CONTAINER(job, struct coding_job, job);
    coding_job->status = zd_compress(coding_job->coding,
        zd_buf_span(coding_job->prepared->form[ZD_PLAIN].body), &coding_job->body);
}

/* The work is done. Takes the job over. */
static void compressed(struct zd_wait *wait)
{
    struct coding_job *job = ZD_CONTAINER(wait, struct coding_job, job.wait);
    struct zd_front *front = job->server->front;
    struct zd_prepared *prepared = job->prepared;
    struct zd_form *form = &prepared->form[job->coding];
    struct zd_list waiters;
    zd_list_take_all(&form->waiters, &waiters);
    form->is_busy = false;
    enum zd_status status = job->status;
    if (status == ZD_OK) {
        front->server->metrics.n_compressions++;
        status = zd_response_code_form(&prepared->form[ZD_PLAIN], job->coding, job->body, form);
    }
    zd_cache_charge(&front->prepared, &prepared->entry, cost_of(prepared));
    zd_buf_unref(job->body);
    zd_free(job);
    zd_wait_tell(&waiters, status, NULL);
    prepared_unref(front, prepared);
}

static struct coding_job *job_new(struct zd_request *req)
{
    struct zd_prepared *prepared = want_of(req)->prepared;
    struct coding_job *job = zd_alloc(sizeof *job);
    if (job != NULL) {
        *job = (struct coding_job){
            .job = {.work = compress, .wait.done = compressed},
            .server = req->server,
            .prepared = prepared,
            .coding = want_of(req)->coding,
        };
        (void)zd_cache_ref(&prepared->entry);
    }
    return job;
}

/* The first request that wants the form has it made. */
static enum zd_next want_form(struct zd_request *req)
{
    struct zd_reply_cache_want *want = want_of(req);
    struct zd_form *form = &want->prepared->form[want->coding];
    if (!form->is_busy) {
        struct coding_job *job = job_new(req);
        if (job == NULL) {
            zd_wait_answer(&want->wait, ZD_NO_MEMORY, NULL);
            return ZD_NEXT;
        }
        const uint64_t cost_ns =
            zd_compress_cost_ns(want->coding, want->prepared->form[ZD_PLAIN].body->len);
        job->job.owner = zd_task_owner(req);
        if (zd_workers_run(&req->server->workers, &job->job, cost_ns) == ZD_NEXT) {
            compressed(&job->job.wait);
            zd_wait_answer(&want->wait, form->response == NULL ? ZD_NO_MEMORY : ZD_OK, NULL);
            return ZD_NEXT;
        }
        form->is_busy = true;
    }
    zd_list_push_back(&form->waiters, &want->wait.link);
    req->times.waits_for = ZD_TIME_ENCODE;
    return ZD_WAIT;
}

/* Answers in the wanted form, or in the plain form when the other could not be made. */
static enum zd_next step_form(struct zd_request *req)
{
    const struct zd_reply_cache_want *want = want_of(req);
    const struct zd_prepared *prepared = want->prepared;
    const struct zd_form *form = &prepared->form[want->coding];
    if (form->response == NULL && want->wait.status == ZD_OK) {
        return want_form(req);
    }
    return answer_form(req, prepared, form->response == NULL ? &prepared->form[ZD_PLAIN] : form);
}

static enum zd_coding coding_for(const struct zd_request *req, const struct zd_prepared *prepared)
{
    const struct zd_buf *plain = prepared->form[ZD_PLAIN].body;
    return prepared->may_be_coded && plain != NULL
               ? zd_accept_coding(req->sent_accept_encoding, plain->len)
               : ZD_PLAIN;
}

/* The request's next step answers with it. @param prepared a reference, taken over; NULL: none
 * @return whether there is one */
static bool want(struct zd_request *req, struct zd_prepared *prepared)
{
    if (prepared == NULL) {
        return false;
    }
    zd_reply_cache_release(req);
    *want_of(req) = (struct zd_reply_cache_want){
        .wait = zd_machine_wait(&req->machine),
        .prepared = prepared,
        .coding = coding_for(req, prepared),
    };
    req->step = step_form;
    return true;
}

void zd_reply_cache_release(struct zd_request *req)
{
    zd_wait_cancel(&want_of(req)->wait);
    prepared_unref(req->server->front, want_of(req)->prepared);
    want_of(req)->prepared = NULL;
}

/* ---- answers of handlers ---- */

/* @param rep NULL: a trusted answer is valid */
static bool is_valid(const struct zd_request *req, const struct zd_prepared *prepared,
    const struct zd_representation *rep)
{
    if (prepared == NULL) {
        return false;
    }
    if (rep != NULL) {
        return prepared->problem == NULL && rep->etag[0] != '\0' &&
               strcmp(prepared->form[ZD_PLAIN].etag, rep->etag) == 0;
    }
    const struct zd_dataset *owner = prepared->entry.owner;
    return prepared->keep_until_ms > uv_now(req->server->loop) &&
           (owner == NULL ||
               (owner->n_changes == prepared->n_changes && zd_dataset_was_seen(owner)));
}

/* An answer without a body is good for a 304; its id has the length that it has. */
static bool suffices(const struct zd_request *req, const struct zd_prepared *prepared)
{
    const struct zd_form *plain = &prepared->form[ZD_PLAIN];
    return plain->body != NULL ||
           (strlen(req->id) == ZD_FRONT_MADE_ID_LEN &&
               zd_request_condition(req, plain->etag, prepared->mtime_ms) == ZD_NOT_MODIFIED);
}

/* Finds the prepared answer of the request that has the representation's tag; NULL: a trusted one.
 * Borrowed. */
static struct zd_prepared *find_valid(
    const struct zd_request *req, const struct zd_representation *rep)
{
    struct zd_prepared *prepared = asks_part(req) ? find(req, true) : NULL;
    if (!is_valid(req, prepared, rep)) {
        prepared = find(req, false);
    }
    return prepared != NULL && is_valid(req, prepared, rep) && suffices(req, prepared) ? prepared
                                                                                       : NULL;
}

/* Finds the prepared representation that the tag confirms, or NULL; a reference. */
static struct zd_prepared *find_same(
    const struct zd_request *req, const struct zd_representation *rep)
{
    struct zd_prepared *prepared = find_valid(req, rep);
    if (prepared != NULL) {
        prepared->keep_until_ms = rep->keep_until_ms;
        prepared->n_changes = zd_max_u64(prepared->n_changes, req->n_changes);
        (void)zd_cache_ref(&prepared->entry);
    }
    return prepared;
}

bool zd_respond_renewed(struct zd_request *req, const struct zd_representation *rep)
{
    return want(req, may_keep(req, rep->keep_until_ms) ? find_same(req, rep) : NULL);
}

/* A reference; NULL without memory. @param keeps put it into the table */
static struct zd_prepared *prepare(
    const struct zd_request *req, const struct zd_representation *rep, bool keeps)
{
    struct zd_prepared *prepared = prepared_new(req);
    if (prepared == NULL) {
        return NULL;
    }
    struct zd_form *plain = &prepared->form[ZD_PLAIN];
    memcpy(plain->etag, rep->etag, sizeof plain->etag);
    if (zd_response_begin_form(plain, rep->body, zd_response_prepare(req, rep)) != ZD_OK) {
        prepared_unref(req->server->front, prepared);
        return NULL;
    }
    prepared->keep_until_ms = rep->keep_until_ms;
    prepared->media_type = MHD_get_response_header(plain->response, "Content-Type");
    prepared->accepts_ranges = rep->accepts_ranges;
    prepared->is_part = rep->body_is_range;
    prepared->may_be_coded = zd_response_may_code(req, rep);
    prepared->mtime_ms = rep->mtime_ms;
    if (keeps) {
        put(req, prepared);
    }
    return prepared;
}

bool zd_reply_cache_take(struct zd_request *req, const struct zd_representation *rep)
{
    const bool keeps = may_keep(req, rep->keep_until_ms) && (!rep->body_is_range || asks_part(req));
    if (!keeps && zd_response_coding(req, rep, rep->body->len) == ZD_PLAIN) {
        return false;
    }
    struct zd_prepared *same = keeps ? find_same(req, rep) : NULL;
    return want(req, same != NULL ? same : prepare(req, rep, keeps));
}

bool zd_reply_cache_take_head(struct zd_request *req, const struct zd_representation *rep)
{
    const bool keeps = may_keep(req, rep->keep_until_ms) && rep->length_is_known &&
                       strlen(req->id) == ZD_FRONT_MADE_ID_LEN && !zd_response_may_code(req, rep);
    return want(req, keeps ? prepare(req, rep, true) : NULL);
}

/* ---- problems ---- */

/* Finds the id in a problem's document; 0: it is not there. */
static size_t find_instance(const struct zd_text *document, const char *id)
{
    ZD_SCOPED_TEXT(member, ZD_FRONT_ID_MAX + 16);
    zd_text_addf(&member, "\"instance\":\"%s\"", id);
    const char *at = member.status == ZD_OK ? strstr(document->at, member.at) : NULL;
    return at == NULL ? 0 : (size_t)(at - document->at) + strlen("\"instance\":\"");
}

/* Add a problem's document with another id. */
static void add_document(
    struct zd_text *to, struct zd_span document, size_t id_at, size_t id_len, const char *id)
{
    const size_t rest_at = id_at + id_len;
    zd_text_add_bytes(to, document.ptr, id_at);
    zd_text_add(to, id);
    zd_text_add_bytes(to, document.ptr + rest_at, document.len - rest_at);
}

void zd_reply_cache_put_problem(
    struct zd_request *req, const struct zd_problem *problem, const struct zd_text *document)
{
    const uint64_t until_ms = problem->keep_until_ms;
    const bool keeps = may_keep(req, until_ms) && until_ms > uv_now(req->server->loop);
    const size_t instance_at = keeps ? find_instance(document, req->id) : 0;
    struct zd_prepared *prepared = instance_at > 0 ? prepared_new(req) : NULL;
    if (prepared == NULL) {
        return;
    }
    prepared->keep_until_ms = until_ms;
    prepared->problem = zd_problem_kind_of(problem);
    prepared->instance_at = instance_at;
    prepared->reason =
        now_of(req)->access.reason == NULL ? NULL : zd_strdup(now_of(req)->access.reason);
    ZD_SCOPED_TEXT(own, document->len + ZD_FRONT_MADE_ID_LEN);
    ZD_AUTO(zd_buf) body = NULL;
    add_document(&own, zd_text_span(document), instance_at, strlen(req->id), ZD_RESPONSE_ANY_ID);
    if (zd_text_buf(&own, &body) == ZD_OK && zd_response_begin_form(&prepared->form[ZD_PLAIN], body,
                                                 zd_response_prepare_problem(req, body)) == ZD_OK) {
        put(req, prepared);
    }
    prepared_unref(req->server->front, prepared);
}

/* Gives a problem. Its document, unlike its head, is not copied when it is queued: it can have one
 * request's id only as long as that answer is on its way. Other requests meanwhile get copies. */
static void answer_problem(struct zd_request *req, struct zd_prepared *prepared)
{
    const struct zd_form *form = &prepared->form[ZD_PLAIN];
    const bool is_in_use = prepared->entry.refs > 1; /* one is the table's */
    req->server->metrics.n_problems++;
    if (is_in_use || strlen(req->id) != ZD_FRONT_MADE_ID_LEN) {
        struct zd_text *document = &req->server->front->scratch;
        zd_text_clear(document);
        add_document(document, zd_buf_span(form->body), prepared->instance_at, ZD_FRONT_MADE_ID_LEN,
            req->id);
        zd_response_keep_reason(req, prepared->reason == NULL ? "" : prepared->reason);
        (void)zd_response_give_document(req, prepared->problem, ZD_PROBLEM_TYPE, document);
        return;
    }
    (void)zd_cache_ref(&prepared->entry);
    want_of(req)->prepared = prepared; /* until the answer is sent */
    memcpy(form->body->data + prepared->instance_at, req->id, ZD_FRONT_MADE_ID_LEN);
    now_of(req)->access.problem_code = prepared->problem->code;
    now_of(req)->access.reason = prepared->reason;
    (void)zd_response_give_form(req, form, prepared->problem->http_status);
}

/* ---- answering from prepared answers ---- */

/* A prepared answer lists itself what it depends on. A client that refuses its type is answered by
 * the handler, which knows the other types. A problem's page for people is never prepared. */
static bool accepts(const struct zd_request *req, const struct zd_prepared *prepared)
{
    if (prepared->problem != NULL) {
        return !zd_accept_is_for_people(req->sent_accept);
    }
    const char *accept = prepared->media_type == NULL ? NULL : req->sent_accept;
    return accept == NULL || zd_accept_quality(accept, prepared->media_type) > 0;
}

bool zd_reply_cache_answer(struct zd_request *req)
{
    struct zd_prepared *prepared = req->server->is_draining ? NULL : find_valid(req, NULL);
    if (prepared == NULL || !accepts(req, prepared)) {
        return false; /* the handler may find that it is still the answer */
    }
    req->route = prepared->route;
    req->route_number = prepared->route_number;
    if (prepared->entry.owner != NULL) {
        /* For the record of the request. */
        req->dataset = zd_dataset_ref((struct zd_dataset *)(uintptr_t)prepared->entry.owner);
    }
    if (prepared->problem != NULL) {
        answer_problem(req, prepared);
        return true;
    }
    const struct zd_form *form = &prepared->form[coding_for(req, prepared)];
    if (form->response == NULL) {
        (void)zd_cache_ref(&prepared->entry);
        (void)want(req, prepared);
        return false;
    }
    (void)answer_form(req, prepared, form);
    return true;
}

void zd_reply_cache_init(struct zd_front *front, size_t bytes_max)
{
    zd_cache_init(&front->prepared, "replies", bytes_max, prepared_free);
    zd_list_push_back(&front->server->caches, &front->prepared.link);
    /* The listing of a large hierarchy has some MB, and is worth more than the answers that it
     * pushes out. */
    front->prepared.entry_bytes_max = bytes_max / ENTRY_PART;
}
