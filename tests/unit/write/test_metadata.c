/*
 * Facts about server/write/metadata: every store operation, and every allocation, of every kind of
 * change fails in turn, and the hierarchy is as it was, or as it is to be.
 */
#include "server/write/metadata.h"

#include <stdio.h>
#include <string.h>

#include "core/dialect/dialect.h"
#include "server/write/lock.h"
#include "core/base/emit.h"
#include "tests/support/scene.h"
#include "tests/support/store_fault.h"
#include "tests/support/unit.h"

#define GROUP "{\"zarr_format\":3,\"node_type\":\"group\"}"
#define ARRAY                                                                                      \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4],\"data_type\":\"int8\","             \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},"               \
    "\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,"                              \
    "\"codecs\":[{\"name\":\"bytes\"}]}"
#define OTHER_ARRAY                                                                                \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[2],\"data_type\":\"int16\","            \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[1]}},"               \
    "\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,"                              \
    "\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]}"
#define EXTENSION "{\"name\":\"example.unknown\",\"must_understand\":false}"
#define NAMED_ARRAY                                                                                \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4],\"data_type\":\"int8\","             \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},"               \
    "\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,"                              \
    "\"codecs\":[{\"name\":\"bytes\"}],\"dimension_names\":[\"x\"]}"
#define LISTING                                                                                    \
    "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","   \
    "\"must_understand\":false,\"metadata\":{\"g\":" GROUP ",\"g/a\":" ARRAY "}}}"

#define V1     "/v1/datasets/w/"
#define PUT    "PUT", "json"
#define PATCH  "PATCH", "merge-patch+json"
#define DELETE "DELETE", "json"
#define POST   "POST", "json"

/* The initial store. */
static const struct zd_test_pair initial[] = {
    {"zarr.json", LISTING},
    {"g/zarr.json", GROUP},
    {"g/a/zarr.json", ARRAY},
    {"g/a/c/0", "ab"},
    {"g/a/c/1", "cd"},
    {"g/h/i/zarr.json", GROUP},
    {"g/h/stray", "x"},
    {"s", "stray"},
};

static const struct zd_test_change changes[] = {
    {PUT, V1 "nodes/x", NULL, GROUP},
    {PUT, V1 "nodes/x/y/z", NULL, ARRAY},
    {PUT, V1 "nodes/g/h", NULL, GROUP}, /* shows g/h/i: the listing is dropped */
    {PUT, V1 "nodes/g/h/j/k", NULL, ARRAY},
    {PUT, V1 "nodes/g/h/j?erase_chunks=1", NULL, ARRAY},
    {PUT, V1 "nodes/g", NULL, GROUP},
    {PUT, V1 "nodes/g/a?erase_chunks=1", NULL, GROUP},
    {PUT, V1 "nodes/g/a?erase_chunks=1", NULL, OTHER_ARRAY},
    {PUT, V1 "nodes/g/a", NULL, ARRAY},
    {PATCH, V1 "nodes/g/a", NULL, "{\"attributes\":{\"n\":[1,2]}}"},
    {PATCH, V1 "nodes/g/a", NULL, "{\"shape\":[2]}"},
    {DELETE, V1 "nodes/g/a", NULL, ""},
    {DELETE, V1 "nodes/g?recursive=1", NULL, ""},
    {DELETE, V1 "nodes/?recursive=1", NULL, ""},
    {PATCH, V1 "nodes/g/a", NULL, "{\"extensions\":[" EXTENSION "]}"},
    {POST, V1 "consolidate/", NULL, ""},
    {PUT, "/zarr/w/g/a/zarr.json", NULL, NAMED_ARRAY},
    {PUT, "/zarr/w/g/zarr.json", NULL, GROUP},
    {PUT, "/zarr/w/x/zarr.json", NULL, GROUP},
    {DELETE, "/zarr/w/g/a/zarr.json", NULL, ""},
    {DELETE, "/zarr/w/g/zarr.json", NULL, ""},
};

