/* The codecs vlen-utf8 and vlen-bytes: what is a chunk, what is none, and where they may stand. */
#include "core/codec/vlen.h"

#include <string.h>

#include "core/grid/variable.h"
#include "tests/support/codec.h"

/* Two elements; their bytes, or part of the text. */
static const struct {
    const char *dtype;
    const char *encoded;
    const char *first;
    const char *second;
    const char *refusal;
} facts[] = {
    {"string", "02000000 01000000 61 02000000 c3a9", "61", "c3a9", NULL},
    {"string", "02000000 00000000 00000000", "", "", NULL},
    {"string", "02000000 01000000 00 01000000 0a", "00", "0a", NULL}, /* any character */
    {"bytes", "02000000 02000000 00ff 00000000", "00ff", "", NULL},
    {"string", "", NULL, NULL, "left for the number of elements: 0, expected 4"},
    {"string", "020000", NULL, NULL, "left for the number of elements: 3, expected 4"},
    {"string", "01000000 00000000", NULL, NULL, "elements: 1, expected 2"},
    {"string", "03000000 00000000 00000000 00000000", NULL, NULL, "elements: 3, expected 2"},
    {"string", "ffffffff", NULL, NULL, "elements: 4294967295, expected 2"},
    {"string", "02000000 00000000", NULL, NULL, "left for the length of an element: 0, expected 4"},
    {"string", "02000000 00000000 0000", NULL, NULL, "left for the length of an element: 2"},
    {"string", "02000000 00000000 01000000", NULL, NULL, "left for an element: 0, expected 1"},
    {"string", "02000000 ffffffff 61 00000000", NULL, NULL,
        "left for an element: 5, expected 42949"},
    {"string", "02000000 00000000 00000000 00", NULL, NULL, "after the last element: 1"},
    {"string", "02000000 00000000 01000000 ff", NULL, NULL, "element 1 is not UTF-8"},
    {"string", "02000000 03000000 eda080 00000000", NULL, NULL, "element 0 is not UTF-8"},
    {"bytes", "02000000 03000000 eda080 00000000", "eda080", "", NULL},
};

static struct zd_chain *open_vlen(const char *dtype, const char *behind, uint64_t n)
{
    ZD_SCOPED_TEXT(codecs, 200);
    zd_text_addf(
        &codecs, "['%s'%s]", strcmp(dtype, "string") == 0 ? "vlen-utf8" : "vlen-bytes", behind);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = dtype, .rank = 1, .shape = {n}};
    return zd_unit_chain(&what);
}

static void check_element(const struct zd_buf *elements, uint64_t i, const char *hex)
{
    struct zd_buf *bytes = zd_unit_hex(hex);
    ck_assert(zd_span_equal(zd_variable_at(elements->data, i), zd_buf_span(bytes)));
    zd_buf_unref(bytes);
}

START_TEST(vlen_decodes_a_chunk_or_says_what_is_corrupt)
{
    struct zd_chain *chain = open_vlen(facts[_i].dtype, "", 2);
    struct zd_buf *encoded = zd_unit_hex(facts[_i].encoded);
    struct zd_buf *found = NULL;
    struct zd_buf *again = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &found, &err);
    if (facts[_i].refusal == NULL) {
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        check_element(found, 0, facts[_i].first);
        check_element(found, 1, facts[_i].second);
        ck_assert_int_eq(zd_chain_encode(chain, found, &again, &err), ZD_OK);
        ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(encoded)));
    } else {
        ck_assert_int_eq(status, ZD_CORRUPT);
        ck_assert_msg(strstr(err.text, facts[_i].refusal) != NULL, "%s", err.text);
        ck_assert(strstr(err.facts.name, "vlen-") == err.facts.name);
    }
    zd_buf_unref(again);
    zd_buf_unref(found);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

