/* server/data/catalog: nodes as parsed models, found once for all who want them. */
#include "server/data/catalog.h"

#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define LONG_MS 1000000

#define GROUP "{\"zarr_format\": 3, \"node_type\": \"group\"}"
#define ARRAY                                                                                      \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4, 6], \"data_type\": \"uint8\", " \
    "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [2, 3]}}, "      \
    "\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, "                         \
    "\"codecs\": [{\"name\": \"bytes\"}]}"

struct ask {
    struct zd_node_want want;
    enum zd_next next;
    uint32_t n_told;
};

static void told(struct zd_wait *wait)
{
    ZD_CONTAINER(wait, struct ask, want.wait)->n_told++;
}

static void begin(struct zd_test_plane *plane, const char *path, struct ask *ask)
{
    ask->want.wait.done = told;
    ask->next = zd_catalog_want(&plane->dataset, path, &ask->want);
}

/* The status; with ZD_OK a reference. */
static enum zd_status find(struct zd_test_plane *plane, const char *path, struct zd_node **ret_node)
{
    struct ask ask = {0};
    begin(plane, path, &ask);
    zd_test_plane_run(plane);
    ck_assert_uint_eq(ask.n_told, ask.next == ZD_WAIT);
    ck_assert_int_eq(ask.want.node != NULL, ask.want.wait.status == ZD_OK);
    *ret_node = ask.want.node;
    return ask.want.wait.status;
}

static void open_plane(struct zd_test_plane *plane, uint64_t revalidate_ms)
{
    zd_test_plane_open(plane, revalidate_ms);
    zd_test_plane_put(plane, "zarr.json", GROUP);
    zd_test_plane_put(plane, "g/a/zarr.json", ARRAY);
    zd_test_plane_put(plane, "bad/zarr.json", "not JSON");
}

static const struct {
    const char *path;
    enum zd_status status;
    bool is_array;
    bool is_refused;
} facts[] = {
    {"", ZD_OK, false, false}, {"g/a", ZD_OK, true, false}, {"bad", ZD_OK, false, true},
    {"g", ZD_NOT_FOUND, false, false}, /* a prefix without a document is no node */
    {"g/a/zarr.json", ZD_NOT_FOUND, false, false}, {"absent", ZD_NOT_FOUND, false, false},
    {"..", ZD_NOT_FOUND, false, false}, /* no store has such a key */
};

START_TEST(a_node_is_what_its_documents_say)
{
    struct zd_test_plane plane;
    open_plane(&plane, LONG_MS);
    for (int slow = 0; slow < 2; slow++) {
        struct zd_node *node = NULL;
        ck_assert_int_eq(find(&plane, facts[_i].path, &node), facts[_i].status);
        if (node != NULL) {
            ck_assert_str_eq(node->path, facts[_i].path);
            ck_assert_int_eq(zd_meta_is_refused(node->meta), facts[_i].is_refused);
            ck_assert_int_eq(zd_meta_is_array(node->meta), facts[_i].is_array);
            ck_assert_int_eq(node->layout != NULL, facts[_i].is_array);
            zd_node_unref(node);
        }
        zd_test_plane_forget(&plane);
        zd_test_plane_slow(&plane);
    }
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_path_longer_than_any_key_has_no_node)
{
    struct zd_test_plane plane;
    struct zd_node *node = NULL;
    char path[3 * ZD_KEY_BYTES_MAX];
    open_plane(&plane, LONG_MS);
    for (size_t len = ZD_KEY_BYTES_MAX - 12; len < sizeof path; len += len < 1100 ? 1 : 500) {
        memset(path, 'a', len);
        for (size_t i = 100; i < len - 1; i += 100) {
            path[i] = '/';
        }
        path[len] = '\0';
        ck_assert_int_eq(find(&plane, path, &node), ZD_NOT_FOUND);
    }
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_chunk_over_the_limit_is_a_fault_of_the_node)
{
    struct zd_test_plane plane;
    struct zd_node *node = NULL;
    open_plane(&plane, LONG_MS);
    plane.config.settings.limits_chunk_bytes = 5;
    ck_assert_int_eq(find(&plane, "g/a", &node), ZD_OK);
    ck_assert_ptr_null(node->layout);
    ck_assert_ptr_nonnull(node->fault);
    ck_assert_uint_eq(node->fault->facts.limit, 5);
    zd_node_unref(node);
    zd_test_plane_close(&plane);
}
END_TEST

#define N_ASKS 16

