/* Codecs by name, and the arithmetic of sizes. */
#include "core/codec/codec.h"

#include <string.h>

#include "tests/support/codec.h"

static const struct {
    const char *name;
    bool found;
    enum zd_codec_kind kind;
} names[] = {
    {"bytes", true, ZD_CODEC_ARRAY_BYTES},
    {"transpose", true, ZD_CODEC_ARRAY_ARRAY},
    {"gzip", true, ZD_CODEC_BYTES_BYTES},
    {"zstd", true, ZD_CODEC_BYTES_BYTES},
    {"blosc", true, ZD_CODEC_BYTES_BYTES},
    {"crc32c", true, ZD_CODEC_BYTES_BYTES},
    {"sharding_indexed", true, ZD_CODEC_ARRAY_BYTES},
    {"", false, 0},
    {"Bytes", false, 0},
    {"byte", false, 0},
    {"bytes2", false, 0},
};

START_TEST(codec_is_found_by_its_whole_name)
{
    const struct zd_codec *codec = zd_codec_find(names[_i].name);
    ck_assert_int_eq(codec != NULL, names[_i].found);
    if (codec != NULL) {
        ck_assert_int_eq(codec->kind, names[_i].kind);
    }
}
END_TEST

START_TEST(codec_has_a_schema_that_is_json)
{
    for (size_t i = 0; zd_codecs[i] != NULL; i++) {
        struct zd_json *schema = zd_unit_json(zd_codecs[i]->schema);
        ck_assert(zd_json_is(schema, ZD_JSON_OBJECT));
        ck_assert(zd_json_is_false(zd_json_member(schema, "additionalProperties")));
        zd_json_unref(schema);
    }
}
END_TEST

START_TEST(codec_bound_saturates)
{
    ck_assert_uint_ge(zd_codec_bound(0), 1);
    ck_assert_uint_gt(zd_codec_bound(1000), 1000);
    ck_assert_uint_eq(zd_codec_bound(UINT64_MAX), UINT64_MAX);
    ck_assert_uint_eq(zd_codec_bound(UINT64_MAX - 1000), UINT64_MAX);
}
END_TEST

static const struct {
    const char *dtype;
    uint32_t rank;
    uint64_t shape[3];
    bool overflows;
    uint64_t size;
} sizes[] = {
    {"int32", 0, {0}, false, 4},
    {"int32", 2, {3, 5}, false, 60},
    {"int32", 2, {3, 0}, false, 0},
    {"int16", 1, {UINT64_MAX / 2}, false, UINT64_MAX - 1},
    {"int16", 1, {UINT64_MAX / 2 + 1}, true, 0},
    {"int8", 1, {UINT64_MAX}, false, UINT64_MAX},
    {"int8", 2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, true, 0},
};

START_TEST(codec_sizes_of_arrays_are_checked)
{
    struct zd_repr repr = {.rank = sizes[_i].rank};
    memcpy(repr.shape, sizes[_i].shape, sizeof sizes[_i].shape);
    ck_assert_int_eq(zd_dtype_find(sizes[_i].dtype, &repr.dtype), ZD_OK);
    uint64_t size = 0;
    ck_assert_int_eq(zd_codec_repr_overflows(&repr, &size), sizes[_i].overflows);
    if (!sizes[_i].overflows) {
        ck_assert_uint_eq(size, sizes[_i].size);
    }
}
END_TEST

START_TEST(codec_size_check_tells_what_was_expected_and_found)
{
    const struct zd_repr exact = {.is_bytes = true, .size = 10, .size_is_exact = true};
    const struct zd_repr most = {.is_bytes = true, .size = 10};
    struct zd_error err = {0};
    ck_assert_int_eq(zd_codec_repr_check(&exact, "x1", 10, &err), ZD_OK);
    ck_assert_int_eq(zd_codec_repr_check(&exact, "x1", 9, &err), ZD_CORRUPT);
    ck_assert_str_eq(err.text, "x1: 9 bytes decoded, 10 expected");
    ck_assert_str_eq(err.facts.name, "x1");
    ck_assert_int_eq(zd_codec_repr_check(&most, "x1", 0, &err), ZD_OK);
    ck_assert_int_eq(zd_codec_repr_check(&most, "x1", 10, &err), ZD_OK);
    ck_assert_int_eq(zd_codec_repr_check(&most, "x1", 11, &err), ZD_CORRUPT);
    ck_assert_str_eq(err.text, "x1: 11 bytes decoded, at most 10 expected");
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, codec_is_found_by_its_whole_name, 0, ZD_COUNT_OF(names));
    tcase_add_test(tests, codec_has_a_schema_that_is_json);
    tcase_add_test(tests, codec_bound_saturates);
    tcase_add_loop_test(tests, codec_sizes_of_arrays_are_checked, 0, ZD_COUNT_OF(sizes));
    tcase_add_test(tests, codec_size_check_tells_what_was_expected_and_found);
}
