/* Problem documents: members, codes, escapes. */
#include "server/http/problem.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct zd_json_limits limits = {
    .bytes_max = 1U << 20, .nodes_max = 10000, .depth_max = 20};

static struct zd_json *document_of(const struct zd_problem *problem)
{
    ZD_SCOPED_TEXT(text, 1U << 20);
    struct zd_json *json = NULL;
    zd_problem_add(problem, "id-1", &text);
    ck_assert_int_eq(text.status, ZD_OK);
    struct zd_error err = {0};
    ck_assert_msg(
        zd_json_parse(zd_text_span(&text), &limits, &json, &err) == ZD_OK, "%s", err.text);
    return json;
}

static void check_text(const struct zd_json *json, const char *name, const char *expected)
{
    const char *found = zd_json_string(zd_json_member(json, name));
    ck_assert_msg(found != NULL, "no %s", name);
    ck_assert_str_eq(found, expected);
}

START_TEST(a_problem_has_the_members_of_rfc_9457)
{
    const struct zd_problem problem = {.code = "bad_slice", .detail = "say \"it\"\n"};
    ZD_AUTO(zd_json) json = document_of(&problem);
    uint64_t status = 0;
    check_text(json, "type", "urn:zarrd:problem:bad_slice");
    check_text(json, "title", "The slice is malformed");
    check_text(json, "detail", "say \"it\"\n");
    check_text(json, "instance", "id-1");
    check_text(json, "code", "bad_slice");
    ck_assert(zd_json_u64(zd_json_member(json, "status"), &status));
    ck_assert_uint_eq(status, 400);
    ck_assert_uint_eq(zd_json_count(json), 6);
}
END_TEST

START_TEST(facts_become_members)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_OUT_OF_BOUNDS, "index");
    zd_fact_dim(&err, 1);
    zd_fact_index(&err, -11);
    zd_fact_size(&err, UINT64_MAX);
    zd_fact_limit(&err, 1, 2);
    zd_fact_position(&err, 3);
    zd_fact_pointer(&err, "/codecs/0");
    zd_fact_expected(&err, "e");
    zd_fact_found(&err, "f");
    zd_fact_name(&err, "n");
    const struct zd_problem problem = {.code = "out_of_bounds", .err = &err};
    ZD_AUTO(zd_json) json = document_of(&problem);
    uint64_t n = 0;
    int64_t index = 0;
    ck_assert(zd_json_u64(zd_json_member(json, "dim"), &n) && n == 1);
    ck_assert(zd_json_i64(zd_json_member(json, "index"), &index) && index == -11);
    ck_assert(zd_json_u64(zd_json_member(json, "size"), &n) && n == UINT64_MAX);
    ck_assert(zd_json_u64(zd_json_member(json, "limit"), &n) && n == 1);
    ck_assert(zd_json_u64(zd_json_member(json, "requested"), &n) && n == 2);
    ck_assert(zd_json_u64(zd_json_member(json, "position"), &n) && n == 3);
    check_text(json, "pointer", "/codecs/0");
    check_text(json, "expected", "e");
    check_text(json, "found", "f");
    check_text(json, "detail", "index");
    ck_assert_uint_eq(zd_json_count(zd_json_member(json, "names")), 1);
}
END_TEST

START_TEST(a_fact_cut_inside_a_character_is_still_json)
{
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(text, 1024);
    while (text.len < 400) {
        zd_text_add(&text, "\xe2\x82\xac");
    }
    err.status = zd_fail(&err, ZD_INVALID, "x%s", text.at);
    zd_fact_found(&err, "%s", text.at);
    zd_fact_name(&err, text.at);
    const struct zd_problem problem = {.code = "bad_body", .err = &err};
    ZD_AUTO(zd_json) json = document_of(&problem);
    ck_assert(zd_json_string(zd_json_member(json, "found")) != NULL);
}
END_TEST

