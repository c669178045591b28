/* A store over a remote store: it keeps what was read in the disk tier
 * (core/store/disk/disk_tier.h).
 *
 *     read -+- kept, and of the wanted generation or young enough --> read the file
 *           +- kept, too old --> ask the store unless_generation -+-- not modified: read the file
 *           +- not kept ----------> ask the store ----------------+-- bytes: answer, and keep them
 *
 * What the tier fails to do the store does: a damaged file costs one question more. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/emit.h"
#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/store/disk/disk_tier.h"
#include "core/store/remote/remote.h"
#include "core/store/contract/store_impl.h"

#define OPTIONS_BYTES_MAX (64U << 10)
#define LARGE_BYTES       (64U << 10) /* more is worth a question whether it is still the same */
#define TOUCH_MS          60000 /* answers that are trusted for less are not worth a note on disk */

struct disk_store {
    struct zd_store store; /* first member */
    struct zd_disk_tier *tier;
    struct zd_disk_owner owner;
};

/* A read or a question for a status, under way. */
struct load {
    struct disk_store *disk;
    struct zd_store_op *op;     /* the caller's; NULL: it is answered */
    struct zd_store_read *read; /* the same; NULL: a status is asked */
    struct zd_disk_name name;   /* its key is that of `op`, and of `ask` when op is NULL */
    struct zd_disk_fetch fetch;
    uint64_t age_max_ms;
    uint64_t turn;
    int64_t checked_ms; /* by what is known without reading; INT64_MIN = nothing is */
    int64_t asked_ms;
    bool is_asking; /* the inner store */
    bool has_asked;
    bool is_checking;  /* ... for the status, of an object that is read */
    bool is_condition; /* unless_generation is ours */
    bool is_noting;    /* the last fetch, after the answer, only notes that the store was asked */
    union {
        struct zd_store_op op; /* the first member of both */
        struct zd_store_read read;
        struct zd_store_status status;
    } ask;
};

/* A write or an erasure, under way. */
struct change {
    struct zd_disk_change change; /* first member */
    struct disk_store *disk;
    struct zd_store_write *write;
    bool is_erasure;
    void (*done)(struct zd_store_op *op); /* the caller's */
    void *context;
};

static struct disk_store *disk_of(struct zd_store *store)
{
    return ZD_CONTAINER(store, struct disk_store, store);
}

/* ---- the store ---- */

static bool disk_accepts(const char *location)
{
    (void)location;
    return false;
}

/* Two datasets with one location and the same options have the same objects: what they may read is
 * the same, too. */
static enum zd_status find_owner(const struct zd_store_config *config, struct zd_disk_owner *owner)
{
    ZD_SCOPED_TEXT(text, OPTIONS_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_array(&emit);
    zd_emit_string(&emit, config->location);
    zd_emit_json(&emit, config->options);
    zd_emit_array_end(&emit);
    owner->word[0] = zd_hash_of(zd_text_span(&text), 0);
    owner->word[1] = zd_hash_of(zd_text_span(&text), owner->word[0]);
    return text.status;
}

static enum zd_status disk_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    assert(config->remote != NULL && config->remote->disk != NULL);
    struct disk_store *disk = zd_alloc_zero(1, sizeof *disk);
    if (disk == NULL || find_owner(config, &disk->owner) != ZD_OK ||
        zd_store_init(&disk->store, config) != ZD_OK) {
        zd_free(disk);
        return zd_fail(err, ZD_NO_MEMORY, "%s: no memory for the store", config->location);
    }
    disk->tier = config->remote->disk;
    disk->store.keeps_answers = true;
    *ret_store = &disk->store;
    return ZD_OK;
}

static void disk_close(struct zd_store *store)
{
    zd_free(store->location);
    zd_free(disk_of(store));
}

/* ---- reading ---- */

static void fetched(struct zd_disk_fetch *fetch);
static void answered(struct zd_store_op *op);

