/* Stores: keys -> bytes. Opens by scheme, checks keys, counts, and hands on. */
#include "core/store/contract/store_impl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json_schema.h"
#include "core/base/num.h"

#define KNOWN_BYTES_MAX 1024
#define NO_OPTIONS      "{\"type\":\"object\",\"additionalProperties\":false}"

/* From a store to the one that has an operation: itself, or the first below it. */
#define DESCEND(store, operation)                                                                  \
    while ((store)->ops->operation == NULL && (store)->inner != NULL) {                            \
        (store) = (store)->inner;                                                                  \
    }

/* The same of one that answers at once: a store that has only the slow one is not passed by. */
#define DESCEND_NOW(store, now, later)                                                             \
    while ((store)->ops->now == NULL && (store)->ops->later == NULL && (store)->inner != NULL) {   \
        (store) = (store)->inner;                                                                  \
    }

/* Start what has passed the checks of the store that was asked. */
#define START(store, operation, started)                                                           \
    do {                                                                                           \
        DESCEND(store, operation);                                                                 \
        (started)->op.store = (store);                                                             \
        (store)->ops->operation((store), (started));                                               \
    } while (false)

const char *zd_store_location_in(const char *scheme, const char *location)
{
    const size_t len = strlen(scheme);
    const bool is_scheme = strncmp(location, scheme, len) == 0 && location[len] == ':';
    return is_scheme ? location + len + 1 : NULL;
}

bool zd_store_scheme(size_t i, struct zd_store_scheme *ret_scheme)
{
    const struct zd_store_ops *ops = zd_stores[i];
    if (ops == NULL) {
        return false;
    }
    *ret_scheme = (struct zd_store_scheme){
        .name = ops->scheme,
        .usage = ops->usage,
        .meaning = ops->meaning,
        .is_writable = ops->write != NULL && !ops->is_read_only,
    };
    return true;
}

uint64_t zd_store_revalidate_ms(const struct zd_store *store)
{
    return store->ops->default_revalidate_ms;
}

static const struct zd_store_ops *find_ops(const char *location)
{
    const struct zd_store_ops *const *ops = zd_stores;
    while (*ops != NULL && !(*ops)->accepts(location)) {
        ops++;
    }
    return *ops;
}

static enum zd_status judge_options(const struct zd_store_ops *ops, const struct zd_json *options,
    const struct zd_pointer *at, struct zd_error *err)
{
    if (options == NULL) {
        return ZD_OK;
    }
    struct zd_faults faults = {0};
    struct zd_error cause = {0};
    const char *schema = ops->schema == NULL ? NO_OPTIONS : ops->schema;
    enum zd_status status = zd_json_schema_check(schema, options, at, ops->scheme, &faults);
    if (status != ZD_OK) {
        status = zd_faults_status(&faults, &cause);
        status = zd_fail(err, status, "%s: %s", cause.facts.pointer, cause.text);
        if (err != NULL) {
            err->facts = cause.facts;
        }
    }
    zd_faults_done(&faults);
    return status;
}

enum zd_status zd_store_judge_options(const char *location, const struct zd_json *options,
    const struct zd_pointer *at, struct zd_error *err)
{
    const struct zd_store_ops *ops = find_ops(location);
    if (ops == NULL) {
        return ZD_OK;
    }
    ZD_TRY(judge_options(ops, options, at, err));
    const enum zd_status status = ops->judge == NULL ? ZD_OK : ops->judge(location, options, err);
    if (status != ZD_OK) {
        zd_fact_pointer(err, at->text);
    }
    return status;
}

enum usages { USAGES_ALL, USAGES_WRITABLE };

/* Add the usages of all schemes, or of those with writable stores. */
static void add_usages(enum usages which, struct zd_text *known)
{
    for (const struct zd_store_ops *const *ops = zd_stores; *ops != NULL; ops++) {
        if (which == USAGES_ALL || !(*ops)->is_read_only) {
            zd_text_addf(known, "%s%s", known->len == 0 ? "" : ", ", (*ops)->usage);
        }
    }
}

static enum zd_status judge_writable(
    const struct zd_store_ops *ops, const char *location, struct zd_error *err)
{
    if (!ops->is_read_only) {
        return ZD_OK;
    }
    ZD_SCOPED_TEXT(known, KNOWN_BYTES_MAX);
    add_usages(USAGES_WRITABLE, &known);
    return zd_fail(err, ZD_INVALID,
        "%s cannot be writable, because it is %s. Unpack or copy it to %s, or omit \"writable\" "
        "(--writable)",
        ops->is_remote ? ops->scheme : location, ops->meaning, known.at); /* URLs hold secrets */
}

