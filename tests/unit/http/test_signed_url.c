/* Signed URLs: what is signed is good until its time, and any change to it is not. */
#include "server/http/signed_url.h"

#include <stdio.h>
#include <string.h>

#include "core/base/base64.h"
#include "tests/support/unit.h"

#define EXPIRES_S 2000000000
#define N_PATHS   2000 /* of one in 64 the signature begins with 'p' */
#define SIGNATURE "kCm8KxGJoMCACeiYR4G0K7ERIGHVLGh7ivekbDUAgWk"
#define KEYS                                                                                       \
    "{\"keys\": [{\"id\": \"k1\", \"secret\": \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"},"  \
    " {\"id\": \"k2\", \"secret\": \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHiA=\"}]}"

static struct zd_signing_keys *make_keys(void)
{
    struct zd_signing_keys *keys = NULL;
    ck_assert_int_eq(zd_signing_keys_parse(zd_span_of(KEYS), &keys, NULL), ZD_OK);
    return keys;
}

struct facts {
    const char *method;
    const char *path;
    const char *query; /* NULL: not fixed */
    bool is_prefix;
};

static const uint8_t digest_of_ada[ZD_DIGEST_BYTES] = {1, 2, 3};
static const uint8_t another_digest[ZD_DIGEST_BYTES] = {1, 2, 4};

/* The query of a URL for that; with a fixed one in front. */
static void sign(
    const struct zd_signing_keys *keys, const struct facts *facts, struct zd_text *query)
{
    const struct zd_signed_url url = {
        .method = zd_span_of(facts->method),
        .path = zd_span_of(facts->path),
        .is_prefix = facts->is_prefix,
        .fixes_query = facts->query != NULL,
        .signer = zd_span_of("tada"),
        .credential = digest_of_ada,
        .query = zd_span_of(facts->query == NULL ? "" : facts->query),
        .expires_s = EXPIRES_S,
    };
    zd_text_addf(query, "%s%s", facts->query == NULL ? "" : facts->query,
        facts->query == NULL || facts->query[0] == '\0' ? "" : "&");
    ck_assert_int_eq(zd_signed_url_add(query, keys, &url), ZD_OK);
}

static bool is_good_of(const struct zd_signing_keys *keys, const struct zd_signed_url *asked,
    const char *query, uint64_t now_s)
{
    uint64_t expires_s = 0;
    ZD_SCOPED_TEXT(target, 2048);
    ZD_SCOPED_TEXT(sent, 2048);
    zd_text_addf(&target, "/x?%s", query);
    ck_assert_int_eq(zd_signed_url_take(target.at, &sent), ZD_OK);
    const char *mark = strchr(target.at, '?');
    struct zd_signed_url url = *asked;
    url.query = zd_span_of(mark == NULL ? "" : mark + 1);
    const bool good = zd_signed_url_verify(keys, &url, zd_text_span(&sent), now_s, &expires_s);
    ck_assert_uint_eq(expires_s, good ? EXPIRES_S : 0);
    return good;
}

static bool is_good(const struct zd_signing_keys *keys, const char *method, const char *path,
    const char *query, uint64_t now_s)
{
    ZD_SCOPED_TEXT(signer, ZD_SIGNED_URL_SIGNER_MAX);
    ZD_SCOPED_TEXT(target, 2048);
    ZD_SCOPED_TEXT(sent, 2048);
    zd_text_addf(&target, "/x?%s", query);
    ck_assert_int_eq(zd_signed_url_take(target.at, &sent), ZD_OK);
    ck_assert_int_eq(zd_signed_url_signer(zd_text_span(&sent), &signer), ZD_OK);
    const struct zd_signed_url asked = {.method = zd_span_of(method),
        .path = zd_span_of(path),
        .signer = zd_text_span(&signer),
        .credential = digest_of_ada};
    return is_good_of(keys, &asked, query, now_s);
}

static const struct facts plain = {"GET", "/v1/datasets/era/slices/t2m", NULL, false};
static const struct facts prefix = {"GET", "/zarr/era/solar", NULL, true};
static const struct facts fixed = {"GET", "/v1/datasets/era/slices/t2m", "slice=0:2&x=%41", false};
static const struct facts no_query = {"PUT", "/zarr/era/zarr.json", "", false};

static const struct facts all_modes = {"GET", "/zarr/era/solar", "", true};

static const struct {
    const struct facts *was;
    const char *method;
    const char *path;
    const char *before; /* the signed query, and behind it */
    const char *after;
    bool is_good;
} requests[] = {
    {&plain, "GET", "/v1/datasets/era/slices/t2m", "", "", true},
    {&plain, "HEAD", "/v1/datasets/era/slices/t2m", "", "", true},
    {&plain, "GET", "/v1/datasets/era/slices/t2m", "slice=1&", "&format=json", true},
    {&plain, "POST", "/v1/datasets/era/slices/t2m", "", "", false},
    {&plain, "get", "/v1/datasets/era/slices/t2m", "", "", false},
    {&plain, "GET", "/v1/datasets/era/slices/t2m/", "", "", false},
    {&plain, "GET", "/v1/datasets/era/slices/T2m", "", "", false},
    {&plain, "GET", "/v1/datasets/era/slices/t2m/x", "", "", false},
    {&plain, "GET", "/v1/datasets/era/slices", "", "", false},
    {&plain, "GET", "/v1/datasets/era//slices/t2m", "", "", false},
    {&plain, "GET", "/v1/datasets/era/slices/t2m", "expires=1&", "", false},
    {&plain, "GET", "/v1/datasets/era/slices/t2m", "", "&key=k2", false},
    {&plain, "GET", "/v1/datasets/era/slices/t2m", "", "&signature=", false},
    {&plain, "GET", "/v1/datasets/era/slices/t2m", "", "&signature", false},
    {&plain, "GET", "/v1/datasets/era/slices/t2m", "", "x", false},
    {&plain, "GET", "/v1/datasets/era/slices/t2m", "", "=", false},
    {&plain, "GET", "/v1/datasets/era/slices/t2m", "", "%00", false},
    {&prefix, "GET", "/zarr/era/solar", "", "", true},
    {&prefix, "HEAD", "/zarr/era/solar/c/0", "", "&x=1", true},
    {&prefix, "GET", "/zarr/era/solar/", "", "", true},
    {&prefix, "GET", "/zarr/era/solar//c", "", "", true}, /* runs of slashes are one there */
    {&prefix, "GET", "/zarr/era/solarium", "", "", false},
    {&prefix, "GET", "/zarr/era/Solar/c", "", "", false},
    {&prefix, "GET", "/zarr/era//solar/c", "", "", false},
    {&prefix, "GET", "/zarr/era", "", "", false},
    {&prefix, "GET", "/zarr/era/", "", "", false},
    {&prefix, "GET", "/zarr/other/solar", "", "", false},
    {&prefix, "GET", "/zarr/era/%73olar", "", "", false}, /* what twice encoded would become */
    {&prefix, "GET", "/zarr/era/solar%2F..", "", "", false},
    {&prefix, "PUT", "/zarr/era/solar/c/0", "", "", false},
    {&fixed, "GET", "/v1/datasets/era/slices/t2m", "", "", true},
    {&fixed, "GET", "/v1/datasets/era/slices/t2m", "", "&format=csv", false},
    {&fixed, "GET", "/v1/datasets/era/slices/t2m", "a=b&", "", false},
    {&fixed, "GET", "/v1/datasets/era/slices/t2m", "&", "", false},
    {&fixed, "GET", "/v1/datasets/era/slices/t2m", "", "&", false},
    {&no_query, "PUT", "/zarr/era/zarr.json", "", "", true},
    {&no_query, "PUT", "/zarr/era/zarr.json", "", "&a", false},
    {&all_modes, "GET", "/zarr/era/solar/c/0", "", "", true},
    {&all_modes, "GET", "/zarr/era/solar/c/0", "", "&a", false},
};

START_TEST(signed_url_is_good_for_what_was_signed_alone)
{
    ZD_AUTO(zd_signing_keys) keys = make_keys();
    ZD_SCOPED_TEXT(query, 1024);
    zd_text_add(&query, requests[_i].before);
    sign(keys, requests[_i].was, &query);
    zd_text_add(&query, requests[_i].after);
    ck_assert_int_eq(is_good(keys, requests[_i].method, requests[_i].path, query.at, EXPIRES_S - 1),
        requests[_i].is_good);
}
END_TEST

START_TEST(signed_url_is_of_its_signer_alone)
{
    ZD_AUTO(zd_signing_keys) keys = make_keys();
    ZD_SCOPED_TEXT(query, 1024);
    sign(keys, &plain, &query);
    const struct zd_signed_url good = {.method = zd_span_of("GET"),
        .path = zd_span_of(plain.path),
        .signer = zd_span_of("tada"),
        .credential = digest_of_ada};
    ck_assert(is_good_of(keys, &good, query.at, 0));
    struct zd_signed_url other = good;
    other.credential = another_digest;
    ck_assert(!is_good_of(keys, &other, query.at, 0));
    static const char *const names[] = {"", "tbob", "jada", "tad", "tada\n", "tadaa"};
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        other = good;
        other.signer = zd_span_of(names[i]);
        ck_assert_msg(!is_good_of(keys, &other, query.at, 0), "%s", names[i]);
    }
}
END_TEST

