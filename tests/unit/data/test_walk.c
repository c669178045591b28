/* server/data/walk: nodes ahead of the one that is visited are put back when there is no room for
 * them. */
#include "server/data/walk.h"

#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define N_NODES     16
#define N_SMALL     16
#define N_VALUES    8192 /* of a large node, some 400 KiB */
#define TEXT_MAX    65536
#define AHEAD_BYTES 1048576
#define ARRAY                                                                                      \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4], \"data_type\": \"uint8\", "    \
    "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [2]}}, "         \
    "\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, "                         \
    "\"codecs\": [{\"name\": \"bytes\"}]"
#define GROUP "{\"zarr_format\": 3, \"node_type\": \"group\"}"

struct visits {
    struct zd_walk_want want;
    uint32_t n;
    uint32_t n_told;
    uint32_t n_small; /* that come before the large ones */
    uint64_t most;    /* that was held during a visit */
    struct zd_node *kept[N_NODES + 1];
    bool keeps;
};

static void told(struct zd_wait *wait)
{
    ZD_CONTAINER(wait, struct visits, want.wait)->n_told++;
}

static bool visit(struct zd_walk_want *want, const struct zd_walk_node *found)
{
    struct visits *visits = ZD_CONTAINER(want, struct visits, want);
    const struct zd_server *server = found->node->dataset->server;
    char path[16] = "";
    if (visits->n > visits->n_small) {
        snprintf(path, sizeof path, "%02u", visits->n - 1 - visits->n_small);
    } else if (visits->n > 0) {
        snprintf(path, sizeof path, "!%02u", visits->n - 1);
    }
    ck_assert_str_eq(found->path, path);
    visits->most = zd_max_u64(visits->most, zd_tally_bytes(&server->parsed.held));
    if (visits->keeps) {
        visits->kept[visits->n] = zd_node_ref(found->node);
    }
    visits->n++;
    want->rests = visits->n_small > 0 && visits->n == visits->n_small + 2;
    return true;
}

static void open_plane(struct zd_test_plane *plane)
{
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    zd_test_plane_open(plane, 0);
    zd_test_plane_put(plane, "zarr.json", GROUP);
    zd_text_add(&text, ARRAY ", \"attributes\": {\"a\": [0");
    for (int i = 1; i < N_VALUES; i++) {
        zd_text_add(&text, ",0");
    }
    zd_text_add(&text, "]}}");
    ck_assert_int_eq(text.status, ZD_OK);
    for (int i = 0; i < N_NODES; i++) {
        char key[32];
        snprintf(key, sizeof key, "%02d/zarr.json", i);
        zd_test_plane_put(plane, key, text.at);
    }
    plane->server.nodes.entry_bytes_max = 65536; /* none of the large ones is kept */
}

static uint64_t large_bytes(struct zd_test_plane *plane)
{
    struct zd_node *node = zd_test_plane_node(plane, "00");
    const uint64_t bytes = node->tree_bytes;
    zd_node_unref(node);
    return bytes;
}

static void walk(struct zd_test_plane *plane, struct visits *visits)
{
    struct zd_node *root = zd_test_plane_node(plane, "");
    visits->want.wait.done = told;
    visits->want.start = root;
    visits->want.depth_max = 1;
    visits->want.visit = visit;
    const enum zd_next next = zd_walk_want(&visits->want);
    zd_test_plane_run(plane);
    ck_assert_uint_eq(visits->n_told, next == ZD_WAIT);
    zd_node_unref(root);
}

static void end_walk(struct zd_test_plane *plane, struct visits *visits)
{
    zd_walk_release(&visits->want);
    zd_test_plane_run(plane);
}

static void forget(struct visits *visits)
{
    for (uint32_t i = 0; i < visits->n; i++) {
        zd_node_unref(ZD_TAKE(visits->kept[i]));
    }
}