/* No new document has chunks of the old one, not even when the server is gone by now. */
static void check_replacement(const struct zd_test_scene *scene, const char *now)
{
    const char *document = strstr(now, "g/a/zarr.json=");
    if (strstr(scene->request, "erase_chunks") != NULL && document != NULL &&
        strncmp(document + strlen("g/a/zarr.json="), ARRAY, strlen(ARRAY)) != 0) {
        ck_assert_ptr_null(strstr(now, "g/a/c/"));
    }
}

/* A document as it is in a listing, canonical; NULL: there is none. */
static struct zd_json *canonical(const struct zd_json *document)
{
    const struct zd_reading reading = {.zep10 = true,
        .judgement = ZD_JUDGE_READ,
        .limits = {.bytes_max = 4096, .nodes_max = 4096, .depth_max = 64}};
    ZD_AUTO(zd_meta) meta = NULL;
    struct zd_emit emit;
    ZD_SCOPED_TEXT(text, 4096);
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, document);
    const struct zd_stored_entry entry = {.document = zd_text_span(&text)};
    ck_assert_int_eq(zd_dialect_find("v3")->parse_entry(&entry, &reading, &meta, NULL), ZD_OK);
    return zd_json_ref(meta->document);
}

static struct zd_json *read_document(struct zd_test_scene *scene, const char *path)
{
    static const struct zd_json_limits limits = {
        .bytes_max = 4096, .nodes_max = 4096, .depth_max = 64};
    char key[256];
    struct zd_json *json = NULL;
    snprintf(key, sizeof key, "%s%szarr.json", path, path[0] == '\0' ? "" : "/");
    ZD_AUTO(zd_buf) bytes = zd_test_hierarchy_read(&scene->serve, key);
    if (bytes != NULL) {
        ck_assert_int_eq(zd_json_parse(zd_buf_span(bytes), &limits, &json, NULL), ZD_OK);
    }
    return json;
}

static bool is_listed_truly(
    struct zd_test_scene *scene, const char *path, const struct zd_json *listed)
{
    ZD_AUTO(zd_json) stored = read_document(scene, path);
    if (stored == NULL || listed == NULL) {
        return stored == NULL && listed == NULL;
    }
    ZD_AUTO(zd_json) a = canonical(stored);
    ZD_AUTO(zd_json) b = canonical(listed);
    return zd_json_equal(a, b);
}

/* The root's listing is refreshed, or dropped, or its fault is told: there is none that lies. */
static void check_listing(struct zd_test_scene *scene, const struct zd_test_answer *answer)
{
    static const char *const paths[] = {"g", "g/a", "x", "x/y", "x/y/z"};
    ZD_AUTO(zd_json) root = read_document(scene, "");
    const struct zd_json *entries =
        zd_json_member(zd_json_member(root, "consolidated_metadata"), "metadata");
    size_t n_listed = 0;
    bool is_true = true;
    for (size_t i = 0; entries != NULL && i < ZD_COUNT_OF(paths); i++) {
        /* A node below a missing group is reached by nobody. */
        const struct zd_json *listed = zd_json_member(entries, paths[i]);
        const bool is_hidden = strcmp(paths[i], "g/a") == 0 && zd_json_member(entries, "g") == NULL;
        n_listed += listed == NULL ? 0 : 1;
        is_true = is_true && (is_hidden || is_listed_truly(scene, paths[i], listed));
    }
    is_true = is_true && n_listed == zd_json_count(entries);
    ck_assert_msg(is_true || !answer->is_whole || strstr(answer->bytes, "out of date") != NULL,
        "%.60s, fault %llu (%s): %s\nleaves a listing that is not true", scene->request,
        (unsigned long long)scene->n, zd_status_name(scene->status), answer->bytes);
}

