/* server/handler/handler_tree: what a listing costs before its first byte. */
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "tests/support/front_fake.h"
#include "tests/support/hierarchy.h"
#include "tests/support/unit.h"

#define CONFIG "{\"datasets\": {\"m\": {\"location\": \"mem:\", \"writable\": true}}}"
#define GROUP  "{\"zarr_format\": 3, \"node_type\": \"group\"}"
#define TREE   "/v1/datasets/m/tree/"

#define N_NODES_MAX 12000
#define KEY_BYTES   32

static char key[N_NODES_MAX][KEY_BYTES];
static struct zd_test_pair pair[N_NODES_MAX];

/* A root, groups below it, and groups below each of these. */
static void put_groups(struct zd_test_serve *serve, uint32_t n_groups, uint32_t n_each)
{
    size_t n = 0;
    (void)snprintf(key[n++], KEY_BYTES, "zarr.json");
    for (uint32_t i = 0; i < n_groups; i++) {
        (void)snprintf(key[n++], KEY_BYTES, "g%05u/zarr.json", i);
        for (uint32_t k = 0; k < n_each; k++) {
            ck_assert_uint_lt(n, N_NODES_MAX);
            (void)snprintf(key[n++], KEY_BYTES, "g%05u/h%05u/zarr.json", i, k);
        }
    }
    for (size_t i = 0; i < n; i++) {
        pair[i] = (struct zd_test_pair){.key = key[i], .bytes = GROUP};
    }
    zd_test_hierarchy_reset(serve, pair, n);
}

static const struct {
    uint32_t n_groups;
    uint32_t n_each;
    const char *query;
    bool is_tagged;      /* whole, and kept for the next request */
    uint64_t visits_max; /* entries that the store has looked at before the head leaves */
    uint64_t reads_max;  /* objects */
} facts[] = {
    {1000, 0, "", true, UINT64_MAX, UINT64_MAX},
    {1100, 0, "", false, 1200, 4},
    {11000, 0, "", false, 4096, 4}, /* of a large group one part is enough */
    {100, 100, "", false, UINT64_C(66) * 101,
        80}, /* the tenth group tells it, while others are read ahead */
    {2000, 2, "", false, 4096, 4},
    {11000, 0, "?limit=1000", true, UINT64_MAX, UINT64_MAX}, /* a page that is sent whole */
    {11000, 0, "?match=g0001*", false, 4096, 4},             /* whatever is shown of it */
    {11000, 0, "?match=none&limit=10", false, 4096, 4},
    {100, 100, "?node_type=array", false, UINT64_C(66) * 101, 80},
    {11000, 0, "?node_type=group", false, 4096, 4},
    {11000, 0, "?check=1", false, 4096, 4},
    {11000, 0, "?check=1&limit=10", false, 4096, 4},
    {11000, 0, "?format=zarr", false, 4096, 4},
    {1000, 0, "?match=g0001*", true, UINT64_MAX, UINT64_MAX},
    {100, 9, "?node_type=array", true, UINT64_MAX, UINT64_MAX},
    {1000, 0, "?check=1", true, UINT64_MAX, UINT64_MAX},
    {1000, 0, "?format=zarr", true, UINT64_MAX, UINT64_MAX},
    {3, 2000, "?depth=1", true, UINT64_MAX, UINT64_MAX},
};

START_TEST(the_first_byte_of_a_long_listing_waits_for_few_nodes)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    ZD_SCOPED_TEXT(target, 128);
    ck_assert_int_eq(zd_test_serve_open(&serve, CONFIG), ZD_OK);
    put_groups(&serve, facts[_i].n_groups, facts[_i].n_each);
    const struct zd_store *store = zd_test_hierarchy_store(&serve);
    const uint64_t n_visited = store->n_visited;
    const uint64_t n_reads = store->n_reads;
    zd_text_addf(&target, TREE "%s", facts[_i].query);
    zd_fake_init(&exchange, &serve, "GET", target.at);
    zd_fake_start(&exchange);
    while (exchange.http_status == 0) {
        zd_fake_turn(&exchange);
    }
    ck_assert_uint_eq(exchange.http_status, 200);
    ck_assert_uint_le(store->n_visited - n_visited, facts[_i].visits_max);
    ck_assert_uint_le(store->n_reads - n_reads, facts[_i].reads_max);
    ck_assert_int_eq(strstr(exchange.headers.at, "ETag") != NULL, facts[_i].is_tagged);
    zd_fake_finish(&exchange);
    ck_assert(!exchange.is_cut);
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, the_first_byte_of_a_long_listing_waits_for_few_nodes, 0, (int)ZD_COUNT_OF(facts));
}