static const struct {
    const char *dtype;
    const char *codecs;
    const char *faults; /* "" when it opens */
} places[] = {
    {"string", "['vlen-utf8']", ""},
    {"bytes", "['vlen-bytes']", ""},
    {"variable_length_bytes", "['vlen-bytes']", ""},
    {"string", "['numcodecs.vlen-utf8']", ""},
    {"bytes", "[{'name':'numcodecs.vlen-bytes','configuration':{}},'crc32c']", ""},
    {"string", "[{'name':'transpose','configuration':{'order':[0]}},'vlen-utf8']", ""},
    {"int32", "['vlen-utf8']", "invalid wrong_data_type /codecs/0"},
    {"string", "['vlen-bytes']", "invalid wrong_data_type /codecs/0"},
    {"bytes", "['vlen-utf8']", "invalid wrong_data_type /codecs/0"},
    {"string", "['bytes']", "invalid wrong_data_type /codecs/0"},
    {"bytes", "['bytes']", "invalid wrong_data_type /codecs/0"},
    {"string", "[]", "warning implied_bytes /codecs; invalid wrong_data_type /codecs"},
    {"string", "[{'name':'numcodecs.delta','configuration':{'dtype':'|u1'}},'vlen-utf8']",
        "invalid wrong_data_type /codecs/0"},
    {"string", "[{'name':'vlen-utf8','configuration':{'level':1}}]",
        "invalid unknown_member /codecs/0/configuration/level"},
};

START_TEST(vlen_stands_where_its_elements_are)
{
    const struct zd_unit_chain what = {
        .codecs = places[_i].codecs, .dtype = places[_i].dtype, .rank = 1, .shape = {4}};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    const enum zd_status status = zd_unit_chain_open(&what, &chain, &faults);
    char *found = zd_unit_faults(&faults);
    ck_assert_str_eq(found, places[_i].faults);
    ck_assert_int_eq(status, places[_i].faults[0] == '\0' ? ZD_OK : ZD_INVALID);
    zd_free(found);
    zd_chain_unref(chain);
    zd_faults_done(&faults);
}
END_TEST

START_TEST(vlen_counts_no_more_than_32_bits)
{
    const struct zd_unit_chain what = {.codecs = "['vlen-bytes']",
        .dtype = "bytes",
        .rank = 1,
        .shape = {UINT64_C(1) << (32 + _i)}};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    ck_assert_int_ne(zd_unit_chain_open(&what, &chain, &faults), ZD_OK);
    ck_assert_str_eq(faults.item[0].code, "out_of_range");
    zd_faults_done(&faults);
}
END_TEST

/* A chunk of n elements, each with some bytes. */
static struct zd_buf *elements_of(uint64_t n)
{
    static const char *const words[] = {"", "a", "\xc3\xa9", "a longer one", "a"};
    struct zd_buf *packed = NULL;
    struct zd_buf *elements = zd_buf_new(n * ZD_VARIABLE_BYTES);
    for (uint64_t i = 0; i < n; i++) {
        const char *word = words[zd_unit_random() % ZD_COUNT_OF(words)];
        zd_variable_put(elements->data, i, zd_span_of(word));
    }
    ck_assert_int_eq(zd_variable_pack(elements->data, n, SIZE_MAX, &packed, NULL), ZD_OK);
    zd_buf_unref(elements);
    return packed;
}

