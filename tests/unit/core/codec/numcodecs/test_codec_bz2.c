/* The codec bz2: streams as numcodecs writes them, several too, and never more than was expected.
 */
#include "tests/support/codec.h"

#define CODECS(level) "['bytes',{'name':'numcodecs.bz2','configuration':{'level':" level "}}]"
#define ONE           CODECS("1")
#define ABC           "425a6831314159265359648cbb73000000010038002000219819846177245385090648cbb730"
#define EMPTY         "425a683917724538509000000000"
#define EMPTY_16                                                                                   \
    EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY EMPTY

static const struct zd_unit_stored rows[] = {
    {ONE, 3, ABC, "616263", NULL},
    {CODECS("9"), 3, ABC, "616263", NULL}, /* the level is the writer's */
    {ONE, 6, ABC ABC, "616263616263", NULL},
    {ONE, 3, EMPTY ABC EMPTY, "616263", NULL},
    {"['bytes','numcodecs.bz2','numcodecs.bz2']", 3,
        "425a68313141592653597c3e22ef0000049980400010001621c81020003100d34d040d0326cf0dc211b510bc5d"
        "c914e"
        "14241f0f88bbc",
        NULL, "no valid stream at byte 0"},
    {ONE, 3, EMPTY_16 ABC, "616263", NULL},
    {ONE, 3, EMPTY_16 EMPTY ABC, NULL, "more than 16 empty streams"},
    {ONE, 4, ABC, NULL, "bz2: 3 bytes decoded, 4 expected"},
    {ONE, 2, ABC, NULL, "more than the expected 2"},
    {ONE, 5, ABC ABC, NULL, "more than the expected 5"},
    {ONE, 3, EMPTY, NULL, "bz2: 0 bytes decoded, 3 expected"},
    {ONE, 3, "", NULL, "no valid stream at byte 0"},
    {ONE, 3, "425a68", NULL, "no valid stream at byte 0"},
    {ONE, 3, ABC "00", NULL, "no valid stream at byte 38"},
    {ONE, 3, "78014b4c4a0600024d0127", NULL, "no valid stream at byte 0"}, /* zlib's */
    /* a wrong checksum, of the block and of the stream */
    {ONE, 3, "425a6831314159265359648cbb74000000010038002000219819846177245385090648cbb730", NULL,
        "no valid stream"},
    {ONE, 3, "425a6831314159265359648cbb73000000010038002000219819846177245385090648cbb740", NULL,
        "no valid stream"},
};

START_TEST(bz2_decodes_streams_or_says_what_is_corrupt)
{
    zd_unit_check_stored(&rows[_i]);
}
END_TEST

START_TEST(bz2_decodes_what_it_encodes_at_every_level)
{
    static const uint64_t sizes[] = {1, 2, 1000, 65536, 1000001};
    ZD_SCOPED_TEXT(codecs, 200);
    zd_text_addf(&codecs, CODECS("%d"), _i);
    for (size_t i = 0; i < ZD_COUNT_OF(sizes); i++) {
        zd_unit_check_round_trip(codecs.at, sizes[i]);
    }
}
END_TEST

START_TEST(bz2_twice_decodes_although_no_size_is_known_between)
{
    zd_unit_check_round_trip("['bytes','numcodecs.zlib','numcodecs.bz2','numcodecs.bz2']", 700001);
}
END_TEST

START_TEST(bz2_refuses_damage_and_bombs)
{
    zd_unit_check_damage(ONE, 500, true);
    zd_unit_check_bomb(CODECS("9"));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, bz2_decodes_streams_or_says_what_is_corrupt, 0, ZD_COUNT_OF(rows));
    tcase_add_loop_test(tests, bz2_decodes_what_it_encodes_at_every_level, 1, 10);
    tcase_add_test(tests, bz2_twice_decodes_although_no_size_is_known_between);
    tcase_add_test(tests, bz2_refuses_damage_and_bombs);
}
