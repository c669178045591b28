/* Facts about server/accept. */
#include "server/http/accept.h"

#include "tests/support/unit.h"

static const struct accept_fact {
    const char *accept;
    const char *media_type;
    uint32_t quality;
} accept_facts[] = {
    {NULL, "text/csv", 1000},
    {"", "text/csv", 1000},
    {"*/*", "text/csv", 1000},
    {"text/csv", "text/csv", 1000},
    {"TEXT/CSV", "text/csv", 1000},
    {"text/plain", "text/csv", 0},
    {"text/*", "text/csv", 1000},
    {"application/*", "text/csv", 0},
    {"text/csv;q=0.5", "text/csv", 500},
    {"text/csv ; q=0.123", "text/csv", 123},
    {"text/csv;q=0", "text/csv", 0},
    {"text/csv;q=0, */*", "text/csv", 0}, /* the most specific range decides */
    {"*/*;q=0.1, text/*;q=0.2, text/csv;q=0.3", "text/csv", 300},
    {"*/*;q=0.1, text/*;q=0.2, text/csv;q=0.3", "text/html", 200},
    {"*/*;q=0.1, text/*;q=0.2, text/csv;q=0.3", "image/png", 100},
    {"text/csv;header=absent;q=0.7", "text/csv", 700},
    {"text/csv;q=1.001", "text/csv", 0}, /* malformed: as if it were not there */
    {"text/csv;q=2, */*;q=0.4", "text/csv", 400},
    {"csv, text/csv", "text/csv", 1000},
    {",,, text/csv ,", "text/csv", 1000},
    {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json", 800},
};

START_TEST(accept_finds_the_quality_of_a_type)
{
    const struct accept_fact *fact = &accept_facts[_i];
    ck_assert_uint_eq(zd_accept_quality(fact->accept, fact->media_type), fact->quality);
}
END_TEST

static const struct {
    const char *accept;
    bool is_for_people;
} readers[] = {
    {NULL, false},
    {"", false},
    {"*/*", false},
    {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true},
    {"text/html", true},
    {"text/*", true},
    {"text/html;q=0", false},
    {"application/json", false},
    {"application/problem+json", false},
    {"text/html, application/json", false}, /* as much: a program that reads both */
    {"text/html, application/problem+json", false},
    {"text/html, application/json;q=0.9", true},
    {"text/html;q=0.5, */*", false},
    {"image/avif,image/webp,*/*;q=0.8", false},
};

START_TEST(browsers_prefer_pages)
{
    ck_assert_msg(zd_accept_is_for_people(readers[_i].accept) == readers[_i].is_for_people, "%s",
        readers[_i].accept);
}
END_TEST

static const struct coding_fact {
    const char *accept;
    enum zd_coding coding; /* of a body that is worth it */
    enum zd_coding of_short;
} coding_facts[] = {
    {NULL, ZD_PLAIN, ZD_PLAIN},
    {"", ZD_PLAIN, ZD_PLAIN},
    {"gzip", ZD_GZIP, ZD_PLAIN},
    {"x-gzip", ZD_GZIP, ZD_PLAIN},
    {"GZIP", ZD_GZIP, ZD_PLAIN},
    {"zstd", ZD_ZSTD, ZD_PLAIN},
    {"gzip, deflate, br, zstd", ZD_ZSTD, ZD_PLAIN},
    {"gzip, deflate, br", ZD_GZIP, ZD_PLAIN},
    {"br, deflate", ZD_PLAIN, ZD_PLAIN},
    {"*", ZD_ZSTD, ZD_PLAIN},
    {"*;q=0.1", ZD_ZSTD, ZD_PLAIN},
    {"zstd;q=0, *", ZD_GZIP, ZD_PLAIN}, /* what is named is not meant by "*" */
    {"gzip;q=1.0, zstd;q=0.9", ZD_GZIP, ZD_PLAIN},
    {"gzip;q=0.5, zstd;q=0.5", ZD_ZSTD, ZD_PLAIN},
    {"gzip;q=0", ZD_PLAIN, ZD_PLAIN},
    {"gzip;q=0, zstd;q=0.001", ZD_ZSTD, ZD_PLAIN},
    {"identity", ZD_PLAIN, ZD_PLAIN},
    {"identity, gzip", ZD_GZIP, ZD_PLAIN},
    {"identity;q=1, gzip;q=0.5", ZD_PLAIN, ZD_PLAIN},
    {"identity;q=0.5, gzip;q=1", ZD_GZIP, ZD_PLAIN},
    {"identity;q=0, gzip", ZD_GZIP, ZD_GZIP},
    {"gzip, *;q=0", ZD_GZIP, ZD_GZIP},    /* "*;q=0" refuses the plain form too */
    {"identity;q=0", ZD_PLAIN, ZD_PLAIN}, /* nothing else is wanted: better this than nothing */
    {"*;q=0", ZD_PLAIN, ZD_PLAIN},
    {"gzip;q=2, zstd;q=0.1", ZD_ZSTD, ZD_PLAIN}, /* malformed: as if it were not there */
    {"gzip zstd", ZD_PLAIN, ZD_PLAIN},
    {"gzipped", ZD_PLAIN, ZD_PLAIN},
    {",, gzip ; q=0.3 ,", ZD_GZIP, ZD_PLAIN},
};

START_TEST(accept_finds_the_coding_of_a_body)
{
    const struct coding_fact *fact = &coding_facts[_i];
    ck_assert_int_eq(zd_accept_coding(fact->accept, ZD_COMPRESSED_BYTES_MIN), fact->coding);
    ck_assert_int_eq(zd_accept_coding(fact->accept, UINT64_MAX), fact->coding);
    ck_assert_int_eq(zd_accept_coding(fact->accept, ZD_COMPRESSED_BYTES_MIN - 1), fact->of_short);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, browsers_prefer_pages, 0, (int)ZD_COUNT_OF(readers));
    tcase_add_loop_test(tests, accept_finds_the_coding_of_a_body, 0, ZD_COUNT_OF(coding_facts));
    tcase_add_loop_test(tests, accept_finds_the_quality_of_a_type, 0, ZD_COUNT_OF(accept_facts));
}
