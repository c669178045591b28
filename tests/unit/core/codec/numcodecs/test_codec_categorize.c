/* The codec categorize of numcodecs: labels and their numbers, and what has none. */
#include <string.h>

#include "core/grid/variable.h"
#include "tests/support/codec.h"

#define CODEC(members) "[{'name':'numcodecs.categorize','configuration':{" members "}},"
#define BYTES          "'bytes']"
#define LITTLE         "{'name':'bytes','configuration':{'endian':'little'}}]"
#define COLOURS        "'labels':['red','','gr\u00fcn']"

static const struct {
    const char *codecs;
    const char *encoded;
    const char *elements[3]; /* or part of the text */
    bool is_corrupt;
} facts[] = {
    {CODEC(COLOURS) BYTES, "010303", {"red", "gr\u00fcn", "gr\u00fcn"}, false},
    {CODEC(COLOURS ",'dtype':'|O','astype':'|u1'") BYTES, "020101", {"", "red", "red"}, false},
    {CODEC(COLOURS ",'astype':'<i4'") LITTLE, "010000000200000003000000", {"red", "", "gr\u00fcn"},
        false},
    {CODEC("'labels':['a']") BYTES, "000100", {"", "a", ""}, false}, /* 0 is no label */
    {CODEC(COLOURS) BYTES, "010304", {"element 2 has the label number 4, but there are 3 labels"},
        true},
    {CODEC(COLOURS ",'astype':'<i2'") LITTLE, "01000200ffff",
        {"the label number 65535, but there are 3"}, true},
    {CODEC(COLOURS) BYTES, "0101", {"bytes: 2 bytes decoded, 3 expected"}, true},
};

static struct zd_chain *open_chain(const char *codecs)
{
    const struct zd_unit_chain what = {
        .codecs = codecs, .dtype = "string", .rank = 1, .shape = {3}};
    return zd_unit_chain(&what);
}

START_TEST(categorize_decodes_numbers_of_labels)
{
    struct zd_chain *chain = open_chain(facts[_i].codecs);
    struct zd_buf *encoded = zd_unit_hex(facts[_i].encoded);
    struct zd_buf *elements = NULL;
    struct zd_buf *again = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &elements, &err);
    if (facts[_i].is_corrupt) {
        ck_assert_int_eq(status, ZD_CORRUPT);
        ck_assert_msg(strstr(err.text, facts[_i].elements[0]) != NULL, "%s", err.text);
    } else {
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        for (uint64_t i = 0; i < 3; i++) {
            ck_assert(zd_span_is(zd_variable_at(elements->data, i), facts[_i].elements[i]));
        }
        ck_assert_int_eq(zd_chain_encode(chain, elements, &again, &err), ZD_OK);
        ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(encoded)));
    }
    zd_buf_unref(again);
    zd_buf_unref(elements);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

/* "red", "" and "green" in elements of 20 bytes. */
#define RED   "7200000065000000640000000000000000000000"
#define NONE  "0000000000000000000000000000000000000000"
#define GREEN "670000007200000065000000650000006e000000"

START_TEST(categorize_knows_text_of_fixed_length)
{
    struct zd_dtype type;
    ck_assert_int_eq(zd_dtype_of_bytes("fixed_length_utf32", 20, &type), ZD_OK);
    const struct zd_unit_chain what = {
        .codecs = CODEC("'labels':['red','green'],'dtype':'<U5','astype':'<u2'") LITTLE,
        .type = &type,
        .rank = 1,
        .shape = {3}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *encoded = zd_unit_hex("010000000200");
    struct zd_buf *expected = zd_unit_hex(RED NONE GREEN);
    struct zd_buf *elements = NULL;
    struct zd_buf *again = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &elements, &err), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(elements), zd_buf_span(expected)));
    ck_assert_int_eq(zd_chain_encode(chain, elements, &again, &err), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(encoded)));
    expected->data[0] = 'R';
    zd_buf_unref(again);
    ck_assert_int_eq(zd_chain_encode(chain, expected, &again, &err), ZD_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "element 0 of the chunk is not one of the 2 labels"));
    zd_buf_unref(elements);
    zd_buf_unref(expected);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(categorize_encodes_labels_alone)
{
    struct zd_chain *chain = open_chain(CODEC(COLOURS) BYTES);
    struct zd_buf *elements = zd_buf_new(3 * (size_t)ZD_VARIABLE_BYTES);
    struct zd_buf *encoded = NULL;
    struct zd_error err = {0};
    elements->len = elements->cap;
    for (uint64_t i = 0; i < 3; i++) {
        zd_variable_put(elements->data, i, zd_span_of(i == 1 ? "Red" : "red"));
    }
    ck_assert_int_eq(zd_chain_encode(chain, elements, &encoded, &err), ZD_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "element 1 of the chunk is not one of the 3 labels"));
    zd_buf_unref(elements);
    zd_chain_unref(chain);
}
END_TEST

