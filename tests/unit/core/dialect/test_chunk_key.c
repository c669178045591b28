/* Facts about core/dialect/chunk_key. */
#include "core/dialect/chunk_key.h"

#include "tests/support/unit.h"

/* An array of that many chunks along each dimension, one element each. */
static struct zd_meta array_of(enum zd_key_encoding encoding, char separator, uint32_t rank)
{
    struct zd_meta meta = {
        .key_encoding = encoding, .key_separator = separator, .grid = {.rank = rank}};
    for (uint32_t d = 0; d < rank; d++) {
        meta.grid.shape[d] = 100;
        meta.grid.chunk[d] = 1;
    }
    return meta;
}

static const struct key_fact {
    enum zd_key_encoding encoding;
    char separator;
    uint32_t rank;
    const char *key; /* of chunk (1, 23, 45), as far as the rank goes */
} key_facts[] = {
    {ZD_KEYS_DEFAULT, '/', 3, "c/1/23/45"},
    {ZD_KEYS_DEFAULT, '.', 3, "c.1.23.45"},
    {ZD_KEYS_DEFAULT, '/', 0, "c"},
    {ZD_KEYS_DEFAULT, '.', 0, "c"},
    {ZD_KEYS_DEFAULT, '/', 1, "c/1"},
    {ZD_KEYS_V2, '.', 3, "1.23.45"},
    {ZD_KEYS_V2, '/', 3, "1/23/45"},
    {ZD_KEYS_V2, '.', 0, "0"},
    {ZD_KEYS_V2, '.', 1, "1"},
};

START_TEST(key_names_its_chunk_and_back)
{
    const struct key_fact *fact = &key_facts[_i];
    const struct zd_meta meta = array_of(fact->encoding, fact->separator, fact->rank);
    const uint64_t index[ZD_RANK_MAX] = {1, 23, 45};
    ZD_SCOPED_TEXT(key, 64);
    ck_assert_int_eq(zd_chunk_key_add(&meta, index, &key), ZD_OK);
    ck_assert_str_eq(key.at, fact->key);
    uint64_t back[ZD_RANK_MAX] = {0};
    ck_assert_int_eq(zd_chunk_key_parse(&meta, zd_text_span(&key), back), ZD_OK);
    for (uint32_t d = 0; d < fact->rank; d++) {
        ck_assert_uint_eq(back[d], index[d]);
    }
}
END_TEST

static const struct suffix_fact {
    enum zd_key_encoding encoding;
    uint32_t rank;
    const char *suffix;
    const char *key; /* of chunk (1, 23) */
} suffix_facts[] = {
    {ZD_KEYS_DEFAULT, 2, ".tiff", "c/1/23.tiff"}, {ZD_KEYS_DEFAULT, 0, ".tiff", "c.tiff"},
    {ZD_KEYS_V2, 2, ".tiff", "1/23.tiff"}, {ZD_KEYS_V2, 0, ".tiff", "0.tiff"},
    {ZD_KEYS_V2, 2, "", "1/23"}, {ZD_KEYS_V2, 2, "4", "1/234"}, /* no digit of the index */
};

START_TEST(suffix_ends_every_key)
{
    const struct suffix_fact *fact = &suffix_facts[_i];
    struct zd_meta meta = array_of(fact->encoding, '/', fact->rank);
    meta.key_suffix = zd_strdup(fact->suffix);
    const uint64_t index[ZD_RANK_MAX] = {1, 23};
    ZD_SCOPED_TEXT(key, 64);
    ck_assert_int_eq(zd_chunk_key_add(&meta, index, &key), ZD_OK);
    ck_assert_str_eq(key.at, fact->key);
    uint64_t back[ZD_RANK_MAX] = {7, 7};
    ck_assert_int_eq(zd_chunk_key_parse(&meta, zd_span_of("c/1/23.tif"), back), ZD_NOT_FOUND);
    ck_assert_int_eq(zd_chunk_key_parse(&meta, zd_span_of(""), back), ZD_NOT_FOUND);
    ck_assert_int_eq(zd_chunk_key_parse(&meta, zd_text_span(&key), back), ZD_OK);
    for (uint32_t d = 0; d < fact->rank; d++) {
        ck_assert_uint_eq(back[d], index[d]);
    }
    zd_free(meta.key_suffix);
}
END_TEST

