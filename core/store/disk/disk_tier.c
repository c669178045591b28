/* The disk tier: what is kept, and the threads that read and write it. */
#include "core/store/disk/disk_tier.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/num.h"
#include "core/store/contract/store_impl.h"

#define ENTRY_PART  16   /* one part of the tier is the most that a file takes */
#define TURNS       1024 /* keys share them */
#define FOUND_BATCH 1024 /* files put into the index in one turn of the loop */
#define MS_PER_S    INT64_C(1000)
#define NS_PER_MS   1000000

/* Bytes that wait to be written. */
struct keep {
    struct zd_list link;
    struct zd_disk_entry entry; /* its key is behind it */
    struct zd_disk_file file;
    uint64_t cost;
    uint64_t turn;
    struct zd_buf *bytes; /* shared */
    char key[];
};

/* Keys of one hash: how often they changed, and how many changes are under way. */
struct turn {
    uint64_t n;
    uint32_t n_changing;
};

struct zd_disk_tier {
    struct zd_disk_files files;
    struct zd_disk_index index;
    uv_loop_t *loop;
    void (*tell)(void *context, const char *text);
    void *context;
    int64_t (*now_ms)(void);
    uint64_t waiting_bytes_max;
    uint64_t entry_cost_max;
    bool is_open; /* the directory is ours */
    bool is_off;
    bool is_stopping;
    struct zd_disk_counts counts;
    struct turn turn[TURNS];
    /* what waits for the thread that changes files */
    struct zd_list going;   /* struct zd_disk_item: files to be removed */
    struct zd_list keeps;   /* struct keep */
    struct zd_list changes; /* struct zd_disk_change */
    uint64_t waiting_bytes; /* of keeps */
    /* its work */
    bool is_working;
    uv_work_t work;
    struct zd_list work_going;
    struct zd_list work_changes;
    struct keep *work_keep; /* or NULL */
    uint64_t work_serial;
    bool has_left; /* a file that was to be removed */
    enum zd_status work_status;
    struct zd_error work_err;
    /* the search for what is there */
    bool is_searching;
    bool is_partial; /* it has ended before all files were known */
    uv_work_t search;
    _Atomic bool must_stop;
    enum zd_status search_status;
    struct zd_error search_err;
    struct zd_disk_found *found;
    size_t n_found;
    size_t n_put;
};

static int64_t system_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / NS_PER_MS;
}

int64_t zd_disk_tier_now_ms(const struct zd_disk_tier *tier)
{
    return tier->now_ms();
}

bool zd_disk_tier_is_on(const struct zd_disk_tier *tier)
{
    return tier != NULL && tier->is_open && !tier->is_off && !tier->is_stopping;
}

struct zd_disk_counts zd_disk_tier_count(const struct zd_disk_tier *tier)
{
    struct zd_disk_counts counts = tier->counts;
    counts.n_evicted = tier->index.n_evicted;
    counts.n_entries = tier->index.items.n_entries;
    counts.bytes = tier->index.bytes;
    counts.bytes_max = tier->index.bytes_max;
    counts.is_on = zd_disk_tier_is_on(tier);
    return counts;
}

void zd_disk_tier_count_miss(struct zd_disk_tier *tier)
{
    tier->counts.n_misses++;
}

static void free_keep(struct keep *keep)
{
    zd_buf_unref(keep->bytes);
    zd_free(keep);
}

static void drop_keeps(struct zd_disk_tier *tier)
{
    for (struct zd_list *link; (link = zd_list_pop_front(&tier->keeps)) != NULL;) {
        free_keep(ZD_CONTAINER(link, struct keep, link));
    }
    tier->waiting_bytes = 0;
}

static void turn_off(struct zd_disk_tier *tier, const char *why)
{
    char text[ZD_ERROR_TEXT_BYTES + 64];
    if (!tier->is_off) {
        tier->is_off = true;
        drop_keeps(tier);
        snprintf(text, sizeof text, "the disk cache is off until the next start: %s", why);
        tier->tell(tier->context, text);
    }
}

void zd_disk_tier_distrust(struct zd_disk_tier *tier, const char *why)
{
    zd_disk_files_void(&tier->files);
    turn_off(tier, why);
}

static struct turn *turn_of(struct zd_disk_tier *tier, uint64_t key)
{
    return &tier->turn[key % TURNS];
}

