/* The smallest names of many, in bounded memory: what listings are made with. */
#include "core/store/contract/page.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"

#define FIRST_CAP 16

void zd_page_init(struct zd_page *listing, const char *after, size_t n_max)
{
    assert(n_max >= 1);
    *listing = (struct zd_page){.after = after, .n_max = n_max};
}

void zd_page_done(struct zd_page *listing)
{
    for (size_t i = 0; i < listing->n_entries; i++) {
        zd_free(listing->entry[i].name);
    }
    zd_free(listing->entry);
    *listing = (struct zd_page){0};
}

static bool is_less(const struct zd_store_entry *a, const struct zd_store_entry *b)
{
    const int order = strcmp(a->name, b->name); /* as unsigned bytes */
    return order < 0 || (order == 0 && !a->is_prefix && b->is_prefix);
}

static void swap(struct zd_store_entry *a, struct zd_store_entry *b)
{
    const struct zd_store_entry held = *a;
    *a = *b;
    *b = held;
}

/* The entry at a place sinks until none below it, among the first n, is greater. */
static void sink(struct zd_store_entry *entry, size_t place, size_t n)
{
    for (size_t child = 2 * place + 1; child < n; child = 2 * place + 1) {
        if (child + 1 < n && is_less(&entry[child], &entry[child + 1])) {
            child++;
        }
        if (!is_less(&entry[place], &entry[child])) {
            return;
        }
        swap(&entry[place], &entry[child]);
        place = child;
    }
}

static void rise(struct zd_store_entry *entry, size_t place)
{
    while (place > 0 && is_less(&entry[(place - 1) / 2], &entry[place])) {
        swap(&entry[(place - 1) / 2], &entry[place]);
        place = (place - 1) / 2;
    }
}

static enum zd_status grow(struct zd_page *listing)
{
    size_t cap = listing->cap == 0 ? FIRST_CAP : listing->cap;
    size_t len;
    if (ckd_mul(&cap, cap, (size_t)2) || ckd_mul(&len, cap, sizeof *listing->entry)) {
        return ZD_NO_MEMORY;
    }
    struct zd_store_entry *grown = zd_realloc(listing->entry, len);
    if (grown == NULL) {
        return ZD_NO_MEMORY;
    }
    listing->entry = grown;
    listing->cap = cap;
    return ZD_OK;
}

enum zd_status zd_page_offer(struct zd_page *listing, const char *name, bool is_prefix)
{
    struct zd_store_entry *const first = listing->entry;
    const bool is_full = listing->n_entries == listing->n_max;
    struct zd_store_entry offered = {.name = (char *)name, .is_prefix = is_prefix};
    if (listing->after != NULL && strcmp(name, listing->after) <= 0) {
        return ZD_OK;
    }
    listing->has_more = listing->has_more || is_full;
    if (is_full && !is_less(&offered, &first[0])) {
        return ZD_OK;
    }
    if (!is_full && listing->n_entries == listing->cap) {
        ZD_TRY(grow(listing));
    }
    offered.name = zd_strdup(name);
    if (offered.name == NULL) {
        return ZD_NO_MEMORY;
    }
    if (is_full) {
        zd_free(first[0].name);
        first[0] = offered;
        sink(first, 0, listing->n_entries);
    } else {
        listing->entry[listing->n_entries] = offered;
        rise(listing->entry, listing->n_entries);
        listing->n_entries++;
    }
    return ZD_OK;
}

void zd_page_sort(struct zd_page *listing)
{
    for (size_t n = listing->n_entries; n > 1; n--) {
        swap(&listing->entry[0], &listing->entry[n - 1]);
        sink(listing->entry, 0, n - 1);
    }
    listing->after = NULL;
}

void zd_page_finish(struct zd_page *listing, struct zd_store_list *list)
{
    zd_page_sort(listing);
    list->entry = ZD_TAKE(listing->entry);
    list->n_entries = listing->n_entries;
    list->has_more = listing->has_more && !zd_store_list_is_cut(list);
    *listing = (struct zd_page){0};
}
