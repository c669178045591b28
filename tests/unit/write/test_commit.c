/*
 * Facts about server/write/commit: every store operation, and every allocation, of writing
 * slices over many objects fails in turn, and all objects are as they were, or as they are to be.
 */
#include "server/write/commit.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/hierarchy.h"
#include "tests/support/store_fault.h"
#include "tests/support/unit.h"

#define FAULTS_MAX 3000

#define CONFIG "{\"datasets\": {\"w\": {\"location\": \"mem:\", \"writable\": true}}}"
#define GROUP  "{\"zarr_format\":3,\"node_type\":\"group\"}"
#define ARRAY                                                                                      \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[12],\"data_type\":\"int8\","            \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},"               \
    "\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,"                              \
    "\"codecs\":[{\"name\":\"bytes\"}]}"
#define LISTING                                                                                    \
    "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","   \
    "\"must_understand\":false,\"metadata\":{\"g\":" GROUP ",\"g/a\":" ARRAY "}}}"

/* What is stored in the beginning: three of six objects. */
static const struct zd_test_pair initial[] = {
    {"zarr.json", LISTING},
    {"g/zarr.json", GROUP},
    {"g/a/zarr.json", ARRAY},
    {"g/a/c/0", "ab"},
    {"g/a/c/1", "cd"},
    {"g/a/c/4", "ef"},
};

static const struct slice {
    const char *query;
    const char *header;
    const char *body;
} slices[] = {
    /* objects that are replaced, made and erased */
    {"", "", "[65,66,0,0,67,68,69,70,71,72,73,74]"},
    {"?slice=::-1", "", "[65,66,0,0,67,68,69,70,0,0,73,74]"},
    {"?slice=1:11", "", "[65,66,67,68,69,70,71,72,73,74]"},
    {"?slice=2:6", "If-Match: *\r\n", "[65,66,67,68]"},
    {"?append=0", "", "[65,66,67,68,69]"},
    {"?append=0", "", "[65]"},
};

/** One server, and one slice of it under test. */
struct trial {
    struct zd_test_serve serve;
    char request[1024];
    char before[ZD_HIERARCHY_TEXT_BYTES];
    char after[ZD_HIERARCHY_TEXT_BYTES]; /* when nothing fails */
    enum zd_status status;               /* of a store operation; ZD_OK: an allocation fails */
    bool is_slow;
    uint64_t n;
};

static void reset(struct trial *trial)
{
    zd_test_hierarchy_reset(&trial->serve, initial, ZD_COUNT_OF(initial));
}

static void check(struct trial *trial, const struct zd_test_answer *answer)
{
    char now[ZD_HIERARCHY_TEXT_BYTES];
    zd_test_hierarchy_text(&trial->serve, now);
    const bool is_before = strcmp(now, trial->before) == 0;
    const bool is_after = strcmp(now, trial->after) == 0;
    const bool is_good = answer->is_whole && answer->status < 300;
    const bool is_refused = answer->is_whole && answer->status >= 300;
    /* Without memory there may be no answer to what was done, or only that one. */
    const bool is_lost = !answer->is_whole || (trial->status == ZD_OK && answer->status >= 500);
    ck_assert_msg(
        (is_good && is_after) || (is_refused && is_before) || (is_lost && (is_before || is_after)),
        "%.60s, fault %llu (%s): %s\nleaves:\n%s", trial->request, (unsigned long long)trial->n,
        zd_status_name(trial->status),
        answer->body.ptr == NULL ? "" : (const char *)answer->body.ptr, now);
}

/* Whether the fault was met. */
static bool run(struct trial *trial)
{
    struct zd_test_answer answer;
    reset(trial);
    const struct zd_test_fault fault = {
        .n = trial->n, .status = trial->status, .is_slow = trial->is_slow};
    const bool was_met = zd_test_hierarchy_ask(&trial->serve, trial->request, &fault, &answer);
    check(trial, &answer);
    zd_test_answer_done(&answer);
    return was_met;
}

static void prepare(struct trial *trial, const struct slice *slice)
{
    struct zd_test_answer answer;
    snprintf(trial->request, sizeof trial->request,
        "PUT /v1/datasets/w/slices/g/a%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        "%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        slice->query, slice->header, strlen(slice->body), slice->body);
    reset(trial);
    zd_test_hierarchy_text(&trial->serve, trial->before);
    zd_test_serve_ask(&trial->serve, trial->request, &answer);
    ck_assert_msg(answer.status < 300, "%s: %s", trial->request, answer.bytes);
    zd_test_answer_done(&answer);
    zd_test_hierarchy_text(&trial->serve, trial->after);
    ck_assert_str_ne(trial->before, trial->after);
}

static void run_all(struct trial *trial)
{
    ck_assert_int_eq(zd_test_serve_open(&trial->serve, CONFIG), ZD_OK);
    zd_store_break(zd_test_hierarchy_store(&trial->serve));
    for (size_t i = 0; i < ZD_COUNT_OF(slices); i++) {
        prepare(trial, &slices[i]);
        trial->n = 1;
        while (run(trial)) {
            ck_assert_uint_lt(trial->n, FAULTS_MAX);
            trial->n++;
        }
        ck_assert_uint_gt(trial->n, 6);
    }
    zd_test_serve_close(&trial->serve);
}

static const enum zd_status faults[] = {ZD_STORE, ZD_NO_SPACE};

START_TEST(a_store_that_fails_in_the_middle_of_a_slice_leaves_all_as_it_was)
{
    struct trial trial = {.status = faults[_i / 2], .is_slow = _i % 2 == 1};
    run_all(&trial);
}
END_TEST

START_TEST(memory_that_fails_in_the_middle_of_a_slice_leaves_all_as_it_was)
{
    struct trial trial = {.status = ZD_OK, .is_slow = _i == 1};
    run_all(&trial);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, a_store_that_fails_in_the_middle_of_a_slice_leaves_all_as_it_was, 0,
        2 * (int)ZD_COUNT_OF(faults));
    tcase_add_loop_test(
        tests, memory_that_fails_in_the_middle_of_a_slice_leaves_all_as_it_was, 0, 2);
}
