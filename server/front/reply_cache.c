/* Prepared answers, by target: a hot one costs no step and builds nothing.
 *
 *     target -> kept --+-- plain: response, body, tag
 *                      +-- gzip:  made from it when the first client asks, by one job
 *                      +-- zstd:  likewise
 *
 * A part of a large object is kept by itself, under its target and the Range header that asked for
 * it. Of an object whose body nobody asked for there is the head alone, for 304s. An answer that is
 * not put under its target lives as long as the request that it is for. */
#include "server/front/reply_cache.h"

#include <microhttpd.h>
#include <string.h>

#include "core/base/num.h"
#include "server/front/response.h"
#include "server/http/accept.h"
#include "server/request/handler.h"
#include "server/request/respond.h"
#include "server/request/task.h"
#include "server/runtime/server.h"
#include "server/runtime/workers.h"

#define ENTRY_PART      2    /* one part of the cache is the most that an answer takes */
#define RANGE_BYTES_MAX 64   /* of a Range header; others are not kept */
#define KEPT_COST_BYTES 2048 /* of a kept answer besides its bodies: headers, structures */

/** A representation in one coding. */
struct form {
    struct MHD_Response *response; /* shared by all who ask; NULL: not made */
    char *id;                      /* its X-Request-Id, ZD_FRONT_MADE_ID_LEN bytes in its memory */
    struct zd_buf *body;           /* NULL: only its head is known */
    char etag[ZD_TAG_BYTES];
    struct zd_list waiters; /* struct zd_wait: while it is made */
    bool is_busy;
};

/** An answer that is kept: a representation or a problem. */
struct zd_kept {
    struct zd_cache_entry entry; /* first; key: target, of a part also its Range */
    char *key;                   /* NULL: never put in the table */
    uint64_t keep_until_ms;      /* after it the handler must say that the tag is the same */
    uint64_t n_changes;          /* of the owner, before it was made: after another one likewise */
    const struct zd_handler *handler;
    const struct zd_route *route;
    uint32_t route_number;
    /* a representation */
    struct form form[ZD_CODINGS]; /* the plain one is always made */
    const char *media_type;       /* in the plain response, or NULL */
    bool accepts_ranges;
    bool is_part; /* of status 206 */
    bool may_be_coded;
    int64_t mtime_ms;
    /* a problem: its document is the plain body */
    const struct zd_problem_kind *problem; /* NULL: a representation */
    size_t instance_at;                    /* where the id stands in the document */
    char *reason;                          /* for the log; owned, or NULL */
};

/** A form under way. */
struct coding_job {
    struct zd_job job;
    struct zd_server *server; /* borrowed: outlives all work */
    struct zd_kept *kept;     /* a reference */
    enum zd_coding coding;
    struct zd_buf *from; /* a reference */
    struct zd_buf *body; /* out; owned */
    enum zd_status status;
};

static struct zd_exchange_now *now_of(const struct zd_request *req)
{
    return &zd_front_exchange(req)->now;
}

static struct zd_cache *cache_of(const struct zd_request *req)
{
    return &req->server->front->kept;
}

static void kept_free(struct zd_cache_entry *entry)
{
    struct zd_kept *kept = ZD_CONTAINER(entry, struct zd_kept, entry);
    for (size_t i = 0; i < ZD_CODINGS; i++) {
        if (kept->form[i].response != NULL) {
            MHD_destroy_response(kept->form[i].response);
        }
        zd_buf_unref(kept->form[i].body);
    }
    zd_free(kept->key);
    zd_free(kept->reason);
    zd_free(kept);
}

/* A new one with a reference for the caller, not in the table. */
static struct zd_kept *kept_new(const struct zd_request *req)
{
    struct zd_kept *kept = zd_alloc_zero(1, sizeof *kept);
    if (kept == NULL) {
        return NULL;
    }
    kept->entry.refs = 1;
    kept->entry.owner = req->dataset;
    kept->n_changes = req->n_changes;
    kept->handler = req->handler;
    kept->route = req->route;
    kept->route_number = req->route_number;
    for (size_t i = 0; i < ZD_CODINGS; i++) {
        zd_list_init(&kept->form[i].waiters);
    }
    return kept;
}

static void kept_unref(struct zd_cache *cache, struct zd_kept *kept)
{
    if (kept != NULL) {
        zd_cache_unref(cache, &kept->entry);
    }
}

