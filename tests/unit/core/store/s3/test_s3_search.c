/* Facts about core/store/s3/s3_search: where credentials are looked for, and what may be wrong. */
#include "core/store/s3/s3_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"

#define NOW_S   1800000000 /* 2027-01-15T08:00:00Z */
#define IN_HOUR "2027-01-15T09:00:00Z"

static char directory[] = "/tmp/zarrd-s3-XXXXXX";
static char path[64];

/* Each test is a process: its environment is its own. */
static void write_file(const char *text)
{
    if (path[0] == '\0') {
        ck_assert_ptr_nonnull(mkdtemp(directory));
    }
    (void)snprintf(path, sizeof path, "%s/secrets", directory);
    FILE *file = fopen(path, "w");
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(path, 0600), 0);
}

static void remove_file(void)
{
    (void)unlink(path);
    (void)rmdir(directory);
}

static void clear_environment(void)
{
    static const char *const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN", "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME",
        "AWS_ENDPOINT_URL_STS", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT"};
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        unsetenv(names[i]);
    }
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
}

static enum zd_status begin(const struct zd_s3_credentials_options *options,
    struct zd_s3_search *search, struct zd_error *err)
{
    return zd_s3_search_begin(options, search, err);
}

static void check_found(const struct zd_s3_search *search, const char *key, const char *token)
{
    ck_assert_int_eq(search->fetch, ZD_S3_FETCH_NONE);
    ck_assert_str_eq(search->found.access_key_id, key);
    ck_assert_str_eq(search->found.secret_access_key, "s3cr3t/+");
    ck_assert_str_eq(search->found.session_token, token);
}

START_TEST(without_a_source_there_are_none)
{
    struct zd_s3_search search;
    struct zd_error err = {0};
    clear_environment();
    ck_assert_int_eq(begin(&(struct zd_s3_credentials_options){0}, &search, &err), ZD_STORE);
    ck_assert_ptr_nonnull(strstr(err.text, "no credentials"));
    zd_s3_search_done(&search);
}
END_TEST

START_TEST(the_environment_is_looked_at_by_prefix)
{
    struct zd_s3_search search;
    struct zd_error err = {0};
    clear_environment();
    setenv("AWS_ACCESS_KEY_ID", "AKIAONE", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "s3cr3t/+", 1);
    ck_assert_int_eq(begin(&(struct zd_s3_credentials_options){0}, &search, &err), ZD_OK);
    check_found(&search, "AKIAONE", "");
    ck_assert_int_eq(search.found.expires_s, ZD_S3_NEVER_S);
    zd_s3_search_done(&search);
    const struct zd_s3_credentials_options lake = {.env = "LAKE_"};
    ck_assert_int_eq(begin(&lake, &search, &err), ZD_STORE); /* no other source is tried */
    ck_assert_ptr_nonnull(strstr(err.text, "LAKE_"));
    zd_s3_search_done(&search);
    setenv("LAKE_ACCESS_KEY_ID", "AKIATWO", 1);
    setenv("LAKE_SECRET_ACCESS_KEY", "s3cr3t/+", 1);
    setenv("LAKE_SESSION_TOKEN", "tok==", 1);
    ck_assert_int_eq(begin(&lake, &search, &err), ZD_OK);
    check_found(&search, "AKIATWO", "tok==");
    zd_s3_search_done(&search);
}
END_TEST

static const char profiles[] = "# comment\n"
                               "[default]\r\n"
                               "aws_access_key_id = AKIADEFAULT\r\n"
                               "aws_secret_access_key=s3cr3t/+\r\n"
                               "region = x\n"
                               "\n"
                               "[ lake ]\n"
                               "; comment\n"
                               "aws_access_key_id=AKIALAKE\n"
                               "aws_secret_access_key =  s3cr3t/+  \n"
                               "aws_session_token = tok\n"
                               "[half]\n"
                               "aws_access_key_id=AKIAHALF\n"
                               "[odd]\n"
                               "aws_access_key_id=AKIA ODD\n"
                               "aws_secret_access_key=s3cr3t/+\n";