static const struct {
    const char *sent;
    const char *signer;
} signers[] = {
    {"expires=1&key=k1&signature=sdGFkYQ." SIGNATURE, "tada"},
    {"expires=1&key=k1&signature=p3.q.sdGFkYQ." SIGNATURE, "tada"},
    {"expires=1&key=k1&signature=q.p3.sdGFkYQ." SIGNATURE, ""},
    {"expires=1&key=k1&signature=s." SIGNATURE, ""},
    {"expires=1&key=k1&signature=sdGFkYR." SIGNATURE, ""}, /* bits behind the last byte */
    {"expires=1&key=k1&signature=sdGFkYQ=." SIGNATURE, ""},
    {"expires=1&key=k1&signature=sdGFkYQ" SIGNATURE, ""},
    {"expires=1&key=k1&signature=" SIGNATURE, ""},
    {"expires=1&key=k1&signature=s", ""},
    {"expires=1&key=k1&signature", ""},
    {"key=k1&signature=sdGFkYQ." SIGNATURE, ""},
    {"expires=1&expires=1&key=k1&signature=sdGFkYQ." SIGNATURE, ""},
    {"", ""},
};

START_TEST(signed_url_says_who_its_signer_is)
{
    ZD_SCOPED_TEXT(signer, ZD_SIGNED_URL_SIGNER_MAX);
    zd_text_add(&signer, "old");
    ck_assert_int_eq(zd_signed_url_signer(zd_span_of(signers[_i].sent), &signer), ZD_OK);
    ck_assert_str_eq(signer.at, signers[_i].signer);
}
END_TEST

