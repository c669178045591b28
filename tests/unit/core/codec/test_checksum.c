/* The codecs of checksums: what numcodecs writes, in front of the data or behind it, and damage. */
#include "core/codec/checksum.h"

#include <string.h>

#include "tests/support/codec.h"

#define OF(name, configuration)                                                                    \
    "['bytes',{'name':'numcodecs." name "','configuration':" configuration "}]"
#define CRC32      OF("crc32", "{}")
#define CRC32_END  OF("crc32", "{'location':'end'}")
#define ADLER32    OF("adler32", "{}")
#define FLETCHER32 "['bytes','numcodecs.fletcher32']"
#define JENKINS    OF("jenkins_lookup3", "{'initval':0,'prefix':null}")
#define JENKINS_1  OF("jenkins_lookup3", "{'initval':1234}")
#define CRC32C     "['bytes','crc32c']"
#define DIGITS     "313233343536373839"
#define LETTERS    "616263646566616263646566"

static const struct zd_unit_stored rows[] = {
    {CRC32, 9, "2639f4cb" DIGITS, DIGITS, NULL},
    {CRC32, 12, "66e9e471" LETTERS, LETTERS, NULL},
    {CRC32_END, 9, DIGITS "2639f4cb", DIGITS, NULL},
    {ADLER32, 9, "de011e09" DIGITS, DIGITS, NULL},
    {OF("adler32", "{'location':'start'}"), 12, "ab043a1e" LETTERS, LETTERS, NULL},
    {OF("adler32", "{'location':'end'}"), 9, DIGITS "de011e09", DIGITS, NULL},
    {"['bytes','https://codec.zarrs.dev/bytes_to_bytes/adler32']", 9, "de011e09" DIGITS, DIGITS,
        NULL},
    {FLETCHER32, 9, DIGITS "d509df09", DIGITS, NULL},
    {FLETCHER32, 12, LETTERS "5a54341f", LETTERS, NULL},
    {FLETCHER32, 6, "6162636465662d2a5650", "616263646566", NULL}, /* HDF5's 50562a2d */
    {JENKINS, 9, DIGITS "969a5d84", DIGITS, NULL},
    {JENKINS, 12, LETTERS "08965dc5", LETTERS, NULL},
    {JENKINS_1, 9, DIGITS "b0c0cd5e", DIGITS, NULL},
    {CRC32C, 9, DIGITS "839206e3", DIGITS, NULL},
    /* a checksum at the other end, or of another seed */
    {CRC32, 9, DIGITS "2639f4cb", NULL, "crc32: the checksum is "},
    {CRC32_END, 9, "2639f4cb" DIGITS, NULL, "crc32: the checksum is "},
    {JENKINS_1, 9, DIGITS "969a5d84", NULL, "the checksum is 5ecdc0b0, but 845d9a96 is stored"},
    {CRC32, 9, "2639f4ca" DIGITS, NULL, "the checksum is cbf43926, but caf43926 is stored"},
    {ADLER32, 9, "de011e08" DIGITS, NULL, "the checksum is 091e01de, but 081e01de is stored"},
    {FLETCHER32, 9, DIGITS "d509df08", NULL, "the checksum is 09df09d5, but 08df09d5 is stored"},
    {CRC32, 8, "2639f4cb" DIGITS, NULL, "crc32: 9 bytes decoded, 8 expected"},
    {FLETCHER32, 10, DIGITS "d509df09", NULL, "fletcher32: 9 bytes decoded, 10 expected"},
    {ADLER32, 9, "de011e", NULL, "3 bytes cannot hold a checksum"},
    {JENKINS, 9, "", NULL, "0 bytes cannot hold a checksum"},
};

START_TEST(checksums_are_those_of_numcodecs)
{
    zd_unit_check_stored(&rows[_i]);
}
END_TEST

/* The checksums of numcodecs behind the first `n` of the bytes (7 i^2 + i / 3) mod 256, and of 5001
 * bytes 255. */
