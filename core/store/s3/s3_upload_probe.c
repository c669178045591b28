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
#include <stdio.h>

#include "core/store/s3/s3_upload.h"

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
    char body[ZD_S3_RACE_BODY_CHARS];
    char key[ZD_S3_RACE_KEY_CHARS];
};

struct probe {
    struct zd_s3_race race;
    uint32_t n_waiting; /* that run and are not ready */
    struct zd_s3_upload_abilities able;
    char etag[ZD_S3_TAG_BYTES_MAX + 1]; /* of the object of BASE and SWAP, without quotes */
    char tag[ZD_S3_TAG_BYTES_MAX + 3];  /* the same as the engine compares it */
    struct writer writer[ZD_S3_RACE_ROUNDS + 1];
};

static struct probe *probe_of(struct zd_s3_race *race)
{
    return ZD_CONTAINER(race, struct probe, race);
}

static void end(struct probe *probe)
{
    struct zd_s3_store *s3 = probe->race.s3;
    s3->is_probing_uploads = false;
    if (probe->race.status == ZD_OK) {
        s3->uploads = probe->able;
        s3->uploads.is_known = true;
    }
    zd_s3_race_tell(&probe->race, &s3->uploads_waiting);
    zd_free(probe);
}

/* ---- uploads ---- */

/* The condition was judged and did not hold; or the engine says that it knows of none. */
static bool is_refusal(const struct zd_s3_upload *upload)
{
    return upload->status == ZD_PRECONDITION || upload->status == ZD_NOT_FOUND ||
           zd_s3_race_is_unknown(upload->http, upload->code) || upload->http == 409 ||
           upload->http == 412;
}

/* Nobody is left to wait for: the race begins. */
static void release(struct probe *probe)
{
    for (uint32_t i = 0; probe->n_waiting == 0 && i < ZD_S3_RACE_WRITERS; i++) {
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
    struct zd_s3_race *race = &probe->race;
    probe->able.is_lacking = probe->able.is_lacking || upload->is_unsupported;
    if (upload->status == ZD_OK) {
        race->n_won++;
        (void)snprintf(probe->etag, sizeof probe->etag, "%s", upload->etag);
    } else if (!is_refusal(upload) && race->failure == ZD_OK) {
        race->failure = upload->status;
        race->err = upload->err;
        race->fault = upload->fault;
    }
    if (!ZD_CONTAINER(upload, struct writer, upload)->was_ready) {
        probe->n_waiting--;
        release(probe);
    }
    zd_s3_race_leave(race);
}

/* @param condition borrowed until the phase is over */
static void start_uploads(
    struct probe *probe, uint32_t n, uint32_t key, const struct zd_s3_pair *condition)
{
    struct zd_s3_race *race = &probe->race;
    for (uint32_t i = 0; i < n; i++) {
        struct writer *writer = &probe->writer[i];
        *writer = (struct writer){0};
        zd_s3_race_name_key(race, key, writer->key);
        zd_s3_race_write_body(race, writer->body);
        writer->upload.s3 = race->s3;
        writer->upload.key = writer->key;
        writer->upload.bytes = zd_span_of(writer->body);
        writer->upload.condition = *condition;
        writer->upload.ready = ready;
        writer->upload.done = done;
        writer->upload.context = probe;
        if (zd_s3_upload_start(&writer->upload) == ZD_OK) {
            race->n_running++;
            probe->n_waiting++;
        } else {
            zd_s3_race_fail(race);
        }
    }
    if (race->n_running == 0) {
        zd_s3_race_next(race);
    }
}

/* ---- phases ---- */

static void erased(struct zd_s3_call *call)
{
    struct probe *probe = call->context;
    zd_s3_call_done(call);
    zd_s3_race_leave(&probe->race);
}

static void clean(struct probe *probe)
{
    for (uint32_t i = 0; i <= ZD_S3_RACE_ROUNDS; i++) {
        struct writer *writer = &probe->writer[i];
        zd_s3_race_name_key(&probe->race, i, writer->key);
        writer->call = (struct zd_s3_call){.method = ZD_TRANSFER_DELETE,
            .key = writer->key,
            .bytes_max = ZD_TRANSFER_WORD_BYTES_MAX,
            .done = erased,
            .context = probe};
        probe->race.n_running++;
        zd_s3_call_start(&probe->race.s3->access, &writer->call);
    }
}

static void run_phase(struct zd_s3_race *race)
{
    struct probe *probe = probe_of(race);
    switch ((enum phase)race->phase) {
    case PHASE_BASE:
        start_uploads(probe, 1, 0, &(struct zd_s3_pair){0});
        return;
    case PHASE_SWAP:
        zd_s3_store_spell(race->s3, probe->etag, probe->tag);
        start_uploads(probe, ZD_S3_RACE_WRITERS, 0, &(struct zd_s3_pair){"if-match", probe->tag});
        return;
    case PHASE_CREATE:
        start_uploads(
            probe, ZD_S3_RACE_WRITERS, race->round + 1, &(struct zd_s3_pair){"if-none-match", "*"});
        return;
    case PHASE_CLEAN:
        clean(probe);
        return;
    case PHASE_END:
        end(probe);
        return;
    }
}

static uint32_t after_phase(struct zd_s3_race *race)
{
    struct probe *probe = probe_of(race);
    const struct zd_s3_abilities *single = &race->s3->able;
    const enum phase create = single->creates ? PHASE_CREATE : PHASE_CLEAN;
    switch ((enum phase)race->phase) {
    case PHASE_BASE:
        return race->n_won == 0 ? PHASE_CLEAN : single->swaps ? PHASE_SWAP : create;
    case PHASE_SWAP:
        return zd_s3_race_after_round(race, &probe->able.swaps, create);
    case PHASE_CREATE:
        return zd_s3_race_after_round(race, &probe->able.creates, PHASE_CLEAN);
    case PHASE_CLEAN:
    case PHASE_END:
        break;
    }
    return PHASE_END;
}

enum zd_status zd_s3_upload_probe_want(
    struct zd_s3_store *s3, struct zd_s3_race_wait *wait, struct zd_error *err)
{
    assert(s3->able.is_known && !s3->uploads.is_known);
    if (!s3->is_probing_uploads) {
        struct probe *probe = zd_alloc_zero(1, sizeof *probe);
        if (probe == NULL) {
            return zd_fail(err, ZD_NO_MEMORY, "no memory for a probe of uploads");
        }
        probe->race = (struct zd_s3_race){
            .s3 = s3, .run = run_phase, .after = after_phase, .clean = PHASE_CLEAN};
        s3->is_probing_uploads = true;
        zd_list_push_back(&s3->uploads_waiting, &wait->link);
        zd_s3_race_begin(&probe->race);
        return ZD_OK;
    }
    zd_list_push_back(&s3->uploads_waiting, &wait->link);
    return ZD_OK;
}
