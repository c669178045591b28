/* The codec lzma: every format as numcodecs writes it, memory that a stream may not ask for, and
 * never more than was expected. */
#include <string.h>

#include "tests/support/codec.h"

#define OF(configuration) "['bytes',{'name':'numcodecs.lzma','configuration':" configuration "}]"
#define XZ                OF("{}")
#define ALONE             OF("{'format':2,'preset':1}")
#define RAW_2             OF("{'format':3,'filters':[{'id':33,'preset':1}]}")
#define RAW_1             OF("{'format':3,'filters':[{'id':3,'dist':2},{'id':4611686018427387905,'preset':0}]}")

#define ABC                                                                                        \
    "fd377a585a000004e6d6b4460200210116000000742fe5a301000261626300002776271a4a09d82c00011b030b2f" \
    "b9101fb6f37d010000000004595a"
#define EMPTY "fd377a585a000004e6d6b446000000001cdf44211fb6f37d010000000004595a"

static const struct zd_unit_stored rows[] = {
    {XZ, 3, ABC, "616263", NULL},
    {OF("{'format':1,'check':-1,'preset':9,'filters':null}"), 3, ABC, "616263", NULL},
    {XZ, 6, ABC ABC, "616263616263", NULL},
    {XZ, 3, EMPTY ABC "00000000" EMPTY, "616263", NULL}, /* padding in fours */
    /* a CRC-32, delta in front, a dictionary of 64 MiB */
    {XZ, 3,
        "fd377a585a0000016922de360200210116000000742fe5a30100026162630000c24124350001170307600cbc90"
        "42990d010000000001595a",
        "616263", NULL},
    {XZ, 3,
        "fd377a585a000004e6d6b44602010301002101104c85a70701000261010100002776271a4a09d82c00011b030b"
        "2fb9101fb6f37d010000000004595a",
        "616263", NULL},
    {XZ, 3,
        "fd377a585a000004e6d6b446020021011c00000010cf58cc01000261626300002776271a4a09d82c00011b030b"
        "2fb9101fb6f37d010000000004595a",
        "616263", NULL},
    {ALONE, 3, "5d00001000ffffffffffffffff00309888a44a8e9ffff6638000", "616263", NULL},
    {RAW_2, 3, "01000261626300", "616263", NULL},
    {RAW_1, 3, "0030987c506bdffffff8020000", "616263", NULL},
    {XZ, 4, ABC, NULL, "lzma: 3 bytes decoded, 4 expected"},
    {XZ, 2, ABC, NULL, "more than the expected 2"},
    {RAW_2, 2, "01000261626300", NULL, "more than the expected 2"},
    {XZ, 3, EMPTY, NULL, "lzma: 0 bytes decoded, 3 expected"},
    {XZ, 3, "", NULL, "the end is missing"},
    {XZ, 3, "fd377a585a", NULL, "the end is missing"},
    {XZ, 3, ABC "00", NULL, "contradict"},
    {XZ, 3, ABC "55555555", NULL, "lzma: no valid stream"},
    {XZ, 3, "5d00001000ffffffffffffffff00309888a44a8e9ffff6638000", NULL, "the beginning is wrong"},
    {ALONE, 3, ABC, NULL, "the beginning is wrong"},
    {ALONE, 3, "5d00001000ffffffffffffffff00309888a44a8e9ffff663800055", NULL,
        "1 bytes follow the stream"},
    {RAW_2, 3, "0100026162630055", NULL, "1 bytes follow the stream"},
    {RAW_2, 3, "010002616263", NULL, "the end is missing"},
    {RAW_2, 3, "03", NULL, "contradict"},
    /* dictionaries of 4 GiB; a filter of another time */
    {ALONE, 3, "5dffffffffffffffffffffffff00309888a44a8e9ffff6638000", NULL,
        "bytes of memory; the limit is 134217728"},
    {XZ, 3, "fd377a585a000004e6d6b4460200210128000000e6a011b3", NULL,
        "bytes of memory; the limit is 134217728"},
    {XZ, 3, "fd377a585a000004e6d6b44602013f002101160063718871", NULL,
        "does not support the filters or options"},
};

START_TEST(lzma_decodes_every_format_or_says_what_is_corrupt)
{
    zd_unit_check_stored(&rows[_i]);
}
END_TEST

static const struct {
    const char *codecs;
    bool is_checked;
} writers[] = {
    {XZ, true},
    {OF("{'preset':0,'check':10}"), true},
    {OF("{'preset':2147483657,'check':1}"), true},
    {OF("{'check':4,'filters':[{'id':3,'dist':4},{'id':33,'preset':1,'dict_size':1610612736}]}"),
        true},
    {OF("{'filters':[{'id':4},{'id':9,'start_offset':8},{'id':33,'lc':0,'lp':2,'pb':4,'mode':1,"
        "'nice_len':64,'mf':4,'depth':9}]}"),
        true},
    {OF("{'check':0}"), false},
    {ALONE, false},
    {OF("{'format':2,'filters':[{'id':4611686018427387905}]}"), false},
    {RAW_1, false},
    {RAW_2, false},
};

START_TEST(lzma_decodes_what_it_encodes)
{
    static const uint64_t sizes[] = {1, 2, 1000, 65536, 300001};
    for (size_t i = 0; i < ZD_COUNT_OF(sizes); i++) {
        zd_unit_check_round_trip(writers[_i].codecs, sizes[i]);
    }
    zd_unit_check_damage(writers[_i].codecs, 300, writers[_i].is_checked);
}
END_TEST