enum zd_status zd_store_judge_writable(const char *location, struct zd_error *err)
{
    const struct zd_store_ops *ops = find_ops(location);
    return ops == NULL ? ZD_OK : judge_writable(ops, location, err);
}

enum zd_status zd_store_open_as(const struct zd_store_ops *ops,
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    const struct zd_pointer at = {.text = "/options"};
    struct zd_store *store = NULL;
    ZD_TRY(judge_options(ops, config->options, &at, err));
    if (config->writable) {
        ZD_TRY(judge_writable(ops, config->location, err));
    }
    ZD_TRY(ops->open(config, &store, err));
    store->ops = ops;
    store->inner = config->inner;
    if (store->inner != NULL) {
        store->inner->outer = store;
        store->place = store->inner->place;
        store->space = store->inner->space;
        store->base = store->inner->base;
        store->endpoint = store->inner->endpoint;
        store->keeps_answers = store->keeps_answers || store->inner->keeps_answers;
    }
    *ret_store = store;
    return ZD_OK;
}

static enum zd_status refuse_location(const char *location, struct zd_error *err)
{
    ZD_SCOPED_TEXT(known, KNOWN_BYTES_MAX);
    add_usages(USAGES_ALL, &known);
    return zd_fail(err, ZD_INVALID, "%s: unsupported location; expected %s", location, known.at);
}

enum zd_status zd_store_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    const struct zd_store_ops *ops = find_ops(config->location);
    return ops == NULL ? refuse_location(config->location, err)
                       : zd_store_open_as(ops, config, ret_store, err);
}

static bool drop_ending(struct zd_span *text, const char *ending)
{
    const size_t len = strlen(ending);
    if (text->len <= len || memcmp(text->ptr + text->len - len, ending, len) != 0) {
        return false;
    }
    text->len -= len;
    return true;
}

static bool drop_ending_of(struct zd_span *text, const struct zd_store_ops *ops)
{
    size_t i = 0;
    while (ops->endings != NULL && ops->endings[i] != NULL) {
        if (drop_ending(text, ops->endings[i++])) {
            return true;
        }
    }
    return false;
}

struct zd_span zd_store_name_of(const char *location)
{
    struct zd_span text = zd_span_of(location);
    while (text.len > 0 && (text.ptr[text.len - 1] == '/' || text.ptr[text.len - 1] == ':')) {
        text.len--;
    }
    const uint8_t *slash = text.len == 0 ? NULL : memrchr(text.ptr, '/', text.len);
    if (slash != NULL) {
        text.len -= (size_t)(slash + 1 - text.ptr);
        text.ptr = slash + 1;
    }
    for (size_t i = 0; zd_stores[i] != NULL; i++) {
        if (drop_ending_of(&text, zd_stores[i])) {
            break;
        }
    }
    return text;
}

enum zd_status zd_store_init(struct zd_store *store, const struct zd_store_config *config)
{
    char *location = zd_strdup(config->location);
    if (location == NULL) {
        return ZD_NO_MEMORY;
    }
    *store = (struct zd_store){
        .loop = config->loop,
        .location = location,
        .writable = config->writable,
    };
    return ZD_OK;
}

/* NULL: it is not below that base. */
static const char *key_below(const char *base, const char *key_in_space)
{
    const size_t len = strlen(base);
    const bool is_below = strncmp(key_in_space, base, len) == 0 && key_in_space[len] != '\0';
    return is_below && strlen(key_in_space + len) <= ZD_KEY_BYTES_MAX ? key_in_space + len : NULL;
}

bool zd_store_key_in(
    const struct zd_store *other, const struct zd_store *store, const char *key, char *ret_key)
{
    char key_in_space[2 * ZD_KEY_BYTES_MAX + 2];
    const char *found = NULL;
    if (store == other || (store->place != 0 && store->place == other->place)) {
        found = key;
    } else if (store->space != 0 && store->space == other->space) {
        (void)snprintf(key_in_space, sizeof key_in_space, "%s%s", store->base, key);
        found = key_below(other->base, key_in_space);
    }
    if (found != NULL) {
        memcpy(ret_key, found, strlen(found) + 1);
    }
    return found != NULL;
}

void zd_store_overtake(struct zd_store *store, const char *key)
{
    for (; store != NULL; store = store->inner) {
        if (store->ops->overtake != NULL) {
            store->ops->overtake(store, key);
        }
    }
}

