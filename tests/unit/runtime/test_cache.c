/* server/runtime/cache: byte bounds, references, and what survives. */
#include "server/runtime/flight.h"

#include "tests/support/unit.h"

static struct zd_flight work; /* under way on busy entries */

struct thing {
    struct zd_cache_entry entry; /* first */
    uint64_t name;
    bool *is_gone; /* or NULL */
};

static size_t n_alive;

static void free_thing(struct zd_cache_entry *entry)
{
    struct thing *thing = ZD_CONTAINER(entry, struct thing, entry);
    ck_assert(!entry->in_table);
    if (thing->is_gone != NULL) {
        *thing->is_gone = true;
    }
    n_alive--;
    zd_free(thing);
}

static struct zd_span key_of(const uint64_t *name)
{
    return (struct zd_span){.ptr = (const uint8_t *)name, .len = sizeof *name};
}

static struct thing *find(struct zd_cache *cache, uint64_t name)
{
    struct zd_cache_entry *entry = zd_cache_find(cache, key_of(&name));
    return entry == NULL ? NULL : ZD_CONTAINER(entry, struct thing, entry);
}

/* A new entry, with the caller's reference. */
static struct thing *put(struct zd_cache *cache, uint64_t name, size_t bytes)
{
    struct thing *thing = zd_alloc_zero(1, sizeof *thing);
    ck_assert_ptr_nonnull(thing);
    n_alive++;
    thing->name = name;
    thing->entry.map.key = key_of(&thing->name);
    ck_assert_int_eq(zd_cache_put(cache, &thing->entry), ZD_OK);
    zd_cache_charge(cache, &thing->entry, bytes);
    return thing;
}

static void keep(struct zd_cache *cache, uint64_t name, size_t bytes)
{
    zd_cache_unref(cache, &put(cache, name, bytes)->entry);
}

/* Each row: entries of these sizes go into a cache of 800 bytes; how many stay? */
static const struct {
    size_t bytes_max;
    size_t entry_bytes;
    size_t n_put;
    size_t n_stay;
} bounds[] = {
    {800, 100, 1, 1},
    {800, 100, 8, 8}, /* exactly full */
    {800, 100, 9, 8},
    {800, 101, 9, 0}, /* one byte over an eighth */
    {800, SIZE_MAX, 3, 0},
    {800, 0, 1000, 1000}, /* what costs nothing fills nothing */
    {0, 1, 3, 0},         /* a cache of size 0 keeps nothing */
    {0, 0, 3, 3},
};

START_TEST(a_cache_keeps_what_fits)
{
    struct zd_cache cache;
    zd_cache_init(&cache, "test", bounds[_i].bytes_max, free_thing);
    for (uint64_t name = 0; name < bounds[_i].n_put; name++) {
        keep(&cache, name, bounds[_i].entry_bytes);
        ck_assert_uint_le(cache.bytes, cache.bytes_max);
    }
    ck_assert_uint_eq(cache.map.n_entries, bounds[_i].n_stay);
    ck_assert_uint_eq(n_alive, bounds[_i].n_stay);
    zd_cache_done(&cache);
    ck_assert_uint_eq(n_alive, 0);
    ck_assert_uint_eq(cache.bytes, 0);
}
END_TEST

START_TEST(hits_and_misses_are_counted)
{
    struct zd_cache cache;
    zd_cache_init(&cache, "test", 800, free_thing);
    ck_assert_ptr_null(find(&cache, 1));
    keep(&cache, 1, 10);
    ck_assert_uint_eq(find(&cache, 1)->name, 1);
    ck_assert_uint_eq(cache.n_hits, 1);
    ck_assert_uint_eq(cache.n_misses, 1);
    zd_cache_done(&cache);
}
END_TEST

START_TEST(an_entry_in_use_outlives_its_place_in_the_table)
{
    struct zd_cache cache;
    bool is_gone = false;
    zd_cache_init(&cache, "test", 800, free_thing);
    struct thing *thing = put(&cache, 1, 10);
    thing->is_gone = &is_gone;
    zd_cache_drop(&cache, &thing->entry);
    zd_cache_drop(&cache, &thing->entry); /* once more changes nothing */
    ck_assert_ptr_null(find(&cache, 1));
    ck_assert(!is_gone);
    keep(&cache, 1, 20); /* another one of the same name */
    zd_cache_charge(&cache, &thing->entry, 500);
    ck_assert_uint_eq(cache.bytes, 20);
    zd_cache_unref(&cache, &thing->entry);
    ck_assert(is_gone);
    zd_cache_unref(&cache, NULL);
    zd_cache_done(&cache);
}
END_TEST

