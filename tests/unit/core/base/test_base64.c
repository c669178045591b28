/* Base64: the examples of RFC 4648, every length against the definition, and what is refused. */
#include "core/base/base64.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/unit.h"

static const struct {
    const char *bytes;
    const char *text;
} examples[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xfb\xff\xbf", "+/+/"},
};

START_TEST(base64_is_as_in_the_rfc)
{
    const struct zd_span bytes = zd_span_of(examples[_i].bytes);
    const struct zd_span text = zd_span_of(examples[_i].text);
    char coded[16];
    uint8_t again[16];
    ck_assert_uint_eq(zd_base64_chars(bytes.len), text.len);
    zd_base64_encode(bytes, coded);
    ck_assert(memcmp(coded, text.ptr, text.len) == 0);
    ck_assert_uint_eq(zd_base64_bytes(text), bytes.len);
    ck_assert(zd_base64_decode(text, again));
    ck_assert(memcmp(again, bytes.ptr, bytes.len) == 0);
}
END_TEST

static const char *const refused[] = {"Z", "Zg", "Zg=", "Z===", "====", "=", "Zg==Zg==", "Zm9v\n",
    "Zm9 ", " Zm9v", "Zm-v", "Zm_v", "Zh==", "Zm9=", "Zm9vYg", "Zm9v====", "Zg=A", "Zm9v=",
    ("\xff"
     "AAA"),
    "AAA\x80", "AAA{", "AAA*", "AAA,", "A@AA", "A[AA", "A`AA", "A:AA"};

START_TEST(base64_refuses_anything_else)
{
    uint8_t bytes[16];
    ck_assert_msg(!zd_base64_decode(zd_span_of(refused[_i]), bytes), "%s", refused[_i]);
}
END_TEST

/* Bit by bit. */
static char digit_at(struct zd_span bytes, size_t i)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned value = 0;
    for (size_t bit = i * 6; bit < i * 6 + 6; bit++) {
        const unsigned byte = bit / 8 < bytes.len ? bytes.ptr[bit / 8] : 0;
        value = value << 1 | (byte >> (7 - bit % 8) & 1);
    }
    return i * 6 < bytes.len * 8 ? digits[value] : '=';
}

START_TEST(base64_of_any_bytes_is_that_of_the_definition)
{
    uint8_t data[100];
    char text[136];
    uint8_t again[100];
    for (size_t len = 0; len <= sizeof data; len++) {
        const struct zd_span bytes = {.ptr = data, .len = len};
        for (size_t i = 0; i < len; i++) {
            data[i] = (uint8_t)zd_unit_random();
        }
        zd_base64_encode(bytes, text);
        const struct zd_span coded = {.ptr = (const uint8_t *)text, .len = zd_base64_chars(len)};
        for (size_t i = 0; i < coded.len; i++) {
            ck_assert_int_eq(text[i], digit_at(bytes, i));
        }
        ck_assert_uint_eq(zd_base64_bytes(coded), len);
        ck_assert(zd_base64_decode(coded, again));
        ck_assert(memcmp(again, data, len) == 0);
    }
}
END_TEST

START_TEST(base64_of_many_bytes_is_one_text)
{
    static uint8_t zeros[10000];
    ZD_SCOPED_TEXT(text, 20000);
    const struct zd_span span = {.ptr = zeros, .len = sizeof zeros};
    ck_assert_int_eq(zd_base64_add(&text, span), ZD_OK);
    ck_assert_uint_eq(text.len, 13336);
    ck_assert_uint_eq(strspn(text.at, "A"), 13334);
    ck_assert_str_eq(text.at + 13334, "==");
}
END_TEST

static const struct {
    const char *bytes;
    const char *text;
} url_examples[] = {
    {"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"foob", "Zm9vYg"},
    {"\xfb\xff\xbf", "-_-_"}, {"\x03\xec\xff\xe0\xc1", "A-z_4ME"}, /* RFC 7515, C */
};

START_TEST(base64_of_urls_has_no_padding)
{
    const struct zd_span bytes = zd_span_of(url_examples[_i].bytes);
    const struct zd_span text = zd_span_of(url_examples[_i].text);
    uint8_t again[16];
    ZD_SCOPED_TEXT(coded, 16);
    ck_assert_int_eq(zd_base64_url_add(&coded, bytes), ZD_OK);
    ck_assert_str_eq(coded.at == NULL ? "" : coded.at, url_examples[_i].text);
    ck_assert_uint_eq(zd_base64_url_bytes(text), bytes.len);
    ck_assert(zd_base64_url_decode(text, again));
    ck_assert(memcmp(again, bytes.ptr, bytes.len) == 0);
}
END_TEST

static const char *const url_refused[] = {"Z", "Zg==", "Zm8=", "Zm9v=", "=", "Zh", "Zm9", "Zm9vZ",
    "Zm+v", "Zm/v", "Zm9v\n", "Zm 9", " Zm8", "Zm.8", "\377AAA", "AAA\x80"};

START_TEST(base64_of_urls_refuses_anything_else)
{
    uint8_t bytes[16];
    ck_assert_msg(!zd_base64_url_decode(zd_span_of(url_refused[_i]), bytes), "%s", url_refused[_i]);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, base64_of_urls_has_no_padding, 0, ZD_COUNT_OF(url_examples));
    tcase_add_loop_test(tests, base64_of_urls_refuses_anything_else, 0, ZD_COUNT_OF(url_refused));
    tcase_add_loop_test(tests, base64_is_as_in_the_rfc, 0, ZD_COUNT_OF(examples));
    tcase_add_loop_test(tests, base64_refuses_anything_else, 0, ZD_COUNT_OF(refused));
    tcase_add_test(tests, base64_of_any_bytes_is_that_of_the_definition);
    tcase_add_test(tests, base64_of_many_bytes_is_one_text);
}
