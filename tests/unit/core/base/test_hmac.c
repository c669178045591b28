/* HMAC: the published examples. */
#include "core/base/hmac.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct {
    const char *secret; /* hexadecimal, as the rest */
    const char *bytes;
    const char *digest;
} examples[] = {
    /* RFC 4231, 4.2 and 4.3 */
    {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {"4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
};

START_TEST(hmac_is_as_in_the_rfc)
{
    uint8_t digest[ZD_DIGEST_BYTES];
    ZD_AUTO(zd_buf) secret = zd_unit_hex(examples[_i].secret);
    ZD_AUTO(zd_buf) bytes = zd_unit_hex(examples[_i].bytes);
    ZD_AUTO(zd_buf) expected = zd_unit_hex(examples[_i].digest);
    ZD_AUTO(zd_hmac) hmac = NULL;
    ck_assert_int_eq(zd_hmac_new(zd_buf_span(secret), &hmac), ZD_OK);
    for (size_t i = 0; i < 3; i++) { /* each begins anew */
        memset(digest, 0, sizeof digest);
        ck_assert_int_eq(zd_hmac_of(hmac, zd_buf_span(bytes), digest), ZD_OK);
        ck_assert(memcmp(digest, expected->data, ZD_DIGEST_BYTES) == 0);
    }
}
END_TEST

START_TEST(hmac_wipes)
{
    char secret[] = "secret";
    zd_hmac_wipe(secret, sizeof secret);
    for (size_t i = 0; i < sizeof secret; i++) {
        ck_assert_int_eq(secret[i], 0);
    }
    zd_hmac_wipe(NULL, 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, hmac_is_as_in_the_rfc, 0, ZD_COUNT_OF(examples));
    tcase_add_test(tests, hmac_wipes);
}
