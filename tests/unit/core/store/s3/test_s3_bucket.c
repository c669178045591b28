/* Facts about core/store/s3/s3_bucket: which URLs a location and its options lead to. */
#include "core/store/s3/s3_bucket.h"

#include <string.h>

#include "core/base/json_schema.h"
#include "tests/support/unit.h"

static const struct {
    const char *location;
    const char *options; /* JSON, with ' for " */
    const char *url;     /* of the key "a b/0", or what the error says */
    const char *host;    /* NULL: refused */
    const char *region;
} rows[] = {
    {"s3://lake", "{}", "https://lake.s3.us-east-1.amazonaws.com/a%20b/0",
        "lake.s3.us-east-1.amazonaws.com", "us-east-1"},
    {"s3://lake/", "{}", "https://lake.s3.us-east-1.amazonaws.com/a%20b/0",
        "lake.s3.us-east-1.amazonaws.com", "us-east-1"},
    {"s3://lake/x/y.zarr/", "{'region': 'eu-west-1'}",
        "https://lake.s3.eu-west-1.amazonaws.com/x/y.zarr/a%20b/0",
        "lake.s3.eu-west-1.amazonaws.com", "eu-west-1"},
    {"s3://lake", "{'region': 'cn-north-1'}", "https://lake.s3.cn-north-1.amazonaws.com.cn/a%20b/0",
        "lake.s3.cn-north-1.amazonaws.com.cn", "cn-north-1"},
    /* no certificate covers a name with dots */
    {"s3://la.ke", "{}", "https://s3.us-east-1.amazonaws.com/la.ke/a%20b/0",
        "s3.us-east-1.amazonaws.com", "us-east-1"},
    {"s3://Lake_1", "{}", "https://s3.us-east-1.amazonaws.com/Lake_1/a%20b/0",
        "s3.us-east-1.amazonaws.com", "us-east-1"},
    {"s3://lake", "{'addressing': 'path'}", "https://s3.us-east-1.amazonaws.com/lake/a%20b/0",
        "s3.us-east-1.amazonaws.com", "us-east-1"},
    {"s3://lake/p", "{'endpoint': 'http://127.0.0.1:9000'}", "http://127.0.0.1:9000/lake/p/a%20b/0",
        "127.0.0.1:9000", "us-east-1"},
    {"s3://lake/p", "{'endpoint': 'http://127.0.0.1:9000/', 'addressing': 'auto'}",
        "http://127.0.0.1:9000/lake/p/a%20b/0", "127.0.0.1:9000", "us-east-1"},
    {"s3://lake", "{'endpoint': 'https://s3.example.org:443/gate/', 'addressing': 'path'}",
        "https://s3.example.org/gate/lake/a%20b/0", "s3.example.org", "us-east-1"},
    {"s3://lake", "{'endpoint': 'http://s3.example.org:80', 'addressing': 'virtual'}",
        "http://lake.s3.example.org/a%20b/0", "lake.s3.example.org", "us-east-1"},
    {"s3://lake", "{'endpoint': 'http://[::1]:9000'}", "http://[::1]:9000/lake/a%20b/0",
        "[::1]:9000", "us-east-1"},
    {"gs://lake/p", "{}", "https://storage.googleapis.com/lake/p/a%20b/0", "storage.googleapis.com",
        "auto"},
    {"s3://", "{}", "expected s3://BUCKET/PREFIX", NULL, NULL},
    {"s3://la ke/p", "{}", "expected s3://BUCKET/PREFIX", NULL, NULL},
    {"s3://key:secret@lake/p", "{}", "access keys", NULL, NULL},
    {"s3://lake?versions", "{}", "expected s3://BUCKET/PREFIX", NULL, NULL},
    {"s3://lake//p", "{}", "keys cannot have this prefix", NULL, NULL},
    {"s3://lake/../p", "{}", "keys cannot have this prefix", NULL, NULL},
    {"s3://lake", "{'endpoint': 'ftp://host'}", "endpoint: expected", NULL, NULL},
    {"s3://lake", "{'endpoint': 'http://'}", "endpoint: expected", NULL, NULL},
    {"s3://lake", "{'endpoint': 'http://key:secret@host'}", "endpoint: expected", NULL, NULL},
    {"s3://lake", "{'endpoint': 'http://host?x=1'}", "endpoint: expected", NULL, NULL},
    {"s3://lake", "{'endpoint': 'http://host/a?x=1'}", "endpoint: expected", NULL, NULL},
    {"s3://lake", "{'endpoint': 'http://host\\r\\nx: y'}", "endpoint: expected", NULL, NULL},
    {"s3://lake", "{'region': 'eu/../west'}", "region: expected", NULL, NULL},
};

