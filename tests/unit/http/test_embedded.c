/* Files that the program carries, fact by fact. */
#include "server/http/embedded.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct zd_embedded folder[] = {
    {.name = "a.css"},
    {.name = "a.js"},
    {.name = "b.min.js"},
    {.name = "c"},
    {.name = NULL},
};

static const struct {
    const char *name;
    const char *media_type; /* NULL: there is no such file */
} facts[] = {
    {"a.css", "text/css; charset=utf-8"},
    {"a.js", "text/javascript; charset=utf-8"},
    {"b.min.js", "text/javascript; charset=utf-8"}, /* the last ending counts */
    {"c", "application/octet-stream"},
    {"a", NULL},
    {"a.js/", NULL},
    {"A.js", NULL},
    {"", NULL},
};

START_TEST(a_file_is_found_by_its_whole_name_and_typed_by_its_ending)
{
    const struct zd_embedded *file = zd_embedded_find(folder, facts[_i].name);
    ck_assert_int_eq(file != NULL, facts[_i].media_type != NULL);
    if (file != NULL) {
        ck_assert_str_eq(file->name, facts[_i].name);
        ck_assert_str_eq(zd_embedded_type(file), facts[_i].media_type);
    }
}
END_TEST

/* "aaaaaaaaaa" by zstd. */
static const uint8_t packed[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x51, 0x00, 0x00, 0x61, 0x61,
    0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61};

START_TEST(a_file_is_unpacked_with_a_0_behind_it)
{
    const struct zd_embedded file = {
        .name = "a", .packed = {.ptr = packed, .len = sizeof packed}, .len = 10};
    ZD_AUTO(zd_buf) buf = zd_embedded_read(&file);
    ck_assert_uint_eq(buf->len, 10);
    ck_assert_str_eq((const char *)buf->data, "aaaaaaaaaa");
}
END_TEST

static const struct {
    const char *page;
    const char *shown;
} pages[] = {
    {"", ""},
    {"{{a}}", "1"},
    {"x{{a}}{{bc}}y{{a}}", "x1y1"}, /* a mark may stand for nothing */
    {"{{d}} {{a", "{{d}} {{a"},     /* no marks */
    {"{{{{a}}}}", "{{1}}"},
};

START_TEST(a_page_has_what_its_marks_stand_for)
{
    static const struct zd_embedded_mark marks[] = {{"{{a}}", "1"}, {"{{bc}}", ""}, {NULL, NULL}};
    ZD_SCOPED_TEXT(text, 100);
    zd_embedded_add_page(pages[_i].page, marks, &text);
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_str_eq(text.at, pages[_i].shown);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, a_file_is_found_by_its_whole_name_and_typed_by_its_ending, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, a_file_is_unpacked_with_a_0_behind_it);
    tcase_add_loop_test(tests, a_page_has_what_its_marks_stand_for, 0, ZD_COUNT_OF(pages));
}