static const struct foreign_fact {
    enum zd_key_encoding encoding;
    char separator;
    uint32_t rank;
    const char *key;
} foreign_facts[] = {
    {ZD_KEYS_DEFAULT, '/', 2, "c/00/0"},
    {ZD_KEYS_DEFAULT, '/', 2, "c/+1/0"},
    {ZD_KEYS_DEFAULT, '/', 2, "c/-1/0"},
    {ZD_KEYS_DEFAULT, '/', 2, "c/1"},
    {ZD_KEYS_DEFAULT, '/', 2, "c/1/0/"},
    {ZD_KEYS_DEFAULT, '/', 2, "c/1/0/0"},
    {ZD_KEYS_DEFAULT, '/', 2, "c.1.0"},
    {ZD_KEYS_DEFAULT, '/', 2, "c/1/ 0"},
    {ZD_KEYS_DEFAULT, '/', 2, "1/0"},
    {ZD_KEYS_DEFAULT, '/', 2, "C/1/0"},
    {ZD_KEYS_DEFAULT, '/', 2, "c/18446744073709551616/0x"},
    {ZD_KEYS_DEFAULT, '/', 2, "zarr.json"},
    {ZD_KEYS_DEFAULT, '/', 2, ""},
    {ZD_KEYS_DEFAULT, '/', 0, "c/0"},
    {ZD_KEYS_DEFAULT, '/', 0, "0"},
    {ZD_KEYS_V2, '.', 2, "1/0"},
    {ZD_KEYS_V2, '.', 2, "c.1.0"},
    {ZD_KEYS_V2, '.', 2, "1.0."},
    {ZD_KEYS_V2, '.', 2, "01.0"},
    {ZD_KEYS_V2, '.', 0, "00"},
    {ZD_KEYS_V2, '.', 0, ""},
    {ZD_KEYS_V2, '.', 0, "1"},
};

START_TEST(other_keys_name_no_chunk)
{
    const struct foreign_fact *fact = &foreign_facts[_i];
    const struct zd_meta meta = array_of(fact->encoding, fact->separator, fact->rank);
    uint64_t index[ZD_RANK_MAX] = {7, 7};
    ck_assert_msg(
        zd_chunk_key_parse(&meta, zd_span_of(fact->key), index) == ZD_NOT_FOUND, "%s", fact->key);
    ck_assert_uint_eq(index[0], 7);
}
END_TEST

static const char *const outside[] = {"c/100/0", /* one past the grid */
    "c/18446744073709551615/0", "c/18446744073709551616/0", "c/0/184467440737095516160000"};

START_TEST(keys_of_a_larger_grid_are_told)
{
    const struct zd_meta meta = array_of(ZD_KEYS_DEFAULT, '/', 2);
    uint64_t index[ZD_RANK_MAX] = {7, 7};
    ck_assert_int_eq(zd_chunk_key_parse(&meta, zd_span_of(outside[_i]), index), ZD_OUT_OF_BOUNDS);
    ck_assert_uint_eq(index[0], 7);
}
END_TEST

START_TEST(key_past_its_ceiling_is_too_large)
{
    const struct zd_meta meta = array_of(ZD_KEYS_DEFAULT, '/', 2);
    const uint64_t index[2] = {1, 23};
    ZD_SCOPED_TEXT(key, 5);
    ck_assert_int_eq(zd_chunk_key_add(&meta, index, &key), ZD_TOO_LARGE);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, key_names_its_chunk_and_back, 0, ZD_COUNT_OF(key_facts));
    tcase_add_loop_test(tests, suffix_ends_every_key, 0, ZD_COUNT_OF(suffix_facts));
    tcase_add_loop_test(tests, other_keys_name_no_chunk, 0, ZD_COUNT_OF(foreign_facts));
    tcase_add_loop_test(tests, keys_of_a_larger_grid_are_told, 0, ZD_COUNT_OF(outside));
    tcase_add_test(tests, key_past_its_ceiling_is_too_large);
}
