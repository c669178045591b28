/* Facts about core/store/s3/s3_list and core/store/s3/s3_xml: what stores answer to listings, and
 * what they may not. */
#include "core/store/s3/s3_list.h"

#include <stdio.h>
#include <string.h>

#include "core/store/s3/s3_xml.h"
#include "tests/support/unit.h"

#define HEAD     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define TEXT_MAX (64U << 10)

static enum zd_status tell_key(
    void *context, struct zd_span key, bool is_prefix, struct zd_error *err)
{
    struct zd_text *told = context;
    (void)err;
    zd_text_addf(told, "%s%.*s|", is_prefix ? "prefix " : "", (int)key.len, key.ptr);
    return told->status;
}

static const struct {
    const char *text;
    enum zd_status status;
    const char *told; /* or what the error says */
    bool is_truncated;
    const char *token;
} pages[] = {
    {HEAD "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
          "<Prefix>p/</Prefix><KeyCount>2</KeyCount><IsTruncated>true</IsTruncated>"
          "<NextContinuationToken>1/+=</NextContinuationToken>"
          "<Contents><Key>p/a</Key><Size>1</Size></Contents>"
          "<Contents><Key>p/b</Key></Contents>"
          "<CommonPrefixes><Prefix>p/c/</Prefix></CommonPrefixes></ListBucketResult>",
        ZD_OK, "p/a|p/b|prefix p/c/|", true, "1/+="},
    {"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>", ZD_OK, "", false, ""},
    {"<ListBucketResult/>", ZD_OK, "", false, ""},
    /* not encoded, as the answer does not say so */
    {"<ListBucketResult><Contents><Key>a%20b+c</Key></Contents></ListBucketResult>", ZD_OK,
        "a%20b+c|", false, ""},
    /* encoded, which is said behind the keys */
    {"<ListBucketResult><Contents><Key>a%20b+c%2Bd%2fe</Key></Contents>"
     "<EncodingType>url</EncodingType></ListBucketResult>",
        ZD_OK, "a b c+d/e|", false, ""},
    {"<ListBucketResult><Contents><Key>a&amp;b&#x3c;</Key></Contents></ListBucketResult>", ZD_OK,
        "a&b<|", false, ""},
    {"<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>a%2</Key></Contents>"
     "</ListBucketResult>",
        ZD_STORE, "malformed encoding", false, ""},
    {"<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%zz</Key></Contents>"
     "</ListBucketResult>",
        ZD_STORE, "malformed encoding", false, ""},
    {"<html><body>Welcome</body></html>", ZD_STORE, "malformed", false, ""},
    {"", ZD_STORE, "malformed", false, ""},
    {"{\"keys\": []}", ZD_STORE, "malformed", false, ""},
    {"<ListBucketResult><Contents><Key>a</Key></Contents>", ZD_STORE, "malformed", false, ""},
    {"<ListBucketResult></ListBucketResult><x/>", ZD_STORE, "malformed", false, ""},
    {"<!DOCTYPE a [<!ENTITY e \"eeeeeeee\"><!ENTITY f \"&e;&e;&e;\">]>"
     "<ListBucketResult><Contents><Key>&f;</Key></Contents></ListBucketResult>",
        ZD_STORE, "DOCTYPE", false, ""},
    {"<ListBucketResult><Contents><Key>&e;</Key></Contents></ListBucketResult>", ZD_STORE,
        "malformed", false, ""},
    {"<a><a><a><a><a><a><a><a><a/></a></a></a></a></a></a></a></a>", ZD_STORE, "too deeply", false,
        ""},
};

