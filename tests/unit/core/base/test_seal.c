/* A block of AES-128: the published example, and what comes back. */
#include "core/base/seal.h"

#include <string.h>

#include "core/base/buf.h"
#include "tests/support/unit.h"

START_TEST(seal_is_as_in_the_standard)
{
    /* FIPS 197, C.1 */
    ZD_AUTO(zd_buf) key = zd_unit_hex("000102030405060708090a0b0c0d0e0f");
    ZD_AUTO(zd_buf) block = zd_unit_hex("00112233445566778899aabbccddeeff");
    char hex[ZD_SEAL_CHARS + 1];
    uint8_t opened[ZD_SEAL_BYTES];
    ZD_AUTO(zd_seal) seal = NULL;
    ck_assert_int_eq(zd_seal_new(key->data, &seal), ZD_OK);
    for (size_t i = 0; i < 3; i++) { /* no block depends on those before */
        ck_assert_int_eq(zd_seal_shut(seal, block->data, hex), ZD_OK);
        ck_assert_str_eq(hex, "69c4e0d86a7b0430d8cdb78070b4c55a");
        ck_assert_int_eq(zd_seal_open(seal, zd_span_of(hex), opened), ZD_OK);
        ck_assert(memcmp(opened, block->data, sizeof opened) == 0);
    }
}
END_TEST

START_TEST(seal_does_not_open_with_another_key)
{
    uint8_t key[ZD_SEAL_BYTES] = {1};
    const uint8_t block[ZD_SEAL_BYTES] = {0};
    char hex[ZD_SEAL_CHARS + 1];
    uint8_t opened[ZD_SEAL_BYTES];
    ZD_AUTO(zd_seal) seal = NULL;
    ZD_AUTO(zd_seal) other = NULL;
    ck_assert_int_eq(zd_seal_new(key, &seal), ZD_OK);
    key[0] = 2;
    ck_assert_int_eq(zd_seal_new(key, &other), ZD_OK);
    ck_assert_int_eq(zd_seal_shut(seal, block, hex), ZD_OK);
    ck_assert_int_eq(zd_seal_open(other, zd_span_of(hex), opened), ZD_OK);
    ck_assert(memcmp(opened, block, sizeof opened) != 0);
}
END_TEST

static const char *const strange[] = {"", "0", "69c4e0d86a7b0430d8cdb78070b4c55",
    "69c4e0d86a7b0430d8cdb78070b4c55a0", "69C4E0D86A7B0430D8CDB78070B4C55A",
    "69c4e0d86a7b0430-cdb78070b4c55ag"};

START_TEST(seal_refuses_what_is_no_block)
{
    const uint8_t key[ZD_SEAL_BYTES] = {1};
    uint8_t opened[ZD_SEAL_BYTES];
    ZD_AUTO(zd_seal) seal = NULL;
    ck_assert_int_eq(zd_seal_new(key, &seal), ZD_OK);
    ck_assert_int_eq(zd_seal_open(seal, zd_span_of(strange[_i]), opened), ZD_INVALID);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, seal_is_as_in_the_standard);
    tcase_add_loop_test(tests, seal_refuses_what_is_no_block, 0, ZD_COUNT_OF(strange));
    tcase_add_test(tests, seal_does_not_open_with_another_key);
}