/* Two generations have no order: then all files of the key go. */
static void note_known(struct zd_disk_tier *tier, struct zd_disk_key *key,
    const struct zd_stat *stat, int64_t checked_ms)
{
    if (zd_generation_is_set(key->stat.generation) &&
        !zd_generation_equal(key->stat.generation, stat->generation)) {
        zd_disk_index_take_key(&tier->index, key, &tier->going);
        return;
    }
    key->stat = *stat;
    key->checked_ms = checked_ms > key->checked_ms ? checked_ms : key->checked_ms;
}

/* ---- removing and writing: one thread at a time ---- */

static void work_files(uv_work_t *work)
{
    struct zd_disk_tier *tier = ZD_CONTAINER(work, struct zd_disk_tier, work);
    const struct zd_list *head = &tier->work_going;
    tier->work_status = ZD_OK;
    tier->has_left = false;
    for (struct zd_list *at = head->next; at != head; at = at->next) {
        const struct zd_disk_item *item = ZD_CONTAINER(at, struct zd_disk_item, link);
        const enum zd_status status =
            zd_disk_files_remove(&tier->files, item->file, &tier->work_err);
        tier->work_status = tier->work_status == ZD_OK ? status : tier->work_status;
        tier->has_left = tier->has_left || status != ZD_OK;
    }
    struct keep *keep = tier->work_keep;
    if (keep != NULL && tier->work_status == ZD_OK) {
        tier->work_status = zd_disk_files_put(
            &tier->files, keep->file, &keep->entry, zd_buf_span(keep->bytes), &tier->work_err);
    }
}

static void work_next(struct zd_disk_tier *tier);

/* The file is there now, or it never will be. */
static void end_keep(struct zd_disk_tier *tier)
{
    struct keep *keep = ZD_TAKE(tier->work_keep);
    struct zd_disk_item *item = zd_disk_index_find(&tier->index, keep->file);
    const bool is_there = item != NULL && item->serial == tier->work_serial;
    if (tier->work_status == ZD_OK) {
        tier->counts.n_kept++;
        if (is_there) {
            item->is_coming = false;
            note_known(tier, item->key, &keep->entry.stat, keep->entry.checked_ms);
        }
    } else if (is_there) {
        zd_disk_index_take(&tier->index, item, &tier->going);
    }
    free_keep(keep);
}

static void after_files(uv_work_t *work, int uv_status)
{
    struct zd_disk_tier *tier = ZD_CONTAINER(work, struct zd_disk_tier, work);
    struct zd_list changes;
    (void)uv_status; /* it is never cancelled */
    tier->is_working = false;
    zd_disk_index_free(&tier->work_going);
    if (tier->work_keep != NULL) {
        end_keep(tier);
    }
    if (tier->has_left) { /* the next start must not find what an object was before its change */
        zd_disk_tier_distrust(tier, tier->work_err.text);
    } else if (tier->work_status != ZD_OK && tier->work_status != ZD_NO_MEMORY) {
        turn_off(tier, tier->work_err.text);
    }
    zd_list_take_all(&tier->work_changes, &changes);
    work_next(tier);
    for (struct zd_list *link; (link = zd_list_pop_front(&changes)) != NULL;) {
        struct zd_disk_change *change = ZD_CONTAINER(link, struct zd_disk_change, link);
        change->done(change);
    }
}

/* Its place in the index, so that the disk never holds more than it may. */
static bool make_place(struct zd_disk_tier *tier, struct keep *keep)
{
    struct zd_disk_item *item = zd_disk_index_find(&tier->index, keep->file);
    if (turn_of(tier, keep->file.key)->n != keep->turn) {
        return false;
    }
    if (item != NULL) {
        zd_disk_index_take(&tier->index, item, &tier->going);
    }
    zd_disk_index_make_room(&tier->index, keep->cost, &tier->going);
    if (zd_disk_index_put(&tier->index, keep->file, keep->cost, &item) != ZD_OK) {
        return false;
    }
    item->is_coming = true;
    tier->work_serial = item->serial;
    return true;
}

static struct keep *next_keep(struct zd_disk_tier *tier)
{
    struct zd_list *link;
    while ((link = zd_list_pop_front(&tier->keeps)) != NULL) {
        struct keep *keep = ZD_CONTAINER(link, struct keep, link);
        tier->waiting_bytes -= keep->bytes->len;
        if (make_place(tier, keep)) {
            return keep;
        }
        free_keep(keep);
    }
    return NULL;
}

