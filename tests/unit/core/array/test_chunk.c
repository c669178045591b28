/* Facts about core/array/chunk. */
#include "core/array/chunk.h"

#include <string.h>

#include "tests/support/array.h"
#include "tests/support/unit.h"

#define LITTLE  "{'name':'bytes','configuration':{'endian':'little'}}"
#define UNKNOWN "{'name':'https://example.com/none','must_understand':false}"

static struct zd_layout *open_layout(const struct zd_unit_array *array)
{
    ZD_AUTO(zd_meta) meta = zd_unit_meta(array);
    struct zd_layout *layout = NULL;
    ck_assert_int_eq(zd_layout_new(meta, UINT64_MAX, &layout, NULL), ZD_OK);
    return layout;
}

/* Reference 10: transpose [1,0] + bytes. */
static const struct zd_unit_array transposed = {2, {2, 3}, {2, 3}, "uint8",
    "[{'name':'transpose','configuration':{'order':[1,0]}}," LITTLE "]"};

START_TEST(chunks_are_decoded_and_encoded)
{
    ZD_AUTO(zd_layout) layout = open_layout(&transposed);
    ZD_AUTO(zd_buf) data = zd_unit_hex("010203040506");
    ZD_AUTO(zd_buf) want = zd_unit_hex("010402050306");
    ZD_AUTO(zd_buf) stored = NULL;
    ck_assert_int_eq(zd_chunk_encode(&layout->level[0], data, &stored, NULL), ZD_OK);
    ck_assert_uint_eq(stored->len, want->len);
    ck_assert_mem_eq(stored->data, want->data, want->len);
    ZD_AUTO(zd_buf) again = NULL;
    ck_assert_int_eq(zd_chunk_decode(zd_layout_leaf(layout), stored, &again, NULL), ZD_OK);
    ck_assert_uint_eq(again->len, data->len);
    ck_assert_mem_eq(again->data, data->data, data->len);
}
END_TEST

START_TEST(stored_bytes_of_another_length_are_corrupt)
{
    ZD_AUTO(zd_layout) layout = open_layout(&transposed);
    const char *const stored[] = {"", "0104020503", "01040205030607"};
    ZD_AUTO(zd_buf) bytes = zd_unit_hex(stored[_i]);
    ZD_AUTO(zd_buf) data = NULL;
    ck_assert_int_eq(zd_chunk_decode(zd_layout_leaf(layout), bytes, &data, NULL), ZD_CORRUPT);
    ck_assert_ptr_null(data);
}
END_TEST

START_TEST(elements_of_another_length_are_not_encoded)
{
    ZD_AUTO(zd_layout) layout = open_layout(&transposed);
    const char *const elements[] = {"", "0102030405", "01020304050607"};
    ZD_AUTO(zd_buf) data = zd_unit_hex(elements[_i]);
    ZD_AUTO(zd_buf) stored = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_chunk_encode(&layout->level[0], data, &stored, &err), ZD_INVALID);
    ck_assert_ptr_null(stored);
    ck_assert_str_eq(err.facts.expected, "6 bytes");
}
END_TEST

START_TEST(an_array_with_a_dropped_codec_is_not_encoded)
{
    const struct zd_unit_array array = {1, {2}, {2}, "uint8", "[" LITTLE "," UNKNOWN "]"};
    ZD_AUTO(zd_layout) layout = open_layout(&array);
    ZD_AUTO(zd_buf) data = zd_unit_hex("0102");
    ZD_AUTO(zd_buf) stored = NULL;
    ck_assert_int_eq(zd_chunk_encode(&layout->level[0], data, &stored, NULL), ZD_UNSUPPORTED);
    ck_assert_ptr_null(stored);
}
END_TEST

START_TEST(a_chunk_of_the_fill_value_is_known_as_one)
{
    const char *const types[] = {"uint8", "uint16", "r24", "float64", "complex128"};
    const struct zd_unit_array array = {2, {2, 3}, {2, 3}, types[_i], "[" LITTLE "]"};
    ZD_AUTO(zd_layout) layout = open_layout(&array);
    struct zd_meta *meta = layout->meta;
    for (size_t i = 0; i < meta->dtype.bytes; i++) {
        meta->fill[i] = (uint8_t)(i + 1);
    }
    ZD_AUTO(zd_buf) data = zd_chunk_of_fill(zd_layout_leaf(layout), meta);
    ck_assert_ptr_nonnull(data);
    ck_assert_uint_eq(data->len, 6 * meta->dtype.bytes);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_mem_eq(data->data + i * meta->dtype.bytes, meta->fill, meta->dtype.bytes);
    }
    ck_assert(zd_chunk_is_fill(data, data->len / meta->dtype.bytes, meta));
    for (size_t i = 0; i < data->len; i++) {
        data->data[i] ^= 0x80;
        ck_assert(!zd_chunk_is_fill(data, data->len / meta->dtype.bytes, meta));
        data->data[i] ^= 0x80;
    }
    data->len = meta->dtype.bytes;
    ck_assert(zd_chunk_is_fill(data, data->len / meta->dtype.bytes, meta)); /* one element */
}
END_TEST

START_TEST(negative_zero_is_not_the_fill_value_zero)
{
    const struct zd_unit_array array = {1, {1}, {1}, "float32", "[" LITTLE "]"};
    ZD_AUTO(zd_layout) layout = open_layout(&array);
    ZD_AUTO(zd_buf) data = zd_unit_hex("00000080");
    ck_assert(!zd_chunk_is_fill(data, data->len / layout->meta->dtype.bytes, layout->meta));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, chunks_are_decoded_and_encoded);
    tcase_add_loop_test(tests, stored_bytes_of_another_length_are_corrupt, 0, 3);
    tcase_add_loop_test(tests, elements_of_another_length_are_not_encoded, 0, 3);
    tcase_add_test(tests, an_array_with_a_dropped_codec_is_not_encoded);
    tcase_add_loop_test(tests, a_chunk_of_the_fill_value_is_known_as_one, 0, 5);
    tcase_add_test(tests, negative_zero_is_not_the_fill_value_zero);
}
