/* Registered codecs as numcodecs spells them: they become the registered ones, or say what is
 * wrong. */
#include "tests/support/codec.h"

#define OF(name, configuration)  "['bytes',{'name':'" name "','configuration':" configuration "}]"
#define NUM(name, configuration) OF("numcodecs." name, configuration)
#define BLOSC(cname, clevel, shuffle, typesize, blocksize)                                         \
    OF("blosc", "{'cname':'" cname "','clevel':" clevel ",'shuffle':'" shuffle                     \
                "','typesize':" typesize ",'blocksize':" blocksize "}")

static const struct {
    const char *spelled;
    const char *registered;
} spellings[] = {
    {NUM("gzip", "{'level':6}"), OF("gzip", "{'level':6}")},
    {NUM("gzip", "{'level':-1}"), OF("gzip", "{'level':6}")},
    {NUM("gzip", "{}"), OF("gzip", "{'level':1}")},
    {"['bytes','numcodecs.gzip']", OF("gzip", "{'level':1}")},
    {NUM("zstd", "{'level':3}"), OF("zstd", "{'level':3}")},
    {NUM("zstd", "{'level':-5,'checksum':true}"), OF("zstd", "{'level':-5,'checksum':true}")},
    {"['bytes','numcodecs.zstd']", OF("zstd", "{'level':0}")},
    {"['bytes','numcodecs.blosc']", BLOSC("lz4", "5", "shuffle", "1", "0")},
    {NUM("blosc", "{'cname':'zstd','clevel':9,'shuffle':0,'blocksize':4096}"),
        BLOSC("zstd", "9", "noshuffle", "1", "4096")},
    {NUM("blosc", "{'shuffle':2,'typesize':8}"), BLOSC("lz4", "5", "bitshuffle", "8", "0")},
    /* numcodecs' own choice: by bits where an item is a byte */
    {NUM("blosc", "{'shuffle':-1}"), BLOSC("lz4", "5", "bitshuffle", "1", "0")},
    {NUM("blosc", "{'shuffle':-1,'typesize':2}"), BLOSC("lz4", "5", "shuffle", "2", "0")},
    {NUM("blosc", "{'shuffle':'BIT'}"), BLOSC("lz4", "5", "bitshuffle", "1", "0")},
    {"['bytes','numcodecs.crc32c']", "['bytes','crc32c']"},
    {NUM("crc32c", "{'location':'end'}"), "['bytes','crc32c']"},
    {NUM("crc32c", "{'location':'start'}"), NUM("crc32c", "{'location':'start'}")},
    /* names that mean one of numcodecs */
    {OF("zlib", "{'level':3}"), NUM("zlib", "{'level':3}")},
    {OF("https://codec.zarrs.dev/bytes_to_bytes/shuffle", "{'elementsize':2}"),
        NUM("shuffle", "{'elementsize':2}")},
    {OF("https://codec.zarrs.dev/bytes_to_bytes/bz2", "{'level':3}"), NUM("bz2", "{'level':3}")},
};

START_TEST(numcodecs_spelling_becomes_the_registered_one)
{
    ZD_AUTO(zd_chain) chain = zd_unit_byte_chain(spellings[_i].spelled, 8);
    ZD_AUTO(zd_chain) same = zd_unit_byte_chain(spellings[_i].registered, 8);
    ZD_AUTO(zd_json) found = zd_chain_json(chain);
    ZD_AUTO(zd_json) expected = zd_chain_json(same);
    ck_assert_msg(zd_json_equal(found, expected), "%s", spellings[_i].spelled);
    zd_unit_check_round_trip(spellings[_i].spelled, 5000);
}
END_TEST

#define NUMBERS "000102030405060708090a0b0c0d0e0f"

static const struct zd_unit_stored rows[] = {
    {"['bytes','numcodecs.gzip']", 16,
        "1f8b08000a09046b04ff6360646266616563e7e0e4e2e6e1e5e3070088e2cece10000000", NUMBERS, NULL},
    {"['bytes','numcodecs.zstd']", 16, "28b52ffd2410810000" NUMBERS "f76941b8", NUMBERS, NULL},
    {"['bytes','numcodecs.blosc']", 16, "02013601100000001000000020000000" NUMBERS, NUMBERS, NULL},
    {"['bytes','numcodecs.crc32c']", 9, "313233343536373839839206e3", "313233343536373839", NULL},
    {NUM("crc32c", "{'location':'start'}"), 9, "839206e3313233343536373839", "313233343536373839",
        NULL},
    {NUM("crc32c", "{'location':'start'}"), 9, "313233343536373839839206e3", NULL,
        "numcodecs.crc32c: the checksum is "},
};