static void take_changed(struct zd_disk_tier *tier)
{
    const struct zd_list *head = &tier->changes;
    for (const struct zd_list *at = head->next; at != head; at = at->next) {
        struct zd_disk_key *key = zd_disk_index_key(
            &tier->index, ZD_CONTAINER(at, const struct zd_disk_change, link)->key);
        if (key != NULL) {
            zd_disk_index_take_key(&tier->index, key, &tier->going);
        }
    }
}

/* While it is not known what is there nothing is changed. */
static void work_next(struct zd_disk_tier *tier)
{
    if (tier->is_working || tier->is_searching) {
        return;
    }
    if (tier->is_partial && !zd_list_is_empty(&tier->changes)) {
        zd_disk_tier_distrust(tier, "an object changed, but not all of its files are known");
    }
    take_changed(tier);
    tier->work_keep = next_keep(tier);
    zd_list_take_all(&tier->going, &tier->work_going);
    zd_list_take_all(&tier->changes, &tier->work_changes);
    if (tier->work_keep == NULL && zd_list_is_empty(&tier->work_going) &&
        zd_list_is_empty(&tier->work_changes)) {
        return;
    }
    tier->is_working = true;
    const int uv_status = uv_queue_work(tier->loop, &tier->work, work_files, after_files);
    assert(uv_status == 0);
    (void)uv_status;
}

/* ---- what is there at the start ---- */

static void work_search(uv_work_t *work)
{
    struct zd_disk_tier *tier = ZD_CONTAINER(work, struct zd_disk_tier, search);
    tier->search_status = zd_disk_files_scan(&tier->files, tier->index.n_max, &tier->must_stop,
        &tier->found, &tier->n_found, &tier->search_err);
}

static void end_search(struct zd_disk_tier *tier)
{
    zd_free(ZD_TAKE(tier->found));
    tier->is_searching = false;
    tier->is_partial = tier->search_status != ZD_OK || tier->n_put < tier->n_found;
    if (tier->search_status != ZD_OK && tier->search_status != ZD_CANCELLED) {
        turn_off(tier, tier->search_err.text);
    }
    work_next(tier);
}

/* Older files make room for newer ones where there are more than there may be. */
static void put_found(struct zd_disk_tier *tier, const struct zd_disk_found *found)
{
    struct zd_disk_item *item;
    const uint64_t cost = zd_disk_files_cost(&tier->files, found->bytes);
    if (cost <= tier->entry_cost_max) {
        zd_disk_index_make_room(&tier->index, cost, &tier->going);
    }
    if (zd_disk_index_put(&tier->index, found->file, cost, &item) != ZD_OK) {
        tier->search_status = zd_fail(&tier->search_err, ZD_NO_MEMORY, "no memory for the entries");
        tier->n_put = tier->n_found;
    } else if (cost > tier->entry_cost_max) {
        zd_disk_index_take(&tier->index, item, &tier->going);
    }
}

static void no_work(uv_work_t *work)
{
    (void)work;
}

static void after_search(uv_work_t *work, int uv_status)
{
    struct zd_disk_tier *tier = ZD_CONTAINER(work, struct zd_disk_tier, search);
    (void)uv_status;
    const size_t end = zd_min_u64(tier->n_found, tier->n_put + FOUND_BATCH);
    while (tier->search_status == ZD_OK && tier->n_put < end) {
        put_found(tier, &tier->found[tier->n_put++]);
    }
    if (tier->search_status != ZD_OK || tier->n_put == tier->n_found || tier->is_stopping ||
        uv_queue_work(tier->loop, &tier->search, no_work, after_search) != 0) {
        end_search(tier);
    }
}

/* ---- the tier ---- */

static enum zd_status open_files(
    struct zd_disk_tier *tier, const struct zd_disk_tier_config *config, struct zd_error *err)
{
    struct zd_error why = {0};
    const enum zd_status status = zd_disk_files_open(config->path, &tier->files, &why);
    if (status == ZD_INVALID) {
        *err = why;
        return status;
    }
    if (status != ZD_OK) {
        turn_off(tier, why.text);
        return ZD_OK;
    }
    tier->is_open = true;
    tier->is_searching = true;
    const int uv_status = uv_queue_work(tier->loop, &tier->search, work_search, after_search);
    assert(uv_status == 0);
    (void)uv_status;
    return ZD_OK;
}