static bool judge(struct zd_test_scene *scene, const struct zd_test_answer *answer, const char *now)
{
    check_replacement(scene, now);
    check_listing(scene, answer);
    return false;
}

static void run_all(enum zd_status status, bool is_slow)
{
    struct zd_test_scene scene = {.initial = initial,
        .n_initial = ZD_COUNT_OF(initial),
        .judge = judge,
        .status = status,
        .is_slow = is_slow};
    zd_test_scene_open(&scene);
    for (size_t i = 0; i < ZD_COUNT_OF(changes); i++) {
        zd_test_scene_fail_each(&scene, &changes[i]);
    }
    zd_test_scene_close(&scene);
}

static const enum zd_status faults[] = {ZD_STORE, ZD_NO_SPACE, ZD_TIMEOUT};

START_TEST(a_failing_store_leaves_the_hierarchy_as_it_was)
{
    run_all(faults[_i / 2], _i % 2 == 1);
}
END_TEST

START_TEST(failing_memory_leaves_the_hierarchy_as_it_was)
{
    run_all(ZD_OK, _i == 1);
}
END_TEST

/* Two groups list what is below them. */
#define LISTED(rest)                                                                               \
    "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","   \
    "\"must_understand\":false,\"metadata\":{" rest "}}}"
static const struct zd_test_pair listed[] = {
    {"zarr.json", LISTED("\"g\":" GROUP ",\"g/a\":" ARRAY ",\"g/b\":" GROUP ",\"g/b/c\":" GROUP)},
    {"g/zarr.json", LISTED("\"a\":" ARRAY ",\"b\":" GROUP ",\"b/c\":" GROUP)},
    {"g/a/zarr.json", ARRAY},
    {"g/a/c/0", "ab"},
    {"g/a/c/1", "cd"},
    {"g/b/zarr.json", GROUP},
    {"g/b/c/zarr.json", GROUP},
    {"g/b/c/stray", "x"},
};

static const struct zd_test_change undone[] = {
    {PUT, V1 "nodes/g/x", NULL, GROUP},
    {PUT, V1 "nodes/g/x/y/z", NULL, ARRAY},
    {PUT, V1 "nodes/g/a", NULL, ARRAY},
    {PATCH, V1 "nodes/g/a", NULL, "{\"attributes\":{\"n\":[1,2]}}"},
    {PATCH, V1 "nodes/g/a", NULL, "{\"shape\":[2]}"},
    {DELETE, V1 "nodes/g/a", NULL, ""},
    {DELETE, V1 "nodes/g/b?recursive=1", NULL, ""},
};

/* A listing that can be neither stored nor dropped, whether it is the first one or the second. */
START_TEST(a_change_that_cannot_be_listed_is_undone)
{
    struct zd_test_scene scene = {.is_slow = _i >= 2};
    struct zd_test_answer answer;
    zd_test_scene_open(&scene);
    for (size_t i = 0; i < ZD_COUNT_OF(undone); i++) {
        zd_test_hierarchy_reset(&scene.serve, listed, ZD_COUNT_OF(listed));
        zd_test_hierarchy_text(&scene.serve, scene.before);
        zd_store_fault_set((struct zd_store_fault){
            .refused = listed[_i % 2].key, .status = ZD_STORE, .is_slow = scene.is_slow});
        zd_test_scene_ask(&scene, &undone[i], &answer);
        zd_test_hierarchy_settle(&scene.serve);
        ck_assert_msg(answer.status == 502, "%.60s: %s", scene.request, answer.bytes);
        zd_test_hierarchy_text(&scene.serve, scene.after);
        ck_assert_msg(strcmp(scene.before, scene.after) == 0, "%.60s leaves:\n%s", scene.request,
            scene.after);
        zd_test_hierarchy_expect(&scene.serve, &listed[0]);
        zd_test_answer_done(&answer);
    }
    zd_test_scene_close(&scene);
}
END_TEST