void zd_store_give_up(struct zd_store *store)
{
    DESCEND(store, give_up);
    if (store->ops->give_up != NULL) {
        store->ops->give_up(store);
    }
}

enum zd_status zd_store_find_place(const char *location, uint64_t *ret_place, struct zd_error *err)
{
    const struct zd_store_ops *ops = find_ops(location);
    if (ops == NULL) {
        return refuse_location(location, err);
    }
    if (ops->find_place != NULL) {
        return ops->find_place(location, ret_place, err);
    }
    *ret_place = 0;
    return ZD_OK;
}

enum zd_status zd_store_find_place_now(const char *location, uint64_t *ret_place)
{
    const struct zd_store_ops *ops = find_ops(location);
    if (ops != NULL && ops->find_place != NULL) {
        return ops->find_place_now == NULL ? ZD_AGAIN : ops->find_place_now(location, ret_place);
    }
    *ret_place = 0;
    return ZD_OK;
}

void zd_store_close(struct zd_store *store)
{
    while (store != NULL) {
        struct zd_store *inner = store->inner;
        store->ops->close(store);
        store = inner;
    }
}

const char *zd_store_failure(const struct zd_store *store)
{
    while (store->failure[0] == '\0' && store->inner != NULL) {
        store = store->inner;
    }
    return store->failure;
}

bool zd_store_has_file(struct zd_store *store, const char *key)
{
    DESCEND(store, read);
    return store->ops->has_file != NULL && store->ops->has_file(store, key);
}

bool zd_store_extends(const struct zd_store *store)
{
    while (store->inner != NULL) { /* stores over others hand phases on */
        store = store->inner;
    }
    return store->ops->extends;
}

static void no_work(uv_work_t *work)
{
    (void)work;
}

static void after_no_work(uv_work_t *work, int uv_status)
{
    (void)uv_status; /* cancelled or not, the operation was over before */
    struct zd_store_op *op = ZD_CONTAINER(work, struct zd_store_op, work);
    op->done(op);
}

void zd_store_count_bytes(struct zd_store *store, uint64_t n_bytes)
{
    for (; store != NULL; store = store->outer) {
        store->n_read_bytes += n_bytes;
    }
}

void zd_store_count_visited(const struct zd_store_list *list)
{
    for (struct zd_store *store = list->op.store; store != NULL; store = store->outer) {
        store->n_visited += list->n_visited;
    }
}

void zd_store_count_event(struct zd_store *store, enum zd_store_event event)
{
    for (; store != NULL; store = store->outer) {
        store->n_events[event]++;
    }
}

void zd_store_finish_later(struct zd_store_op *op)
{
    const int uv_status = uv_queue_work(op->store->loop, &op->work, no_work, after_no_work);
    assert(uv_status == 0);
    (void)uv_status;
}

/* An error is large: only what says that it is empty is reset. */
static void begin(struct zd_store_op *op, struct zd_store *store)
{
    op->store = store;
    op->status = ZD_OK;
    op->cancelled = false;
    op->private_state = NULL;
    op->fault = (struct zd_remote_fault){0};
    op->link = (struct zd_list){0};
    op->err.status = ZD_OK;
    op->err.facts.set = 0;
    op->err.text[0] = '\0';
}

static bool key_passes(struct zd_store_op *op, const char *key)
{
    if (!zd_key_is_valid(key)) {
        op->status = zd_fail(
            &op->err, ZD_INVALID, "the store key \"%.*s\" is malformed", ZD_FACT_TEXT_BYTES, key);
    }
    return op->status == ZD_OK;
}

static bool begin_read(struct zd_store *store, struct zd_store_read *read)
{
    begin(&read->op, store);
    read->bytes = NULL;
    read->stat = (struct zd_stat){0};
    read->age_ms = 0;
    return key_passes(&read->op, read->key);
}

static bool begin_status(struct zd_store *store, struct zd_store_status *status)
{
    begin(&status->op, store);
    status->stat = (struct zd_stat){0};
    status->age_ms = 0;
    return key_passes(&status->op, status->key);
}

void zd_store_read(struct zd_store *store, struct zd_store_read *read)
{
    store->n_reads++;
    if (begin_read(store, read)) {
        START(store, read, read);
    } else {
        zd_store_finish_later(&read->op);
    }
}

void zd_store_status(struct zd_store *store, struct zd_store_status *status)
{
    store->n_statuses++;
    if (begin_status(store, status)) {
        START(store, status, status);
    } else {
        zd_store_finish_later(&status->op);
    }
}

