/* CRC-32C: known values, and both ways of computing it against the definition, bit by bit. */
#include "core/codec/crc32c.h"

#include "tests/support/codec.h"

static uint32_t by_definition(struct zd_span bytes)
{
    uint32_t crc = 0xFFFFFFFFU;
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= bytes.ptr[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0x82F63B78U & (0U - (crc & 1U)));
        }
    }
    return ~crc;
}

static void check(const struct zd_crc32c_table *table, struct zd_span bytes, uint32_t expected)
{
    ck_assert_uint_eq(by_definition(bytes), expected);
    ck_assert_uint_eq(zd_crc32c_by_table(table, bytes), expected);
    struct zd_crc32c crc32c;
    ck_assert_int_eq(zd_crc32c_init(&crc32c), ZD_OK);
    ck_assert_uint_eq(zd_crc32c_of(&crc32c, bytes), expected);
    zd_crc32c_done(&crc32c);
    if (zd_crc32c_is_native()) {
        ck_assert_uint_eq(zd_crc32c_native(bytes), expected);
    }
}

/* Section 10 of the reference. */
static const struct {
    const char *hex;
    uint32_t crc;
} vectors[] = {
    {"", 0},
    {"313233343536373839", 0xE3069283U},
    {"0000000000000000000000000000000000000000000000000000000000000000", 0x8A9136AAU},
    {"ffffffffffffffffffffffffffffffff", 0xEF2F4C10U},
};

START_TEST(crc32c_gives_the_known_values)
{
    static struct zd_crc32c_table table;
    zd_crc32c_table_init(&table);
    struct zd_buf *bytes = zd_unit_hex(vectors[_i].hex);
    check(&table, zd_buf_span(bytes), vectors[_i].crc);
    zd_buf_unref(bytes);
}
END_TEST

START_TEST(crc32c_is_the_same_at_every_length_and_alignment)
{
    static struct zd_crc32c_table table;
    zd_crc32c_table_init(&table);
    struct zd_buf *bytes = zd_unit_elements(4096);
    for (size_t first = 0; first < 9; first++) {
        for (size_t len = 0; len < 70; len++) {
            const struct zd_span span = {.ptr = bytes->data + first, .len = len};
            check(&table, span, by_definition(span));
        }
    }
    check(&table, zd_buf_span(bytes), by_definition(zd_buf_span(bytes)));
    zd_buf_unref(bytes);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, crc32c_gives_the_known_values, 0, ZD_COUNT_OF(vectors));
    tcase_add_test(tests, crc32c_is_the_same_at_every_length_and_alignment);
}