/* An answer about a node is right, whatever another process makes of the node by then. */
static const struct overtaken {
    struct zd_test_change change;
    const char *key;
    const char *shown;
} overtaken[] = {
    {{PUT, V1 "nodes/x", NULL,
         "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{\"mine\":1}}"},
        "x/zarr.json", "{\"mine\":1}"},
    {{PUT, V1 "nodes/g/a", NULL, ARRAY}, "g/a/zarr.json", "\"shape\":[4]"},
    {{PATCH, V1 "nodes/g/a", NULL, "{\"attributes\":{\"mine\":1}}"}, "g/a/zarr.json",
        "{\"mine\":1}"},
    {{PATCH, V1 "nodes/g", NULL, "{\"attributes\":{\"mine\":1}}"}, "g/zarr.json", "{\"mine\":1}"},
};

static void copy_etag(const struct zd_test_answer *answer, char to[128])
{
    const char *at = strstr(answer->bytes, "ETag: ");
    ck_assert_ptr_nonnull(at);
    snprintf(to, 128, "%.*s", (int)strcspn(at, "\r"), at);
}

START_TEST(an_answer_tells_of_its_own_change)
{
    const struct overtaken *row = &overtaken[_i];
    struct zd_test_scene scene = {.status = ZD_OK};
    struct zd_test_answer answer;
    struct zd_test_answer later;
    char etag[128];
    char etag_later[128];
    zd_test_scene_open(&scene);
    zd_test_hierarchy_reset(&scene.serve, initial, ZD_COUNT_OF(initial));
    ZD_AUTO(zd_buf)
    other = zd_buf_copy(
        zd_span_of("{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{\"other\":2}}"));
    zd_store_fault_set((struct zd_store_fault){.overtaken = row->key, .bytes = other});
    zd_test_scene_ask(&scene, &row->change, &answer);
    ck_assert_msg(answer.status < 300, "%s", answer.bytes);
    ck_assert_msg(strstr(answer.bytes, row->shown) != NULL, "%s", answer.bytes);
    ck_assert_ptr_null(strstr(answer.bytes, "\"other\""));
    zd_store_fault_set((struct zd_store_fault){.n = 0});
    zd_test_serve_forget(&scene.serve);
    const struct zd_test_change get = {"GET", "json", row->change.target, NULL, ""};
    zd_test_scene_ask(&scene, &get, &later);
    ck_assert_msg(strstr(later.bytes, "\"other\"") != NULL, "%s", later.bytes);
    copy_etag(&answer, etag);
    copy_etag(&later, etag_later);
    ck_assert_str_ne(etag, etag_later);
    zd_test_answer_done(&answer);
    zd_test_answer_done(&later);
    zd_test_scene_close(&scene);
}
END_TEST

static void told(struct zd_wait *wait)
{
    (void)wait;
}

/* Somebody stores a key that was no chunk of an array when he looked. */
START_TEST(no_array_is_made_while_a_key_below_it_is_stored)
{
    static const struct zd_test_pair with_key[] = {{"zarr.json", GROUP}, {"x/c/0", "garbage"}};
    struct zd_test_scene scene = {.status = ZD_OK};
    zd_test_scene_open(&scene);
    zd_test_hierarchy_reset(&scene.serve, with_key, 1);
    struct zd_dataset *dataset = scene.serve.server->dataset[0];
    ZD_AUTO(zd_buf) document = zd_buf_copy(zd_span_of(_i == 0 ? ARRAY : GROUP));
    struct zd_lock_want lock = {.wait.done = told};
    struct zd_metadata_want want = {.wait.done = told};
    const struct zd_metadata_input input = {
        .kind = ZD_METADATA_PUT, .place = "x", .bytes = document};
    ck_assert_int_eq(zd_lock_want(dataset, ZD_LOCK_CHUNKS, "x/c", &lock), ZD_NEXT);
    ck_assert_int_eq(zd_metadata_want(dataset, &input, &want), ZD_WAIT);
    if (_i == 0) {
        zd_test_hierarchy_settle(&scene.serve);
        ck_assert_ptr_nonnull(want.load);
        zd_test_hierarchy_reset(&scene.serve, with_key, ZD_COUNT_OF(with_key));
        zd_lock_release(&lock);
    }
    while (want.load != NULL) { /* below a group a key is but a key */
        (void)uv_run(scene.serve.server->loop, UV_RUN_ONCE);
    }
    ck_assert_int_eq(want.wait.status, _i == 0 ? ZD_INVALID : ZD_OK);
    ck_assert_pstr_eq(want.code, _i == 0 ? "chunks_exist" : NULL);
    zd_lock_release(&lock);
    zd_metadata_release(&want);
    zd_test_scene_close(&scene);
}
END_TEST