START_TEST(signed_url_has_no_signer_that_is_too_long)
{
    ZD_SCOPED_TEXT(sent, 8192);
    ZD_SCOPED_TEXT(signer, ZD_SIGNED_URL_SIGNER_MAX);
    ZD_SCOPED_TEXT(name, ZD_SIGNED_URL_SIGNER_MAX + 1);
    while (name.len < ZD_SIGNED_URL_SIGNER_MAX) {
        zd_text_add_char(&name, 'a');
    }
    for (int i = 0; i < 2; i++) {
        zd_text_clear(&sent);
        zd_text_add(&sent, "expires=1&key=k1&signature=s");
        zd_base64_url_add(&sent, zd_text_span(&name));
        zd_text_add(&sent, "." SIGNATURE);
        ck_assert_int_eq(zd_signed_url_signer(zd_text_span(&sent), &signer), ZD_OK);
        ck_assert_uint_eq(signer.len, i == 0 ? ZD_SIGNED_URL_SIGNER_MAX : 0);
        zd_text_add_char(&name, 'a');
    }
}
END_TEST

START_TEST(signed_url_ends_in_its_second)
{
    ZD_AUTO(zd_signing_keys) keys = make_keys();
    ZD_SCOPED_TEXT(query, 1024);
    sign(keys, &plain, &query);
    ck_assert(is_good(keys, "GET", plain.path, query.at, 0));
    ck_assert(is_good(keys, "GET", plain.path, query.at, EXPIRES_S - 1));
    ck_assert(!is_good(keys, "GET", plain.path, query.at, EXPIRES_S));
    ck_assert(!is_good(keys, "GET", plain.path, query.at, UINT64_MAX));
    ck_assert(!is_good(NULL, "GET", plain.path, query.at, 0));
}
END_TEST

