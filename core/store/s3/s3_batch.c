/* Erasures that are ready together become one request.
 *
 *   join -> looks -> add -> all are ready? -> one of them: alone
 *                                          -> more: POST -> done, each with its own outcome
 *
 * A batch takes in erasures as long as somebody waits for a turn; who is ready meanwhile lets go of
 * his thread, so that they get one. An engine that has no such request, or does not take this one,
 * is asked for each object by itself. */
#include "core/store/s3/s3_batch.h"

#include <string.h>

#include "core/store/s3/s3_answer.h"

struct zd_s3_batch {
    struct zd_s3_store *s3;
    struct zd_s3_batch_request request; /* its erasures: those that are ready */
    uint32_t n_ready;
    uint32_t n_joined; /* the ready ones among them */
    bool is_sent;
};

/* ---- the request ---- */

enum zd_status zd_s3_batch_request_start(
    struct zd_s3_store *s3, struct zd_s3_batch_request *request)
{
    struct zd_s3_call *call = &request->call;
    const char *prefix = s3->access.bucket.prefix;
    ZD_TRY(zd_s3_erasures_write(&request->erasures, prefix, &request->body));
    ZD_TRY(zd_s3_sign_content_md5(zd_buf_span(request->body), request->md5));
    call->method = ZD_TRANSFER_POST;
    call->query[call->n_query++] = (struct zd_s3_pair){"delete", ""};
    call->header[call->n_headers++] = (struct zd_s3_pair){"content-md5", request->md5};
    call->header[call->n_headers++] = (struct zd_s3_pair){"content-type", "application/xml"};
    call->body = zd_buf_span(request->body);
    call->bytes_max = ZD_S3_ERASURES_ANSWER_BYTES;
    zd_s3_call_start(&s3->access, call);
    return ZD_OK;
}

enum zd_status zd_s3_batch_request_read(
    const struct zd_s3_store *s3, struct zd_s3_batch_request *request, struct zd_error *err)
{
    const struct zd_transfer *transfer = &request->call.transfer;
    if (transfer->status != ZD_OK || transfer->head.code != 200 || transfer->bytes == NULL) {
        return zd_fail(err, ZD_STORE, "malformed DeleteObjects response");
    }
    return zd_s3_erasures_read(
        zd_buf_span(transfer->bytes), &request->erasures, s3->access.bucket.prefix, err);
}

void zd_s3_batch_request_done(struct zd_s3_batch_request *request)
{
    zd_s3_call_done(&request->call);
    zd_buf_unref(ZD_TAKE(request->body));
}

static void free_batch(struct zd_s3_batch *batch)
{
    if (batch->s3->gathering == batch) {
        batch->s3->gathering = NULL;
    }
    zd_s3_batch_request_done(&batch->request);
    zd_free(batch);
}

/* ---- the end ---- */

/* None of them is in the batch any more when the first one is told: it may cancel the others. */
static void end_each(struct zd_s3_batch *batch)
{
    struct zd_s3_store *s3 = batch->s3;
    struct zd_list ended;
    zd_list_take_all(&batch->request.erasures, &ended);
    free_batch(batch);
    for (struct zd_list *at = ended.next; at != &ended; at = at->next) {
        ZD_CONTAINER(at, struct zd_s3_erasure, link)->batch = NULL;
        zd_turns_resume(&s3->turns);
    }
    for (struct zd_list *link; (link = zd_list_pop_front(&ended)) != NULL;) {
        struct zd_s3_erasure *erasure = ZD_CONTAINER(link, struct zd_s3_erasure, link);
        erasure->done(erasure);
    }
}

static void end_alone(struct zd_s3_batch *batch)
{
    for (struct zd_list *at = batch->request.erasures.next; at != &batch->request.erasures;
        at = at->next) {
        ZD_CONTAINER(at, struct zd_s3_erasure, link)->is_alone = true;
    }
    end_each(batch);
}

/* The whole request has failed. */
static void fail_each(struct zd_s3_batch *batch)
{
    const struct zd_s3_call *call = &batch->request.call;
    for (struct zd_list *at = batch->request.erasures.next; at != &batch->request.erasures;
        at = at->next) {
        struct zd_s3_erasure *erasure = ZD_CONTAINER(at, struct zd_s3_erasure, link);
        erasure->status = zd_s3_answer_judge(call, erasure->key, &erasure->err, &erasure->fault);
        erasure->is_unsure = true;
    }
    end_each(batch);
}

