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
#include <stdio.h>
#include <string.h>

#include "core/store/s3/s3_answer.h"
#include "core/store/s3/s3_batch.h"

#define WRONG_TAG "00000000000000000000000000000000"

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

/** The value of a condition. */
enum value {
    VALUE_NONE,
    VALUE_ANY,
    VALUE_RIGHT, /* the tag of the object of the last round */
    VALUE_WRONG,
};

/** The requests of a phase, all for one key. */
struct phase_row {
    enum zd_transfer_method method;
    const char *condition; /* its header; NULL = none */
    enum value value;
    uint32_t n;
};

static const struct phase_row rows[] = {
    [PHASE_CREATE] = {ZD_TRANSFER_PUT, "if-none-match", VALUE_ANY, ZD_S3_RACE_WRITERS},
    [PHASE_BASE] = {ZD_TRANSFER_PUT, NULL, VALUE_NONE, 1},
    [PHASE_SPELL] = {ZD_TRANSFER_PUT, "if-match", VALUE_RIGHT, 1},
    [PHASE_BARE] = {ZD_TRANSFER_PUT, "if-match", VALUE_RIGHT, 1},
    [PHASE_WRONG] = {ZD_TRANSFER_PUT, "if-match", VALUE_WRONG, 1},
    [PHASE_SWAP] = {ZD_TRANSFER_PUT, "if-match", VALUE_RIGHT, ZD_S3_RACE_WRITERS},
    [PHASE_KEEP] = {ZD_TRANSFER_DELETE, "if-match", VALUE_WRONG, 1},
    [PHASE_ERASE] = {ZD_TRANSFER_DELETE, "if-match", VALUE_RIGHT, 1},
    [PHASE_BASE_MANY] = {ZD_TRANSFER_PUT, NULL, VALUE_NONE, 1},
    [PHASE_CLEAN] = {ZD_TRANSFER_DELETE, NULL, VALUE_NONE, ZD_S3_RACE_ROUNDS}, /* all keys */
};

struct writer {
    struct zd_s3_call call;
    char key[ZD_S3_RACE_KEY_CHARS];
    char tag[ZD_S3_TAG_BYTES_MAX + 3];
    struct zd_buf *body;
    struct zd_s3_erasure erasure;
    struct zd_s3_batch_request many;
};

struct probe {
    struct zd_s3_race race;
    uint32_t n_lost; /* of PHASE_KEEP_MANY */
    struct zd_s3_abilities able;
    char etag[ZD_S3_TAG_BYTES_MAX + 1]; /* of the object of the last round, without quotes */
    struct writer writer[ZD_S3_RACE_WRITERS];
};

static struct probe *probe_of(struct zd_s3_race *race)
{
    return ZD_CONTAINER(race, struct probe, race);
}

static void end(struct probe *probe)
{
    struct zd_s3_store *s3 = probe->race.s3;
    s3->is_probing = false;
    if (probe->race.status == ZD_OK) {
        s3->able = probe->able;
        s3->able.is_known = true;
    }
    zd_s3_race_tell(&probe->race, &s3->waiting);
    zd_free(probe);
}

/* ---- requests ---- */