START_TEST(busy_entries_are_never_evicted)
{
    struct zd_cache cache;
    zd_cache_init(&cache, "test", 800, free_thing);
    struct thing *busy = put(&cache, 1000, 100);
    busy->entry.flight = &work;
    for (uint64_t name = 0; name < 100; name++) {
        keep(&cache, name, 100);
    }
    ck_assert_ptr_eq(find(&cache, 1000), busy);
    busy->entry.flight = NULL;
    zd_cache_unref(&cache, &busy->entry);
    zd_cache_done(&cache);
}
END_TEST

START_TEST(a_cache_full_of_busy_entries_goes_over_its_bound)
{
    struct zd_cache cache;
    struct thing *busy[20];
    zd_cache_init(&cache, "test", 800, free_thing);
    for (uint64_t name = 0; name < ZD_COUNT_OF(busy); name++) {
        busy[name] = put(&cache, name, 0);
        busy[name]->entry.flight = &work;
        zd_cache_charge(&cache, &busy[name]->entry, 100);
    }
    ck_assert_uint_eq(cache.bytes, 2000);
    for (uint64_t name = 0; name < ZD_COUNT_OF(busy); name++) {
        busy[name]->entry.flight = NULL;
        zd_cache_unref(&cache, &busy[name]->entry);
    }
    keep(&cache, 1000, 100);
    ck_assert_uint_le(cache.bytes, 800);
    zd_cache_done(&cache);
}
END_TEST

START_TEST(a_hot_set_survives_a_scan_of_ten_times_the_cache)
{
    struct zd_cache cache;
    zd_cache_init(&cache, "test", 1000, free_thing);
    for (uint64_t name = 0; name < 50; name++) {
        keep(&cache, name, 10);
    }
    for (uint64_t name = 0; name < 50; name++) {
        ck_assert_ptr_nonnull(find(&cache, name));
    }
    for (uint64_t name = 1000; name < 2000; name++) {
        keep(&cache, name, 10);
    }
    for (uint64_t name = 0; name < 50; name++) {
        ck_assert_ptr_nonnull(find(&cache, name));
    }
    zd_cache_done(&cache);
}
END_TEST

/* The hand stands in the middle when the loop begins: half of the cache is behind it. */
START_TEST(a_loop_that_fits_the_cache_comes_to_be_kept)
{
    struct zd_cache cache;
    zd_cache_init(&cache, "test", 800, free_thing);
    for (uint64_t name = 1000; name < 1008; name++) {
        keep(&cache, name, 100);
    }
    for (uint64_t name = 1000; name < 1004; name++) {
        ck_assert_ptr_nonnull(find(&cache, name));
    }
    for (uint64_t i = 0; i < 600; i++) {
        if (find(&cache, i % 6) == NULL) {
            keep(&cache, i % 6, 100);
        }
    }
    for (uint64_t name = 0; name < 6; name++) {
        ck_assert_ptr_nonnull(find(&cache, name));
    }
    zd_cache_done(&cache);
}
END_TEST

/* The plain model: what is found must be what was put last under that name and not dropped. */
#define N_NAMES 64

struct model {
    struct zd_cache cache;
    struct thing *held[N_NAMES]; /* entries with a reference of ours */
    size_t charged[N_NAMES];     /* of the entry in the table, as far as one may be there */
};