/* Stale answers are kept, too: an equal tag makes them fresh again. */
static bool may_keep(const struct zd_request *req, uint64_t keep_until_ms)
{
    return keep_until_ms != 0 && !req->server->is_draining && zd_request_is_reading(req) &&
           (req->dataset == NULL || !req->dataset->is_retired);
}

static size_t cost_of(const struct zd_kept *kept)
{
    size_t bytes = KEPT_COST_BYTES + kept->entry.map.key.len;
    for (size_t i = 0; i < ZD_CODINGS; i++) {
        bytes += kept->form[i].body == NULL ? 0 : kept->form[i].body->len;
    }
    return bytes;
}

/* Whether a request asks for a part, and sets no condition on it. */
static bool asks_part(const struct zd_request *req)
{
    const struct zd_conditions *sent = &req->conditions;
    return sent->range != NULL && !req->is_head && sent->if_range == NULL &&
           sent->if_match == NULL && sent->if_none_match == NULL &&
           sent->if_modified_since == NULL && sent->if_unmodified_since == NULL &&
           strnlen(sent->range, RANGE_BYTES_MAX + 1) <= RANGE_BYTES_MAX;
}

/* Which answers share a key. A target holds neither a space nor a line break. */
struct sharing {
    bool is_part;     /* those to the same Range */
    bool by_identity; /* those to the same client */
};

/* Borrowed until the scratch text is used again. */
static struct zd_span key_of(const struct zd_request *req, struct sharing sharing)
{
    const struct zd_text *target = &zd_front_exchange(req)->memory.target;
    if (!sharing.is_part && !sharing.by_identity) {
        return zd_text_span(target);
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
        zd_text_add(key, req->identity.name == NULL ? "" : req->identity.name);
    }
    return zd_text_span(key);
}

static struct zd_kept *find_under(const struct zd_request *req, struct sharing sharing)
{
    struct zd_cache_entry *entry = zd_cache_find(cache_of(req), key_of(req, sharing));
    return entry == NULL ? NULL : ZD_CONTAINER(entry, struct zd_kept, entry);
}

/* What is in the table for the request, or NULL; borrowed. */
static struct zd_kept *find(const struct zd_request *req, bool is_part)
{
    struct zd_kept *kept = find_under(req, (struct sharing){.is_part = is_part});
    if (kept == NULL && req->server->front->keeps_by_identity) {
        kept = find_under(req, (struct sharing){.is_part = is_part, .by_identity = true});
    }
    return kept;
}

/* Put it into the table in place of an older one; without memory it stays outside. */
static void put(const struct zd_request *req, struct zd_kept *kept)
{
    struct zd_cache *cache = cache_of(req);
    const struct sharing sharing = {
        .is_part = kept->is_part,
        .by_identity = kept->route != NULL && kept->route->depends_on_identity,
    };
    const struct zd_span key = key_of(req, sharing);
    req->server->front->keeps_by_identity |= sharing.by_identity;
    kept->key = zd_strndup((const char *)key.ptr, key.len);
    if (kept->key == NULL) {
        return;
    }
    kept->entry.map.key = zd_span_of(kept->key);
    struct zd_map_entry *older = zd_map_find(&cache->map, kept->entry.map.key);
    if (older != NULL) {
        zd_cache_drop(cache, ZD_CONTAINER(older, struct zd_cache_entry, map));
    }
    if (zd_cache_put(cache, &kept->entry) == ZD_OK) {
        zd_cache_charge(cache, &kept->entry, cost_of(kept));
    }
}

/* ---- giving a form ---- */

/* Headers of a response on their way to another one. */
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

/* A response of its own with the form's headers, for the request's id. */
static struct MHD_Response *copy(
    const struct zd_request *req, const struct form *form, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = zd_response_of_window(form->body, first, len);
    if (response != NULL) {
        struct copying copying = {.to = response};
        zd_response_add(response, "X-Request-Id", req->id);
        (void)MHD_get_response_headers(form->response, copy_header, &copying);
    }
    return response;
}

static enum zd_next answer_part_of(
    struct zd_request *req, const struct form *form, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = copy(req, form, first, len);
    if (response != NULL) {
        zd_response_add_range(response, first, len, form->body->len);
    }
    return zd_response_give(req, MHD_HTTP_PARTIAL_CONTENT, response, len);
}