static bool is_trusted(const struct load *load, int64_t checked_ms)
{
    const int64_t now_ms = zd_disk_tier_now_ms(load->disk->tier);
    return load->age_max_ms == UINT64_MAX ||
           (checked_ms <= now_ms && (uint64_t)(now_ms - checked_ms) < load->age_max_ms);
}

/* When the store must have been asked last. */
static int64_t oldest_of(const struct load *load)
{
    int64_t oldest_ms = 0;
    if (load->age_max_ms == UINT64_MAX) {
        return INT64_MIN;
    }
    return load->age_max_ms == 0 ||
                   ckd_sub(&oldest_ms, zd_disk_tier_now_ms(load->disk->tier), load->age_max_ms - 1)
               ? INT64_MAX
               : oldest_ms;
}

static uint64_t age_of(const struct load *load, int64_t checked_ms)
{
    const int64_t now_ms = zd_disk_tier_now_ms(load->disk->tier);
    return checked_ms < now_ms ? (uint64_t)(now_ms - checked_ms) : 0;
}

/* The answer is known: the caller may close the store. */
static void finish(struct load *load, enum zd_status status)
{
    struct zd_store_op *op = ZD_TAKE(load->op);
    op->status = status;
    op->private_state = NULL;
    if (!load->is_noting) {
        zd_free(load);
    }
    op->done(op);
}

static void note_stat(struct load *load, const struct zd_stat *stat, uint64_t age_ms)
{
    if (load->read != NULL) {
        load->read->stat = *stat;
        load->read->age_ms = age_ms;
    } else {
        struct zd_store_status *status = ZD_CONTAINER(load->op, struct zd_store_status, op);
        status->stat = *stat;
        status->age_ms = age_ms;
    }
}

/* @param generation that it may still have, or unset */
static void ask(struct load *load, struct zd_generation generation)
{
    struct zd_store *inner = load->disk->store.inner;
    if (load->op->cancelled) {
        finish(load, zd_fail(&load->op->err, ZD_CANCELLED, "cancelled"));
        return;
    }
    load->asked_ms = zd_disk_tier_now_ms(load->disk->tier);
    load->is_asking = true;
    load->has_asked = true;
    load->ask.op.done = answered;
    if (load->read == NULL) {
        memcpy(load->ask.status.key, load->name.key.ptr, load->name.key.len + 1);
        load->ask.status.age_max_ms = load->age_max_ms;
        zd_store_status(inner, &load->ask.status);
        return;
    }
    load->is_condition = zd_generation_is_set(generation) &&
                         !zd_generation_is_set(load->read->unless_generation) &&
                         !zd_generation_is_set(load->read->only_generation);
    memcpy(load->ask.read.key, load->name.key.ptr, load->name.key.len + 1);
    load->ask.read.range = load->read->range;
    load->ask.read.age_max_ms = load->age_max_ms;
    load->ask.read.bytes_max = load->read->bytes_max;
    memcpy(load->ask.op.traceparent, load->op->traceparent, ZD_STORE_TRACE_BYTES);
    load->ask.read.only_generation = load->read->only_generation;
    load->ask.read.unless_generation =
        load->is_condition ? generation : load->read->unless_generation;
    zd_store_read(inner, &load->ask.read);
}

/* A store that was opened since does not know the tag behind a generation of earlier times, and
 * would send all bytes again. */
static void check(struct load *load)
{
    load->asked_ms = zd_disk_tier_now_ms(load->disk->tier);
    load->is_asking = true;
    load->has_asked = true;
    load->is_checking = true;
    load->ask.op.done = answered;
    memcpy(load->ask.status.key, load->name.key.ptr, load->name.key.len + 1);
    zd_store_status(load->disk->store.inner, &load->ask.status);
}

