/* Facts about core/store/s3/s3_erasures: what is asked for, and what answers tell of each object.
 */
#include "core/store/s3/s3_erasures.h"

#include <string.h>

#include "tests/support/unit.h"

#define RESULT(inner)                                                                              \
    "<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" inner "</DeleteResult>"
#define DELETED(key) "<Deleted><Key>" key "</Key></Deleted>"
#define ERROR(key, code)                                                                           \
    "<Error><Key>" key "</Key><Code>" code "</Code><Message>no</Message></Error>"
#define BOTH DELETED("p/a") DELETED("p/b&amp;c")

struct pair {
    struct zd_list list;
    struct zd_s3_erasure a;
    struct zd_s3_erasure b;
};

static void begin(struct pair *pair)
{
    *pair = (struct pair){.a = {.key = "a", .tag = ""}, .b = {.key = "b&c", .tag = "\"t\""}};
    zd_list_init(&pair->list);
    zd_list_push_back(&pair->list, &pair->a.link);
    zd_list_push_back(&pair->list, &pair->b.link);
}

START_TEST(a_request_names_all_keys_and_their_tags)
{
    struct pair pair;
    struct zd_buf *body = NULL;
    begin(&pair);
    ck_assert_int_eq(zd_s3_erasures_write(&pair.list, "p/", &body), ZD_OK);
    ck_assert(zd_span_is(zd_buf_span(body),
        "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Object><Key>p/a</Key></Object>"
        "<Object><Key>p/b&#38;c</Key><ETag>&#34;t&#34;</ETag></Object></Delete>"));
    zd_buf_unref(body);
}
END_TEST

/* Answers about `a` and `b`. */
static const struct {
    const char *answer;
    enum zd_status status; /* of the answer */
    enum zd_status a;
    enum zd_status b;
    bool is_a_unsure;
    bool is_b_unsure;
    const char *code; /* of b */
} answers[] = {
    {RESULT(BOTH), ZD_OK, ZD_OK, ZD_OK, false, false, ""},
    {RESULT(DELETED("p/b&amp;c") DELETED("p/a")), ZD_OK, ZD_OK, ZD_OK, false, false, ""},
    {RESULT(DELETED("p/a") ERROR("p/b&amp;c", "AccessDenied")), ZD_OK, ZD_OK, ZD_STORE, false,
        false, "AccessDenied"},
    {RESULT(DELETED("p/a") ERROR("p/b&amp;c", "PreconditionFailed")), ZD_OK, ZD_OK, ZD_PRECONDITION,
        false, false, "PreconditionFailed"},
    {RESULT(DELETED("p/a") ERROR("p/b&amp;c", "NoSuchKey")), ZD_OK, ZD_OK, ZD_NOT_FOUND, false,
        false, "NoSuchKey"},
    {RESULT(DELETED("p/a") ERROR("p/b&amp;c", "InternalError")), ZD_OK, ZD_OK, ZD_STORE, false,
        true, "InternalError"},
    {RESULT(DELETED("p/a") ERROR("p/b&amp;c", "SlowDown")), ZD_OK, ZD_OK, ZD_STORE, false, true,
        "SlowDown"},
    {RESULT(DELETED("p/a") ERROR("p/b&amp;c", "secret = 1")), ZD_OK, ZD_OK, ZD_STORE, false, true,
        ""}, /* no word of it is told */
    {RESULT(DELETED("p/a")), ZD_OK, ZD_OK, ZD_STORE, false, true, ""},
    {RESULT(""), ZD_OK, ZD_STORE, ZD_STORE, true, true, ""},
    {"<DeleteResult/>", ZD_OK, ZD_STORE, ZD_STORE, true, true, ""},
    {RESULT(BOTH ERROR("p/b&amp;c", "InvalidArgument")), ZD_OK, ZD_OK, ZD_STORE, false, true,
        "InvalidArgument"}, /* told to be erased and to have failed */
    {RESULT(ERROR("p/b&amp;c", "InvalidArgument") BOTH), ZD_OK, ZD_OK, ZD_STORE, false, true,
        "InvalidArgument"},
    /* keys of others are none of ours */
    {RESULT(BOTH DELETED("a") DELETED("p/")), ZD_OK, ZD_OK, ZD_OK, false, false, ""},
    {RESULT(BOTH BOTH DELETED("p/a")), ZD_STORE, ZD_OK, ZD_OK, false, false, NULL},
    {"<Error><Code>InternalError</Code></Error>", ZD_STORE, ZD_OK, ZD_OK, false, false, NULL},
    {"<html><body>200</body></html>", ZD_STORE, ZD_OK, ZD_OK, false, false, NULL},
    {"<DeleteResult><Deleted>", ZD_STORE, ZD_OK, ZD_OK, false, false, NULL},
    {"", ZD_STORE, ZD_OK, ZD_OK, false, false, NULL},
};

START_TEST(an_answer_tells_of_each_object)
{
    struct pair pair;
    struct zd_error err = {0};
    begin(&pair);
    const enum zd_status status =
        zd_s3_erasures_read(zd_span_of(answers[_i].answer), &pair.list, "p/", &err);
    ck_assert_int_eq(status, answers[_i].status);
    if (status != ZD_OK) {
        ck_assert_str_ne(err.text, "");
        return;
    }
    ck_assert_int_eq(pair.a.status, answers[_i].a);
    ck_assert_int_eq(pair.b.status, answers[_i].b);
    ck_assert(pair.a.is_unsure == answers[_i].is_a_unsure);
    ck_assert(pair.b.is_unsure == answers[_i].is_b_unsure);
    ck_assert_str_eq(pair.b.code, answers[_i].code);
    ck_assert(pair.b.status != ZD_STORE || strstr(pair.b.err.text, "b&c: ") != NULL);
    ck_assert_ptr_null(strstr(pair.b.err.text, "secret"));
}
END_TEST

static enum zd_status write_and_read(void *context)
{
    struct pair pair;
    struct zd_buf *body = NULL;
    (void)context;
    begin(&pair);
    ZD_TRY(zd_s3_erasures_write(&pair.list, "p/", &body));
    zd_buf_unref(body);
    return zd_s3_erasures_read(zd_span_of(RESULT(BOTH)), &pair.list, "p/", NULL);
}

START_TEST(without_memory_it_says_so)
{
    zd_unit_with_failing_memory(write_and_read, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_request_names_all_keys_and_their_tags);
    tcase_add_loop_test(tests, an_answer_tells_of_each_object, 0, (int)ZD_COUNT_OF(answers));
    tcase_add_test(tests, without_memory_it_says_so);
}