START_TEST(numcodecs_bytes_decode_by_any_spelling)
{
    zd_unit_check_stored(&rows[_i]);
}
END_TEST

#define AT "/codecs/1/configuration/"

static const struct {
    const char *codecs;
    enum zd_judgement judgement;
    const char *faults;
} faulty[] = {
    {NUM("gzip", "{'level':10}"), ZD_JUDGE_READ, "invalid out_of_range " AT "level"},
    {NUM("gzip", "{'level':'1'}"), ZD_JUDGE_READ, "invalid wrong_type " AT "level"},
    {NUM("gzip", "{'id':'gzip'}"), ZD_JUDGE_READ, "invalid unknown_member " AT "id"},
    {NUM("zstd", "{'level':23,'checksum':1}"), ZD_JUDGE_READ,
        "invalid out_of_range " AT "level; invalid wrong_type " AT "checksum"},
    {NUM("blosc", "{'shuffle':'shuffle'}"), ZD_JUDGE_READ, "invalid out_of_range " AT "shuffle"},
    {NUM("blosc", "{'shuffle':-2}"), ZD_JUDGE_READ, "invalid out_of_range " AT "shuffle"},
    {NUM("blosc", "{'shuffle':'BIT'}"), ZD_JUDGE_WRITE, "invalid out_of_range " AT "shuffle"},
    {NUM("blosc", "{'cname':'lz5','clevel':10,'typesize':0,'blocksize':-1}"), ZD_JUDGE_READ,
        "invalid out_of_range " AT "cname; invalid out_of_range " AT
        "clevel; invalid out_of_range " AT "typesize; invalid out_of_range " AT "blocksize"},
    {NUM("crc32c", "{'location':'middle'}"), ZD_JUDGE_READ, "invalid out_of_range " AT "location"},
    {NUM("crc32c", "{'x':1}"), ZD_JUDGE_READ, "invalid unknown_member " AT "x"},
    /* in the right place, whatever the spelling */
    {"['numcodecs.gzip','bytes']", ZD_JUDGE_READ,
        "warning unregistered_name /codecs/0; invalid codec_order /codecs/1"},
};

START_TEST(numcodecs_spelling_is_judged_in_its_own_terms)
{
    const struct zd_unit_chain what = {.codecs = faulty[_i].codecs,
        .dtype = "uint8",
        .rank = 1,
        .shape = {8},
        .judgement = faulty[_i].judgement};
    struct zd_chain *chain = NULL;
    struct zd_faults faults = {0};
    ck_assert_int_eq(zd_unit_chain_open(&what, &chain, &faults), ZD_INVALID);
    ZD_AUTO_TEXT found = zd_unit_faults(&faults);
    ck_assert_str_eq(found, faulty[_i].faults);
    zd_faults_done(&faults);
}
END_TEST

static const char *const short_of_memory[] = {NUM("blosc", "{'shuffle':-1}"),
    "['bytes','numcodecs.gzip','numcodecs.zstd','numcodecs.crc32c']",
    NUM("crc32c", "{'location':'start'}")};

START_TEST(numcodecs_spelling_survives_a_lack_of_memory)
{
    ZD_AUTO(zd_json) codecs = zd_unit_json(short_of_memory[_i]);
    const struct zd_unit_chain what = {.parsed = codecs, .dtype = "uint8", .rank = 1, .shape = {8}};
    enum zd_status status = ZD_NO_MEMORY;
    for (uint64_t n = 1; status == ZD_NO_MEMORY; n++) {
        struct zd_faults faults = {0};
        struct zd_chain *chain = NULL;
        zd_alloc_fail_at(n);
        status = zd_unit_chain_open(&what, &chain, &faults);
        zd_alloc_fail_at(0);
        zd_chain_unref(chain);
        zd_faults_done(&faults);
    }
    ck_assert_int_eq(status, ZD_OK);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, numcodecs_spelling_becomes_the_registered_one, 0, ZD_COUNT_OF(spellings));
    tcase_add_loop_test(tests, numcodecs_bytes_decode_by_any_spelling, 0, ZD_COUNT_OF(rows));
    tcase_add_loop_test(
        tests, numcodecs_spelling_is_judged_in_its_own_terms, 0, ZD_COUNT_OF(faulty));
    tcase_add_loop_test(
        tests, numcodecs_spelling_survives_a_lack_of_memory, 0, ZD_COUNT_OF(short_of_memory));
}