enum zd_status zd_disk_tier_open(
    const struct zd_disk_tier_config *config, struct zd_disk_tier **ret_tier, struct zd_error *err)
{
    assert(config->bytes_max >= ZD_DISK_TIER_BYTES_MIN && config->n_max >= 1);
    struct zd_disk_tier *tier = zd_alloc_zero(1, sizeof *tier);
    if (tier == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the disk cache");
    }
    tier->files = ZD_DISK_FILES_NONE;
    tier->loop = config->loop;
    tier->tell = config->tell;
    tier->context = config->context;
    tier->now_ms = config->now_ms == NULL ? system_now_ms : config->now_ms;
    tier->waiting_bytes_max = config->waiting_bytes;
    tier->entry_cost_max = config->bytes_max / ENTRY_PART;
    zd_disk_index_init(&tier->index, config->bytes_max, config->n_max);
    zd_list_init(&tier->going);
    zd_list_init(&tier->keeps);
    zd_list_init(&tier->changes);
    zd_list_init(&tier->work_going);
    zd_list_init(&tier->work_changes);
    const enum zd_status status = open_files(tier, config, err);
    if (status != ZD_OK) {
        zd_disk_tier_close(tier);
        return status;
    }
    *ret_tier = tier;
    return ZD_OK;
}

void zd_disk_tier_stop(struct zd_disk_tier *tier)
{
    if (tier != NULL) {
        tier->is_stopping = true;
        atomic_store(&tier->must_stop, true);
        drop_keeps(tier);
    }
}

void zd_disk_tier_close(struct zd_disk_tier *tier)
{
    if (tier == NULL) {
        return;
    }
    assert(!tier->is_working && !tier->is_searching);
    drop_keeps(tier);
    zd_disk_index_free(&tier->going);
    zd_disk_index_done(&tier->index);
    zd_disk_files_close(&tier->files);
    zd_free(tier);
}

/* ---- finding ---- */

static enum zd_status tell_known(
    const struct zd_disk_key *key, struct zd_stat *ret_stat, int64_t *ret_checked_ms)
{
    if (!zd_generation_is_set(key->stat.generation)) {
        return ZD_AGAIN;
    }
    *ret_stat = key->stat;
    *ret_checked_ms = key->checked_ms;
    return ZD_OK;
}

/* Before all files are known one may be there. */
static enum zd_status unknown(const struct zd_disk_tier *tier)
{
    return tier->is_searching && !tier->files.is_new ? ZD_AGAIN : ZD_NOT_FOUND;
}

enum zd_status zd_disk_tier_find(const struct zd_disk_tier *tier, const struct zd_disk_name *name,
    struct zd_stat *ret_stat, int64_t *ret_checked_ms)
{
    if (!zd_disk_tier_is_on(tier)) {
        return ZD_NOT_FOUND;
    }
    const struct zd_disk_file file = zd_disk_files_name(&tier->files, name);
    const struct zd_disk_item *item = zd_disk_index_find(&tier->index, file);
    if (tier->turn[file.key % TURNS].n_changing > 0 || (item != NULL && item->is_coming)) {
        return ZD_NOT_FOUND;
    }
    return item == NULL ? unknown(tier) : tell_known(item->key, ret_stat, ret_checked_ms);
}

static struct zd_disk_item *any_item(const struct zd_disk_key *key)
{
    const struct zd_list *head = &key->items;
    for (struct zd_list *at = head->next; at != head; at = at->next) {
        struct zd_disk_item *item = ZD_CONTAINER(at, struct zd_disk_item, link);
        if (!item->is_coming) {
            return item;
        }
    }
    return NULL;
}

enum zd_status zd_disk_tier_find_key(const struct zd_disk_tier *tier,
    const struct zd_disk_name *name, struct zd_stat *ret_stat, int64_t *ret_checked_ms)
{
    if (!zd_disk_tier_is_on(tier)) {
        return ZD_NOT_FOUND;
    }
    const struct zd_disk_file file = zd_disk_files_name(&tier->files, name);
    const struct zd_disk_key *key = zd_disk_index_key(&tier->index, file.key);
    if (tier->turn[file.key % TURNS].n_changing > 0 || (key != NULL && any_item(key) == NULL)) {
        return ZD_NOT_FOUND;
    }
    return key == NULL ? unknown(tier) : tell_known(key, ret_stat, ret_checked_ms);
}

/* ---- reading ---- */

static bool is_wanted(const struct zd_disk_fetch *fetch, const struct zd_disk_entry *entry)
{
    if (zd_generation_is_set(fetch->generation)) {
        return zd_generation_equal(fetch->generation, entry->stat.generation);
    }
    return fetch->oldest_ms == INT64_MIN ||
           (entry->checked_ms >= fetch->oldest_ms && entry->checked_ms <= fetch->now_ms);
}

