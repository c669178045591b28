/* The names of a listing whose store has no order that holds, or gives all of them at once: they
 * are sorted, and given out page by page. */
#ifndef ZD_CORE_STORE_CONTRACT_LISTING_PAGES_H
#define ZD_CORE_STORE_CONTRACT_LISTING_PAGES_H

#include "core/store/contract/store.h"

/** A cursor that keeps the names behind a page. */
struct zd_listing_pages;

/** @param of what all listings hold; borrowed until free. @return owned, or NULL */
struct zd_listing_pages *zd_listing_pages_new(struct zd_store_memory *of);

/** Accepts NULL. Thread: loop. */
void zd_listing_pages_free(struct zd_listing_pages *names);

/**
 * Add one, in any order, perhaps again.
 *
 * @param name borrowed
 * @retval ZD_TOO_LARGE one listing has no more bytes of names; fact limit
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_listing_pages_add(
    struct zd_listing_pages *names, const char *name, bool is_prefix, struct zd_error *err);

/** Whether there is one. Thread: any. */
bool zd_listing_pages_has_any(const struct zd_listing_pages *names);

/** Sort them, before the first page; none is there twice afterwards. Thread: any. */
void zd_listing_pages_sort(struct zd_listing_pages *names);

/**
 * Count what is held now.
 *
 * @param more_bytes that are held beside the names
 * @retval ZD_TOO_LARGE, ZD_NO_MEMORY as of zd_listing_room_set
 * Thread: loop.
 */
ZD_RESULT zd_listing_pages_count(
    struct zd_listing_pages *names, size_t more_bytes, struct zd_error *err);

/**
 * Give the next page to a list operation, whose error is set; `has_more` when there are more.
 * @retval ZD_NO_MEMORY
 * Thread: loop.
 */
ZD_RESULT zd_listing_pages_give(struct zd_listing_pages *names, struct zd_store_list *list);

/** Convert to the cursor of an operation, and back. */
struct zd_store_cursor *zd_listing_pages_cursor(struct zd_listing_pages *names);
struct zd_listing_pages *zd_listing_pages_of(struct zd_store_cursor *cursor);

#endif