/* @param generation the wanted one; unset: one that is young enough */
static void fetch(struct load *load, struct zd_generation generation)
{
    const bool is_noted = load->has_asked && load->age_max_ms >= TOUCH_MS;
    load->fetch.done = fetched;
    load->fetch.name = load->name;
    load->fetch.is_any_range = load->read == NULL;
    load->fetch.read = load->read;
    load->fetch.generation = generation;
    load->fetch.oldest_ms = oldest_of(load);
    load->fetch.touch_ms = is_noted ? load->asked_ms : 0;
    load->fetch.is_revalidated = load->has_asked;
    zd_disk_tier_fetch(load->disk->tier, &load->fetch);
}

static void take_fetched(struct load *load)
{
    struct zd_disk_fetch *fetch = &load->fetch;
    const int64_t checked_ms =
        fetch->checked_ms > load->checked_ms ? fetch->checked_ms : load->checked_ms;
    note_stat(load, &fetch->stat, load->has_asked ? 0 : age_of(load, checked_ms));
    if (load->read != NULL) {
        load->read->bytes = ZD_TAKE(fetch->bytes);
        if (fetch->status == ZD_OK) {
            zd_store_count_bytes(&load->disk->store, load->read->bytes->len);
        }
    }
    if (fetch->status == ZD_TOO_LARGE) {
        load->op->err = fetch->err;
    }
    finish(load, fetch->status);
}

static bool is_only(const struct load *load)
{
    return load->read != NULL && zd_generation_is_set(load->read->only_generation);
}

static void fetched(struct zd_disk_fetch *fetch)
{
    struct load *load = ZD_CONTAINER(fetch, struct load, fetch);
    if (load->op == NULL) {
        zd_free(load);
        return;
    }
    switch (fetch->status) {
    case ZD_OK:
    case ZD_NOT_MODIFIED:
    case ZD_TOO_LARGE:
        take_fetched(load);
        return;
    case ZD_AGAIN:
        if (load->has_asked || is_only(load)) {
            ask(load, (struct zd_generation){0});
        } else if (load->read != NULL && fetch->body_bytes > LARGE_BYTES) {
            check(load);
        } else {
            ask(load, fetch->stat.generation);
        }
        return;
    default:
        ask(load, (struct zd_generation){0});
        return;
    }
}

/* The caller and the tier take the bytes that the inner store has read. */
static void take_read(struct load *load)
{
    struct zd_store_read *asked = &load->ask.read;
    zd_disk_tier_count_miss(load->disk->tier);
    zd_disk_tier_learn(load->disk->tier, &load->name, &asked->stat, load->asked_ms);
    zd_disk_tier_keep(
        load->disk->tier, &load->name, &asked->stat, load->asked_ms, load->turn, asked->bytes);
    load->read->bytes = ZD_TAKE(asked->bytes);
}

/* Where something is kept of the object, a file of it notes when the store was asked. */
static void take_status(struct load *load)
{
    struct zd_disk_tier *tier = load->disk->tier;
    struct zd_stat known;
    int64_t checked_ms;
    zd_disk_tier_learn(tier, &load->name, &load->ask.status.stat, load->asked_ms);
    load->is_noting = load->age_max_ms >= TOUCH_MS && load->age_max_ms != UINT64_MAX &&
                      zd_disk_tier_find_key(tier, &load->name, &known, &checked_ms) == ZD_OK;
    if (load->is_noting) {
        load->name.key.ptr = (const uint8_t *)load->ask.status.key;
        fetch(load, load->ask.status.stat.generation);
    }
}

static void take_answer(struct load *load)
{
    const struct zd_store_op *asked = &load->ask.op;
    const enum zd_status status = asked->status;
    if (asked->status == ZD_OK && load->read != NULL) {
        take_read(load);
    } else if (asked->status == ZD_OK) {
        take_status(load);
    } else if (asked->status == ZD_NOT_FOUND) {
        zd_disk_tier_lose(load->disk->tier, &load->name);
    } else if (asked->status != ZD_NOT_MODIFIED) {
        load->op->err = asked->err;
        load->op->fault = asked->fault;
    }
    if (load->read == NULL) {
        note_stat(load, &load->ask.status.stat, load->ask.status.age_ms);
    } else {
        note_stat(load, &load->ask.read.stat, load->ask.read.age_ms);
    }
    finish(load, status);
}