/* The shared response. libmicrohttpd renders the head when the response is queued, on this thread:
 * the id that it stores can be overwritten for each request just before, so that a hot answer
 * builds nothing. */
static enum zd_next answer_shared(
    struct zd_request *req, const struct form *form, unsigned http_status)
{
    const uint64_t len = form->body == NULL ? 0 : form->body->len;
    if (strlen(req->id) != ZD_FRONT_MADE_ID_LEN) {
        return zd_response_give(req, http_status, copy(req, form, 0, len), len);
    }
    (void)zd_response_give(req, http_status, form->response, len);
    now_of(req)->response_is_shared = true;
    now_of(req)->response_id = form->id;
    return ZD_DONE;
}

static enum zd_next answer_form(
    struct zd_request *req, const struct zd_kept *kept, const struct form *form)
{
    if (!zd_request_is_reading(req)) {
        return answer_shared(req, form, MHD_HTTP_OK);
    }
    if (kept->is_part) {
        return answer_shared(req, form, MHD_HTTP_PARTIAL_CONTENT);
    }
    switch (zd_request_condition(req, form->etag, kept->mtime_ms)) {
    case ZD_NOT_MODIFIED:
        return answer_shared(req, form, MHD_HTTP_NOT_MODIFIED);
    case ZD_PRECONDITION:
        return zd_respond_precondition(req, form->etag);
    default:
        break;
    }
    uint64_t first = 0;
    uint64_t len = 0;
    if (kept->accepts_ranges && req->conditions.range != NULL) {
        switch (zd_request_range(req, form->body->len, form->etag, kept->mtime_ms, &first, &len)) {
        case ZD_RANGE_PART:
            return answer_part_of(req, form, first, len);
        case ZD_RANGE_OUTSIDE:
            return zd_respond_range_outside(req, form->body->len);
        case ZD_RANGE_NONE:
            break;
        }
    }
    return answer_shared(req, form, MHD_HTTP_OK);
}

/* ---- making a form ---- */

static ZD_RESULT begin_form(struct form *form, struct zd_buf *body, struct MHD_Response *response)
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

/* The compressed body is there: it gets the plain form's headers, and its own tag. */
static ZD_RESULT finish_form(struct zd_kept *kept, enum zd_coding coding, struct zd_buf *body)
{
    const struct form *plain = &kept->form[ZD_PLAIN];
    struct form *form = &kept->form[coding];
    struct MHD_Response *response = zd_response_of_window(body, 0, body->len);
    zd_tag_code(form->etag, plain->etag, coding);
    if (response != NULL) {
        struct copying copying = {.to = response, .etag = form->etag};
        zd_response_add(response, "X-Request-Id", ZD_RESPONSE_ANY_ID);
        (void)MHD_get_response_headers(plain->response, copy_header, &copying);
        zd_response_add(response, "Content-Encoding", zd_compress_name(coding));
    }
    return begin_form(form, body, response);
}

static void compress(struct zd_job *job)
{
    struct coding_job *coding_job = ZD_CONTAINER(job, struct coding_job, job);
    coding_job->status =
        zd_compress(coding_job->coding, zd_buf_span(coding_job->from), &coding_job->body);
}

/* The work is done, or was dropped. Takes the job over. */
static enum zd_status end_job(struct coding_job *job, enum zd_status status)
{
    struct zd_server *server = job->server;
    struct zd_kept *kept = job->kept;
    if (status == ZD_OK) {
        server->metrics.n_compressions++;
        status = finish_form(kept, job->coding, job->body);
    }
    zd_cache_charge(&server->front->kept, &kept->entry, cost_of(kept));
    zd_buf_unref(job->from);
    zd_buf_unref(job->body);
    zd_free(job);
    kept_unref(&server->front->kept, kept);
    return status;
}

static void compressed(struct zd_job *job, bool cancelled)
{
    struct coding_job *coding_job = ZD_CONTAINER(job, struct coding_job, job);
    struct zd_list waiters;
    zd_list_take_all(&coding_job->kept->form[coding_job->coding].waiters, &waiters);
    coding_job->kept->form[coding_job->coding].is_busy = false;
    const enum zd_status status =
        end_job(coding_job, cancelled ? ZD_CANCELLED : coding_job->status);
    zd_wait_tell(&waiters, status, NULL);
}