static struct zd_json *options_of(const char *text)
{
    static const struct zd_json_limits limits = {
        .bytes_max = 4096, .nodes_max = 100, .depth_max = 8};
    char json[4096];
    struct zd_json *options = NULL;
    size_t i = 0;
    for (; text[i] != '\0'; i++) {
        json[i] = text[i] == '\'' ? '"' : text[i];
    }
    json[i] = '\0';
    ck_assert_int_eq(zd_json_parse(zd_span_of(json), &limits, &options, NULL), ZD_OK);
    return options;
}

START_TEST(a_location_leads_to_a_url)
{
    struct zd_s3_bucket bucket;
    struct zd_error err = {0};
    ZD_AUTO(zd_json) options = options_of(rows[_i].options);
    const enum zd_status status = zd_s3_bucket_init(rows[_i].location, options, &bucket, &err);
    if (rows[_i].host == NULL) {
        ck_assert_int_eq(status, ZD_INVALID);
        ck_assert_msg(strstr(err.text, rows[_i].url) != NULL, "%s", err.text);
        ck_assert_ptr_null(strstr(err.text, "secret"));
    } else {
        ZD_SCOPED_TEXT(url, ZD_S3_URL_BYTES_MAX);
        ck_assert_msg(status == ZD_OK, "%s: %s", rows[_i].location, err.text);
        zd_text_add(&url, bucket.origin);
        zd_s3_bucket_add_path(&bucket, "a b/0", &url);
        ck_assert_str_eq(url.at, rows[_i].url);
        ck_assert_str_eq(bucket.host, rows[_i].host);
        ck_assert_str_eq(bucket.region, rows[_i].region);
    }
    zd_s3_bucket_done(&bucket);
}
END_TEST

START_TEST(endpoints_are_those_of_servers)
{
    struct zd_s3_bucket a;
    struct zd_s3_bucket b;
    struct zd_s3_bucket c;
    ZD_AUTO(zd_json) options = options_of("{'endpoint': 'http://host:9000'}");
    ck_assert_int_eq(zd_s3_bucket_init("s3://lake/p", options, &a, NULL), ZD_OK);
    ck_assert_int_eq(zd_s3_bucket_init("s3://pond/q", options, &b, NULL), ZD_OK);
    ck_assert_int_eq(zd_s3_bucket_init("s3://lake/p", NULL, &c, NULL), ZD_OK);
    ck_assert_uint_eq(a.endpoint, b.endpoint);
    ck_assert_uint_ne(a.endpoint, c.endpoint);
    ck_assert_uint_ne(a.endpoint, 0);
    zd_s3_bucket_done(&a);
    zd_s3_bucket_done(&b);
    zd_s3_bucket_done(&c);
}
END_TEST

START_TEST(the_bucket_itself_has_a_path)
{
    struct zd_s3_bucket bucket;
    ZD_AUTO(zd_json) options = options_of("{'endpoint': 'http://host'}");
    ZD_SCOPED_TEXT(path, ZD_S3_URL_BYTES_MAX);
    ck_assert_int_eq(zd_s3_bucket_init("s3://lake/p", options, &bucket, NULL), ZD_OK);
    zd_s3_bucket_add_path(&bucket, NULL, &path);
    ck_assert_str_eq(path.at, "/lake");
    zd_s3_bucket_done(&bucket);
    ck_assert_int_eq(zd_s3_bucket_init("s3://lake/p", NULL, &bucket, NULL), ZD_OK);
    zd_text_clear(&path);
    zd_s3_bucket_add_path(&bucket, NULL, &path);
    ck_assert_str_eq(path.at, "/");
    zd_s3_bucket_done(&bucket);
}
END_TEST