static const struct {
    const char *profile;
    const char *key; /* NULL: refused */
    const char *token;
    const char *what;
} in_profiles[] = {
    {NULL, "AKIADEFAULT", "", NULL},
    {"default", "AKIADEFAULT", "", NULL},
    {"lake", "AKIALAKE", "tok", NULL},
    {"half", NULL, NULL, "is missing"},
    {"odd", NULL, NULL, "a credential cannot have"},
    {"absent", NULL, NULL, "no profile [absent]"},
};

START_TEST(files_have_profiles)
{
    struct zd_s3_search search;
    struct zd_error err = {0};
    clear_environment();
    setenv("AWS_ACCESS_KEY_ID", "AKIAOTHER", 1); /* the option comes first */
    setenv("AWS_SECRET_ACCESS_KEY", "other", 1);
    write_file(profiles);
    const struct zd_s3_credentials_options options = {
        .file = path, .profile = in_profiles[_i].profile};
    const enum zd_status status = begin(&options, &search, &err);
    if (in_profiles[_i].key != NULL) {
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        check_found(&search, in_profiles[_i].key, in_profiles[_i].token);
    } else {
        ck_assert_int_eq(status, ZD_STORE);
        ck_assert_msg(strstr(err.text, in_profiles[_i].what) != NULL, "%s", err.text);
        ck_assert_ptr_null(strstr(err.text, "s3cr3t"));
        ck_assert_ptr_null(strstr(err.text, "AKIA"));
    }
    zd_s3_search_done(&search);
    remove_file();
}
END_TEST

START_TEST(a_file_that_others_can_read_is_refused)
{
    struct zd_s3_search search;
    struct zd_error err = {0};
    clear_environment();
    write_file(profiles);
    const struct zd_s3_credentials_options options = {.file = path};
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(begin(&options, &search, &err), ZD_STORE);
    ck_assert_ptr_nonnull(strstr(err.text, "lets other users read"));
    ck_assert_ptr_null(strstr(err.text, "AKIA"));
    zd_s3_search_done(&search);
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(begin(&options, &search, &err), ZD_OK);
    zd_s3_search_done(&search);
    remove_file();
}
END_TEST

START_TEST(a_file_of_the_environment_and_its_profile_are_read)
{
    struct zd_s3_search search;
    struct zd_error err = {0};
    clear_environment();
    write_file(profiles);
    setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    setenv("AWS_PROFILE", "lake", 1);
    ck_assert_int_eq(begin(&(struct zd_s3_credentials_options){0}, &search, &err), ZD_OK);
    check_found(&search, "AKIALAKE", "tok");
    zd_s3_search_done(&search);
    remove_file();
    ck_assert_int_eq(begin(&(struct zd_s3_credentials_options){0}, &search, &err), ZD_STORE);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot read"));
    zd_s3_search_done(&search);
}
END_TEST

static const struct {
    uint32_t code;
    const char *text;
    const char *what; /* the error says; NULL: found */
} assumed[] = {
    {200,
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
        "<AssumeRoleWithWebIdentityResult><Credentials><SessionToken>tok</SessionToken>"
        "<SecretAccessKey>s3cr3t/+</SecretAccessKey><Expiration>" IN_HOUR "</Expiration>"
        "<AccessKeyId>ASIAONE</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>"
        "</AssumeRoleWithWebIdentityResponse>",
        NULL},
    {200, "<AssumeRoleWithWebIdentityResponse/>", "is missing"},
    {200, "<html>", "malformed"},
    {403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>",
        "answered 403 AccessDenied"},
    {500, "s3cr3t/+", "answered 500"},
};

