/* Keys that a store does not hold, for a while. Thread: loop. */
#ifndef ZD_CORE_STORE_REMOTE_ABSENT_KEYS_H
#define ZD_CORE_STORE_REMOTE_ABSENT_KEYS_H

#include "core/base/list.h"
#include "core/base/map.h"

struct zd_absent_keys {
    struct zd_map map;
    struct zd_list oldest; /* in the order in which they were learnt */
    size_t bytes;          /* that they hold; bounded */
};

void zd_absent_keys_init(struct zd_absent_keys *keys);
void zd_absent_keys_done(struct zd_absent_keys *keys);

/** The store said that it does not hold the key; forgotten without memory, or when newer ones need
 * the room. */
void zd_absent_keys_add(struct zd_absent_keys *keys, const char *key, uint64_t until_ms);

/** Whether that is trusted now. */
bool zd_absent_keys_has(struct zd_absent_keys *keys, const char *key, uint64_t now_ms);

/** The key may be there from now on. */
void zd_absent_keys_forget(struct zd_absent_keys *keys, const char *key);

#endif
