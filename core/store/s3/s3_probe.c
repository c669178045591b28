/* Find out how an engine treats conditions of writes.
 *
 *   CREATE       writers of one key that must be absent: one wins, round after round
 *   BASE         an object without a condition, for what follows
 *   SPELL, BARE  are tags compared with their quotes, or without?
 *   WRONG        a tag that no object has must not match
 *   SWAP         writers of one tag: one wins, round after round
 *   KEEP, ERASE  an erasure with a wrong tag, then with the right one
 *   BASE_MANY .. the same by erasures of many objects, where an erasure of one obeys tags
 *   CLEAN        all objects of the probe are erased
 *
 * They have names that no key has, so that no listing shows them. */
#include "core/store/s3/s3_probe.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/store/s3/s3_answer.h"
#include "core/store/s3/s3_batch.h"

#define WRITERS    8
#define ROUNDS     8
#define BODY_CHARS 64
#define KEY_CHARS  64
#define WRONG_TAG  "00000000000000000000000000000000"

enum phase {
    PHASE_CREATE,
    PHASE_BASE,
    PHASE_SPELL,
    PHASE_BARE,
    PHASE_WRONG,
    PHASE_SWAP,
    PHASE_KEEP,
    PHASE_ERASE,
    PHASE_BASE_MANY,
    PHASE_KEEP_MANY,
    PHASE_ERASE_MANY,
    PHASE_CLEAN,
    PHASE_END,
};

struct writer {
    struct zd_s3_call call;
    char key[KEY_CHARS];
    char tag[ZD_S3_TAG_BYTES_MAX + 3];
    struct zd_buf *body;
    struct zd_s3_erasure erasure;
    struct zd_s3_batch_request many;
};

struct probe {
    struct zd_s3_store *s3;
    enum phase phase;
    uint32_t round;
    uint32_t n_running;
    uint32_t n_won;
    uint32_t n_lost; /* of PHASE_KEEP_MANY */
    uint32_t n_bodies;
    uint64_t name; /* of its keys */
    struct zd_s3_abilities able;
    char etag[ZD_S3_TAG_BYTES_MAX + 1]; /* of the object of the last round, without quotes */
    enum zd_status failure; /* the first one of a phase: RGW fails some of those who lose a race */
    enum zd_status status;  /* the failure of a phase that nobody has won */
    struct zd_error err;
    struct zd_remote_fault fault;
    struct writer writer[WRITERS];
};

void zd_s3_probe_tell(struct zd_list *waiting, enum zd_status status, const struct zd_error *err,
    struct zd_remote_fault fault)
{
    struct zd_list ready;
    zd_list_take_all(waiting, &ready);
    for (struct zd_list *link; (link = zd_list_pop_front(&ready)) != NULL;) {
        struct zd_s3_probe_wait *wait = ZD_CONTAINER(link, struct zd_s3_probe_wait, link);
        wait->status = status;
        wait->err = *err;
        wait->fault = fault;
        wait->done(wait);
    }
}

static void end(struct probe *probe)
{
    struct zd_s3_store *s3 = probe->s3;
    s3->is_probing = false;
    if (probe->status == ZD_OK) {
        s3->able = probe->able;
        s3->able.is_known = true;
    }
    zd_s3_probe_tell(&s3->waiting, probe->status, &probe->err, probe->fault);
    zd_free(probe);
}

/* ---- requests ---- */

bool zd_s3_probe_is_unknown(uint32_t http, const char *code)
{
    return http == 501 || (http == 400 && (strcmp(code, "InvalidArgument") == 0 ||
                                              strcmp(code, "InvalidRequest") == 0 ||
                                              strcmp(code, "NotImplemented") == 0));
}

/* The condition was judged and did not hold; or the engine says that it knows of none. */
static bool is_refusal(const struct zd_s3_call *call)
{
    const uint32_t code = call->transfer.head.code;
    return call->transfer.status == ZD_OK &&
           (zd_s3_probe_is_unknown(code, call->code) || code == 412 || code == 409 ||
               (code == 404 && strcmp(call->code, "NoSuchKey") == 0));
}

static void keep_tag(struct probe *probe, const struct zd_s3_call *call)
{
    const char *etag = call->transfer.head.etag;
    const size_t quotes = etag[0] == '"' ? 1 : 0;
    const size_t len = strlen(etag);
    if (len >= 2 * quotes && len - 2 * quotes <= ZD_S3_TAG_BYTES_MAX) {
        (void)snprintf(
            probe->etag, sizeof probe->etag, "%.*s", (int)(len - 2 * quotes), etag + quotes);
    }
}

static void next_phase(struct probe *probe);

