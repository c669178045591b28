/* server/slice/slice_write: bodies in pieces, several bands, clients that leave, and what is
 * refused before anything is stored. */
#include "server/slice/slice_write.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/front_fake.h"
#include "tests/support/hierarchy.h"
#include "tests/support/unit.h"

#define CONFIG                                                                                     \
    "{\"http\": {\"stream_bytes\": 4096},"                                                         \
    " \"datasets\": {\"w\": {\"location\": \"mem:\", \"writable\": true}}}"
#define ARRAY(shape, chunk)                                                                        \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[" shape "],\"data_type\":\"int8\","     \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[" chunk "]}},"       \
    "\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,"                              \
    "\"codecs\":[{\"name\":\"bytes\"}]}"
#define GROUP "{\"zarr_format\":3,\"node_type\":\"group\"}"

#define LONG       8192 /* elements of /long: two bands of four objects */
#define LONG_CHUNK 1024

static const struct zd_test_pair initial[] = {
    {"zarr.json", GROUP},
    {"a/zarr.json", ARRAY("6", "2")},
    {"a/c/1", "cd"},
    {"long/zarr.json", ARRAY("8192", "1024")},
};

struct scene {
    struct zd_test_serve serve;
    char before[ZD_HIERARCHY_TEXT_BYTES];
};

static void open_scene(struct scene *scene)
{
    ck_assert_int_eq(zd_test_serve_open(&scene->serve, CONFIG), ZD_OK);
    zd_test_hierarchy_reset(&scene->serve, initial, ZD_COUNT_OF(initial));
    zd_test_hierarchy_text(&scene->serve, scene->before);
}

/* All that the slice has locked or taken is given back by now. */
static void close_scene(struct scene *scene)
{
    zd_test_hierarchy_settle(&scene->serve);
    zd_test_serve_close(&scene->serve);
}

static void expect_unchanged(struct scene *scene)
{
    char now[ZD_HIERARCHY_TEXT_BYTES];
    zd_test_hierarchy_settle(&scene->serve);
    zd_test_hierarchy_text(&scene->serve, now);
    ck_assert_str_eq(now, scene->before);
}

static void put(
    struct scene *scene, struct zd_fake_exchange *exchange, const char *target, const char *body)
{
    zd_fake_init(exchange, &scene->serve, "PUT", target);
    exchange->body = zd_span_of(body);
}

/* ---- what is stored ---- */

static const struct zd_test_pair stored[] = {
    {"a/c/0", "AB"},
    {"a/c/1", "CD"},
    {"a/c/2", "EF"},
};

START_TEST(a_slice_is_stored_the_same_whatever_the_pieces_it_comes_in)
{
    static const size_t pieces[] = {0, 1, 5};
    struct scene scene;
    struct zd_fake_exchange exchange;
    open_scene(&scene);
    put(&scene, &exchange, "/v1/datasets/w/slices/a", "ABCDEF");
    exchange.piece_bytes = pieces[_i / 2];
    exchange.body_is_chunked = _i % 2 == 1;
    zd_fake_run(&exchange);
    ck_assert_msg(exchange.http_status == 200, "%s", exchange.reason.at);
    ck_assert_ptr_nonnull(
        strstr(exchange.answer.at, "\"chunks\":{\"written\":3,\"erased\":0,\"unchanged\":0}"));
    zd_fake_done(&exchange);
    for (size_t i = 0; i < ZD_COUNT_OF(stored); i++) {
        zd_test_hierarchy_expect(&scene.serve, &stored[i]);
    }
    close_scene(&scene);
}
END_TEST

static void fill_long(char body[LONG + 1])
{
    for (size_t i = 0; i < LONG; i++) {
        body[i] = (char)('a' + i % 23);
    }
    body[LONG] = '\0';
}