static void checked(struct load *load)
{
    const struct zd_stat stat = load->ask.status.stat;
    const bool is_same = load->ask.op.status == ZD_OK &&
                         zd_generation_equal(stat.generation, load->fetch.stat.generation);
    load->is_checking = false;
    memset(&load->ask, 0, sizeof load->ask);
    if (is_same) {
        zd_disk_tier_learn(load->disk->tier, &load->name, &stat, load->asked_ms);
        fetch(load, stat.generation);
    } else {
        ask(load, (struct zd_generation){0});
    }
}

static void answered(struct zd_store_op *op)
{
    struct load *load = ZD_CONTAINER(op, struct load, ask.op);
    load->is_asking = false;
    if (load->is_checking) {
        checked(load);
        return;
    }
    if (op->status == ZD_NOT_MODIFIED && load->is_condition) {
        const struct zd_generation generation = load->ask.read.unless_generation;
        const struct zd_stat stat = load->ask.read.stat;
        zd_disk_tier_learn(load->disk->tier, &load->name, &stat, load->asked_ms);
        fetch(load, generation);
        return;
    }
    take_answer(load);
}

/* NULL: the tier is off, or there is no memory: the inner store answers alone. */
static struct load *new_load(struct disk_store *disk, struct zd_store_op *op, const char *key)
{
    struct load *load = zd_disk_tier_is_on(disk->tier) ? zd_alloc_zero(1, sizeof *load) : NULL;
    if (load != NULL) {
        load->disk = disk;
        load->op = op;
        load->name = (struct zd_disk_name){.owner = disk->owner, .key = zd_span_of(key)};
        load->turn = zd_disk_tier_turn(disk->tier, &load->name);
        load->checked_ms = INT64_MIN;
        op->private_state = load;
    }
    return load;
}

static void disk_read(struct zd_store *store, struct zd_store_read *read)
{
    struct disk_store *disk = disk_of(store);
    struct load *load = new_load(disk, &read->op, read->key);
    if (load == NULL) {
        zd_store_read(store->inner, read);
        return;
    }
    struct zd_stat stat = {0};
    load->read = read;
    load->name.range = read->range;
    load->age_max_ms = read->age_max_ms;
    const enum zd_status found =
        zd_disk_tier_find(disk->tier, &load->name, &stat, &load->checked_ms);
    if (found == ZD_NOT_FOUND) {
        ask(load, (struct zd_generation){0});
    } else if (zd_generation_is_set(read->only_generation)) {
        fetch(load, read->only_generation);
    } else if (found == ZD_AGAIN || is_trusted(load, load->checked_ms)) {
        fetch(load, stat.generation);
    } else {
        ask(load, stat.generation);
    }
}

static void disk_status(struct zd_store *store, struct zd_store_status *status)
{
    struct disk_store *disk = disk_of(store);
    struct load *load = new_load(disk, &status->op, status->key);
    if (load == NULL) {
        zd_store_status(store->inner, status);
        return;
    }
    struct zd_stat stat = {0};
    load->age_max_ms = status->age_max_ms;
    const enum zd_status found =
        zd_disk_tier_find_key(disk->tier, &load->name, &stat, &load->checked_ms);
    const bool may_answer =
        load->age_max_ms > 0 &&
        (found == ZD_AGAIN || (found == ZD_OK && is_trusted(load, load->checked_ms)));
    if (may_answer) {
        fetch(load, stat.generation);
    } else {
        ask(load, (struct zd_generation){0});
    }
}

/* ---- changing ---- */