START_TEST(many_who_want_one_node_cost_one_read)
{
    struct zd_test_plane plane;
    struct ask ask[N_ASKS] = {0};
    open_plane(&plane, LONG_MS);
    zd_test_plane_slow(&plane);
    for (int i = 0; i < N_ASKS; i++) {
        begin(&plane, "g/a", &ask[i]);
        ck_assert_int_eq(ask[i].next, ZD_WAIT);
    }
    zd_wait_cancel(&ask[3].want.wait);
    zd_test_plane_run(&plane);
    const uint64_t n_reads = plane.dataset.store->n_reads;
    for (int i = 0; i < N_ASKS; i++) {
        ck_assert_uint_eq(ask[i].n_told, i != 3);
        ck_assert_int_eq(ask[i].want.node != NULL, i != 3);
        zd_node_unref(ask[i].want.node);
    }
    zd_test_plane_forget(&plane);
    struct zd_node *node = NULL;
    ck_assert_int_eq(find(&plane, "g/a", &node), ZD_OK);
    ck_assert_uint_eq(plane.dataset.store->n_reads, 2 * n_reads);
    zd_node_unref(node);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_node_that_changed_is_another_one_and_the_old_one_stays)
{
    struct zd_test_plane plane;
    struct zd_node *old = NULL;
    struct zd_node *same = NULL;
    struct zd_node *new = NULL;
    open_plane(&plane, 0);
    for (int slow = 0; slow < 2; slow++) {
        zd_test_plane_put(&plane, "g/a/zarr.json", ARRAY);
        ck_assert_int_eq(find(&plane, "g/a", &old), ZD_OK);
        const uint64_t n_reads = plane.dataset.store->n_reads;
        ck_assert_int_eq(find(&plane, "g/a", &same), ZD_OK);
        ck_assert_ptr_eq(same, old);
        ck_assert_uint_eq(plane.dataset.store->n_reads, n_reads);
        zd_test_plane_put(&plane, "g/a/zarr.json", GROUP);
        ck_assert_int_eq(find(&plane, "g/a", &new), ZD_OK);
        ck_assert_ptr_ne(new, old);
        ck_assert_uint_ne(new->tag, old->tag);
        ck_assert(zd_meta_is_array(old->meta));
        ck_assert_int_eq(new->meta->type, ZD_NODE_GROUP);
        zd_node_unref(same);
        zd_node_unref(new);
        zd_node_unref(old);
        zd_test_plane_slow(&plane);
    }
    zd_test_plane_close(&plane);
}
END_TEST