/* An answer 200 that is none. */
static void fail_answer(struct zd_s3_batch *batch, const struct zd_error *err)
{
    for (struct zd_list *at = batch->request.erasures.next; at != &batch->request.erasures;
        at = at->next) {
        struct zd_s3_erasure *erasure = ZD_CONTAINER(at, struct zd_s3_erasure, link);
        erasure->status =
            zd_s3_answer_fail(&erasure->err, &erasure->fault, erasure->key, err->text);
        erasure->is_unsure = true;
    }
    end_each(batch);
}

/* ---- sending ---- */

/* It was refused as a request, so that nothing has happened: engines without it, or that do not
 * read this one. */
static bool is_unread(const struct zd_s3_call *call)
{
    const uint32_t code = call->transfer.head.code;
    return call->transfer.status == ZD_OK &&
           ((code >= 400 && code < 500 && code != 408 && code != 429) || code == 501);
}

static void sent(struct zd_s3_call *call)
{
    struct zd_s3_batch *batch = call->context;
    struct zd_s3_store *s3 = batch->s3;
    const uint32_t code = call->transfer.head.code;
    struct zd_error err = {0};
    if (is_unread(call)) {
        s3->lacks_batches = s3->lacks_batches ||
                            (code != 401 && code != 403 && strcmp(call->code, "MalformedXML") != 0);
        end_alone(batch);
        return;
    }
    if (call->transfer.status != ZD_OK || code < 200 || code >= 300) {
        fail_each(batch);
    } else if (zd_s3_batch_request_read(s3, &batch->request, &err) != ZD_OK) {
        fail_answer(batch, &err);
    } else {
        end_each(batch);
    }
}

static void send_batch(struct zd_s3_batch *batch)
{
    struct zd_s3_store *s3 = batch->s3;
    batch->is_sent = true;
    if (s3->gathering == batch) {
        s3->gathering = NULL;
    }
    batch->request.call.done = sent;
    batch->request.call.context = batch;
    if (batch->n_ready < 2 || s3->lacks_batches ||
        zd_s3_batch_request_start(s3, &batch->request) != ZD_OK) {
        end_alone(batch);
    }
}

/* Nobody is on the way to it any more. */
static void settle(struct zd_s3_batch *batch)
{
    if (batch->n_joined == 0) {
        free_batch(batch);
    } else if (batch->n_ready == batch->n_joined) {
        send_batch(batch);
    }
}

/* ---- members ---- */

static struct zd_s3_batch *open_batch(struct zd_s3_store *s3)
{
    struct zd_s3_batch *batch = s3->gathering;
    if (batch == NULL) {
        batch = zd_alloc_zero(1, sizeof *batch);
        if (batch == NULL) {
            return NULL;
        }
        batch->s3 = s3;
        zd_list_init(&batch->request.erasures);
        s3->gathering = batch;
    }
    return batch;
}

void zd_s3_batch_join(struct zd_s3_store *s3, struct zd_s3_erasure *erasure)
{
    struct zd_s3_batch *batch = s3->lacks_batches ? NULL : open_batch(s3);
    erasure->batch = batch;
    erasure->is_alone = false;
    if (batch != NULL && ++batch->n_joined == ZD_S3_ERASURES_MAX) {
        s3->gathering = NULL;
    }
}

void zd_s3_batch_add(struct zd_s3_store *s3, struct zd_s3_erasure *erasure)
{
    struct zd_s3_batch *batch = erasure->batch;
    if (batch == NULL) {
        erasure->is_alone = true;
        erasure->done(erasure);
        return;
    }
    zd_turns_pause(&s3->turns); /* more of them may join now */
    zd_list_push_back(&batch->request.erasures, &erasure->link);
    batch->n_ready++;
    if (s3->gathering == batch) {
        s3->gathering = zd_turns_are_waited_for(&s3->turns) ? batch : NULL;
    }
    settle(batch);
}

bool zd_s3_batch_leave(struct zd_s3_store *s3, struct zd_s3_erasure *erasure)
{
    struct zd_s3_batch *batch = erasure->batch;
    if (batch == NULL) {
        return true;
    }
    if (batch->is_sent) {
        return false;
    }
    if (zd_list_is_linked(&erasure->link)) {
        zd_list_remove(&erasure->link);
        batch->n_ready--;
        zd_turns_resume(&s3->turns);
    }
    erasure->batch = NULL;
    batch->n_joined--;
    settle(batch);
    return true;
}