static void done(struct zd_s3_call *call)
{
    struct probe *probe = call->context;
    struct writer *writer = ZD_CONTAINER(call, struct writer, call);
    const uint32_t code = call->transfer.head.code;
    if (call->transfer.status == ZD_OK && code >= 200 && code < 300) {
        probe->n_won++;
        keep_tag(probe, call);
    } else if (!is_refusal(call) && probe->failure == ZD_OK) {
        probe->failure =
            zd_s3_answer_judge(call, "a probe of conditions", &probe->err, &probe->fault);
    }
    zd_s3_call_done(call);
    zd_buf_unref(ZD_TAKE(writer->body));
    if (--probe->n_running == 0) {
        next_phase(probe);
    }
}

static struct zd_buf *new_body(struct probe *probe)
{
    char text[BODY_CHARS];
    const int len = snprintf(
        text, sizeof text, "zarrd %016" PRIx64 " %" PRIu32, probe->name, probe->n_bodies++);
    return zd_buf_copy((struct zd_span){.ptr = (const uint8_t *)text, .len = (size_t)len});
}

/* @param name of the condition's header; NULL = none. @param value copied */
static void ask(struct probe *probe, enum zd_transfer_method method, uint32_t round,
    const char *name, const char *value)
{
    struct writer *writer = &probe->writer[probe->n_running];
    *writer = (struct writer){0};
    (void)snprintf(writer->key, sizeof writer->key, ZD_TEMP_PREFIX "%016" PRIx64 "-%" PRIu32,
        probe->name, round);
    writer->call =
        (struct zd_s3_call){.method = method, .key = writer->key, .done = done, .context = probe};
    if (method == ZD_TRANSFER_PUT) {
        writer->body = new_body(probe);
        if (writer->body != NULL) {
            writer->call.body = zd_buf_span(writer->body);
        } else if (probe->status == ZD_OK) {
            probe->status = zd_fail(&probe->err, ZD_NO_MEMORY, "no memory for a request");
        }
    }
    if (name != NULL) {
        (void)snprintf(writer->tag, sizeof writer->tag, "%s", value);
        writer->call.header[writer->call.n_headers++] = (struct zd_s3_pair){name, writer->tag};
    }
    probe->n_running++;
    zd_s3_call_start(&probe->s3->access, &writer->call);
}

/* An engine that does not answer it has no such request: the probe goes on. */
static void done_many(struct zd_s3_call *call)
{
    struct probe *probe = call->context;
    struct writer *writer = &probe->writer[0];
    const struct zd_s3_erasure *erasure = &writer->erasure;
    if (zd_s3_batch_request_read(probe->s3, &writer->many, NULL) == ZD_OK && erasure->is_told) {
        probe->n_won += erasure->status == ZD_OK;
        probe->n_lost += erasure->status == ZD_PRECONDITION;
    }
    zd_s3_batch_request_done(&writer->many);
    probe->n_running--;
    next_phase(probe);
}

static void ask_many(struct probe *probe, const char *tag)
{
    struct writer *writer = &probe->writer[0];
    *writer = (struct writer){.erasure = {.key = writer->key, .tag = writer->tag}};
    (void)snprintf(writer->key, sizeof writer->key, ZD_TEMP_PREFIX "%016" PRIx64 "-0", probe->name);
    (void)snprintf(writer->tag, sizeof writer->tag, "%s", tag);
    zd_list_init(&writer->many.erasures);
    zd_list_push_back(&writer->many.erasures, &writer->erasure.link);
    writer->many.call.done = done_many;
    writer->many.call.context = probe;
    if (zd_s3_batch_request_start(probe->s3, &writer->many) == ZD_OK) {
        probe->n_running++;
    } else {
        probe->phase = PHASE_ERASE_MANY;
        next_phase(probe);
    }
}

/* ---- phases ---- */

static void spell(const struct probe *probe, const char *etag, char *ret_value)
{
    const char *quote = probe->able.has_bare_tag ? "" : "\"";
    (void)snprintf(ret_value, ZD_S3_TAG_BYTES_MAX + 3, "%s%s%s", quote, etag, quote);
}

static void run_phase(struct probe *probe)
{
    char right[ZD_S3_TAG_BYTES_MAX + 3];
    char wrong[ZD_S3_TAG_BYTES_MAX + 3];
    spell(probe, probe->etag, right);
    spell(probe, WRONG_TAG, wrong);
    probe->n_won = 0;
    probe->n_lost = 0;
    probe->failure = ZD_OK;
    switch (probe->phase) {
    case PHASE_CREATE:
        for (uint32_t i = 0; i < WRITERS; i++) {
            ask(probe, ZD_TRANSFER_PUT, probe->round, "if-none-match", "*");
        }
        return;
    case PHASE_BASE:
        ask(probe, ZD_TRANSFER_PUT, 0, NULL, NULL);
        return;
    case PHASE_SPELL:
    case PHASE_BARE:
        ask(probe, ZD_TRANSFER_PUT, 0, "if-match", right);
        return;
    case PHASE_WRONG:
        ask(probe, ZD_TRANSFER_PUT, 0, "if-match", wrong);
        return;
    case PHASE_SWAP:
        for (uint32_t i = 0; i < WRITERS; i++) {
            ask(probe, ZD_TRANSFER_PUT, 0, "if-match", right);
        }
        return;
    case PHASE_KEEP:
        ask(probe, ZD_TRANSFER_DELETE, 0, "if-match", wrong);
        return;
    case PHASE_ERASE:
        ask(probe, ZD_TRANSFER_DELETE, 0, "if-match", right);
        return;
    case PHASE_BASE_MANY:
        ask(probe, ZD_TRANSFER_PUT, 0, NULL, NULL);
        return;
    case PHASE_KEEP_MANY:
        ask_many(probe, wrong);
        return;
    case PHASE_ERASE_MANY:
        ask_many(probe, right);
        return;
    case PHASE_CLEAN:
        for (uint32_t round = 0; round < ROUNDS; round++) {
            ask(probe, ZD_TRANSFER_DELETE, round, NULL, NULL);
        }
        return;
    case PHASE_END:
        end(probe);
        return;
    }
}