START_TEST(a_slice_of_several_bands_is_stored_object_by_object)
{
    static char body[LONG + 1];
    struct scene scene;
    struct zd_fake_exchange exchange;
    open_scene(&scene);
    fill_long(body);
    put(&scene, &exchange, "/v1/datasets/w/slices/long", body);
    exchange.piece_bytes = 1000;
    zd_fake_run(&exchange);
    ck_assert_msg(exchange.http_status == 200, "%s", exchange.reason.at);
    zd_fake_done(&exchange);
    for (size_t i = 0; i < LONG / LONG_CHUNK; i++) {
        char key[] = "long/c/0";
        key[sizeof key - 2] = (char)('0' + i);
        ZD_AUTO(zd_buf) chunk = zd_test_hierarchy_read(&scene.serve, key);
        ck_assert_ptr_nonnull(chunk);
        ck_assert_uint_eq(chunk->len, LONG_CHUNK);
        ck_assert_mem_eq(chunk->data, body + i * LONG_CHUNK, LONG_CHUNK);
    }
    close_scene(&scene);
}
END_TEST

START_TEST(a_dry_run_says_what_would_become_of_the_chunks_and_stores_nothing)
{
    struct scene scene;
    struct zd_fake_exchange exchange;
    open_scene(&scene);
    put(&scene, &exchange, "/v1/datasets/w/slices/a?dry_run=1", "ABCDEF");
    zd_fake_run(&exchange);
    ck_assert_uint_eq(exchange.http_status, 200);
    ck_assert_ptr_nonnull(strstr(exchange.answer.at, "\"written\":3"));
    zd_fake_done(&exchange);
    expect_unchanged(&scene);
    close_scene(&scene);
}
END_TEST

START_TEST(an_append_says_where_its_elements_went)
{
    struct scene scene;
    struct zd_fake_exchange exchange;
    open_scene(&scene);
    put(&scene, &exchange, "/v1/datasets/w/slices/a?append=0", "XYZ");
    zd_fake_run(&exchange);
    ck_assert_msg(exchange.http_status == 200, "%s", exchange.reason.at);
    ck_assert_ptr_nonnull(strstr(exchange.answer.at, "\"shape\":[9]"));
    ck_assert_ptr_nonnull(strstr(exchange.answer.at, "\"selection\":\"6:9:1\""));
    zd_fake_done(&exchange);
    zd_test_hierarchy_expect(&scene.serve, &(struct zd_test_pair){"a/c/3", "XY"});
    close_scene(&scene);
}
END_TEST

/* ---- clients that leave ---- */

/* The body of one band, and that of several, whose objects are locked while it arrives. */
static const char *const targets[] = {"/v1/datasets/w/slices/a", "/v1/datasets/w/slices/long"};

START_TEST(a_client_that_leaves_changes_nothing_and_keeps_nobody_waiting)
{
    static char body[LONG + 1];
    struct scene scene;
    struct zd_fake_exchange gone;
    struct zd_fake_exchange exchange;
    open_scene(&scene);
    fill_long(body);
    body[_i == 0 ? 6 : LONG] = '\0';
    put(&scene, &gone, targets[_i], body);
    gone.piece_bytes = _i == 0 ? 2 : LONG - 1;
    zd_fake_start(&gone);
    for (int n = 0; n < 3; n++) {
        zd_fake_turn(&gone);
        if (gone.n_sent > 0) {
            break;
        }
    }
    ck_assert(!gone.is_done);
    zd_fake_hang_up(&gone);
    zd_fake_done(&gone);
    expect_unchanged(&scene);
    put(&scene, &exchange, targets[_i], body);
    zd_fake_run(&exchange);
    ck_assert_msg(exchange.http_status == 200, "%s", exchange.reason.at);
    zd_fake_done(&exchange);
    close_scene(&scene);
}
END_TEST

START_TEST(a_slice_that_waits_for_its_body_keeps_no_other_from_its_objects)
{
    struct scene scene;
    struct zd_fake_exchange slow;
    struct zd_fake_exchange exchange;
    open_scene(&scene);
    put(&scene, &slow, "/v1/datasets/w/slices/a", "ABCDEF");
    slow.piece_bytes = 1;
    zd_fake_start(&slow);
    ck_assert(!slow.is_done);
    put(&scene, &exchange, "/v1/datasets/w/slices/a", "abcdef");
    zd_fake_run(&exchange);
    ck_assert_msg(exchange.http_status == 200, "%s", exchange.reason.at);
    zd_fake_done(&exchange);
    zd_fake_finish(&slow);
    ck_assert_uint_eq(slow.http_status, 200);
    zd_fake_done(&slow);
    zd_test_hierarchy_expect(&scene.serve, &stored[0]);
    close_scene(&scene);
}
END_TEST