static const struct {
    const char *codecs;
    struct {
        uint64_t n;
        uint32_t checksum;
    } of[8];
    uint32_t of_ones;
} long_ones[] = {
    {FLETCHER32,
        {{1, 0}, {2, 0x00070007}, {11, 0x92b00d8d}, {719, 0xdee6941a}, {720, 0xdf7c94b0},
            {721, 0x642e84b1}, {5000, 0x683a6b2c}, {5001, 0x1567ad2c}},
        0xff00ff00},
    {JENKINS,
        {{1, 0x8ba9414b}, {2, 0xb0dbf9ea}, {11, 0xe64be9ef}, {12, 0xc83f66c2}, {13, 0x0369f170},
            {24, 0x14a505d6}, {25, 0xd10e6b11}, {5001, 0xafa7458f}},
        0x6f1d244c},
    {OF("jenkins_lookup3", "{'initval':4294967295}"),
        {{1, 0x31b8a510}, {2, 0x49b8ceee}, {11, 0x3a281fc4}, {12, 0x1f05b420}, {13, 0xdadc5e61},
            {24, 0xa197023a}, {25, 0x33530d04}, {5001, 0x11ff890c}},
        0x1b4179bd},
};

static uint32_t stored_behind(const char *codecs, struct zd_buf *decoded)
{
    ZD_AUTO(zd_chain) chain = zd_unit_byte_chain(codecs, decoded->len);
    ZD_AUTO(zd_buf) encoded = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    ck_assert_uint_eq(encoded->len, decoded->len + ZD_CHECKSUM_BYTES);
    return zd_load_u32(encoded->data + decoded->len);
}

START_TEST(checksums_of_long_data_are_those_of_numcodecs)
{
    ZD_AUTO(zd_buf) data = zd_buf_new(5001);
    for (size_t i = 0; i < data->cap; i++) {
        data->data[i] = (uint8_t)(7 * i * i + i / 3);
    }
    for (size_t i = 0; i < ZD_COUNT_OF(long_ones[_i].of); i++) {
        data->len = long_ones[_i].of[i].n;
        ck_assert_msg(
            stored_behind(long_ones[_i].codecs, data) == long_ones[_i].of[i].checksum, "%zu", i);
    }
    data->len = data->cap;
    memset(data->data, 255, data->len);
    ck_assert_uint_eq(stored_behind(long_ones[_i].codecs, data), long_ones[_i].of_ones);
}
END_TEST

static const char *const all[] = {CRC32, CRC32_END, ADLER32, FLETCHER32, JENKINS_1, CRC32C,
    "['bytes','numcodecs.crc32','numcodecs.zlib','numcodecs.fletcher32']"};

START_TEST(checksums_come_back_and_notice_damage)
{
    static const uint64_t sizes[] = {1, 2, 3, 12, 4095, 65536};
    for (size_t i = 0; i < ZD_COUNT_OF(sizes); i++) {
        zd_unit_check_round_trip(all[_i], sizes[i]);
    }
    zd_unit_check_damage(all[_i], 300, true);
}
END_TEST

START_TEST(checksums_have_a_fixed_size_as_an_index_needs)
{
    const struct zd_unit_chain what = {
        .codecs = all[_i], .dtype = "uint8", .rank = 1, .shape = {16}, .fixed = true};
    ZD_AUTO(zd_chain) chain = zd_unit_chain(&what);
    ck_assert_uint_eq(zd_chain_encoded(chain)->size, 16 + ZD_CHECKSUM_BYTES);
}
END_TEST

START_TEST(checksums_are_written_where_they_were_read)
{
    ZD_AUTO(zd_chain) chain = zd_unit_byte_chain(all[_i], 8);
    ZD_AUTO(zd_json) found = zd_chain_json(chain);
    const struct zd_json *configuration =
        zd_json_member(zd_json_element(found, 1), "configuration");
    const char *location = zd_json_string(zd_json_member(configuration, "location"));
    ck_assert((location != NULL) == (strcmp(all[_i], CRC32_END) == 0));
    ck_assert(location == NULL || strcmp(location, "end") == 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, checksums_are_those_of_numcodecs, 0, ZD_COUNT_OF(rows));
    tcase_add_loop_test(
        tests, checksums_of_long_data_are_those_of_numcodecs, 0, ZD_COUNT_OF(long_ones));
    tcase_add_loop_test(tests, checksums_come_back_and_notice_damage, 0, ZD_COUNT_OF(all));
    tcase_add_loop_test(
        tests, checksums_have_a_fixed_size_as_an_index_needs, 0, ZD_COUNT_OF(all) - 1);
    tcase_add_loop_test(tests, checksums_are_written_where_they_were_read, 0, ZD_COUNT_OF(all));
}