START_TEST(lzma_stops_a_bomb_at_the_expected_size)
{
    zd_unit_check_bomb(OF("{'preset':1}"));
    zd_unit_check_bomb(ALONE);
    zd_unit_check_bomb(RAW_2);
}
END_TEST

START_TEST(lzma_twice_decodes_although_no_size_is_known_between)
{
    zd_unit_check_round_trip(
        "['bytes','numcodecs.zlib','numcodecs.lzma','numcodecs.lzma']", 700001);
}
END_TEST

#define AT "/codecs/1/configuration/"

static const struct {
    const char *codecs;
    const char *faults;
} documents[] = {
    {OF("{'format':0}"), "invalid out_of_range " AT "format"},
    {OF("{'format':'xz'}"), "invalid wrong_type " AT "format"},
    {OF("{'check':2}"), "invalid out_of_range " AT "check"},
    {OF("{'format':2,'check':4}"), "invalid out_of_range " AT "check"},
    {OF("{'preset':10}"), "invalid out_of_range " AT "preset"},
    {OF("{'preset':-1}"), "invalid out_of_range " AT "preset"},
    {OF("{'preset':1,'filters':[{'id':33}]}"), "invalid out_of_range " AT "preset"},
    {OF("{'level':1}"), "invalid unknown_member " AT "level"},
    {OF("{'format':3}"), "invalid missing_member " AT "filters"},
    {OF("{'filters':{}}"), "invalid wrong_type " AT "filters"},
    {OF("{'filters':[]}"), "invalid out_of_range " AT "filters"},
    {OF("{'filters':[{'id':3},{'id':3},{'id':3},{'id':3},{'id':33}]}"),
        "invalid out_of_range " AT "filters"},
    {OF("{'filters':[{'id':3}]}"), "invalid out_of_range " AT "filters"},
    {OF("{'filters':[{'id':33},{'id':33}]}"), "invalid out_of_range " AT "filters"},
    {OF("{'filters':[{'id':4611686018427387905}]}"), "invalid out_of_range " AT "filters"},
    {OF("{'format':2,'filters':[{'id':3},{'id':4611686018427387905}]}"),
        "invalid out_of_range " AT "filters"},
    {OF("{'format':2,'filters':[{'id':33}]}"), "invalid out_of_range " AT "filters"},
    {OF("{'filters':[33]}"),
        "invalid wrong_type " AT "filters/0/id; invalid out_of_range " AT "filters"},
    {OF("{'filters':[{'id':99},{'id':33}]}"), "invalid out_of_range " AT "filters/0/id"},
    {OF("{'filters':[{'id':3,'dist':257},{'id':33}]}"),
        "invalid out_of_range " AT "filters/0/dist"},
    {OF("{'filters':[{'id':3,'preset':1},{'id':33}]}"),
        "invalid unknown_member " AT "filters/0/preset"},
    {OF("{'filters':[{'id':6,'start_offset':8},{'id':33}]}"),
        "invalid out_of_range " AT "filters/0/start_offset"},
    {OF("{'filters':[{'id':33,'preset':10}]}"), "invalid out_of_range " AT "filters/0/preset"},
    {OF("{'filters':[{'id':33,'lc':3,'lp':2}]}"), "invalid out_of_range " AT "filters/0/lp"},
    {OF("{'filters':[{'id':33,'mf':5}]}"), "invalid out_of_range " AT "filters/0/mf"},
    {OF("{'filters':[{'id':33,'dict_size':4095}]}"),
        "invalid out_of_range " AT "filters/0/dict_size"},
    {OF("{'filters':[{'id':33,'dict_size':'1'}]}"), "invalid wrong_type " AT "filters/0/dict_size"},
};

START_TEST(lzma_judges_its_parameters)
{
    const struct zd_unit_chain what = {
        .codecs = documents[_i].codecs, .dtype = "uint8", .rank = 1, .shape = {8}};
    struct zd_chain *chain = NULL;
    struct zd_faults faults = {0};
    ck_assert_int_eq(zd_unit_chain_open(&what, &chain, &faults), ZD_INVALID);
    ZD_AUTO_TEXT found = zd_unit_faults(&faults);
    ck_assert_str_eq(found, documents[_i].faults);
    zd_faults_done(&faults);
}
END_TEST

START_TEST(lzma_is_written_as_it_was_read)
{
    ZD_AUTO(zd_chain) chain = zd_unit_byte_chain(RAW_1, 8);
    ZD_AUTO(zd_json) found = zd_chain_json(chain);
    ZD_AUTO(zd_json) same = zd_unit_json(RAW_1);
    ck_assert(zd_json_equal(zd_json_element(found, 1), zd_json_element(same, 1)));
    ZD_AUTO(zd_chain) bare = zd_unit_byte_chain("['bytes','numcodecs.lzma']", 8);
    ZD_AUTO(zd_json) short_hand = zd_chain_json(bare);
    ck_assert_uint_eq(
        zd_json_count(zd_json_member(zd_json_element(short_hand, 1), "configuration")), 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, lzma_decodes_every_format_or_says_what_is_corrupt, 0, ZD_COUNT_OF(rows));
    tcase_add_loop_test(tests, lzma_decodes_what_it_encodes, 0, ZD_COUNT_OF(writers));
    tcase_add_test(tests, lzma_stops_a_bomb_at_the_expected_size);
    tcase_add_test(tests, lzma_twice_decodes_although_no_size_is_known_between);
    tcase_add_loop_test(tests, lzma_judges_its_parameters, 0, ZD_COUNT_OF(documents));
    tcase_add_test(tests, lzma_is_written_as_it_was_read);
}