enum zd_status zd_store_read_now(struct zd_store *store, struct zd_store_read *read)
{
    struct zd_store *const asked = store;
    DESCEND_NOW(store, read_now, read);
    if (store->ops->read_now == NULL) {
        return ZD_AGAIN;
    }
    if (begin_read(store, read)) {
        read->op.status = store->ops->read_now(store, read);
    }
    asked->n_reads += read->op.status != ZD_AGAIN;
    return read->op.status;
}

enum zd_status zd_store_status_now(struct zd_store *store, struct zd_store_status *status)
{
    struct zd_store *const asked = store;
    DESCEND_NOW(store, status_now, status);
    if (store->ops->status_now == NULL) {
        return ZD_AGAIN;
    }
    if (begin_status(store, status)) {
        status->op.status = store->ops->status_now(store, status);
    }
    asked->n_statuses += status->op.status != ZD_AGAIN;
    return status->op.status;
}

void zd_store_list_page(struct zd_store *store, struct zd_store_list *list)
{
    assert(list->n_max >= 1);
    store->n_lists++;
    begin(&list->op, store);
    list->entry = NULL;
    list->n_entries = 0;
    list->has_more = false;
    list->n_visited = 0;
    list->is_incomplete = false;
    if (zd_key_prefix_is_valid(list->prefix)) {
        START(store, list, list);
        return;
    }
    list->op.status = zd_fail(&list->op.err, ZD_INVALID, "the store prefix \"%.*s\" is malformed",
        ZD_FACT_TEXT_BYTES, list->prefix);
    zd_store_finish_later(&list->op);
}

void zd_store_list(struct zd_store *store, struct zd_store_list *list)
{
    list->cursor = NULL;
    list->last = NULL;
    zd_store_list_page(store, list);
}

static void free_entries(struct zd_store_list *list)
{
    for (size_t i = 0; i < list->n_entries; i++) {
        zd_free(list->entry[i].name);
    }
    zd_free(list->entry);
    list->entry = NULL;
    list->n_entries = 0;
}

void zd_store_list_next(struct zd_store *store, struct zd_store_list *list)
{
    assert(list->has_more && list->n_entries > 0);
    zd_free(list->last);
    list->last = ZD_TAKE(list->entry[list->n_entries - 1].name);
    list->after = list->last;
    list->visits_max = 0;
    free_entries(list);
    zd_store_list_page(store, list);
}

void zd_store_stop_writes(struct zd_store *store, const char *failure)
{
    if (store->failure[0] == '\0') {
        snprintf(store->failure, sizeof store->failure, "%s", failure);
    }
}

static bool begin_write(struct zd_store *store, struct zd_store_write *write)
{
    struct zd_store_op *op = &write->op;
    store->n_writes++;
    begin(op, store);
    write->stat = (struct zd_stat){0};
    if (!store->writable) {
        op->status = zd_fail(&op->err, ZD_READ_ONLY, "the store is read-only");
        return false;
    }
    const char *failure = zd_store_failure(store);
    if (failure[0] != '\0') {
        op->status = zd_fail(&op->err, ZD_READ_ONLY,
            "the store stopped accepting writes after a failed sync: %s", failure);
        return false;
    }
    return key_passes(op, write->key);
}

/* The store that has staged the bytes drops them. */
static void discard(struct zd_store_write *write)
{
    struct zd_store *store = write->staged->store;
    write->op.store = store;
    store->ops->discard(store, write);
}

/* Staged bytes that may not be committed or extended are discarded; the answer stays. */
static void begin_with_staged(struct zd_store *store, struct zd_store_write *write)
{
    assert((write->bytes == NULL) == (write->phase == ZD_PHASE_COMMIT) && write->staged != NULL);
    if (begin_write(store, write)) {
        START(store, write, write);
    } else {
        discard(write);
    }
}

static void begin_new_bytes(struct zd_store *store, struct zd_store_write *write)
{
    assert(write->bytes != NULL);
    write->staged = NULL;
    if (begin_write(store, write)) {
        START(store, write, write);
    } else {
        zd_store_finish_later(&write->op);
    }
}

void zd_store_write(struct zd_store *store, struct zd_store_write *write)
{
    switch (write->phase) {
    case ZD_PHASE_WHOLE:
    case ZD_PHASE_STAGE:
        begin_new_bytes(store, write);
        return;
    case ZD_PHASE_EXTEND:
    case ZD_PHASE_COMMIT:
        begin_with_staged(store, write);
        return;
    case ZD_PHASE_DISCARD:
        assert(write->staged != NULL);
        begin(&write->op, store);
        discard(write);
        return;
    }
}

