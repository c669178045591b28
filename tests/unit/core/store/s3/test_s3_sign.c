/* Facts about core/store/s3/s3_sign: signatures that AWS has published, and what is encoded. */
#include "core/store/s3/s3_sign.h"

#include <string.h>

#include "tests/support/unit.h"

#define EMPTY_DIGEST "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define PUBLISHED_S  1369353600 /* 2013-05-24T00:00:00Z */
#define TEXT_MAX     8192

/* From "Signature Calculations for the Authorization Header" in the API reference of Amazon S3. */
static const struct zd_s3_identity published = {
    .access_key_id = "AKIAIOSFODNN7EXAMPLE",
    .secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    .session_token = "",
};

static const struct {
    const char *method;
    const char *path;
    struct zd_s3_pair query[2];
    struct zd_s3_pair header[2];
    const char *body;
    const char *names; /* of the signed headers */
    const char *signature;
} vectors[] = {
    {"GET", "/test.txt", {{0}}, {{"range", "bytes=0-9"}}, "",
        "host;range;x-amz-content-sha256;x-amz-date",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"PUT", "/test$file.text", {{0}},
        {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
        "Welcome to Amazon S3.", "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"GET", "/", {{"lifecycle", ""}}, {{0}}, "", "host;x-amz-content-sha256;x-amz-date",
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {{0}}, "",
        "host;x-amz-content-sha256;x-amz-date",
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

static size_t count(const struct zd_s3_pair *pair)
{
    return pair[0].name == NULL ? 0 : pair[1].name == NULL ? 1 : 2;
}

static enum zd_status sign(struct zd_s3_signer *signer, const struct zd_s3_identity *identity,
    int i, struct zd_text *lines)
{
    char digest[ZD_S3_DIGEST_CHARS + 1];
    ZD_SCOPED_TEXT(path, TEXT_MAX);
    ZD_SCOPED_TEXT(query, TEXT_MAX);
    zd_s3_sign_add_path(&path, vectors[i].path);
    zd_s3_sign_add_query(&query, vectors[i].query, count(vectors[i].query));
    ZD_TRY(path.status);
    ZD_TRY(query.status);
    ZD_TRY(zd_s3_sign_digest(zd_span_of(vectors[i].body), digest));
    const struct zd_s3_signing signing = {
        .method = vectors[i].method,
        .host = "examplebucket.s3.amazonaws.com",
        .path = path.at,
        .query = query.at,
        .header = vectors[i].header,
        .n_headers = count(vectors[i].header),
        .payload_digest = digest,
        .region = "us-east-1",
        .now_s = PUBLISHED_S,
    };
    return zd_s3_sign(signer, identity, &signing, lines);
}

START_TEST(published_requests_have_the_published_signatures)
{
    struct zd_s3_signer signer = {0};
    ZD_SCOPED_TEXT(lines, TEXT_MAX);
    ZD_SCOPED_TEXT(expected, TEXT_MAX);
    ck_assert_int_eq(sign(&signer, &published, _i, &lines), ZD_OK);
    zd_text_addf(&expected,
        "authorization: AWS4-HMAC-SHA256 "
        "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=%s,Signature=%s\n",
        vectors[_i].names, vectors[_i].signature);
    ck_assert_ptr_nonnull(strstr(lines.at, "x-amz-date: 20130524T000000Z\n"));
    ck_assert_ptr_nonnull(strstr(lines.at, "x-amz-content-sha256: "));
    ck_assert_str_eq(strstr(lines.at, "authorization: "), expected.at);
}
END_TEST

START_TEST(a_signer_is_used_again_and_derived_anew_when_forgotten)
{
    struct zd_s3_signer signer = {0};
    ZD_SCOPED_TEXT(first, TEXT_MAX);
    ZD_SCOPED_TEXT(again, TEXT_MAX);
    ck_assert_int_eq(sign(&signer, &published, 0, &first), ZD_OK);
    ck_assert_str_eq(signer.date, "20130524");
    ck_assert_int_eq(sign(&signer, &published, 0, &again), ZD_OK);
    ck_assert_str_eq(first.at, again.at);
    zd_s3_sign_forget(&signer);
    ck_assert_str_eq(signer.date, "");
    zd_text_clear(&again);
    ck_assert_int_eq(sign(&signer, &published, 0, &again), ZD_OK);
    ck_assert_str_eq(first.at, again.at);
}
END_TEST

START_TEST(a_session_token_is_sent_and_signed)
{
    struct zd_s3_signer signer = {0};
    struct zd_s3_identity identity = published;
    ZD_SCOPED_TEXT(lines, TEXT_MAX);
    identity.session_token = "AQoDYXdzEPT//////////wEXAMPLE+=";
    ck_assert_int_eq(sign(&signer, &identity, 0, &lines), ZD_OK);
    ck_assert_ptr_nonnull(
        strstr(lines.at, "\nx-amz-security-token: AQoDYXdzEPT//////////wEXAMPLE+=\n"));
    ck_assert_ptr_nonnull(strstr(lines.at,
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token,Signature="
        "997496e28b33ea8f3b9b4e1a1734a53f3d82dc6c95a14bdd04da433138f497d6\n"));
}
END_TEST

static const struct {
    const char *path;
    const char *encoded;
} paths[] = {
    {"/", "/"},
    {"/a/b.c-d_e~f", "/a/b.c-d_e~f"},
    {"/t2m/c/0/1", "/t2m/c/0/1"},
    {"/a b", "/a%20b"}, /* never "+" */
    {"/a+b", "/a%2Bb"},
    {"/a%20b", "/a%2520b"}, /* a key with a percent sign */
    {"/a=b&c:d,e@f!g*h'i(j)", "/a%3Db%26c%3Ad%2Ce%40f%21g%2Ah%27i%28j%29"},
    {"/a//b/", "/a//b/"}, /* nothing is normalised */
    {"/\xc3\xa9", "/%C3%A9"},
};

START_TEST(paths_are_encoded_once_and_not_normalised)
{
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    zd_s3_sign_add_path(&text, paths[_i].path);
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_str_eq(text.at, paths[_i].encoded);
}
END_TEST

START_TEST(queries_are_sorted_and_have_a_sign_of_equality_always)
{
    static const struct zd_s3_pair pair[] = {
        {"prefix", "a/b c+d"},
        {"list-type", "2"},
        {"delimiter", "/"},
        {"uploads", ""},
        {"continuation-token", "1/=="},
    };
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    zd_s3_sign_add_query(&text, pair, ZD_COUNT_OF(pair));
    ck_assert_str_eq(text.at, "continuation-token=1%2F%3D%3D&delimiter=%2F&list-type=2&"
                              "prefix=a%2Fb%20c%2Bd&uploads=");
}
END_TEST

START_TEST(the_digest_of_nothing_is_the_known_one)
{
    char digest[ZD_S3_DIGEST_CHARS + 1];
    ck_assert_int_eq(zd_s3_sign_digest((struct zd_span){0}, digest), ZD_OK);
    ck_assert_str_eq(digest, EMPTY_DIGEST);
}
END_TEST

static enum zd_status sign_once(void *context)
{
    struct zd_s3_signer signer = {0};
    ZD_SCOPED_TEXT(lines, TEXT_MAX);
    (void)context;
    return sign(&signer, &published, 3, &lines);
}

START_TEST(signing_survives_short_memory)
{
    zd_unit_with_failing_memory(sign_once, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, published_requests_have_the_published_signatures, 0, ZD_COUNT_OF(vectors));
    tcase_add_test(tests, a_signer_is_used_again_and_derived_anew_when_forgotten);
    tcase_add_test(tests, a_session_token_is_sent_and_signed);
    tcase_add_loop_test(tests, paths_are_encoded_once_and_not_normalised, 0, ZD_COUNT_OF(paths));
    tcase_add_test(tests, queries_are_sorted_and_have_a_sign_of_equality_always);
    tcase_add_test(tests, the_digest_of_nothing_is_the_known_one);
    tcase_add_test(tests, signing_survives_short_memory);
}