static const struct making {
    const char *denied; /* the parent that its maker refuses; NULL: none */
    bool leaves;        /* the caller is gone before the change is stored */
    bool is_made;
    bool has_left;
} makings[] = {
    {NULL, false, true, false},
    {"n", false, false, false},
    {"n/q", false, false, false},
    {"g", false, true, false}, /* it is there */
    {NULL, true, false, false},
};

static bool may_make(const void *maker, const char *path)
{
    const struct making *row = maker;
    ck_assert(!row->has_left);
    return row->denied == NULL || strcmp(row->denied, path) != 0;
}

START_TEST(missing_parents_are_made_where_the_caller_may)
{
    struct making row = makings[_i];
    struct zd_test_scene scene = {.status = ZD_OK};
    zd_test_scene_open(&scene);
    zd_test_hierarchy_reset(&scene.serve, initial, ZD_COUNT_OF(initial));
    zd_test_hierarchy_text(&scene.serve, scene.before);
    struct zd_dataset *dataset = scene.serve.server->dataset[0];
    ZD_AUTO(zd_buf) document = zd_buf_copy(zd_span_of(GROUP));
    struct zd_metadata_want want = {.wait.done = told};
    const struct zd_metadata_input input = {.kind = ZD_METADATA_PUT,
        .place = "n/q/x",
        .bytes = document,
        .may_make = may_make,
        .maker = &row};
    (void)zd_metadata_want(dataset, &input, &want);
    if (row.leaves) {
        zd_metadata_release(&want);
        row.has_left = true;
    }
    while (want.load != NULL) {
        (void)uv_run(scene.serve.server->loop, UV_RUN_ONCE);
    }
    zd_test_hierarchy_settle(&scene.serve);
    zd_test_hierarchy_text(&scene.serve, scene.after);
    ck_assert_int_eq(strcmp(scene.before, scene.after) != 0, row.is_made);
    if (!row.leaves) {
        ck_assert_int_eq(want.wait.status, row.is_made ? ZD_OK : ZD_INVALID);
        ck_assert_int_eq(want.parent_is_denied, !row.is_made);
        ck_assert_uint_eq(want.parent_len, row.is_made ? 0 : strlen(row.denied));
    }
    zd_metadata_release(&want);
    zd_test_scene_close(&scene);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, missing_parents_are_made_where_the_caller_may, 0, (int)ZD_COUNT_OF(makings));
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, a_change_that_cannot_be_listed_is_undone, 0, 4);
    tcase_add_loop_test(
        tests, a_failing_store_leaves_the_hierarchy_as_it_was, 0, 2 * (int)ZD_COUNT_OF(faults));
    tcase_add_loop_test(tests, failing_memory_leaves_the_hierarchy_as_it_was, 0, 2);
    tcase_add_loop_test(tests, no_array_is_made_while_a_key_below_it_is_stored, 0, 2);
    tcase_add_loop_test(tests, an_answer_tells_of_its_own_change, 0, (int)ZD_COUNT_OF(overtaken));
}