/* ---- refusals ---- */

static const struct refusal {
    const char *target;
    struct zd_header header;
    const char *body;
    unsigned status;
    const char *code;
    const char *reason; /* a part of it */
} refusals[] = {
    {"/v1/datasets/w/slices/a", {"Content-Type", "image/png"}, "ABCDEF", 415,
        "unsupported_media_type", "media type image/png is not supported for elements"},
    {"/v1/datasets/w/slices/a", {0}, "ABCDE", 400, "bad_body", "the body has 5 bytes"},
    {"/v1/datasets/w/slices/a", {"Content-Type", "application/json"}, "[1,2,3]", 400, "bad_body",
        ""},
    {"/v1/datasets/w/slices/a?slice=9", {0}, "A", 400, "out_of_bounds", ""},
    {"/v1/datasets/w/slices/a?expected_shape=7", {0}, "ABCDEF", 409, "shape_mismatch", ""},
    {"/v1/datasets/w/slices/a?append=0&broadcast=1", {0}, "A", 400, "bad_parameter",
        "append and broadcast cannot be combined"},
    {"/v1/datasets/w/slices/a?append=1", {0}, "A", 400, "bad_parameter", "no such dimension"},
    {"/v1/datasets/w/slices/a", {"If-Match", "\"x\""}, "ABCDEF", 412, "precondition_failed", ""},
    {"/v1/datasets/w/slices/a?append=0", {"If-Match", "\"x\""}, "A", 412, "precondition_failed",
        ""},
    {"/v1/datasets/w/slices", {0}, "ABCDEF", 400, "not_an_array", ""},
    {"/v1/datasets/w/slices/none", {0}, "ABCDEF", 404, "node_not_found", ""},
};

START_TEST(a_refused_change_is_not_stored)
{
    const struct refusal *refusal = &refusals[_i];
    struct scene scene;
    struct zd_fake_exchange exchange;
    open_scene(&scene);
    put(&scene, &exchange, refusal->target, refusal->body);
    exchange.header = &refusal->header;
    exchange.n_headers = refusal->header.name == NULL ? 0 : 1;
    zd_fake_run(&exchange);
    ck_assert_msg(exchange.http_status == refusal->status &&
                      strcmp(exchange.code, refusal->code) == 0 &&
                      strstr(exchange.reason.at, refusal->reason) != NULL,
        "row %d: %u %s: %s", _i, exchange.http_status, exchange.code, exchange.reason.at);
    zd_fake_done(&exchange);
    expect_unchanged(&scene);
    close_scene(&scene);
}
END_TEST

START_TEST(raw_bytes_without_a_length_cannot_be_appended)
{
    struct scene scene;
    struct zd_fake_exchange exchange;
    open_scene(&scene);
    put(&scene, &exchange, "/v1/datasets/w/slices/a?append=0", "XYZ");
    exchange.body_is_chunked = true;
    zd_fake_run(&exchange);
    ck_assert_uint_eq(exchange.http_status, 400);
    ck_assert_str_eq(exchange.reason.at, "appending raw bytes requires Content-Length");
    zd_fake_done(&exchange);
    expect_unchanged(&scene);
    close_scene(&scene);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_slice_is_stored_the_same_whatever_the_pieces_it_comes_in, 0, 6);
    tcase_add_test(tests, a_slice_of_several_bands_is_stored_object_by_object);
    tcase_add_test(tests, a_dry_run_says_what_would_become_of_the_chunks_and_stores_nothing);
    tcase_add_test(tests, an_append_says_where_its_elements_went);
    tcase_add_loop_test(tests, a_client_that_leaves_changes_nothing_and_keeps_nobody_waiting, 0, 2);
    tcase_add_test(tests, a_slice_that_waits_for_its_body_keeps_no_other_from_its_objects);
    tcase_add_loop_test(tests, a_refused_change_is_not_stored, 0, (int)ZD_COUNT_OF(refusals));
    tcase_add_test(tests, raw_bytes_without_a_length_cannot_be_appended);
}
