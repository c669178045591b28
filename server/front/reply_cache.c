/* Prepared answers (server/front/prepared.h): taken, given, compressed. */
#include "server/front/reply_cache.h"

#include <microhttpd.h>
#include <string.h>

#include "core/base/num.h"
#include "server/front/prepared.h"
#include "server/front/response.h"
#include "server/http/accept.h"
#include "server/request/respond.h"
#include "server/request/task.h"
#include "server/runtime/server.h"
#include "server/runtime/workers.h"

#define ENTRY_PART      2  /* one part of the cache is the most that an answer takes */
#define RANGE_BYTES_MAX 64 /* of a Range header; others are not prepared */

/** A form under way. */
struct coding_job {
    struct zd_job job;
    struct zd_server *server;     /* borrowed: outlives all work */
    struct zd_prepared *prepared; /* a reference */
    enum zd_coding coding;
    struct zd_buf *from; /* a reference */
    struct zd_buf *body; /* out; owned */
    enum zd_status status;
};

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
           sent->if_match == NULL && sent->if_none_match == NULL &&
           sent->if_modified_since == NULL && sent->if_unmodified_since == NULL &&
           strnlen(sent->range, RANGE_BYTES_MAX + 1) <= RANGE_BYTES_MAX;
}

/* ---- giving a form ---- */

static enum zd_next answer_part_of(
    struct zd_request *req, const struct zd_prepared_form *form, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = zd_prepared_copy(req, form, first, len);
    if (response != NULL) {
        zd_response_add_range(response, first, len, form->body->len);
    }
    return zd_response_give(req, MHD_HTTP_PARTIAL_CONTENT, response, len);
}

/* The shared response. libmicrohttpd renders the head when the response is queued, on this thread:
 * the id that it stores can be overwritten for each request just before, so that a hot answer
 * builds nothing. */
static enum zd_next answer_shared(
    struct zd_request *req, const struct zd_prepared_form *form, unsigned http_status)
{
    const uint64_t len = form->body == NULL ? 0 : form->body->len;
    if (strlen(req->id) != ZD_FRONT_MADE_ID_LEN) {
        return zd_response_give(req, http_status, zd_prepared_copy(req, form, 0, len), len);
    }
    (void)zd_response_give(req, http_status, form->response, len);
    now_of(req)->response_is_shared = true;
    now_of(req)->response_id = form->id;
    return ZD_DONE;
}