START_TEST(pages_say_what_they_say)
{
    struct zd_s3_list_page page;
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(told, TEXT_MAX);
    const enum zd_status status =
        zd_s3_list_read(zd_span_of(pages[_i].text), tell_key, &told, &page, &err);
    ck_assert_msg(
        status == pages[_i].status, "%s: %s %s", pages[_i].text, zd_status_name(status), err.text);
    if (status == ZD_OK) {
        ck_assert_str_eq(told.at, pages[_i].told);
        ck_assert_int_eq(page.is_truncated, pages[_i].is_truncated);
        ck_assert_str_eq(page.next_token.at, pages[_i].token);
    } else {
        ck_assert_msg(strstr(err.text, pages[_i].told) != NULL, "%s", err.text);
    }
    zd_s3_list_done(&page);
}
END_TEST

static void repeat(struct zd_text *text, const char *piece, int n)
{
    for (int i = 0; i < n; i++) {
        zd_text_add(text, piece);
    }
}

START_TEST(texts_names_and_tokens_are_bounded)
{
    static const struct {
        const char *before;
        const char *piece;
        int n;
        const char *behind;
    } rows[] = {
        {"<ListBucketResult><Contents><Key>", "k", ZD_S3_XML_TEXT_BYTES_MAX + 1,
            "</Key></Contents></ListBucketResult>"},
        {"<", "n", ZD_S3_XML_PATH_BYTES_MAX + 1, "/>"},
        {"<ListBucketResult><NextContinuationToken>", "t", ZD_S3_TOKEN_BYTES_MAX + 1,
            "</NextContinuationToken></ListBucketResult>"},
    };
    struct zd_s3_list_page page;
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    ZD_SCOPED_TEXT(told, TEXT_MAX);
    zd_text_add(&text, rows[_i].before);
    repeat(&text, rows[_i].piece, rows[_i].n);
    zd_text_add(&text, rows[_i].behind);
    ck_assert_int_eq(zd_s3_list_read(zd_text_span(&text), tell_key, &told, &page, &err), ZD_STORE);
    zd_s3_list_done(&page);
}
END_TEST

static const struct {
    const char *text;
    const char *code;
} errors[] = {
    {HEAD "<Error><Code>NoSuchKey</Code><Message>The key &lt;a&gt;</Message><Key>a</Key></Error>",
        "NoSuchKey"},
    {"<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type>"
     "<Code>ExpiredTokenException</Code></Error></ErrorResponse>",
        "ExpiredTokenException"},
    {"<Error><Message>no code</Message></Error>", ""},
    {"<Error><Code></Code></Error>", ""},
    {"<Error><Code>a key = AKIA</Code></Error>", ""}, /* a word and nothing else is shown */
    {"<Error><Code>line\nline</Code></Error>", ""},   /* nor a second line of a log */
    {"<Error><Code>NoSuchKey</Code>", ""},            /* cut short */
    {"<html><Error><Code>NoSuchKey</Code></Error></html>", ""},
    {"", ""},
    {"Service Unavailable", ""},
    {"<Error><Code>"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "a"
     "</Code></Error>",
        ""},
};

START_TEST(errors_tell_their_code_and_nothing_else)
{
    char code[ZD_S3_CODE_BYTES_MAX + 1] = "old";
    zd_s3_xml_error(zd_span_of(errors[_i].text), code);
    ck_assert_str_eq(code, errors[_i].code);
}
END_TEST

static enum zd_status read_once(void *context)
{
    struct zd_s3_list_page page;
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(told, TEXT_MAX);
    (void)context;
    const enum zd_status status =
        zd_s3_list_read(zd_span_of(pages[4].text), tell_key, &told, &page, &err);
    zd_s3_list_done(&page);
    return status;
}

START_TEST(reading_survives_short_memory)
{
    zd_unit_with_failing_memory(read_once, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, pages_say_what_they_say, 0, ZD_COUNT_OF(pages));
    tcase_add_loop_test(tests, texts_names_and_tokens_are_bounded, 0, 3);
    tcase_add_loop_test(tests, errors_tell_their_code_and_nothing_else, 0, ZD_COUNT_OF(errors));
    tcase_add_test(tests, reading_survives_short_memory);
}