static struct coding_job *job_new(struct zd_request *req)
{
    struct zd_kept *kept = now_of(req)->kept_want.kept;
    struct coding_job *job = zd_alloc(sizeof *job);
    if (job != NULL) {
        *job = (struct coding_job){
            .job = {.work = compress, .done = compressed},
            .server = req->server,
            .kept = kept,
            .coding = now_of(req)->kept_want.coding,
            .from = zd_buf_ref(kept->form[ZD_PLAIN].body),
        };
        (void)zd_cache_ref(&kept->entry);
    }
    return job;
}

/* Has the form made, by whoever wants it first. */
static enum zd_next want_form(struct zd_request *req)
{
    struct zd_reply_cache_want *want = &now_of(req)->kept_want;
    struct form *form = &want->kept->form[want->coding];
    if (!form->is_busy) {
        struct coding_job *job = job_new(req);
        if (job == NULL) {
            zd_wait_answer(&want->wait, ZD_NO_MEMORY, NULL);
            return ZD_NEXT;
        }
        const uint64_t cost_ns = zd_compress_cost_ns(want->coding, job->from->len);
        if (zd_workers_is_cheap(req->server, cost_ns)) {
            compress(&job->job);
            zd_wait_answer(&want->wait, end_job(job, job->status), NULL);
            return ZD_NEXT;
        }
        form->is_busy = true;
        job->job.owner = zd_task_owner(req);
        zd_workers_submit(req->server, &job->job, cost_ns);
    }
    zd_list_push_back(&form->waiters, &want->wait.link);
    return ZD_WAIT;
}

/* Answers in the wanted form, or plain when that could not be made. */
static enum zd_next step_form(struct zd_request *req)
{
    const struct zd_reply_cache_want *want = &now_of(req)->kept_want;
    const struct zd_kept *kept = want->kept;
    const struct form *form = &kept->form[want->coding];
    if (form->response == NULL && want->wait.status == ZD_OK) {
        return want_form(req);
    }
    return answer_form(req, kept, form->response == NULL ? &kept->form[ZD_PLAIN] : form);
}

/* The request's next step answers with it. @param kept a reference, taken over */
static void want(struct zd_request *req, struct zd_kept *kept, enum zd_coding coding)
{
    zd_reply_cache_release(req);
    now_of(req)->kept_want = (struct zd_reply_cache_want){
        .wait = zd_machine_wait(&req->machine),
        .kept = kept,
        .coding = coding,
    };
    req->step = step_form;
}

void zd_reply_cache_release(struct zd_request *req)
{
    zd_wait_cancel(&now_of(req)->kept_want.wait);
    kept_unref(cache_of(req), now_of(req)->kept_want.kept);
    now_of(req)->kept_want.kept = NULL;
}

/* ---- what handlers answer ---- */

static enum zd_coding coding_for(const struct zd_request *req, const struct zd_kept *kept)
{
    const struct zd_buf *plain = kept->form[ZD_PLAIN].body;
    return kept->may_be_coded && plain != NULL ? zd_accept_coding(req->accept_encoding, plain->len)
                                               : ZD_PLAIN;
}

static bool is_same(const struct zd_kept *kept, const struct zd_representation *rep)
{
    return kept != NULL && kept->problem == NULL && rep->etag[0] != '\0' &&
           strcmp(kept->form[ZD_PLAIN].etag, rep->etag) == 0;
}

/* Without a body it is good for a 304, with an id of the length that it has. */
static bool suffices(const struct zd_request *req, const struct zd_kept *kept)
{
    const struct form *plain = &kept->form[ZD_PLAIN];
    return plain->body != NULL ||
           (strlen(req->id) == ZD_FRONT_MADE_ID_LEN &&
               zd_request_condition(req, plain->etag, kept->mtime_ms) == ZD_NOT_MODIFIED);
}

/* The kept representation that the tag says is still the answer, or NULL; a reference. */
static struct zd_kept *find_same(const struct zd_request *req, const struct zd_representation *rep)
{
    struct zd_kept *kept = asks_part(req) ? find(req, true) : NULL;
    if (!is_same(kept, rep)) {
        kept = find(req, false);
    }
    if (!is_same(kept, rep) || !suffices(req, kept)) {
        return NULL;
    }
    kept->keep_until_ms = rep->keep_until_ms;
    kept->n_changes = zd_max_u64(kept->n_changes, req->n_changes);
    (void)zd_cache_ref(&kept->entry);
    return kept;
}

