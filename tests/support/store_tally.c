/* A store over a store: it counts reads, and hands everything on. */
#include "tests/support/store_tally.h"

#include <string.h>

#include "core/store/contract/store_impl.h"

struct tally_store {
    struct zd_store store; /* first member */
    struct zd_json *options;
    uint64_t n_counted;
};

static struct tally_store *tally_of(struct zd_store *store)
{
    return ZD_CONTAINER(store, struct tally_store, store);
}

static bool tally_accepts(const char *location)
{
    return zd_store_location_in("tally", location) != NULL;
}

static enum zd_status tally_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    struct tally_store *tally = zd_alloc_zero(1, sizeof *tally);
    if (tally == NULL || zd_store_init(&tally->store, config) != ZD_OK) {
        zd_free(tally);
        return zd_fail(err, ZD_NO_MEMORY, "tally: no memory for the store");
    }
    tally->options = zd_json_ref(config->options);
    *ret_store = &tally->store;
    return ZD_OK;
}

static void tally_close(struct zd_store *store)
{
    zd_json_unref(tally_of(store)->options);
    zd_free(store->location);
    zd_free(tally_of(store));
}

static void count(struct tally_store *tally, const char *key)
{
    const char *prefix = zd_json_string(zd_json_member(tally->options, "prefix"));
    tally->n_counted += prefix == NULL || strncmp(key, prefix, strlen(prefix)) == 0;
}

static void tally_read(struct zd_store *store, struct zd_store_read *read)
{
    count(tally_of(store), read->key);
    zd_store_read(store->inner, read);
}

static enum zd_status tally_read_now(struct zd_store *store, struct zd_store_read *read)
{
    const enum zd_status status = zd_store_read_now(store->inner, read);
    if (status != ZD_AGAIN) {
        count(tally_of(store), read->key);
    }
    return status;
}

const struct zd_store_ops zd_store_tally_ops = {
    .scheme = "tally",
    .accepts = tally_accepts,
    .usage = "tally:",
    .meaning = "what another store holds, with its reads counted",
    .schema = "{\"type\":\"object\",\"properties\":{\"prefix\":{\"type\":\"string\"}},"
              "\"additionalProperties\":false}",
    .default_revalidate_ms = 5000,
    .open = tally_open,
    .close = tally_close,
    .read = tally_read,
    .read_now = tally_read_now,
};

uint64_t zd_store_tally_count(const struct zd_store *store)
{
    return ZD_CONTAINER(store, const struct tally_store, store)->n_counted;
}
