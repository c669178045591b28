/* The names of a listing, sorted and given out page by page. */
#include "core/store/contract/listing_pages.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/own.h"
#include "core/base/text.h"
#include "core/store/contract/listing_room.h"
#include "core/store/contract/page.h"
#include "core/store/contract/store_impl.h"

#define NAMES_BYTES_MAX (64U << 20) /* that a listing keeps */
#define FIRST_NAMES     256

struct name {
    uint32_t at; /* in the text */
    bool is_prefix;
};

struct zd_listing_pages {
    struct zd_store_cursor cursor; /* first member */
    struct zd_listing_room room;
    struct zd_text text; /* each ended by NUL */
    struct name *name;   /* n of them */
    size_t n;
    size_t cap;
    size_t n_given;
};

void zd_listing_pages_free(struct zd_listing_pages *names)
{
    if (names != NULL) {
        zd_listing_room_done(&names->room);
        zd_text_done(&names->text);
        zd_free(names->name);
        zd_free(names);
    }
}

static void free_cursor(struct zd_store_cursor *cursor)
{
    zd_listing_pages_free(zd_listing_pages_of(cursor));
}

struct zd_listing_pages *zd_listing_pages_new(struct zd_store_memory *of)
{
    struct zd_listing_pages *names = zd_alloc_zero(1, sizeof *names);
    if (names != NULL) {
        names->cursor.free = free_cursor;
        names->room.of = of;
        zd_text_init(&names->text, NAMES_BYTES_MAX);
    }
    return names;
}

static enum zd_status grow(struct zd_listing_pages *names, struct zd_error *err)
{
    const size_t cap = names->cap == 0 ? FIRST_NAMES : 2 * names->cap;
    struct name *grown = zd_realloc(names->name, cap * sizeof *grown);
    if (grown == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a listing");
    }
    names->name = grown;
    names->cap = cap;
    return ZD_OK;
}

enum zd_status zd_listing_pages_add(
    struct zd_listing_pages *names, const char *name, bool is_prefix, struct zd_error *err)
{
    const size_t at = names->text.len;
    if (names->n == names->cap) {
        ZD_TRY(grow(names, err));
    }
    const enum zd_status status = zd_text_add_bytes(&names->text, name, strlen(name) + 1);
    if (status == ZD_TOO_LARGE) {
        return zd_fail_limit(err, NAMES_BYTES_MAX, at + strlen(name) + 1,
            "a listing has more than %u bytes of names", NAMES_BYTES_MAX);
    }
    if (status != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a listing");
    }
    names->name[names->n++] = (struct name){.at = (uint32_t)at, .is_prefix = is_prefix};
    return ZD_OK;
}

bool zd_listing_pages_has_any(const struct zd_listing_pages *names)
{
    return names->n > 0;
}

static int compare(const void *a, const void *b, void *text)
{
    const struct name *one = a;
    const struct name *other = b;
    const int order = strcmp((const char *)text + one->at, (const char *)text + other->at);
    return order != 0 ? order : (int)one->is_prefix - (int)other->is_prefix;
}

void zd_listing_pages_sort(struct zd_listing_pages *names)
{
    size_t n = 0;
    if (names->n == 0) {
        return;
    }
    qsort_r(names->name, names->n, sizeof *names->name, compare, names->text.at);
    for (size_t i = 1; i < names->n; i++) {
        if (compare(&names->name[n], &names->name[i], names->text.at) != 0) {
            names->name[++n] = names->name[i];
        }
    }
    names->n = n + 1;
}

enum zd_status zd_listing_pages_count(
    struct zd_listing_pages *names, size_t more_bytes, struct zd_error *err)
{
    const size_t bytes = names->text.cap + names->cap * sizeof *names->name;
    return zd_listing_room_set(&names->room, bytes + more_bytes, err);
}

enum zd_status zd_listing_pages_give(struct zd_listing_pages *names, struct zd_store_list *list)
{
    struct zd_page page;
    enum zd_status status = ZD_OK;
    zd_page_init(&page, list->after, list->n_max);
    for (; status == ZD_OK && names->n_given < names->n && page.n_entries < list->n_max;
        names->n_given++) {
        const struct name *name = &names->name[names->n_given];
        status = zd_page_offer(&page, names->text.at + name->at, name->is_prefix);
    }
    page.has_more = names->n_given < names->n;
    if (status == ZD_OK) {
        zd_page_finish(&page, list);
    }
    zd_page_done(&page);
    return status == ZD_OK ? ZD_OK : zd_fail(&list->op.err, status, "no memory for a listing");
}

struct zd_store_cursor *zd_listing_pages_cursor(struct zd_listing_pages *names)
{
    return &names->cursor;
}

struct zd_listing_pages *zd_listing_pages_of(struct zd_store_cursor *cursor)
{
    return ZD_CONTAINER(cursor, struct zd_listing_pages, cursor);
}
