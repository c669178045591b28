/* The keys below a prefix, in no cache. Thread: loop. */
#ifndef ZD_DATA_KEY_LIST_H
#define ZD_DATA_KEY_LIST_H

#include "server/data/dataset.h"

struct zd_key_list_load;

/** A listing (see struct zd_store_list). */
struct zd_key_list {
    struct zd_wait wait;
    uint64_t visits_max;           /* in: as in struct zd_store_list */
    struct zd_store_list *list;    /* out: with ZD_OK; until zd_key_list_release */
    struct zd_key_list_load *load; /* its own */
};

/**
 * The first entries below a prefix. wait.status: ZD_OK, ZD_NOT_FOUND (certain), ZD_STORE ...
 * @param prefix "" or ending in '/'
 */
enum zd_next zd_key_list_want(
    struct zd_dataset *dataset, const char *prefix, size_t n_max, struct zd_key_list *want);

/** Wait for the page after this one, which is given back, of a listing that has more. */
void zd_key_list_next(struct zd_key_list *want);

/** Stop waiting, and give back the entries. */
void zd_key_list_release(struct zd_key_list *want);

#endif