bool zd_respond_renewed(struct zd_request *req, const struct zd_representation *rep)
{
    struct zd_kept *kept = may_keep(req, rep->keep_until_ms) ? find_same(req, rep) : NULL;
    if (kept == NULL) {
        return false;
    }
    want(req, kept, coding_for(req, kept));
    return true;
}

/* A reference; NULL without memory. */
static struct zd_kept *kept_of(const struct zd_request *req, const struct zd_representation *rep)
{
    struct zd_kept *kept = kept_new(req);
    if (kept == NULL) {
        return NULL;
    }
    struct form *plain = &kept->form[ZD_PLAIN];
    memcpy(plain->etag, rep->etag, sizeof plain->etag);
    if (begin_form(plain, rep->body, zd_response_prepare(req, rep)) != ZD_OK) {
        kept_unref(cache_of(req), kept);
        return NULL;
    }
    kept->keep_until_ms = rep->keep_until_ms;
    kept->media_type = MHD_get_response_header(plain->response, "Content-Type");
    kept->accepts_ranges = rep->accepts_ranges;
    kept->is_part = rep->body_is_range;
    kept->may_be_coded = zd_response_may_code(req, rep);
    kept->mtime_ms = rep->mtime_ms;
    return kept;
}

bool zd_reply_cache_take(struct zd_request *req, const struct zd_representation *rep)
{
    const bool keeps = may_keep(req, rep->keep_until_ms) && (!rep->body_is_range || asks_part(req));
    if (!keeps && zd_response_coding(req, rep, rep->body->len) == ZD_PLAIN) {
        return false;
    }
    struct zd_kept *kept = keeps ? find_same(req, rep) : NULL;
    if (kept == NULL) {
        kept = kept_of(req, rep);
        if (kept == NULL) {
            return false;
        }
        if (keeps) {
            put(req, kept);
        }
    }
    want(req, kept, coding_for(req, kept));
    return true;
}

bool zd_reply_cache_take_head(struct zd_request *req, const struct zd_representation *rep)
{
    const bool keeps = may_keep(req, rep->keep_until_ms) && rep->length_is_known &&
                       strlen(req->id) == ZD_FRONT_MADE_ID_LEN && !zd_response_may_code(req, rep);
    struct zd_kept *kept = keeps ? kept_of(req, rep) : NULL;
    if (kept == NULL) {
        return false;
    }
    put(req, kept);
    want(req, kept, ZD_PLAIN);
    return true;
}

/* ---- problems ---- */

/* Where the id stands in a problem's document; 0: nowhere. */
static size_t find_instance(const struct zd_text *document, const char *id)
{
    ZD_SCOPED_TEXT(member, ZD_FRONT_ID_MAX + 16);
    zd_text_addf(&member, "\"instance\":\"%s\"", id);
    const char *at = member.status == ZD_OK ? strstr(document->at, member.at) : NULL;
    return at == NULL ? 0 : (size_t)(at - document->at) + strlen("\"instance\":\"");
}

/* The document with an id of our own length in place of the request's; NULL without memory. */
static struct zd_buf *document_of(
    const struct zd_request *req, const struct zd_text *document, size_t instance_at)
{
    ZD_SCOPED_TEXT(own, document->len + ZD_FRONT_MADE_ID_LEN);
    const size_t rest_at = instance_at + strlen(req->id);
    zd_text_add_bytes(&own, document->at, instance_at);
    zd_text_add(&own, ZD_RESPONSE_ANY_ID);
    zd_text_add_bytes(&own, document->at + rest_at, document->len - rest_at);
    struct zd_buf *buf = NULL;
    return zd_text_buf(&own, &buf) == ZD_OK ? buf : NULL;
}

void zd_reply_cache_put_problem(
    struct zd_request *req, const struct zd_problem *problem, const struct zd_text *document)
{
    const uint64_t until_ms = problem->keep_until_ms;
    const bool keeps = may_keep(req, until_ms) && until_ms > uv_now(req->server->loop);
    const size_t instance_at = keeps ? find_instance(document, req->id) : 0;
    struct zd_kept *kept = instance_at > 0 ? kept_new(req) : NULL;
    if (kept == NULL) {
        return;
    }
    kept->keep_until_ms = until_ms;
    kept->problem = zd_problem_kind_of(problem);
    kept->instance_at = instance_at;
    kept->reason = zd_strdup(zd_problem_detail(problem));
    ZD_AUTO(zd_buf) body = document_of(req, document, instance_at);
    struct MHD_Response *response = body == NULL ? NULL : zd_response_prepare_problem(req, body);
    if (begin_form(&kept->form[ZD_PLAIN], body, response) == ZD_OK) {
        put(req, kept);
    }
    kept_unref(cache_of(req), kept);
}