static const struct {
    const char *options;
    bool passes;
} judged[] = {
    {"{'endpoint': 'http://h', 'region': 'r', 'addressing': 'path', 'anonymous': true}", true},
    {"{'credentials_file': '/f', 'credentials_profile': 'p', 'credentials_env': 'LAKE_'}", true},
    {"{'store_403': 'absent', 'absent_ms': 0}", true},
    {"{'store_403': 'error'}", true},
    {"{'secret_access_key': 'hidden'}", false},
    {"{'addressing': 'sideways'}", false},
    {"{'absent_ms': -1}", false},
    {"{'anonymous': 'yes'}", false},
};

START_TEST(options_pass_a_schema_and_unknown_ones_are_not_repeated)
{
    const struct zd_pointer at = {.text = "/options"};
    struct zd_faults faults = {0};
    ZD_AUTO(zd_json) options = options_of(judged[_i].options);
    const enum zd_status status =
        zd_json_schema_check(zd_s3_bucket_schema, options, &at, "s3", &faults);
    ck_assert_int_eq(status, judged[_i].passes ? ZD_OK : ZD_INVALID);
    for (size_t i = 0; i < faults.n_items; i++) {
        ck_assert_ptr_null(strstr(faults.item[i].detail, "hidden"));
        ck_assert(faults.item[i].found == NULL || strstr(faults.item[i].found, "hidden") == NULL);
    }
    zd_faults_done(&faults);
}
END_TEST

static enum zd_status init_once(void *context)
{
    struct zd_s3_bucket bucket;
    struct zd_error err = {0};
    const enum zd_status status = zd_s3_bucket_init("s3://lake/p", context, &bucket, &err);
    zd_s3_bucket_done(&bucket);
    return status;
}

START_TEST(reading_a_location_survives_short_memory)
{
    zd_unit_with_failing_memory(init_once, NULL);
}
END_TEST

/* Whether two locations are of one bucket. */
static const struct {
    const char *location;
    const char *options;
    bool is_same;
} spaces[] = {
    {"s3://lake/p", "{'endpoint': 'http://host:9000'}", true},
    {"s3://lake", "{'endpoint': 'http://host:9000/', 'region': 'eu-west-1'}", true},
    {"s3://lake/p/q", "{'endpoint': 'http://host:9000', 'addressing': 'virtual'}", true},
    {"s3://pond/p", "{'endpoint': 'http://host:9000'}", false},
    {"s3://lake/p", "{'endpoint': 'https://host:9000'}", false},
    {"s3://lake/p", "{'endpoint': 'http://host:9001'}", false},
    {"s3://lake/p", "{'endpoint': 'http://host:9000/gate'}", false},
    {"s3://lake/p", "{}", false},
};

START_TEST(a_bucket_is_one_space_however_it_is_addressed)
{
    struct zd_s3_bucket one;
    struct zd_s3_bucket other;
    ZD_AUTO(zd_json) options = options_of("{'endpoint': 'http://host:9000'}");
    ZD_AUTO(zd_json) others = options_of(spaces[_i].options);
    ck_assert_int_eq(zd_s3_bucket_init("s3://lake/p", options, &one, NULL), ZD_OK);
    ck_assert_int_eq(zd_s3_bucket_init(spaces[_i].location, others, &other, NULL), ZD_OK);
    ck_assert(one.space != 0 && other.space != 0);
    ck_assert((one.space == other.space) == spaces[_i].is_same);
    zd_s3_bucket_done(&one);
    zd_s3_bucket_done(&other);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_location_leads_to_a_url, 0, ZD_COUNT_OF(rows));
    tcase_add_test(tests, endpoints_are_those_of_servers);
    tcase_add_test(tests, the_bucket_itself_has_a_path);
    tcase_add_loop_test(
        tests, options_pass_a_schema_and_unknown_ones_are_not_repeated, 0, ZD_COUNT_OF(judged));
    tcase_add_test(tests, reading_a_location_survives_short_memory);
    tcase_add_loop_test(
        tests, a_bucket_is_one_space_however_it_is_addressed, 0, (int)ZD_COUNT_OF(spaces));
}
