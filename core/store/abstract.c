/* The abstract store interface of the Zarr specification. Items of an operation are worked on side
 * by side, in lanes: each has one of them until it is done, then it takes the next. */
#include "core/store/abstract.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"

#define LANES_MAX    16
#define PAGE_ENTRIES 1000
#define ATTEMPTS_MAX 16 /* to set parts of a value that others write to */

struct zd_abstract_lane {
    struct zd_abstract *op;
    size_t item;
    uint32_t n_attempts;
    struct zd_store_read read;
    struct zd_store_write write;
};

/* ---- beginning and ending ---- */

static void finish(struct zd_abstract *op)
{
    zd_free(op->lane);
    op->lane = NULL;
    op->done(op);
}

static void finish_now(struct zd_store_op *later)
{
    finish(ZD_CONTAINER(later, struct zd_abstract, later));
}

static void finish_later(struct zd_abstract *op)
{
    op->later = (struct zd_store_op){.store = op->store, .done = finish_now};
    zd_store_finish_later(&op->later);
}

/* The first failure is the one reported. */
static void note_failure(struct zd_abstract *op, const struct zd_error *err)
{
    if (op->status == ZD_OK) {
        op->status = err->status;
        op->err = *err;
    }
}

/* @return false: it ends for want of memory */
static bool begin(struct zd_abstract *op, size_t n_lanes_max)
{
    const size_t n_lanes = n_lanes_max < LANES_MAX ? n_lanes_max : LANES_MAX;
    op->status = ZD_OK;
    op->err = (struct zd_error){0};
    op->value = NULL;
    op->n_running = 0;
    op->n_lanes = n_lanes;
    op->resume = finish;
    op->skips_item = NULL;
    op->lane = n_lanes == 0 ? NULL : zd_alloc_zero(n_lanes, sizeof *op->lane);
    if (n_lanes > 0 && op->lane == NULL) {
        op->status = zd_fail(&op->err, ZD_NO_MEMORY, "no memory for an operation on the store");
        finish_later(op);
        return false;
    }
    for (size_t i = 0; i < n_lanes; i++) {
        op->lane[i].op = op;
    }
    return true;
}

/* A key that is too long is cut, but keeps no NUL: so the store refuses it. */
static void set_key(char *place, const char *key)
{
    const size_t len = strnlen(key, ZD_KEY_BYTES_MAX + 1);
    memcpy(place, key, len > ZD_KEY_BYTES_MAX ? len : len + 1);
}

/* ---- items ---- */

static void take_items(struct zd_abstract_lane *lane)
{
    struct zd_abstract *op = lane->op;
    while (op->skips_item != NULL && op->next < op->n_items && op->skips_item(op, op->next)) {
        op->next++;
    }
    if (op->next < op->n_items && op->status == ZD_OK) {
        lane->item = op->next++;
        lane->n_attempts = 0;
        op->n_running++;
        op->begin_item(lane);
    }
}

static void end_item(struct zd_abstract_lane *lane)
{
    struct zd_abstract *op = lane->op;
    op->n_running--;
    take_items(lane);
    if (op->n_running == 0) {
        op->resume(op);
    }
}

static void run_items(struct zd_abstract *op, size_t n_items)
{
    op->n_items = n_items;
    op->next = 0;
    for (size_t i = 0; i < op->n_lanes; i++) {
        take_items(&op->lane[i]);
    }
    if (op->n_running == 0) {
        finish_later(op);
    }
}

/* ---- get ---- */

static void read_done(struct zd_store_op *store_op)
{
    struct zd_abstract_lane *lane = ZD_CONTAINER(store_op, struct zd_abstract_lane, read.op);
    lane->op->item.range[lane->item].value = lane->read.bytes;
    if (store_op->status != ZD_OK && store_op->status != ZD_NOT_FOUND) {
        note_failure(lane->op, &store_op->err);
    }
    end_item(lane);
}

static void begin_read(struct zd_abstract_lane *lane)
{
    const struct zd_abstract_range *wanted = &lane->op->item.range[lane->item];
    lane->read.op.done = read_done;
    lane->read.range = wanted->range;
    lane->read.bytes_max = lane->op->bytes_max;
    set_key(lane->read.key, wanted->key);
    zd_store_read(lane->op->store, &lane->read);
}

void zd_abstract_get_partial_values(
    struct zd_abstract *op, struct zd_abstract_range *range, size_t n_ranges)
{
    op->item.range = range;
    op->begin_item = begin_read;
    for (size_t i = 0; i < n_ranges; i++) {
        range[i].value = NULL;
    }
    if (begin(op, n_ranges)) {
        run_items(op, n_ranges);
    }
}

static void end_get(struct zd_abstract *op)
{
    op->value = op->whole.value;
    finish(op);
}

void zd_abstract_get(struct zd_abstract *op, const char *key)
{
    op->whole = (struct zd_abstract_range){.key = key};
    op->item.range = &op->whole;
    op->begin_item = begin_read;
    if (begin(op, 1)) {
        op->resume = end_get;
        run_items(op, 1);
    }
}

/* ---- set ---- */