/* A round more, until one is lost or all are won. @return the phase that follows */
static enum phase after_round(struct probe *probe, bool *able, enum phase next)
{
    *able = probe->n_won == 1;
    if (*able && ++probe->round < ROUNDS) {
        return probe->phase;
    }
    probe->round = 0;
    return next;
}

static enum phase after_phase(struct probe *probe)
{
    struct zd_s3_abilities *able = &probe->able;
    const bool is_won = probe->n_won == 1;
    switch (probe->phase) {
    case PHASE_CREATE:
        return after_round(probe, &able->creates, PHASE_BASE);
    case PHASE_BASE:
        return PHASE_SPELL;
    case PHASE_SPELL:
        able->has_bare_tag = !is_won;
        return is_won ? PHASE_WRONG : PHASE_BARE;
    case PHASE_BARE:
        able->has_bare_tag = is_won;
        return is_won ? PHASE_WRONG : PHASE_CLEAN;
    case PHASE_WRONG:
        return is_won ? PHASE_CLEAN : PHASE_SWAP;
    case PHASE_SWAP:
        return after_round(probe, &able->swaps, PHASE_KEEP);
    case PHASE_KEEP:
        return is_won ? PHASE_CLEAN : PHASE_ERASE;
    case PHASE_ERASE:
        able->erases = is_won;
        return is_won ? PHASE_BASE_MANY : PHASE_CLEAN;
    case PHASE_BASE_MANY:
        return PHASE_KEEP_MANY;
    case PHASE_KEEP_MANY:
        return probe->n_lost == 1 ? PHASE_ERASE_MANY : PHASE_CLEAN;
    case PHASE_ERASE_MANY:
        able->erases_many = is_won;
        return PHASE_CLEAN;
    case PHASE_CLEAN:
    case PHASE_END:
        break;
    }
    return PHASE_END;
}

static void next_phase(struct probe *probe)
{
    if (probe->n_won == 0 && probe->phase < PHASE_CLEAN && probe->status == ZD_OK) {
        probe->status = probe->failure;
    }
    const bool has_failed = probe->status != ZD_OK && probe->phase < PHASE_CLEAN;
    probe->phase = has_failed ? PHASE_CLEAN : after_phase(probe);
    run_phase(probe);
}

enum zd_status zd_s3_probe_want(
    struct zd_s3_store *s3, struct zd_s3_probe_wait *wait, struct zd_error *err)
{
    assert(!s3->able.is_known);
    if (!s3->is_probing) {
        struct probe *probe = zd_alloc_zero(1, sizeof *probe);
        if (probe == NULL) {
            return zd_fail(err, ZD_NO_MEMORY, "no memory for a probe of conditions");
        }
        probe->s3 = s3;
        probe->name = zd_hash_random_seed();
        s3->is_probing = true;
        zd_list_push_back(&s3->waiting, &wait->link);
        run_phase(probe);
        return ZD_OK;
    }
    zd_list_push_back(&s3->waiting, &wait->link);
    return ZD_OK;
}

static enum zd_status refuse(struct zd_store_write *write, const char *what)
{
    return zd_fail(&write->op.err, ZD_UNABLE,
        "%.200s: the store at this endpoint does not support %s, which this change needs",
        write->key, what);
}

/* An erasure that undoes goes without: of what was stored too much, nothing else would be left. */
enum zd_status zd_s3_probe_judge(
    const struct zd_s3_store *s3, struct zd_store_write *write, bool is_erasure)
{
    const struct zd_s3_abilities *able = &s3->able;
    if (write->condition == ZD_CONDITION_NONE) {
        return ZD_OK;
    }
    if (is_erasure) {
        return able->erases || write->is_undo
                   ? ZD_OK
                   : refuse(write, "conditional deletion (DELETE with If-Match)");
    }
    if (write->condition == ZD_CONDITION_ABSENT) {
        return able->creates ? ZD_OK
                             : refuse(write, "conditional creation (PUT with If-None-Match: *)");
    }
    return able->swaps ? ZD_OK : refuse(write, "conditional replacement (PUT with If-Match)");
}