START_TEST(a_walk_goes_on_where_one_node_fits)
{
    struct zd_test_plane plane;
    struct visits visits = {0};
    open_plane(&plane);
    if (_i == 1) {
        zd_test_plane_slow(&plane);
    }
    const uint64_t bytes = large_bytes(&plane);
    zd_node_memory_init(&plane.server.parsed, bytes * 2); /* a quarter is for small ones */
    walk(&plane, &visits);
    end_walk(&plane, &visits);
    ck_assert_int_eq(visits.want.wait.status, ZD_OK);
    ck_assert_uint_eq(visits.n, N_NODES + 1);
    ck_assert_uint_le(visits.most, bytes * 2);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_walk_without_room_for_the_next_node_ends)
{
    struct zd_test_plane plane;
    struct visits visits = {.keeps = true};
    open_plane(&plane);
    const uint64_t bytes = large_bytes(&plane);
    zd_node_memory_init(&plane.server.parsed, bytes * 4);
    walk(&plane, &visits);
    end_walk(&plane, &visits);
    ck_assert_int_eq(visits.want.wait.status, ZD_AGAIN);
    ck_assert_uint_ge(visits.n, 3);
    ck_assert_uint_lt(visits.n, 5);
    forget(&visits);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(an_admitted_walk_is_not_refused)
{
    struct zd_test_plane plane;
    struct visits visits = {.keeps = true, .want.is_admitted = true};
    struct zd_node_memory_share share = {0};
    open_plane(&plane);
    const uint64_t bytes = large_bytes(&plane);
    zd_node_memory_init(&plane.server.parsed, bytes);
    zd_node_memory_admit(&plane.server.parsed, bytes * N_NODES, &share);
    walk(&plane, &visits);
    end_walk(&plane, &visits);
    ck_assert_int_eq(visits.want.wait.status, ZD_OK);
    ck_assert_uint_eq(visits.n, N_NODES + 1);
    forget(&visits);
    zd_node_memory_leave(&share);
    zd_test_plane_close(&plane);
}
END_TEST

/* Many are asked for before it is known how large they are. */
START_TEST(bytes_that_do_not_fit_ahead_are_put_back)
{
    struct zd_test_plane plane;
    struct visits visits = {0};
    open_plane(&plane);
    for (int i = 0; i < N_SMALL; i++) {
        char key[32];
        snprintf(key, sizeof key, "!%02d/zarr.json", i);
        zd_test_plane_put(&plane, key, GROUP);
    }
    zd_test_plane_slow(&plane);
    const uint64_t bytes = large_bytes(&plane);
    visits.n_small = N_SMALL;
    walk(&plane, &visits);
    ck_assert(visits.want.rests); /* after the first large one: all questions are answered */
    const uint64_t held = zd_tally_bytes(&plane.server.parsed.held);
    ck_assert_uint_ge(held, bytes);
    ck_assert_uint_le(held, AHEAD_BYTES + bytes);
    visits.want.wait = (struct zd_wait){.done = told};
    (void)zd_walk_go_on(&visits.want);
    zd_test_plane_run(&plane);
    ck_assert_int_eq(visits.want.wait.status, ZD_OK);
    ck_assert_uint_eq(visits.n, 1 + N_SMALL + N_NODES);
    end_walk(&plane, &visits);
    zd_test_plane_close(&plane);
}
END_TEST

#define N_WALKS   8
#define N_VISITED 400

struct crowd {
    struct zd_walk_want want[N_WALKS];
    uint32_t n_visits; /* of all of them, in this turn */
    uint32_t n_all;
    uint32_t n_told;
};

static struct crowd crowd;

static bool count(struct zd_walk_want *want, const struct zd_walk_node *found)
{
    (void)want;
    ck_assert_ptr_nonnull(found->node);
    crowd.n_visits++;
    crowd.n_all++;
    return true;
}

static void count_end(struct zd_wait *wait)
{
    ck_assert_int_eq(wait->status, ZD_OK);
    crowd.n_told++;
}

/* Whether the store answers at once or later. */
START_TEST(in_a_turn_all_walks_together_visit_few_nodes)
{
    struct zd_test_plane plane;
    crowd = (struct crowd){0};
    zd_test_plane_open(&plane, 0);
    zd_test_plane_put(&plane, "zarr.json", GROUP);
    for (int i = 0; i < N_VISITED; i++) {
        char key[32];
        snprintf(key, sizeof key, "%03d/zarr.json", i);
        zd_test_plane_put(&plane, key, ARRAY "}");
    }
    if (_i == 1) {
        zd_test_plane_slow(&plane);
    }
    struct zd_node *root = zd_test_plane_node(&plane, "");
    for (int i = 0; i < N_WALKS; i++) {
        crowd.want[i] = (struct zd_walk_want){
            .wait.done = count_end, .start = root, .depth_max = 1, .visit = count};
        ck_assert_int_eq(zd_walk_want(&crowd.want[i]), ZD_WAIT);
    }
    ck_assert_uint_le(crowd.n_visits, ZD_DEFERRED_PIECES);
    while (crowd.n_told < N_WALKS) {
        crowd.n_visits = 0;
        uv_run(plane.server.loop, UV_RUN_NOWAIT);
        ck_assert_uint_le(crowd.n_visits, ZD_DEFERRED_PIECES);
    }
    ck_assert_uint_eq(crowd.n_all, N_WALKS * (N_VISITED + 1));
    for (int i = 0; i < N_WALKS; i++) {
        zd_walk_release(&crowd.want[i]);
    }
    zd_node_unref(root);
    zd_test_plane_close(&plane);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_walk_goes_on_where_one_node_fits, 0, 2);
    tcase_add_test(tests, a_walk_without_room_for_the_next_node_ends);
    tcase_add_test(tests, an_admitted_walk_is_not_refused);
    tcase_add_test(tests, bytes_that_do_not_fit_ahead_are_put_back);
    tcase_add_loop_test(tests, in_a_turn_all_walks_together_visit_few_nodes, 0, 2);
}