static void write_done(struct zd_store_op *store_op)
{
    struct zd_abstract_lane *lane = ZD_CONTAINER(store_op, struct zd_abstract_lane, write.op);
    if (store_op->status != ZD_OK) {
        note_failure(lane->op, &store_op->err);
    }
    end_item(lane);
}

static void begin_write(struct zd_abstract_lane *lane)
{
    lane->write.op.done = write_done;
    lane->write.bytes = lane->op->only_value;
    set_key(lane->write.key, lane->op->only_key);
    zd_store_write(lane->op->store, &lane->write);
}

void zd_abstract_set(struct zd_abstract *op, const char *key, struct zd_buf *value)
{
    op->only_key = key;
    op->only_value = value;
    op->begin_item = begin_write;
    if (begin(op, 1)) {
        run_items(op, 1);
    }
}

/* ---- set_partial_values ---- */

static void begin_parts(struct zd_abstract_lane *lane);

static const char *key_of_parts(const struct zd_abstract_lane *lane)
{
    return lane->op->item.part[lane->item].key;
}

static bool is_of_key(const struct zd_abstract_lane *lane, size_t part)
{
    return strcmp(lane->op->item.part[part].key, key_of_parts(lane)) == 0;
}

/* How long the value is with all parts of its key. */
static enum zd_status len_with_parts(
    const struct zd_abstract_lane *lane, size_t old_len, size_t *ret_len, struct zd_error *err)
{
    const struct zd_abstract *op = lane->op;
    uint64_t len = old_len;
    for (size_t i = lane->item; i < op->n_items; i++) {
        uint64_t end;
        if (!is_of_key(lane, i)) {
            continue;
        }
        if (ckd_add(&end, op->item.part[i].start, (uint64_t)op->item.part[i].bytes->len)) {
            end = UINT64_MAX;
        }
        len = end > len ? end : len;
    }
    if (len > op->bytes_max) {
        const enum zd_status status =
            zd_fail(err, ZD_TOO_LARGE, "%s: the value has %llu bytes; the limit is %zu",
                key_of_parts(lane), (unsigned long long)len, op->bytes_max);
        zd_fact_limit(err, op->bytes_max, len);
        return status;
    }
    *ret_len = (size_t)len;
    return ZD_OK;
}

/* @param ret_value owned */
static enum zd_status merge_parts(const struct zd_abstract_lane *lane, const struct zd_buf *old,
    struct zd_buf **ret_value, struct zd_error *err)
{
    const struct zd_abstract *op = lane->op;
    const size_t old_len = old == NULL ? 0 : old->len;
    size_t len = 0;
    ZD_TRY(len_with_parts(lane, old_len, &len, err));
    struct zd_buf *value = zd_buf_new(len);
    if (value == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "%s: no memory for %zu bytes", key_of_parts(lane), len);
    }
    if (old_len > 0) {
        memcpy(value->data, old->data, old_len);
    }
    memset(value->data + old_len, 0, len - old_len);
    for (size_t i = lane->item; i < op->n_items; i++) {
        const struct zd_abstract_part *part = &op->item.part[i];
        if (is_of_key(lane, i) && part->bytes->len > 0) {
            memcpy(value->data + part->start, part->bytes->data, part->bytes->len);
        }
    }
    value->len = len;
    *ret_value = value;
    return ZD_OK;
}

static void parts_written(struct zd_store_op *store_op)
{
    struct zd_abstract_lane *lane = ZD_CONTAINER(store_op, struct zd_abstract_lane, write.op);
    zd_buf_unref(lane->write.bytes);
    lane->write.bytes = NULL;
    if (store_op->status == ZD_PRECONDITION && ++lane->n_attempts < ATTEMPTS_MAX) {
        begin_parts(lane);
        return;
    }
    if (store_op->status != ZD_OK) {
        note_failure(lane->op, &store_op->err);
    }
    end_item(lane);
}

static void parts_read(struct zd_store_op *store_op)
{
    struct zd_abstract_lane *lane = ZD_CONTAINER(store_op, struct zd_abstract_lane, read.op);
    struct zd_store_write *write = &lane->write;
    enum zd_status status = store_op->status;
    ZD_AUTO(zd_buf) old = lane->read.bytes;
    const bool is_new = status == ZD_NOT_FOUND;
    if (status == ZD_OK || is_new) {
        status = merge_parts(lane, old, &write->bytes, &store_op->err);
    }
    if (status != ZD_OK) {
        note_failure(lane->op, &store_op->err);
        end_item(lane);
        return;
    }
    write->op.done = parts_written;
    write->condition = is_new ? ZD_CONDITION_ABSENT : ZD_CONDITION_GENERATION;
    write->generation = lane->read.stat.generation;
    memcpy(write->key, lane->read.key, sizeof write->key);
    zd_store_write(lane->op->store, write);
}

static void begin_parts(struct zd_abstract_lane *lane)
{
    lane->read.op.done = parts_read;
    lane->read.range = (struct zd_range){.kind = ZD_RANGE_WHOLE};
    lane->read.bytes_max = lane->op->bytes_max;
    set_key(lane->read.key, key_of_parts(lane));
    zd_store_read(lane->op->store, &lane->read);
}

