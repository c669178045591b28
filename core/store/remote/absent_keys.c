/* Keys that a store does not hold, for a while. */
#include "core/store/remote/absent_keys.h"

#include <string.h>

#define BYTES_MAX (4U << 20)

struct absent {
    struct zd_map_entry map;
    struct zd_list link;
    uint64_t until_ms;
    char key[];
};

static size_t bytes_of(const struct absent *absent)
{
    return sizeof *absent + absent->map.key.len;
}

static struct absent *find(const struct zd_absent_keys *keys, const char *key)
{
    struct zd_map_entry *entry = zd_map_find(&keys->map, zd_span_of(key));
    return entry == NULL ? NULL : ZD_CONTAINER(entry, struct absent, map);
}

static void drop(struct zd_absent_keys *keys, struct absent *absent)
{
    zd_map_remove(&keys->map, &absent->map);
    zd_list_remove(&absent->link);
    keys->bytes -= bytes_of(absent);
    zd_free(absent);
}

void zd_absent_keys_init(struct zd_absent_keys *keys)
{
    zd_map_init(&keys->map);
    zd_list_init(&keys->oldest);
    keys->bytes = 0;
}

void zd_absent_keys_done(struct zd_absent_keys *keys)
{
    while (!zd_list_is_empty(&keys->oldest)) {
        drop(keys, ZD_CONTAINER(keys->oldest.next, struct absent, link));
    }
    zd_map_done(&keys->map);
}

void zd_absent_keys_add(struct zd_absent_keys *keys, const char *key, uint64_t until_ms)
{
    const size_t len = strlen(key);
    zd_absent_keys_forget(keys, key);
    struct absent *absent = zd_alloc_zero(1, sizeof *absent + len);
    if (absent == NULL) {
        return;
    }
    memcpy(absent->key, key, len);
    absent->until_ms = until_ms;
    absent->map.key = (struct zd_span){.ptr = (const uint8_t *)absent->key, .len = len};
    if (zd_map_put(&keys->map, &absent->map) != ZD_OK) {
        zd_free(absent);
        return;
    }
    zd_list_push_back(&keys->oldest, &absent->link);
    keys->bytes += bytes_of(absent);
    while (keys->bytes > BYTES_MAX) {
        drop(keys, ZD_CONTAINER(keys->oldest.next, struct absent, link));
    }
}

bool zd_absent_keys_has(struct zd_absent_keys *keys, const char *key, uint64_t now_ms)
{
    struct absent *absent = find(keys, key);
    if (absent != NULL && absent->until_ms <= now_ms) {
        drop(keys, absent);
        return false;
    }
    return absent != NULL;
}

void zd_absent_keys_forget(struct zd_absent_keys *keys, const char *key)
{
    struct absent *absent = find(keys, key);
    if (absent != NULL) {
        drop(keys, absent);
    }
}