START_TEST(faults_become_names_and_errors)
{
    struct zd_faults faults = {0};
    const struct zd_pointer at = {.text = "/codecs/1"};
    zd_faults_add(&faults, ZD_FAULT_WARNING, "ignored_codec", "w", &at, NULL, NULL, "warned");
    zd_faults_add(&faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", "x", &at, NULL, NULL, "one");
    zd_faults_add(&faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", "x", &at, "e", "f", "two");
    const struct zd_problem problem = {
        .code = zd_problem_code_of_faults(&faults), .faults = &faults};
    ck_assert_str_eq(problem.code, "unsupported_codec");
    ZD_AUTO(zd_json) json = document_of(&problem);
    ck_assert_uint_eq(zd_json_count(zd_json_member(json, "names")), 1);
    const struct zd_json *errors = zd_json_member(json, "errors");
    ck_assert_uint_eq(zd_json_count(errors), 2);
    check_text(zd_json_element(errors, 1), "detail", "two");
    check_text(zd_json_element(errors, 1), "expected", "e");
    check_text(zd_json_element(errors, 1), "found", "f");
    zd_faults_add(&faults, ZD_FAULT_INVALID, "wrong_type", NULL, &at, NULL, NULL, "three");
    ck_assert_str_eq(zd_problem_code_of_faults(&faults), "invalid_metadata");
    zd_faults_done(&faults);
}
END_TEST

START_TEST(allowed_and_extra_are_members)
{
    static const char *const allowed[] = {"raw", "npy", NULL};
    ZD_AUTO(zd_json) extra = zd_json_new_object();
    ck_assert_int_eq(zd_json_set(extra, "n_suggestions", zd_json_new_u64(7)), ZD_OK);
    const struct zd_problem problem = {
        .code = "not_acceptable", .allowed = allowed, .extra = extra};
    ZD_AUTO(zd_json) json = document_of(&problem);
    uint64_t n = 0;
    ck_assert_uint_eq(zd_json_count(zd_json_member(json, "allowed")), 2);
    ck_assert(zd_json_u64(zd_json_member(json, "n_suggestions"), &n) && n == 7);
    check_text(json, "detail", "No acceptable format");
}
END_TEST

START_TEST(every_status_has_a_code_of_the_table)
{
    for (int status = ZD_OK; status <= ZD_INTERNAL; status++) {
        const char *code = zd_problem_code_of((enum zd_status)status);
        ck_assert_str_eq(zd_problem_kind(code)->code, code);
    }
}
END_TEST

START_TEST(a_fault_of_the_store_is_never_a_404)
{
    ck_assert_uint_eq(zd_problem_kind(zd_problem_code_of(ZD_STORE))->http_status, 502);
    ck_assert_uint_eq(zd_problem_kind(zd_problem_code_of(ZD_TIMEOUT))->http_status, 504);
    ck_assert_str_eq(zd_problem_code_of(ZD_PAUSED), "overloaded");
    ck_assert_uint_eq(zd_problem_kind(zd_problem_code_of(ZD_PAUSED))->http_status, 503);
    ck_assert_uint_eq(zd_problem_kind(zd_problem_code_of(ZD_CORRUPT))->http_status, 500);
}
END_TEST

/* On every route: none of them has a word of its own for it. */
START_TEST(work_that_is_dropped_is_of_a_server_that_stops)
{
    ck_assert_str_eq(zd_problem_code_of(ZD_CANCELLED), "draining");
    ck_assert_uint_eq(zd_problem_kind("draining")->http_status, 503);
}
END_TEST

static const struct zd_error no_memory = {.status = ZD_NO_MEMORY};
static const struct zd_error again = {.status = ZD_AGAIN};
static const struct zd_error paused = {.status = ZD_PAUSED};
static const struct zd_error cancelled = {.status = ZD_CANCELLED};
static const struct zd_error unsupported = {.status = ZD_UNSUPPORTED};
static const struct zd_faults cut_faults = {.out_of_memory = true};

static const struct {
    struct zd_problem problem;
    enum zd_unavailable why;
} reasons[] = {
    {{.code = "overloaded"}, ZD_UNAVAILABLE_NO_MEMORY},
    {{.code = "overloaded", .faults = &cut_faults}, ZD_UNAVAILABLE_NO_MEMORY},
    {{.code = "overloaded", .faults = &cut_faults, .err = &unsupported}, ZD_UNAVAILABLE_NO_MEMORY},
    {{.code = "overloaded", .err = &no_memory}, ZD_UNAVAILABLE_NO_MEMORY},
    {{.code = "overloaded", .err = &again}, ZD_UNAVAILABLE_CONTENTION},
    {{.code = "overloaded", .err = &paused}, ZD_UNAVAILABLE_PAUSED},
    {{.code = "overloaded", .unavailable = ZD_UNAVAILABLE_BODIES}, ZD_UNAVAILABLE_BODIES},
    {{.code = "draining"}, ZD_UNAVAILABLE_DRAINING},
    {{.code = "draining", .err = &cancelled}, ZD_UNAVAILABLE_DRAINING},
    {{.code = "store_error", .http_status = 503}, ZD_UNAVAILABLE_STORE},
};

START_TEST(each_503_has_its_reason)
{
    ck_assert_int_eq(zd_problem_unavailable(&reasons[_i].problem), reasons[_i].why);
}
END_TEST

static const struct zd_error gone = {.status = ZD_GONE, .text = "s3://secret is gone"};
static const struct zd_error full = {.status = ZD_INVALID,
    .text = "secret",
    .facts = {.set = ZD_FACT_SIZE | ZD_FACT_EXPECTED, .size = 77, .expected = "secret"}};
static const char *const secrets[] = {"secret", NULL};

static const struct {
    struct zd_problem problem;
    unsigned http_status;
} bare[] = {
    {{.code = "out_of_bounds", .err = &full}, 400},
    {{.code = "chunks_exist", .err = &full, .detail = "secret"}, 409},
    {{.code = "unsupported_media_type", .allowed = secrets}, 415},
    {{.code = "corrupt_chunk", .http_status = 422, .err = &full}, 422},
    {{.code = "corrupt_chunk", .err = &full}, 500},
    {{.code = "store_error", .err = &gone}, 503},
    {{.code = "overloaded", .err = &again, .retry_after_s = 3}, 503},
};

START_TEST(without_facts_a_problem_keeps_its_code_and_status)
{
    ZD_AUTO(zd_json) extra = zd_json_new_object();
    ck_assert_int_eq(zd_json_set(extra, "n_children", zd_json_new_text("secret")), ZD_OK);
    struct zd_problem problem = bare[_i].problem;
    problem.extra = extra;
    const struct zd_problem found = zd_problem_without_facts(&problem);
    const struct zd_problem_kind *kind = zd_problem_kind_of(&found);
    ZD_AUTO(zd_json) json = document_of(&found);
    ck_assert_uint_eq(kind->http_status, bare[_i].http_status);
    ck_assert_str_eq(kind->title, zd_problem_kind_of(&problem)->title);
    ck_assert_uint_eq(zd_json_count(json), 6); /* those of RFC 9457, and the code */
    ck_assert_ptr_null(strstr(zd_problem_detail(&found), "secret"));
    ck_assert_uint_eq(found.retry_after_s, problem.retry_after_s);
    if (kind->http_status == 503) {
        ck_assert_int_eq(zd_problem_unavailable(&found), zd_problem_unavailable(&problem));
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, without_facts_a_problem_keeps_its_code_and_status, 0, ZD_COUNT_OF(bare));
    tcase_add_loop_test(tests, each_503_has_its_reason, 0, ZD_COUNT_OF(reasons));
    tcase_add_test(tests, a_problem_has_the_members_of_rfc_9457);
    tcase_add_test(tests, facts_become_members);
    tcase_add_test(tests, a_fact_cut_inside_a_character_is_still_json);
    tcase_add_test(tests, faults_become_names_and_errors);
    tcase_add_test(tests, allowed_and_extra_are_members);
    tcase_add_test(tests, every_status_has_a_code_of_the_table);
    tcase_add_test(tests, a_fault_of_the_store_is_never_a_404);
    tcase_add_test(tests, work_that_is_dropped_is_of_a_server_that_stops);
}
