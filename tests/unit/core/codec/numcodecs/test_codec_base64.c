/* The codec base64: what numcodecs writes, and nothing else. */
#include "tests/support/codec.h"

#define CODECS "['bytes','numcodecs.base64']"

static const struct zd_unit_stored rows[] = {
    {CODECS, 3, "59574a6a", "616263", NULL},
    {CODECS, 4, "59574a6a5a413d3d", "61626364", NULL},
    {CODECS, 5, "2f2f2f2f2f2f383d", "ffffffffff", NULL},
    {CODECS, 4, "59574a6a", NULL, "base64: 3 bytes decoded, 4 expected"},
    {CODECS, 3, "59574a6a5a413d3d", NULL, "base64: 4 bytes decoded, 3 expected"},
    {CODECS, 3, "", NULL, "base64: 0 bytes decoded, 3 expected"},
    {CODECS, 3, "59574a6a0a", NULL, "are not base64"}, /* a line's end, which Python passes over */
    {CODECS, 4, "59574a6a5a423d3d", NULL, "are not base64"},
    {CODECS, 3, "59574a2d", NULL, "are not base64"},
    {"['bytes','numcodecs.zlib','numcodecs.base64']", 3, "654a784c5445714742674143545145", NULL,
        "are not base64"},
};

START_TEST(base64_decodes_what_is_written_or_says_what_is_corrupt)
{
    zd_unit_check_stored(&rows[_i]);
}
END_TEST

START_TEST(base64_decodes_what_it_encodes)
{
    for (uint64_t n = 1; n < 20; n++) {
        zd_unit_check_round_trip(CODECS, n);
    }
    zd_unit_check_round_trip("['bytes','numcodecs.zlib','numcodecs.base64']", 100000);
    zd_unit_check_damage(CODECS, 300, false);
    zd_unit_check_damage(CODECS, 301, false);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, base64_decodes_what_is_written_or_says_what_is_corrupt, 0, ZD_COUNT_OF(rows));
    tcase_add_test(tests, base64_decodes_what_it_encodes);
}
