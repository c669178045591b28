/* Files of keys: what is taken, and what is refused without being repeated. */
#include "server/http/signing_keys.h"

#include <string.h>

#include "tests/support/unit.h"

#define SECRET_32   "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define DIGEST_OF_A "5167dd15d18166a9dd6caa3522f7026f13d2f82c052bb245c9f3366588205222"
#define SECRET_31   "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg=="

START_TEST(signing_keys_are_found_by_their_ids)
{
    ZD_AUTO(zd_signing_keys) keys = NULL;
    const struct zd_span text =
        zd_span_of("{\"keys\": [{\"id\": \"a\", \"secret\": \"" SECRET_32
                   "\"}, {\"secret\": \"" SECRET_32 "\", \"id\": \"B.2_-\"}]}");
    ck_assert_int_eq(zd_signing_keys_parse(text, &keys, NULL), ZD_OK);
    ck_assert_uint_eq(keys->n, 2);
    uint8_t digest[ZD_DIGEST_BYTES];
    uint8_t expected[ZD_DIGEST_BYTES]; /* of "a", with the bytes 0 to 31, by another program */
    ck_assert(zd_digest_parse(zd_span_of(DIGEST_OF_A), expected));
    ck_assert_int_eq(zd_hmac_of(keys->key[0].hmac, zd_span_of("a"), digest), ZD_OK);
    ck_assert(zd_digest_is_same(digest, expected));
    ck_assert_ptr_eq(zd_signing_keys_find(keys, zd_span_of("a")), &keys->key[0]);
    ck_assert_ptr_eq(zd_signing_keys_find(keys, zd_span_of("B.2_-")), &keys->key[1]);
    ck_assert_ptr_null(zd_signing_keys_find(keys, zd_span_of("A")));
    ck_assert_ptr_null(zd_signing_keys_find(keys, zd_span_of("")));
    ck_assert_ptr_null(zd_signing_keys_find(NULL, zd_span_of("a")));
}
END_TEST

#define KEY(members) "{\"keys\": [{" members "}]}"
#define LONG_ID      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /* 65 */

static const struct {
    const char *text;
    const char *said;
} refused[] = {
    {"", "not JSON"},
    {"[]", "expected {"},
    {"{}", "expected {"},
    {"{\"keys\": []}", "expected {"},
    {"{\"keys\": {}}", "expected {"},
    {"{\"keys\": [1]}", "key 0 is not"},
    {"{\"keys\": [{\"id\": \"a\", \"secret\": \"" SECRET_32 "\"}], \"more\": 1}", "expected {"},
    {"{\"keys\": [{\"id\": \"a\", \"secret\": \"" SECRET_32 "\"}]} x", "not JSON"},
    {KEY("\"id\": \"a\""), "key 0 is not"},
    {KEY("\"id\": \"a\", \"id\": \"b\", \"secret\": \"" SECRET_32 "\""), "not JSON"},
    {KEY("\"id\": \"a\", \"secret\": \"" SECRET_32 "\", \"hidden\": 1"), "key 0 is not"},
    {KEY("\"id\": \"a\", \"sekret\": \"" SECRET_32 "\""), "no \"secret\""},
    {KEY("\"id\": \"a\", \"secret\": \"" SECRET_31 "\""), "no \"secret\""},
    {KEY("\"id\": \"a\", \"secret\": \"!" SECRET_32 "\""), "no \"secret\""},
    {KEY("\"id\": \"a\", \"secret\": 1"), "no \"secret\""},
    {KEY("\"id\": \"\", \"secret\": \"" SECRET_32 "\""), "no \"id\""},
    {KEY("\"id\": \"a b\", \"secret\": \"" SECRET_32 "\""), "no \"id\""},
    {KEY("\"id\": \"a\\u0000\", \"secret\": \"" SECRET_32 "\""), "no \"id\""},
    {KEY("\"id\": \"" LONG_ID "\", \"secret\": \"" SECRET_32 "\""), "no \"id\""},
    {KEY("\"id\": \"a\", \"secret\": \"" SECRET_32 "\"}, {\"id\": \"a\", \"secret\": \"" SECRET_32
         "\""),
        "key 1 has the \"id\""},
};

START_TEST(signing_keys_refuse_what_they_do_not_understand_and_repeat_no_secret)
{
    struct zd_signing_keys *keys = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_signing_keys_parse(zd_span_of(refused[_i].text), &keys, &err), ZD_INVALID);
    ck_assert_ptr_null(keys);
    ck_assert_msg(strstr(err.text, refused[_i].said) != NULL, "%s", err.text);
    ck_assert_ptr_null(strstr(err.text, "AAEC"));
}
END_TEST

#define KEY_OF(id, secret) "{\"id\": \"" id "\", \"secret\": \"" secret "\"}"
#define OTHER_32           "//////////////////////////////////////////8="

static const struct {
    const char *newer; /* NULL: there are none */
    bool stay;
} rotations[] = {
    {"{\"keys\": [" KEY_OF("a", SECRET_32) "]}", true},
    {"{\"keys\": [" KEY_OF("b", OTHER_32) ", " KEY_OF("a", SECRET_32) "]}", true},
    {"{\"keys\": [" KEY_OF("a", OTHER_32) "]}", false}, /* another secret of the same id */
    {"{\"keys\": [" KEY_OF("b", SECRET_32) "]}", false},
    {NULL, false},
};

START_TEST(older_keys_stay_or_one_of_them_is_gone)
{
    ZD_AUTO(zd_signing_keys) older = NULL;
    ZD_AUTO(zd_signing_keys) newer = NULL;
    const struct zd_span text = zd_span_of("{\"keys\": [" KEY_OF("a", SECRET_32) "]}");
    ck_assert_int_eq(zd_signing_keys_parse(text, &older, NULL), ZD_OK);
    if (rotations[_i].newer != NULL) {
        const struct zd_span found = zd_span_of(rotations[_i].newer);
        ck_assert_int_eq(zd_signing_keys_parse(found, &newer, NULL), ZD_OK);
    }
    ck_assert_int_eq(zd_signing_keys_stay(older, newer), rotations[_i].stay);
    ck_assert(zd_signing_keys_stay(NULL, older));
}
END_TEST

static enum zd_status parse(void *context)
{
    ZD_AUTO(zd_signing_keys) keys = NULL;
    (void)context;
    return zd_signing_keys_parse(
        zd_span_of(KEY("\"id\": \"a\", \"secret\": \"" SECRET_32 "\"")), &keys, NULL);
}

START_TEST(signing_keys_survive_want_of_memory)
{
    zd_unit_with_failing_memory(parse, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, signing_keys_are_found_by_their_ids);
    tcase_add_loop_test(tests, signing_keys_refuse_what_they_do_not_understand_and_repeat_no_secret,
        0, ZD_COUNT_OF(refused));
    tcase_add_loop_test(tests, older_keys_stay_or_one_of_them_is_gone, 0, ZD_COUNT_OF(rotations));
    tcase_add_test(tests, signing_keys_survive_want_of_memory);
}