/* The first part of a key does the work of all. */
static bool has_earlier_part(const struct zd_abstract *op, size_t part)
{
    for (size_t i = 0; i < part; i++) {
        if (strcmp(op->item.part[i].key, op->item.part[part].key) == 0) {
            return true;
        }
    }
    return false;
}

void zd_abstract_set_partial_values(
    struct zd_abstract *op, const struct zd_abstract_part *part, size_t n_parts)
{
    op->item.part = part;
    op->begin_item = begin_parts;
    if (begin(op, n_parts)) {
        op->skips_item = has_earlier_part;
        run_items(op, n_parts);
    }
}

/* ---- erase ---- */

static void erase_done(struct zd_store_op *store_op)
{
    struct zd_abstract_lane *lane = ZD_CONTAINER(store_op, struct zd_abstract_lane, write.op);
    if (store_op->status != ZD_OK && store_op->status != ZD_NOT_FOUND) {
        note_failure(lane->op, &store_op->err);
    }
    end_item(lane);
}

static void begin_erase(struct zd_abstract_lane *lane)
{
    lane->write.op.done = erase_done;
    set_key(lane->write.key, lane->op->item.key[lane->item]);
    zd_store_erase(lane->op->store, &lane->write);
}

void zd_abstract_erase_values(struct zd_abstract *op, const char *const *key, size_t n_keys)
{
    op->item.key = key;
    op->begin_item = begin_erase;
    if (begin(op, n_keys)) {
        run_items(op, n_keys);
    }
}

void zd_abstract_erase(struct zd_abstract *op, const char *key)
{
    op->only_key = key;
    zd_abstract_erase_values(op, &op->only_key, 1);
}

/* ---- listings ---- */

/* The key of an entry, or with a slash at its end the prefix. */
static void name_entry(
    const struct zd_store_list *list, size_t entry, char name[ZD_KEY_BYTES_MAX + 2])
{
    snprintf(name, ZD_KEY_BYTES_MAX + 2, "%s%s%s", list->prefix, list->entry[entry].name,
        list->entry[entry].is_prefix ? "/" : "");
}

static void next_page(struct zd_abstract *op)
{
    if (op->list.has_more && op->status == ZD_OK) {
        zd_store_list_next(op->store, &op->list);
    } else {
        zd_store_list_done(&op->list);
        finish(op);
    }
}

static void note_listing(struct zd_abstract *op)
{
    if (op->list.op.status != ZD_OK && op->list.op.status != ZD_NOT_FOUND) {
        note_failure(op, &op->list.op.err);
    }
}

static void page_listed(struct zd_store_op *store_op)
{
    struct zd_abstract *op = ZD_CONTAINER(store_op, struct zd_abstract, list.op);
    char name[ZD_KEY_BYTES_MAX + 2];
    note_listing(op);
    for (size_t i = 0; i < op->list.n_entries; i++) {
        name_entry(&op->list, i, name);
        op->found(op, name, op->list.entry[i].is_prefix);
    }
    next_page(op);
}

static void begin_listing(
    struct zd_abstract *op, const char *prefix, bool deep, void (*done)(struct zd_store_op *op))
{
    const size_t len = strnlen(prefix, sizeof op->list.prefix);
    op->list = (struct zd_store_list){.op = {.done = done}, .deep = deep, .n_max = PAGE_ENTRIES};
    memcpy(op->list.prefix, prefix, len < sizeof op->list.prefix ? len + 1 : len);
    zd_store_list(op->store, &op->list);
}

void zd_abstract_list_prefix(struct zd_abstract *op, const char *prefix)
{
    if (begin(op, 0)) {
        begin_listing(op, prefix, true, page_listed);
    }
}

void zd_abstract_list(struct zd_abstract *op)
{
    zd_abstract_list_prefix(op, "");
}

void zd_abstract_list_dir(struct zd_abstract *op, const char *prefix)
{
    if (begin(op, 0)) {
        begin_listing(op, prefix, false, page_listed);
    }
}

/* ---- erase_prefix ---- */

static void begin_erase_entry(struct zd_abstract_lane *lane)
{
    char name[ZD_KEY_BYTES_MAX + 2];
    lane->write.op.done = erase_done;
    name_entry(&lane->op->list, lane->item, name);
    set_key(lane->write.key, name);
    zd_store_erase(lane->op->store, &lane->write);
}

static void page_to_erase(struct zd_store_op *store_op)
{
    struct zd_abstract *op = ZD_CONTAINER(store_op, struct zd_abstract, list.op);
    note_listing(op);
    if (op->list.n_entries == 0) {
        next_page(op);
    } else {
        run_items(op, op->list.n_entries);
    }
}

void zd_abstract_erase_prefix(struct zd_abstract *op, const char *prefix)
{
    op->begin_item = begin_erase_entry;
    if (begin(op, LANES_MAX)) {
        op->resume = next_page;
        begin_listing(op, prefix, true, page_to_erase);
    }
}