START_TEST(signed_url_is_none_with_any_character_changed)
{
    ZD_AUTO(zd_signing_keys) keys = make_keys();
    const struct facts *const all[] = {&plain, &prefix, &fixed, &no_query};
    ZD_SCOPED_TEXT(query, 1024);
    sign(keys, all[_i], &query);
    const size_t len = query.len;
    for (size_t i = 0; i < len; i++) {
        for (int c = 0x21; c <= 0x7e; c++) {
            const char held = query.at[i];
            if (c == held) {
                continue;
            }
            query.at[i] = (char)c;
            ck_assert_msg(
                !is_good(keys, all[_i]->method, all[_i]->path, query.at, 0), "%s", query.at);
            query.at[i] = held;
        }
    }
    zd_text_cut(&query, len - 1);
    ck_assert(!is_good(keys, all[_i]->method, all[_i]->path, query.at, 0));
}
END_TEST

START_TEST(signed_url_is_good_with_every_key_of_the_file)
{
    ZD_AUTO(zd_signing_keys) keys = make_keys();
    ZD_AUTO(zd_signing_keys) others = NULL;
    const struct zd_span second = zd_span_of("{\"keys\": [{\"id\": \"k2\", \"secret\": "
                                             "\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHiA=\"}]}");
    ZD_SCOPED_TEXT(query, 1024);
    ck_assert_int_eq(zd_signing_keys_parse(second, &others, NULL), ZD_OK);
    sign(others, &plain, &query);
    ck_assert_ptr_nonnull(strstr(query.at, "key=k2&"));
    ck_assert(is_good(keys, "GET", plain.path, query.at, 0));
    zd_text_clear(&query);
    sign(keys, &plain, &query);
    ck_assert_ptr_nonnull(strstr(query.at, "key=k1&"));
    ck_assert(!is_good(others, "GET", plain.path, query.at, 0));
}
END_TEST

START_TEST(signed_url_stays_as_it_was)
{
    ZD_AUTO(zd_signing_keys) keys = make_keys();
    ZD_SCOPED_TEXT(query, 1024);
    sign(keys, &prefix, &query); /* computed by another program */
    ck_assert_str_eq(query.at, "expires=2000000000&key=k1&signature=p3.sdGFkYQ."
                               "X3mjZdiwBwKKCzzZoa22sOX_fSUexypCnLTFjbw3KZQ");
    zd_text_clear(&query);
    sign(keys, &fixed, &query);
    ck_assert_str_eq(query.at, "slice=0:2&x=%41&expires=2000000000&key=k1&signature="
                               "q.sdGFkYQ.NjA06xnR3U0a8br94YILc97UptEK3Ze0u2DnUTTLcbw");
}
END_TEST