/* Chunks of 4 x 6 elements. */
static const char *const chains[] = {
    "['vlen-utf8',{'name':'zstd','configuration':{'level':1}}]",
    "['vlen-utf8',{'name':'gzip','configuration':{'level':1}},'crc32c']",
    "[{'name':'transpose','configuration':{'order':[1,0]}},'vlen-utf8']",
    "[{'name':'transpose','configuration':{'order':[1,0]}},"
    "{'name':'transpose','configuration':{'order':[1,0]}},'vlen-utf8']",
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[2,3],'codecs':['vlen-utf8'],"
    "'index_codecs':[{'name':'bytes','configuration':{'endian':'little'}},'crc32c']}}]",
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[2,3],'codecs':["
    "{'name':'transpose','configuration':{'order':[1,0]}},'vlen-utf8'],'index_codecs':["
    "{'name':'bytes','configuration':{'endian':'little'}}]}},"
    "{'name':'gzip','configuration':{'level':1}}]",
};

static enum zd_status encode_and_decode(void *context)
{
    struct zd_buf *elements = ((struct zd_buf **)context)[0];
    const struct zd_chain *chain = ((struct zd_chain **)context)[1];
    ZD_AUTO(zd_buf) encoded = NULL;
    ZD_AUTO(zd_buf) again = NULL;
    ZD_TRY(zd_chain_encode(chain, elements, &encoded, NULL));
    ZD_TRY(zd_chain_decode(chain, encoded, &again, NULL));
    ck_assert(zd_dtype_same_elements(&zd_chain_decoded(chain)->dtype, elements->data, again->data,
        zd_chain_decoded(chain)->size / ZD_VARIABLE_BYTES));
    return ZD_OK;
}

START_TEST(vlen_decodes_what_it_encodes_in_every_chain)
{
    const struct zd_unit_chain what = {
        .codecs = chains[_i], .dtype = "string", .rank = 2, .shape = {4, 6}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *elements = elements_of(24);
    void *context[] = {elements, chain};
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(encode_and_decode((void *)context), ZD_OK);
    }
    zd_unit_with_failing_memory(encode_and_decode, (void *)context);
    zd_buf_unref(elements);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(vlen_encodes_no_more_than_is_read)
{
    struct zd_chain *chain = open_vlen("bytes", "", 1);
    const uint64_t most = zd_variable_bytes_max(1);
    struct zd_buf *bytes = zd_buf_new(most + 1);
    struct zd_buf *element = zd_buf_new(ZD_VARIABLE_BYTES);
    struct zd_buf *encoded = NULL;
    struct zd_error err = {0};
    memset(bytes->data, 0, bytes->cap);
    element->len = ZD_VARIABLE_BYTES;
    zd_variable_put(element->data, 0, (struct zd_span){.ptr = bytes->data, .len = most + 1});
    ck_assert_int_eq(zd_chain_encode(chain, element, &encoded, &err), ZD_TOO_LARGE);
    ck_assert_uint_eq(err.facts.limit, most);
    zd_variable_put(element->data, 0, (struct zd_span){.ptr = bytes->data, .len = most});
    ck_assert_int_eq(zd_chain_encode(chain, element, &encoded, &err), ZD_OK);
    ck_assert_uint_eq(encoded->len, zd_chain_encoded(chain)->size);
    zd_buf_unref(encoded);
    zd_buf_unref(element);
    zd_buf_unref(bytes);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(vlen_stops_a_bomb_behind_a_compressor)
{
    struct zd_chain *large =
        open_vlen("bytes", ",{'name':'zstd','configuration':{'level':1}}", 1 << 14);
    struct zd_chain *small = open_vlen("bytes", ",{'name':'zstd','configuration':{'level':1}}", 1);
    struct zd_buf *zeros = zd_buf_new(32U << 20);
    struct zd_buf *elements = zd_buf_new(ZD_VARIABLE_BYTES << 14);
    struct zd_buf *bomb = NULL;
    struct zd_buf *found = NULL;
    memset(zeros->data, 0, zeros->cap);
    memset(elements->data, 0, elements->cap);
    zeros->len = zeros->cap;
    elements->len = elements->cap;
    zd_variable_put(elements->data, 0, zd_buf_span(zeros));
    ck_assert_int_eq(zd_chain_encode(large, elements, &bomb, NULL), ZD_OK);
    ck_assert_int_eq(zd_chain_decode(small, bomb, &found, NULL), ZD_CORRUPT);
    zd_buf_unref(bomb);
    zd_buf_unref(elements);
    zd_buf_unref(zeros);
    zd_chain_unref(large);
    zd_chain_unref(small);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, vlen_decodes_a_chunk_or_says_what_is_corrupt, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, vlen_stands_where_its_elements_are, 0, ZD_COUNT_OF(places));
    tcase_add_loop_test(tests, vlen_counts_no_more_than_32_bits, 0, 2);
    tcase_add_loop_test(tests, vlen_decodes_what_it_encodes_in_every_chain, 0, ZD_COUNT_OF(chains));
    tcase_add_test(tests, vlen_encodes_no_more_than_is_read);
    tcase_add_test(tests, vlen_stops_a_bomb_behind_a_compressor);
}
