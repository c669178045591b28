/* Find out how an engine treats conditions of uploads in parts.
 *
 *   BASE    an upload without a condition: has the engine any?
 *   SWAP    uploads that are completed on condition of one tag: one wins, round after round
 *   CREATE  uploads that are completed if there is no object: one wins, round after round
 *   CLEAN   all objects of the probe are erased
 *
 * All parts are there before the first completion is asked for. What a single request does not
 * obey is not asked for here. The objects have names that no key has. */
#include "core/store/s3/s3_upload_probe.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/store/s3/s3_upload.h"

#define WRITERS    8
#define ROUNDS     8
#define BODY_CHARS 64
#define KEY_CHARS  64

enum phase {
    PHASE_BASE,
    PHASE_SWAP,
    PHASE_CREATE,
    PHASE_CLEAN,
    PHASE_END,
};

struct writer {
    struct zd_s3_upload upload;
    struct zd_s3_call call; /* of CLEAN */
    bool is_ready;          /* and waits for the others */
    bool was_ready;         /* it is not waited for */
    char body[BODY_CHARS];
    char key[KEY_CHARS];
};

struct probe {
    struct zd_s3_store *s3;
    enum phase phase;
    uint32_t round;
    uint32_t n_running;
    uint32_t n_waiting; /* that run and are not ready */
    uint32_t n_won;
    uint32_t n_bodies;
    uint64_t name; /* of its keys */
    struct zd_s3_upload_abilities able;
    char etag[ZD_S3_TAG_BYTES_MAX + 1]; /* of the object of BASE and SWAP, without quotes */
    char tag[ZD_S3_TAG_BYTES_MAX + 3];  /* the same as the engine compares it */
    enum zd_status failure;             /* the first one of a phase */
    enum zd_status status;              /* the failure of a phase that nobody has won */
    struct zd_error err;
    struct zd_remote_fault fault;
    struct writer writer[ROUNDS + 1];
};

static void end(struct probe *probe)
{
    struct zd_s3_store *s3 = probe->s3;
    s3->is_probing_uploads = false;
    if (probe->status == ZD_OK) {
        s3->uploads = probe->able;
        s3->uploads.is_known = true;
    }
    zd_s3_probe_tell(&s3->uploads_waiting, probe->status, &probe->err, probe->fault);
    zd_free(probe);
}

/* ---- uploads ---- */

static void next_phase(struct probe *probe);

/* The condition was judged and did not hold; or the engine says that it knows of none. */
static bool is_refusal(const struct zd_s3_upload *upload)
{
    return upload->status == ZD_PRECONDITION || upload->status == ZD_NOT_FOUND ||
           zd_s3_probe_is_unknown(upload->http, upload->code) || upload->http == 409 ||
           upload->http == 412;
}

/* Nobody is left to wait for: the race begins. */
static void release(struct probe *probe)
{
    for (uint32_t i = 0; probe->n_waiting == 0 && i < WRITERS; i++) {
        if (probe->writer[i].is_ready) {
            probe->writer[i].is_ready = false;
            zd_s3_upload_complete(&probe->writer[i].upload);
        }
    }
}

static void ready(struct zd_s3_upload *upload)
{
    struct probe *probe = upload->context;
    struct writer *writer = ZD_CONTAINER(upload, struct writer, upload);
    writer->is_ready = true;
    writer->was_ready = true;
    probe->n_waiting--;
    release(probe);
}

static void done(struct zd_s3_upload *upload)
{
    struct probe *probe = upload->context;
    probe->able.is_lacking = probe->able.is_lacking || upload->is_unsupported;
    if (upload->status == ZD_OK) {
        probe->n_won++;
        (void)snprintf(probe->etag, sizeof probe->etag, "%s", upload->etag);
    } else if (!is_refusal(upload) && probe->failure == ZD_OK) {
        probe->failure = upload->status;
        probe->err = upload->err;
        probe->fault = upload->fault;
    }
    if (!ZD_CONTAINER(upload, struct writer, upload)->was_ready) {
        probe->n_waiting--;
        release(probe);
    }
    if (--probe->n_running == 0) {
        next_phase(probe);
    }
}