START_TEST(a_web_identity_is_given_for_a_role)
{
    struct zd_s3_search search;
    struct zd_error err = {0};
    clear_environment();
    write_file("ey.jwt.x\n");
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path, 1);
    const struct zd_s3_credentials_options options = {.region = "eu-west-1"};
    ck_assert_int_eq(begin(&options, &search, &err), ZD_STORE);
    ck_assert_ptr_nonnull(strstr(err.text, "AWS_ROLE_ARN"));
    zd_s3_search_done(&search);
    setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/lake", 1);
    ck_assert_int_eq(begin(&options, &search, &err), ZD_OK);
    ck_assert_int_eq(search.fetch, ZD_S3_FETCH_IDENTITY);
    ck_assert_str_eq(search.url, "https://sts.eu-west-1.amazonaws.com/");
    ck_assert(zd_span_is(zd_buf_span(search.body),
        "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Flake&"
        "RoleSessionName=zarrd&Version=2011-06-15&WebIdentityToken=ey.jwt.x"));
    const enum zd_status status =
        zd_s3_search_answer(&search, assumed[_i].code, zd_span_of(assumed[_i].text), NOW_S, &err);
    if (assumed[_i].what == NULL) {
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        check_found(&search, "ASIAONE", "tok");
        ck_assert_int_eq(search.found.refresh_s, NOW_S + 3600 - 300);
        ck_assert_int_eq(search.found.expires_s, NOW_S + 3600 - 5);
    } else {
        ck_assert_int_eq(status, ZD_STORE);
        ck_assert_msg(strstr(err.text, assumed[_i].what) != NULL, "%s", err.text);
        ck_assert_ptr_null(strstr(err.text, "s3cr3t"));
    }
    zd_s3_search_done(&search);
    remove_file();
}
END_TEST

static const char in_an_hour[] = "{\"Code\": \"Success\", \"AccessKeyId\": \"ASIATWO\", "
                                 "\"SecretAccessKey\": \"s3cr3t/+\", \"Token\": \"tok\", "
                                 "\"Expiration\": \"" IN_HOUR "\"}";

START_TEST(a_container_asks_its_host)
{
    struct zd_s3_search search;
    struct zd_error err = {0};
    clear_environment();
    write_file("Bearer xyz\n");
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/creds?x=1", 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path, 1);
    ck_assert_int_eq(begin(&(struct zd_s3_credentials_options){0}, &search, &err), ZD_OK);
    ck_assert_int_eq(search.fetch, ZD_S3_FETCH_CONTAINER);
    ck_assert_str_eq(search.url, "http://127.0.0.1:1/creds?x=1");
    ck_assert_str_eq(search.header, "Authorization: Bearer xyz");
    ck_assert_int_eq(zd_s3_search_answer(&search, 200, zd_span_of(in_an_hour), NOW_S, &err), ZD_OK);
    check_found(&search, "ASIATWO", "tok");
    zd_s3_search_done(&search);
    remove_file();
}
END_TEST

START_TEST(an_instance_asks_its_metadata_in_three_steps)
{
    struct zd_s3_search search;
    struct zd_error err = {0};
    clear_environment();
    unsetenv("AWS_EC2_METADATA_DISABLED");
    ck_assert_int_eq(begin(&(struct zd_s3_credentials_options){0}, &search, &err), ZD_OK);
    ck_assert_str_eq(search.url, "http://169.254.169.254/latest/api/token");
    zd_s3_search_done(&search);
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:2/", 1);
    ck_assert_int_eq(begin(&(struct zd_s3_credentials_options){0}, &search, &err), ZD_OK);
    ck_assert_int_eq(search.fetch, ZD_S3_FETCH_SESSION);
    ck_assert_str_eq(search.url, "http://127.0.0.1:2/latest/api/token");
    ck_assert_str_eq(search.header, "X-aws-ec2-metadata-token-ttl-seconds: 21600");
    ck_assert_int_eq(zd_s3_search_answer(&search, 200, zd_span_of("sess=="), NOW_S, &err), ZD_OK);
    ck_assert_int_eq(search.fetch, ZD_S3_FETCH_ROLE);
    ck_assert_str_eq(search.url, "http://127.0.0.1:2/latest/meta-data/iam/security-credentials/");
    ck_assert_str_eq(search.header, "X-aws-ec2-metadata-token: sess==");
    ck_assert_int_eq(zd_s3_search_answer(&search, 200, zd_span_of("lake\n"), NOW_S, &err), ZD_OK);
    ck_assert_int_eq(search.fetch, ZD_S3_FETCH_INSTANCE);
    ck_assert_str_eq(
        search.url, "http://127.0.0.1:2/latest/meta-data/iam/security-credentials/lake");
    ck_assert_int_eq(zd_s3_search_answer(&search, 200, zd_span_of(in_an_hour), NOW_S, &err), ZD_OK);
    check_found(&search, "ASIATWO", "tok");
    zd_s3_search_done(&search);
}
END_TEST