static enum zd_status fetch_body(struct zd_disk_fetch *fetch, const struct zd_disk_look *look)
{
    struct zd_range range;
    ZD_TRY(zd_store_judge_read(fetch->read, &look->entry.stat, &range, &fetch->err));
    if (range.len != look->entry.body_bytes) {
        fetch->found = ZD_CORRUPT;
        return ZD_NOT_FOUND;
    }
    fetch->found = zd_disk_files_body(look, &fetch->bytes, &fetch->err);
    return fetch->found == ZD_CORRUPT ? ZD_NOT_FOUND : fetch->found;
}

static enum zd_status fetch_file(struct zd_disk_fetch *fetch, struct zd_disk_look *look)
{
    const struct zd_disk_files *files = &fetch->tier->files;
    const struct zd_disk_name *name = fetch->is_any_range ? NULL : &fetch->name;
    fetch->found = zd_disk_files_look(files, fetch->file, name, look, &fetch->err);
    if (fetch->found == ZD_OK && fetch->is_any_range) {
        struct zd_disk_name wanted = fetch->name;
        wanted.range = look->entry.name.range;
        fetch->found = zd_disk_entry_is_of(&look->entry, &wanted) ? ZD_OK : ZD_CORRUPT;
    }
    if (fetch->found != ZD_OK) {
        return ZD_NOT_FOUND;
    }
    fetch->stat = look->entry.stat;
    fetch->checked_ms = look->entry.checked_ms;
    fetch->body_bytes = look->entry.body_bytes;
    if (!is_wanted(fetch, &look->entry)) {
        return ZD_AGAIN;
    }
    const enum zd_status status = fetch->read == NULL ? ZD_OK : fetch_body(fetch, look);
    if (status == ZD_OK && fetch->touch_ms != 0) {
        zd_disk_files_touch(files, fetch->file, look, fetch->touch_ms);
    }
    return status;
}

static void work_fetch(uv_work_t *work)
{
    struct zd_disk_fetch *fetch = ZD_CONTAINER(work, struct zd_disk_fetch, work);
    struct zd_disk_look look = {.fd = -1};
    fetch->status = fetch_file(fetch, &look);
    zd_disk_files_look_done(&look);
}

/* Note the file's facts of its object, unless newer ones are known. */
static void note_found(struct zd_disk_tier *tier, struct zd_disk_fetch *fetch)
{
    struct zd_disk_item *item = zd_disk_index_find(&tier->index, fetch->file);
    if (item == NULL || item->serial != fetch->serial) {
        return;
    }
    const struct zd_generation known = item->key->stat.generation;
    const bool is_read = fetch->found == ZD_OK;
    if (is_read && !zd_generation_is_set(known)) {
        item->key->stat = fetch->stat;
        item->key->checked_ms = fetch->checked_ms;
    }
    item->visited = item->visited || fetch->status == ZD_OK;
    const bool is_old = is_read && zd_generation_is_set(known) &&
                        !zd_generation_equal(known, fetch->stat.generation);
    const bool is_damaged = fetch->found == ZD_CORRUPT || fetch->found == ZD_NOT_FOUND;
    if (is_old || is_damaged) {
        tier->counts.n_dropped += is_damaged;
        zd_disk_index_take(&tier->index, item, &tier->going);
        work_next(tier);
    }
}

static void after_fetch(uv_work_t *work, int uv_status)
{
    struct zd_disk_fetch *fetch = ZD_CONTAINER(work, struct zd_disk_fetch, work);
    struct zd_disk_tier *tier = fetch->tier;
    (void)uv_status; /* it is never cancelled */
    note_found(tier, fetch);
    const bool is_note = fetch->read == NULL && fetch->touch_ms != 0;
    if (fetch->status == ZD_OK && !is_note) {
        tier->counts.n_hits++;
        tier->counts.n_hit_bytes += fetch->bytes == NULL ? 0 : fetch->bytes->len;
        tier->counts.n_revalidated += fetch->is_revalidated;
    }
    fetch->done(fetch);
}