static void name_key(const struct probe *probe, uint32_t n, char *ret_key)
{
    (void)snprintf(ret_key, KEY_CHARS, ZD_TEMP_PREFIX "%016" PRIx64 "-%" PRIu32, probe->name, n);
}

/* @param condition borrowed until the phase is over */
static void start_uploads(
    struct probe *probe, uint32_t n, uint32_t key, const struct zd_s3_pair *condition)
{
    for (uint32_t i = 0; i < n; i++) {
        struct writer *writer = &probe->writer[i];
        *writer = (struct writer){0};
        name_key(probe, key, writer->key);
        (void)snprintf(writer->body, sizeof writer->body, "zarrd %016" PRIx64 " %" PRIu32,
            probe->name, probe->n_bodies++);
        writer->upload.s3 = probe->s3;
        writer->upload.key = writer->key;
        writer->upload.bytes = zd_span_of(writer->body);
        writer->upload.condition = *condition;
        writer->upload.ready = ready;
        writer->upload.done = done;
        writer->upload.context = probe;
        if (zd_s3_upload_start(&writer->upload) == ZD_OK) {
            probe->n_running++;
            probe->n_waiting++;
        } else if (probe->status == ZD_OK) {
            probe->status = zd_fail(&probe->err, ZD_NO_MEMORY, "no memory for a request");
        }
    }
    if (probe->n_running == 0) {
        next_phase(probe);
    }
}

/* ---- phases ---- */

static void erased(struct zd_s3_call *call)
{
    struct probe *probe = call->context;
    zd_s3_call_done(call);
    if (--probe->n_running == 0) {
        next_phase(probe);
    }
}

static void clean(struct probe *probe)
{
    for (uint32_t i = 0; i <= ROUNDS; i++) {
        struct writer *writer = &probe->writer[i];
        name_key(probe, i, writer->key);
        writer->call = (struct zd_s3_call){.method = ZD_TRANSFER_DELETE,
            .key = writer->key,
            .bytes_max = ZD_TRANSFER_WORD_BYTES_MAX,
            .done = erased,
            .context = probe};
        probe->n_running++;
        zd_s3_call_start(&probe->s3->access, &writer->call);
    }
}

static void run_phase(struct probe *probe)
{
    probe->n_won = 0;
    probe->failure = ZD_OK;
    switch (probe->phase) {
    case PHASE_BASE:
        start_uploads(probe, 1, 0, &(struct zd_s3_pair){0});
        return;
    case PHASE_SWAP:
        zd_s3_store_spell(probe->s3, probe->etag, probe->tag);
        start_uploads(probe, WRITERS, 0, &(struct zd_s3_pair){"if-match", probe->tag});
        return;
    case PHASE_CREATE:
        start_uploads(probe, WRITERS, probe->round + 1, &(struct zd_s3_pair){"if-none-match", "*"});
        return;
    case PHASE_CLEAN:
        clean(probe);
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
    const struct zd_s3_abilities *single = &probe->s3->able;
    const enum phase create = single->creates ? PHASE_CREATE : PHASE_CLEAN;
    switch (probe->phase) {
    case PHASE_BASE:
        return probe->n_won == 0 ? PHASE_CLEAN : single->swaps ? PHASE_SWAP : create;
    case PHASE_SWAP:
        return after_round(probe, &probe->able.swaps, create);
    case PHASE_CREATE:
        return after_round(probe, &probe->able.creates, PHASE_CLEAN);
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

enum zd_status zd_s3_upload_probe_want(
    struct zd_s3_store *s3, struct zd_s3_probe_wait *wait, struct zd_error *err)
{
    assert(s3->able.is_known && !s3->uploads.is_known);
    if (!s3->is_probing_uploads) {
        struct probe *probe = zd_alloc_zero(1, sizeof *probe);
        if (probe == NULL) {
            return zd_fail(err, ZD_NO_MEMORY, "no memory for a probe of uploads");
        }
        probe->s3 = s3;
        probe->name = zd_hash_random_seed();
        s3->is_probing_uploads = true;
        zd_list_push_back(&s3->uploads_waiting, &wait->link);
        run_phase(probe);
        return ZD_OK;
    }
    zd_list_push_back(&s3->uploads_waiting, &wait->link);
    return ZD_OK;
}