/* Another process writes while the store's answer is on its way. */
START_TEST(a_read_after_a_write_never_gets_the_old_bytes)
{
    static const uint64_t revalidate_ms[] = {0, LONG_MS};
    struct zd_test_plane plane;
    struct ask early = {0};
    struct ask late[N_ASKS] = {0};
    struct ask writer = {.want.wait.done = told};
    open_plane(&plane, revalidate_ms[_i]);
    zd_test_plane_hold(&plane);
    begin(&plane, "g/a", &early);
    zd_test_plane_run(&plane);
    zd_test_plane_put(&plane, "g/a/zarr.json", GROUP);
    for (int i = 0; i < N_ASKS; i++) {
        begin(&plane, "g/a", &late[i]);
    }
    ck_assert_int_eq(zd_catalog_want_fresh(&plane.dataset, "g/a", &writer.want), ZD_WAIT);
    zd_test_plane_release(&plane);
    zd_test_plane_run(&plane);
    ck_assert(zd_meta_is_array(early.want.node->meta));
    ck_assert_int_eq(writer.want.node->meta->type, ZD_NODE_GROUP);
    for (int i = 0; i < N_ASKS; i++) {
        ck_assert_uint_eq(late[i].n_told, 1);
        ck_assert_ptr_eq(late[i].want.node, _i == 0 ? writer.want.node : early.want.node);
        zd_node_unref(late[i].want.node);
    }
    zd_node_unref(early.want.node);
    zd_node_unref(writer.want.node);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_node_comes_and_goes)
{
    struct zd_test_plane plane;
    struct zd_node *node = NULL;
    open_plane(&plane, 0);
    for (int i = 0; i < 3; i++) {
        struct zd_store_write erase = {.key = "g/b/zarr.json"};
        ck_assert_int_eq(find(&plane, "g/b", &node), ZD_NOT_FOUND);
        ck_assert_int_eq(find(&plane, "g/b", &node), ZD_NOT_FOUND);
        zd_test_plane_put(&plane, "g/b/zarr.json", GROUP);
        ck_assert_int_eq(find(&plane, "g/b", &node), ZD_OK);
        zd_node_unref(node);
        ck_assert_int_eq(zd_test_erase(&plane.store, &erase), ZD_OK);
    }
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_fault_of_the_store_is_never_absence)
{
    struct zd_test_plane plane;
    struct zd_node *node = NULL;
    open_plane(&plane, 0);
    ck_assert_int_eq(find(&plane, "", &node), ZD_OK);
    zd_node_unref(node);
    ck_assert_int_eq(find(&plane, "absent", &node), ZD_NOT_FOUND);
    zd_test_plane_break(&plane);
    ck_assert_int_eq(find(&plane, "", &node), ZD_STORE);
    ck_assert_int_eq(find(&plane, "absent", &node), ZD_STORE);
    ck_assert_int_eq(find(&plane, "g/a", &node), ZD_STORE);
    zd_test_plane_mend(&plane);
    ck_assert_int_eq(find(&plane, "", &node), ZD_OK);
    zd_node_unref(node);
    ck_assert_int_eq(find(&plane, "g/a", &node), ZD_OK);
    zd_node_unref(node);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(nodes_in_use_are_counted_and_more_are_refused)
{
    struct zd_test_plane plane;
    struct zd_node *node[3] = {NULL};
    open_plane(&plane, LONG_MS);
    const struct zd_tally *held = &plane.server.parsed.held;
    ck_assert_int_eq(find(&plane, "g/a", &node[0]), ZD_OK);
    const uint64_t bytes = node[0]->tree_bytes;
    ck_assert_uint_ge(bytes, sizeof ARRAY);
    ck_assert_uint_eq(zd_tally_bytes(held), bytes);
    struct zd_meta *meta = zd_meta_ref(node[0]->meta);
    zd_node_unref(node[0]);
    zd_test_plane_forget(&plane);
    ck_assert_uint_eq(zd_tally_bytes(held), bytes); /* out of the cache, but in use */
    plane.server.parsed.bytes_max = bytes + bytes / 2;
    ck_assert_int_eq(find(&plane, "", &node[1]), ZD_OK);
    ck_assert_int_eq(find(&plane, "g/a", &node[2]), ZD_AGAIN);
    ck_assert_uint_eq(zd_tally_bytes(held), bytes + node[1]->tree_bytes);
    zd_meta_unref(meta);
    ck_assert_int_eq(find(&plane, "g/a", &node[2]), ZD_OK);
    zd_node_unref(node[1]);
    zd_node_unref(node[2]);
    zd_test_plane_forget(&plane);
    plane.server.parsed.bytes_max = bytes / 2;
    ck_assert_int_eq(find(&plane, "g/a", &node[2]), ZD_TOO_LARGE);
    ck_assert_int_eq(find(&plane, "bad", &node[2]), ZD_OK); /* nothing is held of it */
    zd_node_unref(node[2]);
    zd_test_plane_close(&plane);
}
END_TEST

static enum zd_status find_cold(void *context)
{
    struct zd_test_plane *plane = context;
    struct zd_node *node = NULL;
    zd_test_plane_forget(plane);
    const enum zd_status status = find(plane, "g/a", &node);
    zd_node_unref(node);
    return status;
}

/* A node that is there already, and has changed. */
static enum zd_status find_changed(void *context)
{
    struct zd_test_plane *plane = context;
    struct zd_node *node = NULL;
    const enum zd_status status = find(plane, "g/a", &node);
    zd_node_unref(node);
    return status;
}

START_TEST(without_memory_there_is_no_node_and_nothing_leaks)
{
    struct zd_test_plane plane;
    open_plane(&plane, 0);
    for (int slow = 0; slow < 2; slow++) {
        zd_unit_with_failing_memory(find_cold, &plane);
        zd_test_plane_put(&plane, "g/a/zarr.json", ARRAY " ");
        zd_unit_with_failing_memory(find_changed, &plane);
        zd_test_plane_slow(&plane);
    }
    zd_test_plane_close(&plane);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_node_is_what_its_documents_say, 0, (int)ZD_COUNT_OF(facts));
    tcase_add_test(tests, a_path_longer_than_any_key_has_no_node);
    tcase_add_test(tests, a_chunk_over_the_limit_is_a_fault_of_the_node);
    tcase_add_test(tests, many_who_want_one_node_cost_one_read);
    tcase_add_test(tests, a_node_that_changed_is_another_one_and_the_old_one_stays);
    tcase_add_loop_test(tests, a_read_after_a_write_never_gets_the_old_bytes, 0, 2);
    tcase_add_test(tests, a_node_comes_and_goes);
    tcase_add_test(tests, a_fault_of_the_store_is_never_absence);
    tcase_add_test(tests, nodes_in_use_are_counted_and_more_are_refused);
    tcase_add_test(tests, without_memory_there_is_no_node_and_nothing_leaks);
}