static void random_step(struct model *model)
{
    struct zd_cache *cache = &model->cache;
    const uint64_t name = zd_unit_random() % N_NAMES;
    const size_t bytes = zd_unit_random() % 150;
    struct thing *found = find(cache, name);
    struct thing **held = &model->held[name];
    switch (zd_unit_random() % 6) {
    case 0:
    case 1:
        if (found == NULL) {
            model->charged[name] = bytes;
            keep(cache, name, bytes);
        }
        break;
    case 2:
        if (found != NULL) {
            model->charged[name] = bytes;
            zd_cache_charge(cache, &found->entry, bytes);
        }
        break;
    case 3:
        if (found != NULL) {
            zd_cache_drop(cache, &found->entry);
            ck_assert_ptr_null(find(cache, name));
        }
        break;
    case 4:
        if (found != NULL && *held == NULL) {
            *held = found;
            (void)zd_cache_ref(&found->entry);
            found->entry.flight = zd_unit_random() % 8 == 0 ? &work : NULL;
        }
        break;
    default:
        if (*held != NULL) {
            (*held)->entry.flight = NULL;
            zd_cache_unref(cache, &(*held)->entry);
            *held = NULL;
        }
        break;
    }
}

static void check_model(struct model *model)
{
    struct zd_cache *cache = &model->cache;
    size_t bytes = 0;
    size_t n_found = 0;
    bool is_any_busy = false;
    for (uint64_t name = 0; name < N_NAMES; name++) {
        const struct zd_map_entry *entry = zd_map_find(&cache->map, key_of(&name));
        if (entry != NULL) {
            const struct thing *thing = ZD_CONTAINER(entry, struct thing, entry.map);
            ck_assert_uint_eq(thing->name, name);
            ck_assert_uint_eq(thing->entry.bytes, model->charged[name]);
            is_any_busy = is_any_busy || thing->entry.flight != NULL;
            bytes += thing->entry.bytes;
            n_found++;
        }
    }
    ck_assert_uint_eq(cache->bytes, bytes);
    ck_assert_uint_eq(cache->map.n_entries, n_found);
    ck_assert(is_any_busy || bytes <= cache->bytes_max);
}

START_TEST(random_use_agrees_with_a_plain_model)
{
    struct model model = {0};
    zd_cache_init(&model.cache, "test", 1000, free_thing);
    for (int i = 0; i < 20000; i++) {
        random_step(&model);
        /* Entries that were busy when room was needed are only evicted by the next charge. */
        for (uint64_t name = 0; name < N_NAMES && model.cache.bytes > 1000; name++) {
            if (model.held[name] != NULL) {
                model.held[name]->entry.flight = NULL;
            }
        }
        keep(&model.cache, N_NAMES, 0);
        zd_cache_drop(&model.cache, &find(&model.cache, N_NAMES)->entry);
        check_model(&model);
    }
    for (uint64_t name = 0; name < N_NAMES; name++) {
        if (model.held[name] != NULL) {
            model.held[name]->entry.flight = NULL;
            zd_cache_unref(&model.cache, &model.held[name]->entry);
        }
    }
    zd_cache_done(&model.cache);
    ck_assert_uint_eq(n_alive, 0);
}
END_TEST

static enum zd_status put_one(void *context)
{
    struct zd_cache *cache = context;
    struct thing *thing = zd_alloc_zero(1, sizeof *thing);
    if (thing == NULL) {
        return ZD_NO_MEMORY;
    }
    thing->entry.map.key = key_of(&thing->name);
    const enum zd_status status = zd_cache_put(cache, &thing->entry);
    if (status != ZD_OK) {
        zd_free(thing);
        return status;
    }
    n_alive++;
    zd_cache_unref(cache, &thing->entry);
    return ZD_OK;
}

START_TEST(without_memory_nothing_is_put_in)
{
    struct zd_cache cache;
    zd_cache_init(&cache, "test", 1000, free_thing);
    zd_unit_with_failing_memory(put_one, &cache);
    ck_assert_uint_eq(cache.map.n_entries, 1);
    zd_cache_done(&cache);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_cache_keeps_what_fits, 0, (int)ZD_COUNT_OF(bounds));
    tcase_add_test(tests, hits_and_misses_are_counted);
    tcase_add_test(tests, an_entry_in_use_outlives_its_place_in_the_table);
    tcase_add_test(tests, busy_entries_are_never_evicted);
    tcase_add_test(tests, a_cache_full_of_busy_entries_goes_over_its_bound);
    tcase_add_test(tests, a_hot_set_survives_a_scan_of_ten_times_the_cache);
    tcase_add_test(tests, a_loop_that_fits_the_cache_comes_to_be_kept);
    tcase_add_test(tests, random_use_agrees_with_a_plain_model);
    tcase_add_test(tests, without_memory_nothing_is_put_in);
}
