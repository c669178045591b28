/* The codec json2 of numcodecs: strings in lists, and what is no such text. */
#include <string.h>

#include "core/grid/variable.h"
#include "tests/support/codec.h"

/* Chunks of 2 x 2. */
static const struct {
    const char *text;
    const char *elements[4]; /* or part of the refusal */
    bool is_corrupt;
} facts[] = {
    {"[[\"a\",\"b\"],[\"\",\"d\"],\"|O\",[2,2]]", {"a", "b", "", "d"}, false},
    {" [ [\"\\u00e9\" , \"b\"], [\"\\n\",\"d\"] ,\"|O\" , [ 2 ,2 ] ]\n",
        {"\xc3\xa9", "b", "\n", "d"}, false},
    {"[[\"a\",null],[null,\"d\"],\"|O\",[2,2]]", {"a", "", "", "d"}, false},
    {"", {"byte 0: expected a list"}, true},
    {"[", {"expected a list"}, true},
    {"[\"a\",\"b\",\"c\",\"d\",\"|O\",[2,2]]", {"byte 1: expected a list"}, true},
    {"[[\"a\",\"b\"],[\"c\",\"d\"],\"|O\",[4]]", {"expected the shape of the chunk"}, true},
    {"[[\"a\",\"b\"],[\"c\",\"d\"],\"|O\",[2,2,1]]", {"the end of the shape"}, true},
    {"[[\"a\",\"b\"],[\"c\",\"d\"],\"<U1\",[2,2]]", {"the data type"}, true},
    {"[[\"a\",\"b\"],[\"c\",\"d\"],\"|O\",[2,2]],", {"the end of the text"}, true},
    {"[[\"a\",\"b\"],[\"c\",\"d\"],\"|O\",[2,2]", {"the end of the list"}, true},
    {"[[\"a\",\"b\",\"c\"],[\"d\"],\"|O\",[2,2]]", {"the end of a list"}, true},
    {"[[\"a\" \"b\"],[\"c\",\"d\"],\"|O\",[2,2]]", {"expected a comma"}, true},
    {"[[\"a\",,\"b\"],[\"c\",\"d\"],\"|O\",[2,2]]", {"expected a string"}, true},
    {"[[\"a\",1],[\"c\",\"d\"],\"|O\",[2,2]]", {"expected a string"}, true},
    {"[[\"a\",\"b],[", {"expected a string"}, true},
    {"[[\"a\",\"\xff\"],[\"c\",\"d\"],\"|O\",[2,2]]", {"expected a string"}, true},
};

static const struct zd_unit_chain what = {.codecs = "[{'name':'numcodecs.json2','configuration':"
                                                    "{'encoding':'utf-8','indent':null}}]",
    .dtype = "string",
    .rank = 2,
    .shape = {2, 2}};

START_TEST(json2_decodes_lists_of_strings)
{
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *encoded = zd_buf_copy(zd_span_of(facts[_i].text));
    struct zd_buf *elements = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &elements, &err);
    if (facts[_i].is_corrupt) {
        ck_assert_int_eq(status, ZD_CORRUPT);
        ck_assert_msg(strstr(err.text, facts[_i].elements[0]) != NULL, "%s", err.text);
    } else {
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        for (uint64_t i = 0; i < 4; i++) {
            ck_assert(zd_span_is(zd_variable_at(elements->data, i), facts[_i].elements[i]));
        }
    }
    zd_buf_unref(elements);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

/* A chunk of 3 x 1, transposed: zarr-python writes the one, everybody else the other. */
static const char *const turned[] = {
    "[[\"a\"],[null],[\"c\"],\"|O\",[3,1]]",
    "[[\"a\",\"\",\"c\"],\"|O\",[1,3]]",
};

START_TEST(json2_reads_lists_of_either_order)
{
    static const struct zd_unit_chain column = {
        .codecs = "[{'name':'transpose','configuration':{'order':[1,0]}},'numcodecs.json2']",
        .dtype = "string",
        .rank = 2,
        .shape = {3, 1}};
    static const char *const elements[] = {"a", "", "c"};
    struct zd_chain *chain = zd_unit_chain(&column);
    struct zd_buf *encoded = zd_buf_copy(zd_span_of(turned[_i]));
    struct zd_buf *decoded = NULL;
    struct zd_error err = {0};
    ck_assert_msg(zd_chain_decode(chain, encoded, &decoded, &err) == ZD_OK, "%s", err.text);
    for (uint64_t i = 0; i < 3; i++) {
        ck_assert(zd_span_is(zd_variable_at(decoded->data, i), elements[i]));
    }
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(json2_is_not_written)
{
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *elements = zd_buf_new(4 * (size_t)ZD_VARIABLE_BYTES);
    struct zd_buf *encoded = NULL;
    struct zd_error err = {0};
    memset(elements->data, 0, elements->cap);
    elements->len = elements->cap;
    ck_assert(!zd_codec_is_writable(zd_codec_find("numcodecs.json2")));
    ck_assert_int_eq(zd_chain_encode(chain, elements, &encoded, &err), ZD_UNSUPPORTED);
    ck_assert_str_eq(err.text, "numcodecs.json2: chunks with this codec are read-only");
    zd_buf_unref(elements);
    zd_chain_unref(chain);
}
END_TEST

static enum zd_status decode(void *context)
{
    ZD_AUTO(zd_buf) encoded = zd_buf_copy(zd_span_of(facts[0].text));
    ZD_AUTO(zd_buf) elements = NULL;
    return encoded == NULL ? ZD_NO_MEMORY : zd_chain_decode(context, encoded, &elements, NULL);
}

START_TEST(json2_says_when_memory_is_short)
{
    struct zd_chain *chain = zd_unit_chain(&what);
    zd_unit_with_failing_memory(decode, chain);
    zd_chain_unref(chain);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, json2_decodes_lists_of_strings, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, json2_reads_lists_of_either_order, 0, ZD_COUNT_OF(turned));
    tcase_add_test(tests, json2_is_not_written);
    tcase_add_test(tests, json2_says_when_memory_is_short);
}
