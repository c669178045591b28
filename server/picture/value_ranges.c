/* The ranges of whole arrays, which all their tiles share. */
#include "server/picture/value_ranges.h"

#include <string.h>

#include "server/runtime/server.h"

#define CACHE_BYTES (UINT64_C(1) << 20)
#define TRUST_TIMES 20 /* as long as it took to find, a range is trusted */

/* The head of the key; the path follows. */
struct head {
    uint64_t tag;
    uint32_t dataset;
    uint16_t is_of_stored;
    uint16_t is_decoded;
};

struct zd_value_ranges_entry {
    struct zd_cache_entry entry; /* first */
    struct zd_list waiting;      /* struct zd_wait: while somebody leads */
    bool is_led;
    bool is_known;
    struct zd_value_ranges_found found;
    uint64_t n_changes;  /* of the dataset, when it was found last */
    uint64_t checked_ms; /* loop time, when that began */
    uint64_t took_ms;    /* to read the whole array */
    /* State of the leading request. */
    uint64_t led_changes;
    uint64_t led_ms;
    uint8_t key[];
};

static void free_range(struct zd_cache_entry *entry)
{
    zd_free(ZD_CONTAINER(entry, struct zd_value_ranges_entry, entry));
}

void zd_value_ranges_init(struct zd_server *server)
{
    zd_cache_init(&server->ranges, "ranges", CACHE_BYTES, free_range);
    zd_list_push_back(&server->caches, &server->ranges.link);
}

void zd_value_ranges_done(struct zd_server *server)
{
    zd_cache_done(&server->ranges);
}

static struct zd_value_ranges_entry *new_range(struct zd_server *server, struct zd_span key)
{
    struct zd_value_ranges_entry *range = zd_alloc_zero(1, sizeof *range + key.len);
    if (range == NULL) {
        return NULL;
    }
    memcpy(range->key, key.ptr, key.len);
    range->entry.map.key = (struct zd_span){.ptr = range->key, .len = key.len};
    zd_list_init(&range->waiting);
    if (zd_cache_put(&server->ranges, &range->entry) != ZD_OK) {
        zd_free(range);
        return NULL;
    }
    zd_cache_charge(&server->ranges, &range->entry, sizeof *range + key.len);
    return range;
}

/* A reference; NULL without memory. */
static struct zd_value_ranges_entry *find_range(
    const struct zd_node *node, struct zd_value_ranges_of of)
{
    struct zd_server *server = node->dataset->server;
    const struct head head = {.tag = node->tag,
        .dataset = node->dataset->id,
        .is_of_stored = of.is_of_stored ? 1 : 0,
        .is_decoded = of.is_decoded ? 1 : 0};
    ZD_SCOPED_TEXT(key, sizeof head + ZD_KEY_BYTES_MAX + 1);
    zd_text_add_bytes(&key, (const uint8_t *)&head, sizeof head);
    if (zd_text_add(&key, node->path) != ZD_OK) {
        return NULL;
    }
    struct zd_cache_entry *entry = zd_cache_find(&server->ranges, zd_text_span(&key));
    return entry == NULL ? new_range(server, zd_text_span(&key))
                         : ZD_CONTAINER(zd_cache_ref(entry), struct zd_value_ranges_entry, entry);
}

static bool is_trusted(const struct zd_value_ranges_entry *range, const struct zd_dataset *dataset)
{
    const uint64_t age_ms = uv_now(dataset->server->loop) - range->checked_ms;
    return range->is_known && range->n_changes == dataset->n_changes &&
           (zd_dataset_trusts(dataset, range->checked_ms) || age_ms < TRUST_TIMES * range->took_ms);
}

static void lead(struct zd_value_ranges_entry *range, const struct zd_dataset *dataset,
    struct zd_value_ranges_want *want)
{
    range->is_led = true;
    range->led_changes = dataset->n_changes;
    range->led_ms = uv_now(dataset->server->loop);
    want->leads = true;
}

enum zd_next zd_value_ranges_want(
    const struct zd_node *node, struct zd_value_ranges_of of, struct zd_value_ranges_want *want)
{
    struct zd_server *server = node->dataset->server;
    zd_value_ranges_leave(server, want);
    want->range = find_range(node, of);
    if (want->range == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory for a range");
        return ZD_NEXT;
    }
    want->wait.status = ZD_OK;
    want->found = want->range->found;
    if (is_trusted(want->range, node->dataset)) {
        return ZD_NEXT;
    }
    if (want->range->is_led) {
        zd_list_push_back(&want->range->waiting, &want->wait.link);
        return ZD_WAIT;
    }
    lead(want->range, node->dataset, want);
    return ZD_NEXT;
}

void zd_value_ranges_tell(struct zd_server *server, struct zd_value_ranges_want *want,
    const struct zd_value_ranges_found *found)
{
    struct zd_value_ranges_entry *range = want->range;
    const bool is_read = !range->is_known || !found->has_hash || !range->found.has_hash ||
                         range->found.hash != found->hash;
    range->took_ms = is_read ? uv_now(server->loop) - range->led_ms : range->took_ms;
    range->found = *found;
    range->is_known = true;
    range->n_changes = range->led_changes;
    range->checked_ms = range->led_ms;
    want->found = *found;
    zd_value_ranges_leave(server, want);
}

void zd_value_ranges_leave(struct zd_server *server, struct zd_value_ranges_want *want)
{
    struct zd_value_ranges_entry *range = ZD_TAKE(want->range);
    const bool led = want->leads;
    zd_wait_cancel(&want->wait);
    want->leads = false;
    if (led) {
        range->is_led = false;
        zd_wait_tell(&range->waiting, ZD_OK, NULL);
    }
    if (range != NULL) {
        zd_cache_unref(&server->ranges, &range->entry);
    }
}