static void answer_problem_copy(struct zd_request *req, const struct zd_kept *kept)
{
    const struct zd_buf *body = kept->form[ZD_PLAIN].body;
    const size_t rest_at = kept->instance_at + ZD_FRONT_MADE_ID_LEN;
    struct zd_text *document = &req->server->front->scratch;
    zd_text_clear(document);
    zd_text_add_bytes(document, body->data, kept->instance_at);
    zd_text_add(document, req->id);
    zd_text_add_bytes(document, body->data + rest_at, body->len - rest_at);
    (void)zd_response_give_document(req, kept->problem, document);
}

/* Unlike a head, the document is not copied when it is queued: it can have one request's id only as
 * long as that one is on its way. Others meanwhile get copies. */
static void answer_problem(struct zd_request *req, struct zd_kept *kept)
{
    const struct form *form = &kept->form[ZD_PLAIN];
    const bool is_in_use = kept->entry.refs > 1; /* one is the table's */
    req->server->metrics.n_problems++;
    zd_response_keep_reason(req, kept->reason);
    if (is_in_use || strlen(req->id) != ZD_FRONT_MADE_ID_LEN) {
        answer_problem_copy(req, kept);
        return;
    }
    (void)zd_cache_ref(&kept->entry);
    now_of(req)->kept_want.kept = kept; /* until the answer is sent */
    memcpy(form->body->data + kept->instance_at, req->id, ZD_FRONT_MADE_ID_LEN);
    now_of(req)->access.problem_code = kept->problem->code;
    (void)answer_shared(req, form, kept->problem->http_status);
}

/* ---- from what was kept ---- */

/* A client that refuses the kept type is answered by the handler, which knows what it may be. */
static bool accepts(const struct zd_request *req, const struct zd_kept *kept)
{
    const char *accept = kept->media_type == NULL ? NULL : req->accept;
    return accept == NULL || zd_accept_quality(accept, kept->media_type) > 0;
}

static bool is_trusted(const struct zd_request *req, const struct zd_kept *kept)
{
    const struct zd_dataset *owner = kept == NULL ? NULL : kept->entry.owner;
    return kept != NULL && kept->keep_until_ms > uv_now(req->server->loop) &&
           (owner == NULL || owner->n_changes == kept->n_changes);
}

/* What is kept and trusted, or NULL; borrowed. */
static struct zd_kept *find_trusted(const struct zd_request *req)
{
    struct zd_kept *kept = asks_part(req) ? find(req, true) : NULL;
    if (!is_trusted(req, kept)) {
        kept = find(req, false);
    }
    return is_trusted(req, kept) && suffices(req, kept) ? kept : NULL;
}

bool zd_reply_cache_answer(struct zd_request *req)
{
    struct zd_kept *kept = req->server->is_draining ? NULL : find_trusted(req);
    if (kept == NULL || !accepts(req, kept)) {
        return false; /* the handler may find that it is still the answer */
    }
    req->handler = kept->handler;
    req->route = kept->route;
    req->route_number = kept->route_number;
    if (kept->problem != NULL) {
        answer_problem(req, kept);
        return true;
    }
    const enum zd_coding coding = coding_for(req, kept);
    if (kept->form[coding].response == NULL) {
        (void)zd_cache_ref(&kept->entry);
        want(req, kept, coding);
        return false;
    }
    (void)answer_form(req, kept, &kept->form[coding]);
    return true;
}

void zd_reply_cache_init(struct zd_front *front, size_t bytes_max)
{
    front->server->replies = &front->kept;
    zd_cache_init(&front->kept, "replies", bytes_max, kept_free);
    /* The listing of a large hierarchy has some MB, and is worth more than what it pushes out. */
    front->kept.entry_bytes_max = bytes_max / ENTRY_PART;
}

void zd_reply_cache_done(struct zd_front *front)
{
    zd_cache_done(&front->kept);
}