static void changed(struct zd_store_op *op)
{
    struct change *change = op->context;
    zd_disk_tier_end_change(change->disk->tier, &change->change);
    op->done = change->done;
    op->context = change->context;
    zd_free(change);
    op->done(op);
}

static void pass_on(struct zd_disk_change *waiting)
{
    struct change *change = ZD_CONTAINER(waiting, struct change, change);
    struct zd_store *inner = change->disk->store.inner;
    change->done = change->write->op.done;
    change->context = change->write->op.context;
    change->write->op.done = changed;
    change->write->op.context = change;
    if (change->is_erasure) {
        zd_store_erase(inner, change->write);
    } else {
        zd_store_write(inner, change->write);
    }
}

static void begin_change(struct zd_store *store, struct zd_store_write *write, bool is_erasure)
{
    struct disk_store *disk = disk_of(store);
    const struct zd_disk_name name = {.owner = disk->owner, .key = zd_span_of(write->key)};
    struct change *change = zd_alloc_zero(1, sizeof *change);
    if (change == NULL) {
        zd_disk_tier_distrust(disk->tier, "no memory to follow a change of an object");
        if (is_erasure) {
            zd_store_erase(store->inner, write);
        } else {
            zd_store_write(store->inner, write);
        }
        return;
    }
    *change = (struct change){
        .change.done = pass_on, .disk = disk, .write = write, .is_erasure = is_erasure};
    if (!zd_disk_tier_begin_change(disk->tier, &name, &change->change)) {
        pass_on(&change->change);
    }
}

static void disk_write(struct zd_store *store, struct zd_store_write *write)
{
    if (write->phase == ZD_PHASE_WHOLE || write->phase == ZD_PHASE_COMMIT) {
        begin_change(store, write, false);
    } else {
        zd_store_write(store->inner, write); /* readers do not see it yet */
    }
}

static void disk_erase(struct zd_store *store, struct zd_store_write *erase)
{
    begin_change(store, erase, true);
}

/* A change by another store, which has happened. */
struct overtaking {
    struct zd_disk_change change; /* first member */
    struct zd_disk_tier *tier;
};

static void overtaken(struct zd_disk_change *change)
{
    struct overtaking *overtaking = ZD_CONTAINER(change, struct overtaking, change);
    zd_disk_tier_end_change(overtaking->tier, change);
    zd_free(overtaking);
}

/* The store may be closed before the files are gone. */
static void disk_overtake(struct zd_store *store, const char *key)
{
    struct disk_store *disk = disk_of(store);
    const struct zd_disk_name name = {.owner = disk->owner, .key = zd_span_of(key)};
    struct overtaking *overtaking = zd_alloc(sizeof *overtaking);
    if (overtaking == NULL) {
        zd_disk_tier_distrust(disk->tier, "no memory to follow a change of an object");
        return;
    }
    *overtaking = (struct overtaking){.change.done = overtaken, .tier = disk->tier};
    if (!zd_disk_tier_begin_change(disk->tier, &name, &overtaking->change)) {
        overtaken(&overtaking->change);
    }
}

/* An operation that waits for a file, or for files to be removed, goes on. */
static void disk_cancel(struct zd_store *store, struct zd_store_op *op)
{
    (void)store;
    struct load *load = op->private_state;
    if (load != NULL && load->is_asking) {
        zd_store_cancel(&load->ask.op);
    }
}

const struct zd_store_ops zd_store_ops_disk = {
    .scheme = "disk",
    .accepts = disk_accepts,
    .usage = "disk:",
    .meaning = "objects of another store, kept on the local disk",
    .schema = "{\"type\":\"object\"}", /* that of the inner store */
    .open = disk_open,
    .close = disk_close,
    .read = disk_read,
    .status = disk_status,
    .write = disk_write,
    .erase = disk_erase,
    .overtake = disk_overtake,
    .cancel = disk_cancel,
};
