/* Facts about core/base/num. */
#include "core/base/num.h"

#include "tests/support/unit.h"

static const struct div_fact {
    uint64_t a;
    uint64_t b;
    uint64_t quotient;
} div_facts[] = {
    {0, 1, 0},
    {0, UINT64_MAX, 0},
    {1, 1, 1},
    {1, UINT64_MAX, 1},
    {UINT64_MAX, 1, UINT64_MAX},
    {UINT64_MAX, 2, UINT64_C(1) << 63}, /* a + b - 1 would not fit */
    {UINT64_MAX, UINT64_MAX, 1},
    {10, 5, 2},
    {11, 5, 3},
};

START_TEST(division_rounds_up_without_overflow)
{
    ck_assert_uint_eq(zd_div_up(div_facts[_i].a, div_facts[_i].b), div_facts[_i].quotient);
}
END_TEST

static const struct product_fact {
    uint64_t factor[3];
    uint32_t n;
    bool too_large;
    uint64_t product;
} product_facts[] = {
    {{7, 7, 7}, 0, false, 1}, /* the product of nothing */
    {{0, 0, 0}, 1, false, 0},
    {{UINT64_MAX, 0, 0}, 1, false, UINT64_MAX},
    {{UINT64_MAX, 1, 1}, 3, false, UINT64_MAX},
    {{UINT64_MAX, 2, 1}, 3, true, 99},
    {{UINT64_MAX, UINT64_MAX, 0}, 3, false, 0}, /* nothing is in it, however large the rest */
    {{UINT64_C(1) << 32, UINT64_C(1) << 31, 1}, 3, false, UINT64_C(1) << 63},
    {{UINT64_C(1) << 32, UINT64_C(1) << 32, 1}, 3, true, 99},
};

START_TEST(products_are_exact_or_refused)
{
    const struct product_fact *fact = &product_facts[_i];
    uint64_t product = 99;
    ck_assert_int_eq(zd_product_overflows(&product, fact->factor, fact->n), fact->too_large);
    ck_assert_uint_eq(product, fact->product);
}
END_TEST

START_TEST(checked_arithmetic_tells_overflow)
{
    uint64_t u64;
    size_t size;
    int64_t i64;
    ck_assert(!ckd_add(&u64, UINT64_MAX, 0));
    ck_assert(ckd_add(&u64, UINT64_MAX, 1));
    ck_assert(ckd_sub(&u64, 0, 1));
    ck_assert(ckd_mul(&size, SIZE_MAX, 2));
    ck_assert(ckd_add(&i64, INT64_MAX, 1));
    ck_assert(ckd_mul(&i64, INT64_MIN, -1));
    ck_assert(ckd_add(&i64, UINT64_MAX, 0)); /* across types */
}
END_TEST

START_TEST(words_are_little_endian)
{
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    ck_assert_uint_eq(zd_load_u16(bytes + 1), 0x0302);
    ck_assert_uint_eq(zd_load_u32(bytes + 1), 0x05040302);
    ck_assert_uint_eq(zd_load_u64(bytes), UINT64_C(0x0807060504030201));
    uint8_t out[9] = {0};
    zd_store_u32(out + 1, 0x05040302);
    ck_assert_mem_eq(out + 1, bytes + 1, 4);
    zd_store_u64(out + 1, UINT64_C(0x0807060504030201));
    ck_assert_mem_eq(out + 1, bytes, 8);
}
END_TEST

START_TEST(the_smaller_and_the_larger_are_told_apart)
{
    ck_assert_uint_eq(zd_min_u64(0, UINT64_MAX), 0);
    ck_assert_uint_eq(zd_max_u64(0, UINT64_MAX), UINT64_MAX);
    ck_assert_uint_eq(zd_min_u64(3, 3), 3);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, division_rounds_up_without_overflow, 0, ZD_COUNT_OF(div_facts));
    tcase_add_loop_test(tests, products_are_exact_or_refused, 0, ZD_COUNT_OF(product_facts));
    tcase_add_test(tests, checked_arithmetic_tells_overflow);
    tcase_add_test(tests, words_are_little_endian);
    tcase_add_test(tests, the_smaller_and_the_larger_are_told_apart);
}