void zd_store_erase(struct zd_store *store, struct zd_store_write *erase)
{
    assert(erase->bytes == NULL && erase->phase == ZD_PHASE_WHOLE);
    erase->staged = NULL;
    if (begin_write(store, erase)) {
        START(store, erase, erase);
    } else {
        zd_store_finish_later(&erase->op);
    }
}

void zd_store_hold(struct zd_store *store, struct zd_store_hold *hold)
{
    begin(&hold->op, store);
    hold->is_held = false;
    if (!store->writable) {
        hold->op.status = zd_fail(&hold->op.err, ZD_READ_ONLY, "the store is read-only");
        zd_store_finish_later(&hold->op);
        return;
    }
    DESCEND(store, hold);
    if (store->ops->hold != NULL) {
        START(store, hold, hold);
        return;
    }
    zd_store_finish_later(&hold->op);
}

void zd_store_release(struct zd_store_hold *hold)
{
    struct zd_store *store = hold->op.store;
    begin(&hold->op, store);
    if (hold->is_held) {
        store->ops->release(store, hold);
    } else {
        zd_store_finish_later(&hold->op);
    }
}

void zd_store_rest(struct zd_store *store, struct zd_store_op *op)
{
    begin(op, store);
    DESCEND(store, rest);
    if (store->ops->rest == NULL) {
        zd_store_finish_later(op);
        return;
    }
    store->ops->rest(store, op);
}

void zd_store_cancel(struct zd_store_op *op)
{
    if (!op->cancelled) {
        struct zd_store *store = op->store;
        op->cancelled = true;
        DESCEND(store, cancel);
        store->ops->cancel(store, op);
    }
}

void zd_store_list_done(struct zd_store_list *list)
{
    free_entries(list);
    if (list->cursor != NULL) {
        list->cursor->free(list->cursor);
    }
    zd_free(list->last);
    list->cursor = NULL;
    list->last = NULL;
}

/* Which bytes of an object of that size a range names; never beyond its end. */
static struct zd_range range_within(const struct zd_range *range, uint64_t size)
{
    struct zd_range within = {.kind = ZD_RANGE_FROM_TO, .first = 0, .len = size};
    switch (range->kind) {
    case ZD_RANGE_WHOLE:
        break;
    case ZD_RANGE_FROM_TO:
        within.first = zd_min_u64(range->first, size);
        within.len = zd_min_u64(range->len, size - within.first);
        break;
    case ZD_RANGE_SUFFIX:
        within.first = size - zd_min_u64(range->first, size);
        within.len = zd_min_u64(range->len, within.first);
        within.first -= within.len;
        break;
    }
    return within;
}

enum zd_status zd_store_judge_read(const struct zd_store_read *read, const struct zd_stat *stat,
    struct zd_range *ret_range, struct zd_error *err)
{
    if (zd_generation_is_set(read->unless_generation) &&
        zd_generation_equal(read->unless_generation, stat->generation)) {
        return ZD_NOT_MODIFIED;
    }
    if (zd_generation_is_set(read->only_generation) &&
        !zd_generation_equal(read->only_generation, stat->generation)) {
        return zd_fail(err, ZD_PRECONDITION, "%s: the object was replaced", read->key);
    }
    const struct zd_range range = range_within(&read->range, stat->size);
    if (range.len > read->bytes_max) {
        const enum zd_status status =
            zd_fail(err, ZD_TOO_LARGE, "%s: the object has %llu bytes; the limit is %zu", read->key,
                (unsigned long long)range.len, read->bytes_max);
        zd_fact_limit(err, read->bytes_max, range.len);
        return status;
    }
    *ret_range = range;
    return ZD_OK;
}

enum zd_status zd_store_judge_write(
    const struct zd_store_write *write, const struct zd_stat *found, struct zd_error *err)
{
    switch (write->condition) {
    case ZD_CONDITION_NONE:
        return ZD_OK;
    case ZD_CONDITION_ABSENT:
        return found == NULL
                   ? ZD_OK
                   : zd_fail(err, ZD_PRECONDITION, "%s: the object exists already", write->key);
    case ZD_CONDITION_GENERATION:
        if (found == NULL) {
            return zd_fail(err, ZD_PRECONDITION, "%s: the object does not exist", write->key);
        }
        return zd_generation_equal(write->generation, found->generation)
                   ? ZD_OK
                   : zd_fail(err, ZD_PRECONDITION, "%s: the object was replaced", write->key);
    }
    return ZD_INTERNAL;
}