void zd_disk_tier_fetch(struct zd_disk_tier *tier, struct zd_disk_fetch *fetch)
{
    fetch->tier = tier;
    fetch->bytes = NULL;
    fetch->err.status = ZD_OK;
    fetch->now_ms = tier->now_ms();
    fetch->file = zd_disk_files_name(&tier->files, &fetch->name);
    const struct zd_disk_item *item = zd_disk_index_find(&tier->index, fetch->file);
    const struct zd_disk_key *key =
        fetch->is_any_range ? zd_disk_index_key(&tier->index, fetch->file.key) : NULL;
    item = key == NULL ? item : any_item(key);
    fetch->serial = item == NULL ? 0 : item->serial;
    fetch->file = item == NULL ? fetch->file : item->file;
    const int uv_status = uv_queue_work(tier->loop, &fetch->work, work_fetch, after_fetch);
    assert(uv_status == 0);
    (void)uv_status;
}

/* ---- learning and keeping ---- */

void zd_disk_tier_learn(struct zd_disk_tier *tier, const struct zd_disk_name *name,
    const struct zd_stat *stat, int64_t checked_ms)
{
    struct zd_disk_key *key =
        zd_disk_index_key(&tier->index, zd_disk_files_name(&tier->files, name).key);
    if (key != NULL && zd_generation_is_set(stat->generation)) {
        note_known(tier, key, stat, checked_ms);
        work_next(tier);
    }
}

void zd_disk_tier_lose(struct zd_disk_tier *tier, const struct zd_disk_name *name)
{
    struct zd_disk_key *key =
        zd_disk_index_key(&tier->index, zd_disk_files_name(&tier->files, name).key);
    if (key != NULL) {
        zd_disk_index_take_key(&tier->index, key, &tier->going);
        work_next(tier);
    }
}

uint64_t zd_disk_tier_turn(const struct zd_disk_tier *tier, const struct zd_disk_name *name)
{
    return tier->turn[zd_disk_files_name(&tier->files, name).key % TURNS].n;
}

static struct keep *new_keep(const struct zd_disk_name *name)
{
    struct keep *keep = zd_alloc_zero(1, sizeof *keep + name->key.len);
    if (keep != NULL) {
        memcpy(keep->key, name->key.ptr, name->key.len);
        keep->entry.name = *name;
        keep->entry.name.key.ptr = (const uint8_t *)keep->key;
    }
    return keep;
}

void zd_disk_tier_keep(struct zd_disk_tier *tier, const struct zd_disk_name *name,
    const struct zd_stat *stat, int64_t checked_ms, uint64_t turn, struct zd_buf *bytes)
{
    const struct zd_disk_file file = zd_disk_files_name(&tier->files, name);
    const struct turn *now = turn_of(tier, file.key);
    if (!zd_disk_tier_is_on(tier) || now->n != turn || now->n_changing > 0 ||
        !zd_generation_is_set(stat->generation)) {
        return;
    }
    const uint64_t cost = zd_disk_files_cost(
        &tier->files, (uint64_t)bytes->len + ZD_DISK_ENTRY_FIXED_BYTES + name->key.len);
    const bool has_room = tier->waiting_bytes == 0 ||
                          bytes->len <= tier->waiting_bytes_max - zd_min_u64(tier->waiting_bytes,
                                                                      tier->waiting_bytes_max);
    struct keep *keep = cost > tier->entry_cost_max || !has_room ? NULL : new_keep(name);
    if (keep == NULL) {
        tier->counts.n_skipped++;
        return;
    }
    keep->entry.stat = *stat;
    keep->entry.checked_ms = checked_ms;
    keep->entry.body_bytes = bytes->len;
    keep->file = file;
    keep->cost = cost;
    keep->turn = turn;
    keep->bytes = zd_buf_ref(bytes);
    tier->waiting_bytes += bytes->len;
    zd_list_push_back(&tier->keeps, &keep->link);
    work_next(tier);
}

/* ---- changing ---- */

bool zd_disk_tier_begin_change(
    struct zd_disk_tier *tier, const struct zd_disk_name *name, struct zd_disk_change *change)
{
    change->key = zd_disk_files_name(&tier->files, name).key;
    struct turn *turn = turn_of(tier, change->key);
    turn->n++;
    turn->n_changing++;
    const bool may_be_kept = zd_disk_index_key(&tier->index, change->key) != NULL ||
                             tier->is_searching || tier->is_working || tier->is_partial;
    if (!tier->is_open || !may_be_kept) {
        return false;
    }
    zd_list_push_back(&tier->changes, &change->link);
    work_next(tier);
    return true;
}

void zd_disk_tier_end_change(struct zd_disk_tier *tier, const struct zd_disk_change *change)
{
    struct turn *turn = turn_of(tier, change->key);
    assert(turn->n_changing > 0);
    turn->n++;
    turn->n_changing--;
}