static enum zd_next answer_form(
    struct zd_request *req, const struct zd_prepared *prepared, const struct zd_prepared_form *form)
{
    if (!zd_request_is_reading(req)) {
        return answer_shared(req, form, MHD_HTTP_OK);
    }
    if (prepared->is_part) {
        return answer_shared(req, form, MHD_HTTP_PARTIAL_CONTENT);
    }
    switch (zd_request_condition(req, form->etag, prepared->mtime_ms)) {
    case ZD_NOT_MODIFIED:
        return answer_shared(req, form, MHD_HTTP_NOT_MODIFIED);
    case ZD_PRECONDITION:
        return zd_respond_precondition(req, form->etag);
    default:
        break;
    }
    uint64_t first = 0;
    uint64_t len = 0;
    if (prepared->accepts_ranges && req->conditions.range != NULL) {
        switch (
            zd_request_range(req, form->body->len, form->etag, prepared->mtime_ms, &first, &len)) {
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

static void compress(struct zd_job *job)
{
    struct coding_job *coding_job = ZD_CONTAINER(job, struct coding_job, job);
    coding_job->status =
        zd_compress(coding_job->coding, zd_buf_span(coding_job->from), &coding_job->body);
}

/* The work is done. Takes the job over. */
static enum zd_status end_job(struct coding_job *job, enum zd_status status)
{
    struct zd_server *server = job->server;
    struct zd_prepared *prepared = job->prepared;
    if (status == ZD_OK) {
        server->metrics.n_compressions++;
        status = zd_prepared_finish_form(prepared, job->coding, job->body);
    }
    zd_prepared_charge(server->front, prepared);
    zd_buf_unref(job->from);
    zd_buf_unref(job->body);
    zd_free(job);
    zd_prepared_unref(server->front, prepared);
    return status;
}

static void compressed(struct zd_wait *wait)
{
    struct coding_job *coding_job = ZD_CONTAINER(wait, struct coding_job, job.wait);
    struct zd_list waiters;
    zd_list_take_all(&coding_job->prepared->form[coding_job->coding].waiters, &waiters);
    coding_job->prepared->form[coding_job->coding].is_busy = false;
    const enum zd_status status = end_job(coding_job, coding_job->status);
    zd_wait_tell(&waiters, status, NULL);
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
            .from = zd_buf_ref(prepared->form[ZD_PLAIN].body),
        };
        (void)zd_cache_ref(&prepared->entry);
    }
    return job;
}

/* The first request that wants the form has it made. */
static enum zd_next want_form(struct zd_request *req)
{
    struct zd_reply_cache_want *want = want_of(req);
    struct zd_prepared_form *form = &want->prepared->form[want->coding];
    if (!form->is_busy) {
        struct coding_job *job = job_new(req);
        if (job == NULL) {
            zd_wait_answer(&want->wait, ZD_NO_MEMORY, NULL);
            return ZD_NEXT;
        }
        const uint64_t cost_ns = zd_compress_cost_ns(want->coding, job->from->len);
        job->job.owner = zd_task_owner(req);
        if (zd_workers_run(&req->server->workers, &job->job, cost_ns) == ZD_NEXT) {
            zd_wait_answer(&want->wait, end_job(job, job->status), NULL);
            return ZD_NEXT;
        }
        form->is_busy = true;
    }
    zd_list_push_back(&form->waiters, &want->wait.link);
    return ZD_WAIT;
}

/* Answers in the wanted form, or plain when that could not be made. */
static enum zd_next step_form(struct zd_request *req)
{
    const struct zd_reply_cache_want *want = want_of(req);
    const struct zd_prepared *prepared = want->prepared;
    const struct zd_prepared_form *form = &prepared->form[want->coding];
    if (form->response == NULL && want->wait.status == ZD_OK) {
        return want_form(req);
    }
    return answer_form(req, prepared, form->response == NULL ? &prepared->form[ZD_PLAIN] : form);
}

/* The request's next step answers with it. @param prepared a reference, taken over */
static void want(struct zd_request *req, struct zd_prepared *prepared, enum zd_coding coding)
{
    zd_reply_cache_release(req);
    *want_of(req) = (struct zd_reply_cache_want){
        .wait = zd_machine_wait(&req->machine),
        .prepared = prepared,
        .coding = coding,
    };
    req->step = step_form;
}

void zd_reply_cache_release(struct zd_request *req)
{
    zd_wait_cancel(&want_of(req)->wait);
    zd_prepared_unref(req->server->front, want_of(req)->prepared);
    want_of(req)->prepared = NULL;
}

/* ---- what handlers answer ---- */

static enum zd_coding coding_for(const struct zd_request *req, const struct zd_prepared *prepared)
{
    const struct zd_buf *plain = prepared->form[ZD_PLAIN].body;
    return prepared->may_be_coded && plain != NULL
               ? zd_accept_coding(req->accept_encoding, plain->len)
               : ZD_PLAIN;
}

static bool is_same(const struct zd_prepared *prepared, const struct zd_representation *rep)
{
    return prepared != NULL && prepared->problem == NULL && rep->etag[0] != '\0' &&
           strcmp(prepared->form[ZD_PLAIN].etag, rep->etag) == 0;
}

/* Without a body it is good for a 304, with an id of the length that it has. */
static bool suffices(const struct zd_request *req, const struct zd_prepared *prepared)
{
    const struct zd_prepared_form *plain = &prepared->form[ZD_PLAIN];
    return plain->body != NULL ||
           (strlen(req->id) == ZD_FRONT_MADE_ID_LEN &&
               zd_request_condition(req, plain->etag, prepared->mtime_ms) == ZD_NOT_MODIFIED);
}

/* The prepared representation that the tag says is still the answer, or NULL; a reference. */
static struct zd_prepared *find_same(
    const struct zd_request *req, const struct zd_representation *rep)
{
    struct zd_prepared *prepared = asks_part(req) ? zd_prepared_find(req, true) : NULL;
    if (!is_same(prepared, rep)) {
        prepared = zd_prepared_find(req, false);
    }
    if (!is_same(prepared, rep) || !suffices(req, prepared)) {
        return NULL;
    }
    prepared->keep_until_ms = rep->keep_until_ms;
    prepared->n_changes = zd_max_u64(prepared->n_changes, req->n_changes);
    (void)zd_cache_ref(&prepared->entry);
    return prepared;
}

bool zd_respond_renewed(struct zd_request *req, const struct zd_representation *rep)
{
    struct zd_prepared *prepared = may_keep(req, rep->keep_until_ms) ? find_same(req, rep) : NULL;
    if (prepared == NULL) {
        return false;
    }
    want(req, prepared, coding_for(req, prepared));
    return true;
}

/* A reference; NULL without memory. */
static struct zd_prepared *prepare(
    const struct zd_request *req, const struct zd_representation *rep)
{
    struct zd_prepared *prepared = zd_prepared_new(req);
    if (prepared == NULL) {
        return NULL;
    }
    struct zd_prepared_form *plain = &prepared->form[ZD_PLAIN];
    memcpy(plain->etag, rep->etag, sizeof plain->etag);
    if (zd_prepared_begin_form(plain, rep->body, zd_response_prepare(req, rep)) != ZD_OK) {
        zd_prepared_unref(req->server->front, prepared);
        return NULL;
    }
    prepared->keep_until_ms = rep->keep_until_ms;
    prepared->media_type = MHD_get_response_header(plain->response, "Content-Type");
    prepared->accepts_ranges = rep->accepts_ranges;
    prepared->is_part = rep->body_is_range;
    prepared->may_be_coded = zd_response_may_code(req, rep);
    prepared->mtime_ms = rep->mtime_ms;
    return prepared;
}

bool zd_reply_cache_take(struct zd_request *req, const struct zd_representation *rep)
{
    const bool keeps = may_keep(req, rep->keep_until_ms) && (!rep->body_is_range || asks_part(req));
    if (!keeps && zd_response_coding(req, rep, rep->body->len) == ZD_PLAIN) {
        return false;
    }
    struct zd_prepared *prepared = keeps ? find_same(req, rep) : NULL;
    if (prepared == NULL) {
        prepared = prepare(req, rep);
        if (prepared == NULL) {
            return false;
        }
        if (keeps) {
            zd_prepared_put(req, prepared);
        }
    }
    want(req, prepared, coding_for(req, prepared));
    return true;
}

bool zd_reply_cache_take_head(struct zd_request *req, const struct zd_representation *rep)
{
    const bool keeps = may_keep(req, rep->keep_until_ms) && rep->length_is_known &&
                       strlen(req->id) == ZD_FRONT_MADE_ID_LEN && !zd_response_may_code(req, rep);
    struct zd_prepared *prepared = keeps ? prepare(req, rep) : NULL;
    if (prepared == NULL) {
        return false;
    }
    zd_prepared_put(req, prepared);
    want(req, prepared, ZD_PLAIN);
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
    struct zd_prepared *prepared = instance_at > 0 ? zd_prepared_new(req) : NULL;
    if (prepared == NULL) {
        return;
    }
    prepared->keep_until_ms = until_ms;
    prepared->problem = zd_problem_kind_of(problem);
    prepared->instance_at = instance_at;
    prepared->reason = zd_strdup(zd_problem_detail(problem));
    ZD_AUTO(zd_buf) body = document_of(req, document, instance_at);
    struct MHD_Response *response = body == NULL ? NULL : zd_response_prepare_problem(req, body);
    if (zd_prepared_begin_form(&prepared->form[ZD_PLAIN], body, response) == ZD_OK) {
        zd_prepared_put(req, prepared);
    }
    zd_prepared_unref(req->server->front, prepared);
}

static void answer_problem_copy(struct zd_request *req, const struct zd_prepared *prepared)
{
    const struct zd_buf *body = prepared->form[ZD_PLAIN].body;
    const size_t rest_at = prepared->instance_at + ZD_FRONT_MADE_ID_LEN;
    struct zd_text *document = &req->server->front->scratch;
    zd_text_clear(document);
    zd_text_add_bytes(document, body->data, prepared->instance_at);
    zd_text_add(document, req->id);
    zd_text_add_bytes(document, body->data + rest_at, body->len - rest_at);
    (void)zd_response_give_document(req, prepared->problem, document);
}

/* Unlike a head, the document is not copied when it is queued: it can have one request's id only as
 * long as that one is on its way. Others meanwhile get copies. */
static void answer_problem(struct zd_request *req, struct zd_prepared *prepared)
{
    const struct zd_prepared_form *form = &prepared->form[ZD_PLAIN];
    const bool is_in_use = prepared->entry.refs > 1; /* one is the table's */
    req->server->metrics.n_problems++;
    if (is_in_use || strlen(req->id) != ZD_FRONT_MADE_ID_LEN) {
        zd_response_keep_reason(req, prepared->reason == NULL ? "" : prepared->reason);
        answer_problem_copy(req, prepared);
        return;
    }
    (void)zd_cache_ref(&prepared->entry);
    want_of(req)->prepared = prepared; /* until the answer is sent */
    memcpy(form->body->data + prepared->instance_at, req->id, ZD_FRONT_MADE_ID_LEN);
    now_of(req)->access.problem_code = prepared->problem->code;
    now_of(req)->access.reason = prepared->reason;
    (void)answer_shared(req, form, prepared->problem->http_status);
}

/* ---- answering from prepared answers ---- */

/* A client that refuses the prepared type is answered by the handler, which knows what it may be.
 */
static bool accepts(const struct zd_request *req, const struct zd_prepared *prepared)
{
    const char *accept = prepared->media_type == NULL ? NULL : req->accept;
    return accept == NULL || zd_accept_quality(accept, prepared->media_type) > 0;
}

static bool is_trusted(const struct zd_request *req, const struct zd_prepared *prepared)
{
    const struct zd_dataset *owner = prepared == NULL ? NULL : prepared->entry.owner;
    return prepared != NULL && prepared->keep_until_ms > uv_now(req->server->loop) &&
           (owner == NULL || owner->n_changes == prepared->n_changes);
}

/* What is prepared and trusted, or NULL; borrowed. */
static struct zd_prepared *find_trusted(const struct zd_request *req)
{
    struct zd_prepared *prepared = asks_part(req) ? zd_prepared_find(req, true) : NULL;
    if (!is_trusted(req, prepared)) {
        prepared = zd_prepared_find(req, false);
    }
    return is_trusted(req, prepared) && suffices(req, prepared) ? prepared : NULL;
}

bool zd_reply_cache_answer(struct zd_request *req)
{
    struct zd_prepared *prepared = req->server->is_draining ? NULL : find_trusted(req);
    if (prepared == NULL || !accepts(req, prepared)) {
        return false; /* the handler may find that it is still the answer */
    }
    req->route = prepared->route;
    req->route_number = prepared->route_number;
    if (prepared->problem != NULL) {
        answer_problem(req, prepared);
        return true;
    }
    const enum zd_coding coding = coding_for(req, prepared);
    if (prepared->form[coding].response == NULL) {
        (void)zd_cache_ref(&prepared->entry);
        want(req, prepared, coding);
        return false;
    }
    (void)answer_form(req, prepared, &prepared->form[coding]);
    return true;
}

void zd_reply_cache_init(struct zd_front *front, size_t bytes_max)
{
    zd_cache_init(&front->prepared, "replies", bytes_max, zd_prepared_free);
    zd_list_push_back(&front->server->caches, &front->prepared.link);
    /* The listing of a large hierarchy has some MB, and is worth more than what it pushes out. */
    front->prepared.entry_bytes_max = bytes_max / ENTRY_PART;
}

void zd_reply_cache_done(struct zd_front *front)
{
    zd_cache_done(&front->prepared);
}