/* The condition was judged and did not hold; or the engine says that it knows of none. */
static bool is_refusal(const struct zd_s3_call *call)
{
    const uint32_t code = call->transfer.head.code;
    return call->transfer.status == ZD_OK &&
           (zd_s3_race_is_unknown(code, call->code) || code == 412 || code == 409 ||
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

static void done(struct zd_s3_call *call)
{
    struct probe *probe = call->context;
    struct zd_s3_race *race = &probe->race;
    struct writer *writer = ZD_CONTAINER(call, struct writer, call);
    const uint32_t code = call->transfer.head.code;
    if (call->transfer.status == ZD_OK && code >= 200 && code < 300) {
        race->n_won++;
        keep_tag(probe, call);
    } else if (!is_refusal(call) && race->failure == ZD_OK) {
        race->failure = zd_s3_answer_judge(call, "a probe of conditions", &race->err, &race->fault);
    }
    zd_s3_call_done(call);
    zd_buf_unref(ZD_TAKE(writer->body));
    zd_s3_race_leave(race);
}

static struct zd_buf *new_body(struct zd_s3_race *race)
{
    char text[ZD_S3_RACE_BODY_CHARS];
    zd_s3_race_write_body(race, text);
    return zd_buf_copy(zd_span_of(text));
}

/* @param value of the condition; copied */
static void ask(struct probe *probe, const struct phase_row *row, uint32_t key, const char *value)
{
    struct zd_s3_race *race = &probe->race;
    struct writer *writer = &probe->writer[race->n_running];
    *writer = (struct writer){0};
    zd_s3_race_name_key(race, key, writer->key);
    writer->call = (struct zd_s3_call){
        .method = row->method, .key = writer->key, .done = done, .context = probe};
    if (row->method == ZD_TRANSFER_PUT) {
        writer->body = new_body(race);
        if (writer->body != NULL) {
            writer->call.body = zd_buf_span(writer->body);
        } else {
            zd_s3_race_fail(race);
        }
    }
    if (row->condition != NULL) {
        (void)snprintf(writer->tag, sizeof writer->tag, "%s", value);
        writer->call.header[writer->call.n_headers++] =
            (struct zd_s3_pair){row->condition, writer->tag};
    }
    race->n_running++;
    zd_s3_call_start(&race->s3->access, &writer->call);
}

/* An engine that does not answer it has no such request: the probe goes on. */
static void done_many(struct zd_s3_call *call)
{
    struct probe *probe = call->context;
    struct zd_s3_race *race = &probe->race;
    struct writer *writer = &probe->writer[0];
    const struct zd_s3_erasure *erasure = &writer->erasure;
    if (zd_s3_batch_request_read(race->s3, &writer->many, NULL) == ZD_OK && erasure->is_told) {
        race->n_won += erasure->status == ZD_OK;
        probe->n_lost += erasure->status == ZD_PRECONDITION;
    }
    zd_s3_batch_request_done(&writer->many);
    zd_s3_race_leave(race);
}

static void ask_many(struct probe *probe, const char *tag)
{
    struct zd_s3_race *race = &probe->race;
    struct writer *writer = &probe->writer[0];
    *writer = (struct writer){.erasure = {.key = writer->key, .tag = writer->tag}};
    zd_s3_race_name_key(race, 0, writer->key);
    (void)snprintf(writer->tag, sizeof writer->tag, "%s", tag);
    zd_list_init(&writer->many.erasures);
    zd_list_push_back(&writer->many.erasures, &writer->erasure.link);
    writer->many.call.done = done_many;
    writer->many.call.context = probe;
    if (zd_s3_batch_request_start(race->s3, &writer->many) == ZD_OK) {
        race->n_running++;
    } else {
        race->phase = PHASE_ERASE_MANY;
        zd_s3_race_next(race);
    }
}

/* ---- phases ---- */

static void spell(const struct probe *probe, const char *etag, char *ret_value)
{
    const char *quote = probe->able.has_bare_tag ? "" : "\"";
    (void)snprintf(ret_value, ZD_S3_TAG_BYTES_MAX + 3, "%s%s%s", quote, etag, quote);
}

static void run_phase(struct zd_s3_race *race)
{
    struct probe *probe = probe_of(race);
    char right[ZD_S3_TAG_BYTES_MAX + 3];
    char wrong[ZD_S3_TAG_BYTES_MAX + 3];
    spell(probe, probe->etag, right);
    spell(probe, WRONG_TAG, wrong);
    probe->n_lost = 0;
    if (race->phase == PHASE_END) {
        end(probe);
    } else if (race->phase == PHASE_KEEP_MANY || race->phase == PHASE_ERASE_MANY) {
        ask_many(probe, race->phase == PHASE_KEEP_MANY ? wrong : right);
    } else {
        const struct phase_row *row = &rows[race->phase];
        const char *const value[] = {NULL, "*", right, wrong};
        for (uint32_t i = 0; i < row->n; i++) {
            const uint32_t key = race->phase == PHASE_CLEAN ? i : race->round;
            ask(probe, row, race->phase == PHASE_SWAP ? 0 : key, value[row->value]);
        }
    }
}

static uint32_t after_phase(struct zd_s3_race *race)
{
    struct probe *probe = probe_of(race);
    struct zd_s3_abilities *able = &probe->able;
    const bool is_won = race->n_won == 1;
    switch ((enum phase)race->phase) {
    case PHASE_CREATE:
        return zd_s3_race_after_round(race, &able->creates, PHASE_BASE);
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
        return zd_s3_race_after_round(race, &able->swaps, PHASE_KEEP);
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

enum zd_status zd_s3_probe_want(
    struct zd_s3_store *s3, struct zd_s3_race_wait *wait, struct zd_error *err)
{
    assert(!s3->able.is_known);
    if (!s3->is_probing) {
        struct probe *probe = zd_alloc_zero(1, sizeof *probe);
        if (probe == NULL) {
            return zd_fail(err, ZD_NO_MEMORY, "no memory for a probe of conditions");
        }
        probe->race = (struct zd_s3_race){
            .s3 = s3, .run = run_phase, .after = after_phase, .clean = PHASE_CLEAN};
        s3->is_probing = true;
        zd_list_push_back(&s3->waiting, &wait->link);
        zd_s3_race_begin(&probe->race);
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
