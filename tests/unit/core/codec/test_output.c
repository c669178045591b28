/* The output of decoders of streams: the memory grows no further than what is expected. */
#include "core/codec/output.h"

#include <string.h>

#include "tests/support/codec.h"

static struct zd_repr bytes_of(uint64_t size, bool is_exact)
{
    return (struct zd_repr){.is_bytes = true, .size = size, .size_is_exact = is_exact};
}

/* Puts n bytes in, by and by. */
static enum zd_status fill(struct zd_output *output, size_t n, struct zd_error *err)
{
    for (size_t i = 0; i < n;) {
        uint8_t *room;
        size_t len;
        ck_assert_int_eq(zd_output_room(output, &room, &len, err), ZD_OK);
        ck_assert_uint_ge(len, 1);
        len = zd_min_u64(len, n - i);
        memset(room, (int)(i % 251), len);
        ZD_TRY(zd_output_add(output, len, err));
        i += len;
    }
    return ZD_OK;
}

static const struct {
    uint64_t size;
    bool is_exact;
    size_t encoded_bytes;
    size_t n; /* bytes put in */
    enum zd_status filled;
    enum zd_status taken;
} facts[] = {
    {0, true, 0, 0, ZD_OK, ZD_OK},
    {0, true, 0, 1, ZD_CORRUPT, ZD_OK},
    {10, true, 5, 9, ZD_OK, ZD_CORRUPT},
    {10, true, 5, 10, ZD_OK, ZD_OK},
    {10, true, 5, 11, ZD_CORRUPT, ZD_OK},
    {10, false, 0, 0, ZD_OK, ZD_OK},
    {10, false, 5, 9, ZD_OK, ZD_OK},
    {10, false, 5, 11, ZD_CORRUPT, ZD_OK},
    {200000, false, 1, 70000, ZD_OK, ZD_OK},
    {200000, false, 1, 200000, ZD_OK, ZD_OK},
    {200000, false, 1, 200001, ZD_CORRUPT, ZD_OK},
    /* a bound that says nothing takes no memory */
    {UINT64_MAX, false, 100, 500000, ZD_OK, ZD_OK},
};

START_TEST(output_holds_what_was_expected)
{
    const struct zd_repr decoded = bytes_of(facts[_i].size, facts[_i].is_exact);
    struct zd_output output;
    struct zd_buf *bytes = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(
        zd_output_init(&output, "codec", &decoded, facts[_i].encoded_bytes, &err), ZD_OK);
    ck_assert_int_eq(fill(&output, facts[_i].n, &err), facts[_i].filled);
    ck_assert_uint_le(output.bytes->cap, zd_max_u64(1U << 20, facts[_i].encoded_bytes));
    ck_assert_int_eq(zd_output_take(&output, &bytes, &err), facts[_i].taken);
    if (facts[_i].filled == ZD_OK && facts[_i].taken == ZD_OK) {
        ck_assert_uint_eq(bytes->len, facts[_i].n);
    }
    zd_buf_unref(bytes);
    zd_output_done(&output);
}
END_TEST

START_TEST(output_survives_a_lack_of_memory)
{
    const struct zd_repr decoded = bytes_of(200000, false);
    enum zd_status status = ZD_NO_MEMORY;
    for (uint64_t n = 1; status == ZD_NO_MEMORY; n++) {
        struct zd_output output;
        uint8_t *room;
        size_t len;
        zd_alloc_fail_at(n);
        status = zd_output_init(&output, "codec", &decoded, 1, NULL);
        if (status == ZD_OK) {
            status = zd_output_room(&output, &room, &len, NULL);
        }
        if (status == ZD_OK) {
            ck_assert_int_eq(zd_output_add(&output, len, NULL), ZD_OK);
            status = zd_output_room(&output, &room, &len, NULL);
        }
        zd_alloc_fail_at(0);
        zd_output_done(&output);
    }
    ck_assert_int_eq(status, ZD_OK);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, output_holds_what_was_expected, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, output_survives_a_lack_of_memory);
}