static const struct {
    const char *dtype;
    const char *codecs;
    const char *faults;
} refused[] = {
    {"string", CODEC("") BYTES, "invalid missing_member /codecs/0/configuration/labels"},
    {"string", CODEC("'labels':'a'") BYTES, "invalid wrong_type /codecs/0/configuration/labels"},
    {"string", CODEC("'labels':['a',1]") BYTES,
        "invalid wrong_type /codecs/0/configuration/labels/1"},
    {"string", CODEC("'labels':[],'astype':'<f4'") BYTES,
        "invalid out_of_range /codecs/0/configuration/astype"},
    {"int32", CODEC("'labels':[]") LITTLE, "unsupported unsupported_codec /codecs/0"},
};

START_TEST(categorize_judges_its_parameters)
{
    const struct zd_unit_chain what = {
        .codecs = refused[_i].codecs, .dtype = refused[_i].dtype, .rank = 1, .shape = {3}};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    ck_assert_int_ne(zd_unit_chain_open(&what, &chain, &faults), ZD_OK);
    char *found = zd_unit_faults(&faults);
    ck_assert_str_eq(found, refused[_i].faults);
    zd_free(found);
    zd_faults_done(&faults);
}
END_TEST

START_TEST(categorize_takes_labels_that_fit)
{
    struct zd_dtype type;
    ck_assert_int_eq(zd_dtype_of_bytes("fixed_length_utf32", 12, &type), ZD_OK);
    const struct zd_unit_chain what = {.codecs = CODEC("'labels':['gr\u00fc','gr\u00fcn']") BYTES,
        .type = &type,
        .rank = 1,
        .shape = {3}};
    zd_unit_check_judged(&what, "invalid out_of_range /codecs/0/configuration/labels/1");
}
END_TEST

/* More labels than an 8-bit number can name; more than are compared. */
static const struct {
    const char *astype;
    int n;
    bool opens;
} counts[] = {
    {"|i1", 127, true},
    {"|i1", 128, false},
    {"|u1", 255, true},
    {"|u1", 256, false},
    {"<u2", 1024, true},
    {"<u2", 1025, false},
};

START_TEST(categorize_has_a_number_for_each_label)
{
    ZD_SCOPED_TEXT(codecs, 1 << 16);
    zd_text_add(&codecs, "[{'name':'numcodecs.categorize','configuration':{'labels':[");
    for (int i = 0; i < counts[_i].n; i++) {
        zd_text_addf(&codecs, "%s'l%d'", i == 0 ? "" : ",", i);
    }
    zd_text_addf(&codecs, "],'astype':'%s'}}," LITTLE, counts[_i].astype);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "string", .rank = 1, .shape = {3}};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    const enum zd_status status = zd_unit_chain_open(&what, &chain, &faults);
    ck_assert_int_eq(status == ZD_OK, counts[_i].opens);
    zd_chain_unref(chain);
    zd_faults_done(&faults);
}
END_TEST

static enum zd_status open_and_list(void *context)
{
    struct zd_faults faults = {0};
    struct zd_chain *opened = NULL;
    const enum zd_status status = zd_unit_chain_open(context, &opened, &faults);
    ZD_AUTO(zd_chain) chain = opened;
    zd_faults_done(&faults);
    ZD_TRY(status);
    ZD_AUTO(zd_json) json = zd_chain_json(chain);
    return json == NULL ? ZD_NO_MEMORY : ZD_OK;
}

START_TEST(categorize_says_when_memory_is_short)
{
    ZD_AUTO(zd_json) codecs = zd_unit_json(CODEC(COLOURS) BYTES);
    struct zd_unit_chain what = {.parsed = codecs, .dtype = "string", .rank = 1, .shape = {3}};
    zd_unit_with_failing_memory(open_and_list, &what);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, categorize_decodes_numbers_of_labels, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, categorize_knows_text_of_fixed_length);
    tcase_add_test(tests, categorize_takes_labels_that_fit);
    tcase_add_test(tests, categorize_encodes_labels_alone);
    tcase_add_loop_test(tests, categorize_judges_its_parameters, 0, ZD_COUNT_OF(refused));
    tcase_add_loop_test(tests, categorize_has_a_number_for_each_label, 0, ZD_COUNT_OF(counts));
    tcase_add_test(tests, categorize_says_when_memory_is_short);
}
