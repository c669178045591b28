/* Facts about core/store/http/http_index: what servers write, and what nobody should believe. */
#include "core/store/http/http_index.h"

#include <string.h>

#include "core/base/text.h"
#include "tests/support/unit.h"

static enum zd_status add_entry(void *context, const char *name, bool is_prefix)
{
    struct zd_text *text = context;
    (void)zd_text_addf(text, "%s%s%s", text->len == 0 ? "" : "|", name, is_prefix ? "/" : "");
    return ZD_OK;
}

#define HTML(links) "<html><head><title>Index of /a/</title></head><body>" links "</body></html>"

static const struct index_fact {
    const char *text;
    const char *names; /* NULL: this is no index */
} index_facts[] = {
    {HTML(""), ""},
    {HTML("<a href=\"../\">../</a>"), ""},
    {HTML("<a href=\"a\">a</a> <a href=\"b/\">b/</a>"), "a|b/"},
    {HTML("<A HREF=\"a\">"), "a"},
    {HTML("<a class=x href='a'>"), "a"},
    {HTML("<a href=\"./a\">"), "a"},
    {HTML("<a href=\"a%20b%C3%A9\">"), "a b\xc3\xa9"},
    {HTML("<a href=\"a&amp;b&#39;\">"), "a&b'"},
    {HTML("<a href=\"%61%2f\">"), "a/"},
    {HTML("<a href=\"?C=N;O=D\"><a href=\"#x\"><a href=\"a?x=1\">"), ""},
    {HTML("<a href=\"/a\"><a href=\"/a/b/\"><a href=\"//host/a\">"), ""},
    {HTML("<a href=\"http://host/a\"><a href=\"a/b\"><a href=\"..\"><a href=\".\">"), ""},
    {HTML("<a href=\"%2e%2e\"><a href=\"%00\"><a href=\"%0a\"><a href=\"%zz\"><a href=\"%4\">"),
        ""},
    {HTML("<a href=\"a\\b\"><a href=\"\xff\"><a href=\"\"><a href=a><a href=\"a>"), ""},
    {HTML("<a href=\".zarrd-tmp-x\">"), ""},
    {HTML("<a"), ""},
    {"<title>Directory listing for /</title><a href=\"a\">", "a"},
    {"<html><a href=\"a\">a</a></html>", NULL},
    {"", NULL},
};

START_TEST(http_index_reads_html)
{
    const struct index_fact *fact = &index_facts[_i];
    ZD_SCOPED_TEXT(names, 1000);
    const enum zd_status status = zd_http_index_read(
        zd_span_of(fact->text), "text/html; charset=utf-8", add_entry, &names, NULL);
    ck_assert_int_eq(status, fact->names == NULL ? ZD_NOT_FOUND : ZD_OK);
    ck_assert_str_eq(names.at, fact->names == NULL ? "" : fact->names);
}
END_TEST

static const struct index_fact json_facts[] = {
    {"[]", ""},
    {"[{\"name\":\"a\",\"type\":\"file\",\"size\":1},{\"name\":\"b\",\"type\":\"directory\"}]",
        "a|b/"},
    {"[{\"name\":\"a/b\",\"type\":\"file\"},{\"name\":\"..\",\"type\":\"directory\"}]", ""},
    {"{}", NULL},
    {"[1]", NULL},
    {"[{\"name\":1,\"type\":\"file\"}]", NULL},
    {"[{\"name\":\"a\"}]", NULL},
    {"[[[[[[]]]]]]", NULL},
    {"<html>", NULL},
};

START_TEST(http_index_reads_json)
{
    const struct index_fact *fact = &json_facts[_i];
    ZD_SCOPED_TEXT(names, 1000);
    const enum zd_status status =
        zd_http_index_read(zd_span_of(fact->text), "application/json", add_entry, &names, NULL);
    ck_assert_int_eq(status, fact->names == NULL ? ZD_NOT_FOUND : ZD_OK);
    ck_assert_str_eq(names.at, fact->names == NULL ? "" : fact->names);
}
END_TEST

START_TEST(http_index_is_bounded_by_the_length_of_a_name)
{
    ZD_SCOPED_TEXT(text, 2000);
    ZD_SCOPED_TEXT(names, 1000);
    zd_text_add(&text, "<title>Index of /</title>");
    for (size_t len = 254; len <= 257; len++) {
        zd_text_add(&text, "<a href=\"");
        for (size_t i = 0; i < len; i++) {
            zd_text_add(&text, "a");
        }
        zd_text_add(&text, "\">");
    }
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_int_eq(
        zd_http_index_read(zd_text_span(&text), "text/html", add_entry, &names, NULL), ZD_OK);
    ck_assert_uint_eq(names.len, 254 + 1 + 255);
}
END_TEST

START_TEST(http_index_is_none_of_another_type)
{
    ZD_SCOPED_TEXT(names, 100);
    ck_assert_int_eq(zd_http_index_read(
                         zd_span_of(HTML("<a href=\"a\">")), "text/plain", add_entry, &names, NULL),
        ZD_NOT_FOUND);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, http_index_reads_html, 0, ZD_COUNT_OF(index_facts));
    tcase_add_loop_test(tests, http_index_reads_json, 0, ZD_COUNT_OF(json_facts));
    tcase_add_test(tests, http_index_is_bounded_by_the_length_of_a_name);
    tcase_add_test(tests, http_index_is_none_of_another_type);
}
