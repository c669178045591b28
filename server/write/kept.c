/* Objects that a change has erased and may have to put back. */
#include "server/write/kept.h"

#include <assert.h>
#include <string.h>

#include "core/base/own.h"
#include "server/data/dataset.h"
#include "server/runtime/server.h"

#define AT_ONCE      16 /* objects under way */
#define STAGED_BYTES 64 /* about what a store remembers of one, beside its key */

struct zd_kept_slot {
    struct zd_kept_item *item; /* owned */
    struct zd_store_write_want write;
};

void zd_kept_init(struct zd_kept *kept, struct zd_dataset *dataset)
{
    *kept = (struct zd_kept){.dataset = dataset};
    zd_list_init(&kept->items);
}

static struct zd_kept_item *first_of(const struct zd_kept *kept)
{
    return zd_list_is_empty(&kept->items)
               ? NULL
               : ZD_CONTAINER(kept->items.next, struct zd_kept_item, link);
}

/* Without memory for that it stays under its temporary name, which the next start removes. */
void zd_kept_drop(struct zd_kept *kept)
{
    for (struct zd_kept_item *item; (item = first_of(kept)) != NULL;) {
        struct zd_store_write_want want = {.kind = ZD_WRITE_SETTLE};
        zd_list_remove(&item->link);
        if (zd_store_write_give_old(kept->dataset, item->key, item->old, &want) == ZD_OK) {
            zd_store_write_release(&want);
        }
        zd_free(item);
    }
    zd_kept_forget(kept, kept->n_bytes);
    kept->n_bytes = 0;
}

void zd_kept_done(struct zd_kept *kept)
{
    zd_kept_drop(kept);
    zd_free(ZD_TAKE(kept->slot));
}

uint64_t zd_kept_bytes(const char *key)
{
    return sizeof(struct zd_kept_item) + STAGED_BYTES + 2 * strlen(key);
}

bool zd_kept_has_room(const struct zd_kept *kept)
{
    const struct zd_server *server = kept->dataset->server;
    return server->kept_bytes < server->memory.kept_bytes;
}

void zd_kept_foresee(struct zd_kept *kept, uint64_t n)
{
    kept->dataset->server->kept_bytes += n;
}

void zd_kept_forget(struct zd_kept *kept, uint64_t n)
{
    kept->dataset->server->kept_bytes -= n;
}

struct zd_kept_item *zd_kept_reserve(struct zd_kept *kept, const char *key)
{
    const size_t len = strlen(key);
    if (kept->slot == NULL) {
        kept->slot = zd_alloc_zero(AT_ONCE, sizeof *kept->slot);
    }
    struct zd_kept_item *item =
        kept->slot == NULL ? NULL : zd_alloc_zero(1, sizeof *item + len + 1);
    if (item != NULL) {
        memcpy(item->key, key, len + 1);
    }
    return item;
}

void zd_kept_add(
    struct zd_kept *kept, struct zd_kept_item *item, struct zd_store_write_want *erasure)
{
    item->old = zd_store_write_take_old(erasure);
    const uint64_t n = zd_kept_bytes(item->key);
    kept->n_bytes += n;
    zd_kept_foresee(kept, n);
    zd_list_push_front(&kept->items, &item->link);
}

static void lose(struct zd_kept *kept, const struct zd_kept_item *item, const struct zd_error *err)
{
    kept->lost_err = kept->n_lost == 0 ? *err : kept->lost_err;
    kept->n_lost++;
    kept->has_lost_last = kept->has_lost_last || item->is_last;
}

/* Whether it is its turn. */
static bool may_begin(
    struct zd_kept *kept, const struct zd_kept_item *item, enum zd_store_write_kind kind)
{
    if (kind != ZD_WRITE_UNDO || !item->is_last) {
        return true;
    }
    if (kept->needs_all && kept->n_lost > 0) {
        lose(kept, item, &kept->lost_err);
        return false;
    }
    return kept->n_used == 0 || kept->slot[0].item->is_last;
}

void zd_kept_begin(struct zd_kept *kept, struct zd_gather *gather, enum zd_store_write_kind kind)
{
    struct zd_kept_item *item;
    kept->n_used = 0;
    while (
        kept->n_used < AT_ONCE && (item = first_of(kept)) != NULL && may_begin(kept, item, kind)) {
        struct zd_kept_slot *slot = &kept->slot[kept->n_used];
        *slot = (struct zd_kept_slot){
            .item = item, .write = {.wait = zd_gather_wait(gather), .kind = kind}};
        struct zd_store_write_want *write = &slot->write;
        write->wait.status = zd_store_write_give_old(kept->dataset, item->key, item->old, write);
        if (write->wait.status != ZD_OK) {
            lose(kept, item, &write->wait.err);
            return;
        }
        zd_list_remove(&item->link);
        kept->n_used++;
        zd_gather_add(gather, zd_store_write_want(kept->dataset, item->key, write));
    }
}

bool zd_kept_end(struct zd_kept *kept)
{
    const uint32_t n = kept->n_used;
    for (uint32_t i = 0; i < n; i++) {
        struct zd_kept_slot *slot = &kept->slot[i];
        const struct zd_wait *wait = &slot->write.wait;
        if (wait->status != ZD_OK && wait->status != ZD_PRECONDITION) {
            lose(kept, slot->item, &wait->err);
        }
        const uint64_t n_bytes = zd_kept_bytes(slot->item->key);
        kept->n_bytes -= n_bytes;
        zd_kept_forget(kept, n_bytes);
        zd_free(ZD_TAKE(slot->item));
    }
    kept->n_used = 0;
    return n > 0 && first_of(kept) != NULL;
}
