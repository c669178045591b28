/* The page of a problem: what it says, what it escapes, and what its policy lets it do. */
#include "server/http/problem_page.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/digest.h"
#include "server/http/html.h"
#include "tests/support/unit.h"

#define PAGE_BYTES_MAX (1U << 20)

START_TEST(a_page_says_what_is_wrong_and_what_is_possible)
{
    static const char *const allowed[] = {"raw", "npy", NULL};
    ZD_AUTO(zd_json) extra = zd_json_new_object();
    ZD_AUTO(zd_json) list = zd_json_new_array();
    ck_assert_int_eq(zd_json_append(list, zd_json_new_text("<solar>")), ZD_OK);
    ck_assert_int_eq(zd_json_set(extra, "suggestions", ZD_TAKE(list)), ZD_OK);
    const struct zd_problem problem = {
        .code = "node_not_found", .detail = "none", .extra = extra, .allowed = allowed};
    ZD_SCOPED_TEXT(page, PAGE_BYTES_MAX);
    zd_problem_page_add(&problem, "id-1", "/data", &page);
    ck_assert_int_eq(page.status, ZD_OK);
    static const char *const expected[] = {"<title>404 There is no such node</title>",
        "<h1>There is no such node</h1>", "<p>none</p>", "<code>&lt;solar&gt;</code>",
        "<code>npy</code>", "The dataset's tree lists its nodes.", "&quot;id-1&quot;",
        "href=\"/data/\""};
    for (size_t i = 0; i < ZD_COUNT_OF(expected); i++) {
        ck_assert_msg(strstr(page.at, expected[i]) != NULL, "no %s in %s", expected[i], page.at);
    }
}
END_TEST

START_TEST(foreign_text_becomes_text)
{
    const struct zd_problem problem = {
        .code = "bad_request", .detail = "</p><script>alert(\"1\")</script>&amp;"};
    ZD_SCOPED_TEXT(page, PAGE_BYTES_MAX);
    zd_problem_page_add(&problem, "id", "", &page);
    ck_assert_ptr_null(strstr(page.at, "<script"));
    ck_assert_ptr_nonnull(
        strstr(page.at, "<p>&lt;/p&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;"));
    ck_assert_ptr_null(strstr(page.at, "Possible here"));
}
END_TEST

START_TEST(the_policy_allows_the_style_of_the_page)
{
    uint8_t digest[ZD_DIGEST_BYTES];
    char source[64] = "'sha256-";
    ck_assert_int_eq(zd_digest_of(zd_span_of(ZD_HTML_STYLE), digest), ZD_OK);
    zd_base64_encode(
        (struct zd_span){.ptr = digest, .len = sizeof digest}, source + strlen(source));
    ck_assert_ptr_nonnull(strstr(ZD_HTML_POLICY, source));
}
END_TEST

static enum zd_status add_page(void *context)
{
    const struct zd_problem problem = {.code = "bad_request", .detail = context};
    ZD_SCOPED_TEXT(page, PAGE_BYTES_MAX);
    zd_problem_page_add(&problem, "id", "", &page);
    return page.status;
}

START_TEST(without_memory_there_is_no_page)
{
    static char detail[] = "why";
    zd_unit_with_failing_memory(add_page, detail);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_page_says_what_is_wrong_and_what_is_possible);
    tcase_add_test(tests, foreign_text_becomes_text);
    tcase_add_test(tests, the_policy_allows_the_style_of_the_page);
    tcase_add_test(tests, without_memory_there_is_no_page);
}