static const struct {
    const char *target;
    const char *rest;
    const char *taken;
} targets[] = {
    {"/a", "/a", ""},
    {"/a?", "/a?", ""},
    {"/a?a=1&expires=2&key", "/a?a=1&expires=2&key", ""},
    {"/a?signature", "/a", "signature"},
    {"/a?signature=&a", "/a?a", "signature="},
    {"/signature?a=signature&b=2", "/signature?a=signature&b=2", ""},
    {"/a?Signature=1&%73ignature=1", "/a?Signature=1&%73ignature=1", ""},
    {"/a?expires=1&a=1&key=k&b=2&signature=s&c", "/a?a=1&b=2&c", "expires=1&key=k&signature=s"},
    {"/a?signature=1&key=2&signature=3", "/a", "signature=1&key=2&signature=3"},
    {"/a?a&&signature=1&", "/a?a&&", "signature=1"},
    {"http://h/?x&signature=?", "http://h/?x", "signature=?"},
};

START_TEST(signed_url_is_taken_out_of_its_target)
{
    ZD_SCOPED_TEXT(target, 256);
    ZD_SCOPED_TEXT(taken, 256);
    zd_text_add(&target, targets[_i].target);
    zd_text_add(&taken, "old");
    ck_assert_int_eq(zd_signed_url_take(target.at, &taken), ZD_OK);
    ck_assert_str_eq(target.at, targets[_i].rest);
    ck_assert_str_eq(taken.at, targets[_i].taken);
}
END_TEST

static const struct {
    const char *query;
    bool is_good;
} fixable[] = {
    {"", true},
    {"slice=0:10,::2&format=json", true},
    {"a=%20b&c", true},
    {"a b", false},
    {"a\nb", false},
    {"a#b", false},
    {"\xc3\xa4", false},
    {"a&&b", false},
    {"a&", false},
    {"expires=1", false},
    {"x=1&signature=2", false},
    {"key", false},
    {"access_token=x", false},
};

START_TEST(signed_url_fixes_queries_that_arrive_as_they_are)
{
    ck_assert_msg(
        (zd_signed_url_query_fault(zd_span_of(fixable[_i].query)) == NULL) == fixable[_i].is_good,
        "%s", fixable[_i].query);
}
END_TEST

/* Some begin as the words in front of them do. */
START_TEST(a_signature_may_begin_with_any_letter)
{
    struct zd_signing_keys *keys = make_keys();
    for (int i = 0; i < N_PATHS; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "/zarr/era/%d", i);
        const struct facts facts = {"GET", path, NULL, false};
        ZD_SCOPED_TEXT(query, 1024);
        sign(keys, &facts, &query);
        ck_assert_msg(is_good(keys, "GET", path, query.at, 0), "%s", query.at);
    }
    zd_signing_keys_free(keys);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, signed_url_is_good_for_what_was_signed_alone, 0, ZD_COUNT_OF(requests));
    tcase_add_test(tests, signed_url_is_of_its_signer_alone);
    tcase_add_loop_test(tests, signed_url_says_who_its_signer_is, 0, ZD_COUNT_OF(signers));
    tcase_add_test(tests, signed_url_has_no_signer_that_is_too_long);
    tcase_add_test(tests, signed_url_ends_in_its_second);
    tcase_add_loop_test(tests, signed_url_is_none_with_any_character_changed, 0, 4);
    tcase_add_test(tests, signed_url_is_good_with_every_key_of_the_file);
    tcase_add_test(tests, signed_url_stays_as_it_was);
    tcase_add_loop_test(tests, signed_url_is_taken_out_of_its_target, 0, ZD_COUNT_OF(targets));
    tcase_add_loop_test(
        tests, signed_url_fixes_queries_that_arrive_as_they_are, 0, ZD_COUNT_OF(fixable));
    tcase_add_test(tests, a_signature_may_begin_with_any_letter);
}
