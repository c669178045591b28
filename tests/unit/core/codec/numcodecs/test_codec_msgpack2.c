/* The codec msgpack2 of numcodecs: strings in lists, and what is no such list. */
#include <string.h>

#include "core/grid/variable.h"
#include "tests/support/codec.h"

#define END "a27c4f 920202" /* "|O", [2,2] */

/* Chunks of 2 x 2. */
static const struct {
    const char *hex;
    const char *elements[4]; /* or part of the refusal */
    bool is_corrupt;
} facts[] = {
    {"94 92 a161 a162 92 a0 a164" END, {"a", "b", "", "d"}, false},
    /* Every width of a length: what a writer chooses is not the shortest one always. */
    {"dc0004 dd00000002 d90161 da000162 92 db00000002c3a9 a164 d9027c4f dd00000002cc02cd0002",
        {"a", "b", "\xc3\xa9", "d"}, false},
    {"94 92 a161 a162 92 a0 a164 a27c4f dc0002 ce00000002 cf0000000000000002", {"a", "b", "", "d"},
        false},
    {"", {"byte 0: expected a list"}, true},
    {"94", {"byte 1: expected a list"}, true},
    {"dc00", {"byte 0: expected a list"}, true},
    {"ddffffffff", {"byte 0: expected a list of the chunk's shape"}, true},
    {"94 dd ffffffff", {"byte 1: expected a list of the chunk's shape"}, true},
    {"94 93 a161 a162 a163 91 a164" END, {"byte 1: expected a list of the chunk's shape"}, true},
    {"96 a161 a162 a163 a164" END, {"a list of the chunk's shape"}, true},
    {"94 92 dbffffffff", {"byte 2: expected a whole string"}, true},
    {"94 92 a161 a262", {"byte 4: expected a whole string"}, true},
    {"94 92 a1ff a162 92 a0 a164" END, {"byte 2: expected a whole string, in UTF-8"}, true},
    {"94 92 c0 a162 92 a0 a164" END, {"", "b", "", "d"}, false},               /* nil */
    {"94 92 c40161 a162 92 a0 a164" END, {"byte 2: expected a string"}, true}, /* bytes */
    {"94 92 01 a162 92 a0 a164" END, {"byte 2: expected a string"}, true},
    {"94 92 a161 a162 92 a0 a164 a33c5531 920202", {"the data type"}, true},
    {"94 92 a161 a162 92 a0 a164 a27c4f 9104", {"a list of the chunk's shape"}, true},
    {"94 92 a161 a162 92 a0 a164 a27c4f 920203", {"expected the shape of the chunk"}, true},
    {"94 92 a161 a162 92 a0 a164 a27c4f 9202ff", {"expected a length"}, true}, /* -1 */
    {"94 92 a161 a162 92 a0 a164 a27c4f 9202", {"expected a length"}, true},
    {"94 92 a161 a162 92 a0 a164" END "00", {"expected the end"}, true},
};

static const struct zd_unit_chain what = {.codecs = "[{'name':'numcodecs.msgpack2','configuration':"
                                                    "{'raw':false,'use_bin_type':true}}]",
    .dtype = "string",
    .rank = 2,
    .shape = {2, 2}};

START_TEST(msgpack2_decodes_lists_of_strings)
{
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *encoded = zd_unit_hex(facts[_i].hex);
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

static const char *const turned[] = {
    "95 91a161 91c0 91a163 a27c4f 920301",
    "93 93a161a0a163 a27c4f 920103",
};

START_TEST(msgpack2_reads_lists_of_either_order)
{
    static const struct zd_unit_chain column = {
        .codecs = "[{'name':'transpose','configuration':{'order':[1,0]}},'numcodecs.msgpack2']",
        .dtype = "string",
        .rank = 2,
        .shape = {3, 1}};
    static const char *const elements[] = {"a", "", "c"};
    struct zd_chain *chain = zd_unit_chain(&column);
    struct zd_buf *encoded = zd_unit_hex(turned[_i]);
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

START_TEST(msgpack2_is_not_written)
{
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *elements = zd_buf_new(4 * (size_t)ZD_VARIABLE_BYTES);
    struct zd_buf *encoded = NULL;
    struct zd_error err = {0};
    memset(elements->data, 0, elements->cap);
    elements->len = elements->cap;
    ck_assert(!zd_codec_is_writable(zd_codec_find("numcodecs.msgpack2")));
    ck_assert_int_eq(zd_chain_encode(chain, elements, &encoded, &err), ZD_UNSUPPORTED);
    ck_assert_str_eq(err.text, "numcodecs.msgpack2: chunks with this codec are read-only");
    zd_buf_unref(elements);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(msgpack2_is_of_strings)
{
    const struct zd_unit_chain other = {
        .codecs = "['numcodecs.msgpack2']", .dtype = "bytes", .rank = 1, .shape = {2}};
    zd_unit_check_judged(&other, "unsupported unsupported_codec /codecs/0");
}
END_TEST

struct need {
    struct zd_chain *chain;
    struct zd_buf *encoded;
};

static enum zd_status decode(void *context)
{
    const struct need *need = context;
    ZD_AUTO(zd_buf) elements = NULL;
    return zd_chain_decode(need->chain, need->encoded, &elements, NULL);
}

START_TEST(msgpack2_says_when_memory_is_short)
{
    struct need need = {.chain = zd_unit_chain(&what), .encoded = zd_unit_hex(facts[0].hex)};
    zd_unit_with_failing_memory(decode, &need);
    zd_buf_unref(need.encoded);
    zd_chain_unref(need.chain);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, msgpack2_decodes_lists_of_strings, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, msgpack2_reads_lists_of_either_order, 0, ZD_COUNT_OF(turned));
    tcase_add_test(tests, msgpack2_is_not_written);
    tcase_add_test(tests, msgpack2_is_of_strings);
    tcase_add_test(tests, msgpack2_says_when_memory_is_short);
}