static const struct {
    const char *text;
    const char *what;
} odd_answers[] = {
    {"", "no JSON"},
    {"[]", "is missing"},
    {"{\"AccessKeyId\": \"A\", \"SecretAccessKey\": \"s3cr3t\\r\\nx: y\"}",
        "a credential cannot have"},
    {"{\"AccessKeyId\": \"A\", \"SecretAccessKey\": \"s3cr3t\", \"Expiration\": \"soon\"}",
        "without a valid expiry time"},
    {"{\"AccessKeyId\": \"A\", \"SecretAccessKey\": \"s3cr3t\", "
     "\"Expiration\": \"2027-01-15T07:59:59Z\"}",
        "already expired"},
};

START_TEST(odd_answers_are_refused_and_not_repeated)
{
    struct zd_s3_search search;
    struct zd_error err = {0};
    clear_environment();
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/creds", 1);
    ck_assert_int_eq(begin(&(struct zd_s3_credentials_options){0}, &search, &err), ZD_OK);
    ck_assert_int_eq(
        zd_s3_search_answer(&search, 200, zd_span_of(odd_answers[_i].text), NOW_S, &err), ZD_STORE);
    ck_assert_msg(strstr(err.text, odd_answers[_i].what) != NULL, "%s", err.text);
    ck_assert_ptr_null(strstr(err.text, "s3cr3t"));
    zd_s3_search_done(&search);
}
END_TEST

static enum zd_status search_once(void *context)
{
    struct zd_s3_search search;
    struct zd_error err = {0};
    (void)context;
    enum zd_status status = begin(&(struct zd_s3_credentials_options){0}, &search, &err);
    if (status == ZD_OK) {
        status = zd_s3_search_answer(&search, 200, zd_span_of(in_an_hour), NOW_S, &err);
    }
    zd_s3_search_done(&search);
    return status;
}

START_TEST(searching_survives_short_memory)
{
    clear_environment();
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/creds", 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "xyz", 1);
    zd_unit_with_failing_memory(search_once, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, without_a_source_there_are_none);
    tcase_add_test(tests, the_environment_is_looked_at_by_prefix);
    tcase_add_loop_test(tests, files_have_profiles, 0, ZD_COUNT_OF(in_profiles));
    tcase_add_test(tests, a_file_that_others_can_read_is_refused);
    tcase_add_test(tests, a_file_of_the_environment_and_its_profile_are_read);
    tcase_add_loop_test(tests, a_web_identity_is_given_for_a_role, 0, ZD_COUNT_OF(assumed));
    tcase_add_test(tests, a_container_asks_its_host);
    tcase_add_test(tests, an_instance_asks_its_metadata_in_three_steps);
    tcase_add_loop_test(
        tests, odd_answers_are_refused_and_not_repeated, 0, ZD_COUNT_OF(odd_answers));
    tcase_add_test(tests, searching_survives_short_memory);
}
