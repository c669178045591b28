/* A page of a listing: the smallest names of many, in bounded memory. */
#ifndef ZD_CORE_STORE_CONTRACT_PAGE_H
#define ZD_CORE_STORE_CONTRACT_PAGE_H

#include "core/store/contract/store.h"

/** A page under construction: a heap whose first entry is the greatest of those kept. */
struct zd_page {
    const char *after; /* borrowed until the entries are sorted; NULL = no lower bound */
    size_t n_max;      /* >= 1 */
    struct zd_store_entry *entry;
    size_t n_entries; /* <= n_max */
    size_t cap;
    bool has_more; /* an entry did not fit */
};

/** An empty listing; holds no memory yet. Thread: any. */
void zd_page_init(struct zd_page *listing, const char *after, size_t n_max);

/** Release the remaining entries; accepts a zeroed page. */
void zd_page_done(struct zd_page *listing);

/**
 * Offer an entry, in any order, none twice: it is kept if it is among the n_max smallest after
 * `after`. A key comes before a prefix of the same name.
 *
 * @param name borrowed
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_page_offer(struct zd_page *listing, const char *name, bool is_prefix);

/** Sort the kept entries; nothing can be offered afterwards. */
void zd_page_sort(struct zd_page *listing);

/** Sort, and hand the entries over to a list operation. */
void zd_page_finish(struct zd_page *listing, struct zd_store_list *list);

#endif
