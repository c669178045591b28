/* Codec chains: how a list is judged, and the bytes that come out. */
#include "core/codec/chain.h"

#include <string.h>

#include "core/base/emit.h"
#include "tests/support/codec.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define BIG    "{'name':'bytes','configuration':{'endian':'big'}}"

/* How a list of codecs for int16 of shape [2, 3] is judged; checklist C and F of the reference. */
static const struct {
    const char *codecs;
    enum zd_status read;
    const char *read_faults;
    enum zd_status write;
    const char *write_faults;
} judged[] = {
    {"[" LITTLE "]", ZD_OK, "", ZD_OK, ""},
    {"[" BIG "]", ZD_OK, "", ZD_OK, ""},
    /* 106, 254: an empty list means bytes, little-endian, but must not be written. */
    {"[]", ZD_OK, "warning implied_bytes /codecs", ZD_INVALID, "invalid missing_codec /codecs"},
    {"[{'name':'transpose','configuration':{'order':[1,0]}}]", ZD_OK,
        "warning implied_bytes /codecs", ZD_INVALID, "invalid missing_codec /codecs"},
    {"{}", ZD_INVALID, "invalid wrong_type /codecs", ZD_INVALID, "invalid wrong_type /codecs"},
    {"'bytes'", ZD_INVALID, "invalid wrong_type /codecs", ZD_INVALID, "invalid wrong_type /codecs"},
    /* 107 */
    {"[" LITTLE "," LITTLE "]", ZD_INVALID, "invalid codec_order /codecs/1", ZD_INVALID,
        "invalid codec_order /codecs/1"},
    {"[" LITTLE ",{'name':'transpose','configuration':{'order':[1,0]}}]", ZD_INVALID,
        "invalid codec_order /codecs/1", ZD_INVALID, "invalid codec_order /codecs/1"},
    /* 39: an element of several bytes needs its byte order */
    {"['bytes']", ZD_INVALID, "invalid missing_member /codecs/0/configuration/endian", ZD_INVALID,
        "invalid missing_member /codecs/0/configuration/endian"},
    {"[{'name':'bytes','configuration':{}}]", ZD_INVALID,
        "invalid missing_member /codecs/0/configuration/endian", ZD_INVALID,
        "invalid missing_member /codecs/0/configuration/endian"},
    /* 110 */
    {"[{'name':'bytes','configuration':{'endian':'native'}}]", ZD_INVALID,
        "invalid out_of_range /codecs/0/configuration/endian", ZD_INVALID,
        "invalid out_of_range /codecs/0/configuration/endian"},
    {"[{'name':'bytes','configuration':{'endian':null}}]", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration/endian", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration/endian"},
    {"[{'name':'bytes','configuration':{'endian':'little','order':1}}]", ZD_INVALID,
        "invalid unknown_member /codecs/0/configuration/order", ZD_INVALID,
        "invalid unknown_member /codecs/0/configuration/order"},
    /* 40 to 43 */
    {"[{'configuration':{}}]", ZD_INVALID, "invalid missing_member /codecs/0/name", ZD_INVALID,
        "invalid missing_member /codecs/0/name"},
    {"[{'name':5}]", ZD_INVALID, "invalid wrong_type /codecs/0/name", ZD_INVALID,
        "invalid wrong_type /codecs/0/name"},
    {"[{'name':'bytes','configuration':null}]", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration"},
    {"[{'name':'bytes','configuration':[]}]", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration"},
    /* 48 to 50: codecs that nobody knows */
    {"[" LITTLE ",'nobody-knows']", ZD_UNSUPPORTED, "unsupported unsupported_codec /codecs/1",
        ZD_UNSUPPORTED, "unsupported unsupported_codec /codecs/1"},
    {"['nobody-knows']", ZD_UNSUPPORTED, "unsupported unsupported_codec /codecs/0", ZD_UNSUPPORTED,
        "unsupported unsupported_codec /codecs/0"},
    {"[" LITTLE ",{'name':'nobody-knows','must_understand':false}]", ZD_OK,
        "warning ignored_codec /codecs/1", ZD_UNSUPPORTED,
        "unsupported unsupported_codec /codecs/1"},
    {"[{'name':'nobody-knows','must_understand':false}]", ZD_UNSUPPORTED,
        "warning ignored_codec /codecs/0; unsupported unsupported_codec /codecs/0", ZD_UNSUPPORTED,
        "unsupported unsupported_codec /codecs/0"},
    /* every fault at once, also behind a codec that nobody knows */
    {"['nobody-knows',{'name':'transpose','configuration':{'order':[1]}},'bytes',"
     "{'name':'crc32c','configuration':{'a':1,'b':2}}]",
        ZD_INVALID,
        "unsupported unsupported_codec /codecs/0; "
        "invalid out_of_range /codecs/1/configuration/order/0; "
        "invalid unknown_member /codecs/3/configuration/a; "
        "invalid unknown_member /codecs/3/configuration/b",
        ZD_INVALID,
        "unsupported unsupported_codec /codecs/0; "
        "invalid out_of_range /codecs/1/configuration/order/0; "
        "invalid unknown_member /codecs/3/configuration/a; "
        "invalid unknown_member /codecs/3/configuration/b"},
    /* 113 */
    {"[{'name':'transpose','configuration':{'order':[0,0]}}," LITTLE "]", ZD_INVALID,
        "invalid duplicate /codecs/0/configuration/order/1", ZD_INVALID,
        "invalid duplicate /codecs/0/configuration/order/1"},
    {"[{'name':'transpose','configuration':{'order':[0]}}," LITTLE "]", ZD_INVALID,
        "invalid wrong_rank /codecs/0/configuration/order", ZD_INVALID,
        "invalid wrong_rank /codecs/0/configuration/order"},
    {"[{'name':'transpose','configuration':{'order':[0,2]}}," LITTLE "]", ZD_INVALID,
        "invalid out_of_range /codecs/0/configuration/order/1", ZD_INVALID,
        "invalid out_of_range /codecs/0/configuration/order/1"},
    {"[{'name':'transpose','configuration':{'order':[0,18446744073709551615]}}," LITTLE "]",
        ZD_INVALID, "invalid out_of_range /codecs/0/configuration/order/1", ZD_INVALID,
        "invalid out_of_range /codecs/0/configuration/order/1"},
    {"[{'name':'transpose','configuration':{'order':['0',1]}}," LITTLE "]", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration/order/0", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration/order/0"},
    {"[{'name':'transpose','configuration':{'order':[-1,1.0]}}," LITTLE "]", ZD_INVALID,
        "invalid out_of_range /codecs/0/configuration/order/0; "
        "invalid wrong_type /codecs/0/configuration/order/1",
        ZD_INVALID,
        "invalid out_of_range /codecs/0/configuration/order/0; "
        "invalid wrong_type /codecs/0/configuration/order/1"},
    {"[{'name':'transpose'}," LITTLE "]", ZD_INVALID,
        "invalid missing_member /codecs/0/configuration/order", ZD_INVALID,
        "invalid missing_member /codecs/0/configuration/order"},
    /* 114, 259: letters are read, never written */
    {"[{'name':'transpose','configuration':{'order':'F'}}," LITTLE "]", ZD_OK,
        "warning letter_order /codecs/0/configuration/order", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration/order"},
    {"[{'name':'transpose','configuration':{'order':'C'}}," LITTLE "]", ZD_OK,
        "warning letter_order /codecs/0/configuration/order", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration/order"},
    {"[{'name':'transpose','configuration':{'order':'A'}}," LITTLE "]", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration/order", ZD_INVALID,
        "invalid wrong_type /codecs/0/configuration/order"},
    /* 115 */
    {"[" LITTLE ",{'name':'gzip','configuration':{'level':0}}]", ZD_OK, "", ZD_OK, ""},
    {"[" LITTLE ",{'name':'gzip','configuration':{'level':9}}]", ZD_OK, "", ZD_OK, ""},
    {"[" LITTLE ",{'name':'gzip','configuration':{'level':10}}]", ZD_INVALID,
        "invalid out_of_range /codecs/1/configuration/level", ZD_INVALID,
        "invalid out_of_range /codecs/1/configuration/level"},
    {"[" LITTLE ",{'name':'gzip','configuration':{'level':-1}}]", ZD_INVALID,
        "invalid out_of_range /codecs/1/configuration/level", ZD_INVALID,
        "invalid out_of_range /codecs/1/configuration/level"},
    {"[" LITTLE ",{'name':'gzip','configuration':{'level':18446744073709551615}}]", ZD_INVALID,
        "invalid out_of_range /codecs/1/configuration/level", ZD_INVALID,
        "invalid out_of_range /codecs/1/configuration/level"},
    {"[" LITTLE ",'gzip']", ZD_INVALID, "invalid missing_member /codecs/1/configuration/level",
        ZD_INVALID, "invalid missing_member /codecs/1/configuration/level"},
    {"[" LITTLE ",{'name':'gzip','configuration':{'level':1.5}}]", ZD_INVALID,
        "invalid wrong_type /codecs/1/configuration/level", ZD_INVALID,
        "invalid wrong_type /codecs/1/configuration/level"},
    {"[{'name':'gzip','configuration':{'level':1}}," LITTLE "]", ZD_INVALID,
        "invalid codec_order /codecs/1", ZD_INVALID, "invalid codec_order /codecs/1"},
    /* 255 */
    {"[{'name':'gzip','configuration':{'level':1}}]", ZD_OK, "warning implied_bytes /codecs",
        ZD_INVALID, "invalid missing_codec /codecs"},
    {"[{'name':'gzip','configuration':{'level':1}},{'name':'x1','must_understand':false}]",
        ZD_UNSUPPORTED, "warning ignored_codec /codecs/1; unsupported unsupported_codec /codecs/1",
        ZD_UNSUPPORTED, "unsupported unsupported_codec /codecs/1"},
    /* 117 */
    {"[" LITTLE ",{'name':'zstd','configuration':{'level':-131072}}]", ZD_OK, "", ZD_OK, ""},
    {"[" LITTLE ",{'name':'zstd','configuration':{'level':22,'checksum':true}}]", ZD_OK, "", ZD_OK,
        ""},
    {"[" LITTLE ",{'name':'zstd','configuration':{'level':23}}]", ZD_INVALID,
        "invalid out_of_range /codecs/1/configuration/level", ZD_INVALID,
        "invalid out_of_range /codecs/1/configuration/level"},
    {"[" LITTLE ",{'name':'zstd','configuration':{'level':-131073}}]", ZD_INVALID,
        "invalid out_of_range /codecs/1/configuration/level", ZD_INVALID,
        "invalid out_of_range /codecs/1/configuration/level"},
    {"[" LITTLE ",'zstd']", ZD_INVALID, "invalid missing_member /codecs/1/configuration/level",
        ZD_INVALID, "invalid missing_member /codecs/1/configuration/level"},
    {"[" LITTLE ",{'name':'zstd','configuration':{'level':1,'checksum':1}}]", ZD_INVALID,
        "invalid wrong_type /codecs/1/configuration/checksum", ZD_INVALID,
        "invalid wrong_type /codecs/1/configuration/checksum"},
    {"[" LITTLE ",'crc32c']", ZD_OK, "", ZD_OK, ""},
    /* 44 */
    {"[" LITTLE ",{'name':'crc32c','extra':1}]", ZD_INVALID,
        "invalid unknown_member /codecs/1/extra", ZD_INVALID,
        "invalid unknown_member /codecs/1/extra"},
};

static void judge(int i, enum zd_judgement judgement, enum zd_status status, const char *expected)
{
    const struct zd_unit_chain what = {.codecs = judged[i].codecs,
        .dtype = "int16",
        .rank = 2,
        .shape = {2, 3},
        .judgement = judgement};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    const enum zd_status found = zd_unit_chain_open(&what, &chain, &faults);
    char *text = zd_unit_faults(&faults);
    ck_assert_msg(found == status && strcmp(text, expected) == 0, "%s: %s, %s", what.codecs,
        zd_status_name(found), text);
    ck_assert_int_eq(chain != NULL, found == ZD_OK);
    zd_free(text);
    zd_chain_unref(chain);
    zd_faults_done(&faults);
}

START_TEST(chain_judges_a_list_that_was_read)
{
    judge(_i, ZD_JUDGE_READ, judged[_i].read, judged[_i].read_faults);
}
END_TEST

START_TEST(chain_judges_a_list_to_be_written)
{
    judge(_i, ZD_JUDGE_WRITE, judged[_i].write, judged[_i].write_faults);
}
END_TEST

/* Elements and what they are stored as. */
static const struct {
    const char *codecs;
    const char *dtype;
    uint32_t rank;
    uint64_t shape[3];
    const char *decoded;
    const char *encoded;
} stored[] = {
    /* 108 */
    {"[" LITTLE "]", "int16", 1, {2}, "01000001", "01000001"},
    {"[" BIG "]", "int16", 1, {2}, "01000001", "00010100"},
    /* 111 */
    {"[" LITTLE "]", "complex64", 1, {1}, "0000803f00000040", "0000803f00000040"},
    {"[" BIG "]", "complex64", 1, {1}, "0000803f00000040", "3f80000040000000"},
    /* 112 */
    {"[{'name':'transpose','configuration':{'order':[1,0]}},'bytes']", "uint8", 2, {2, 3},
        "010203040506", "010402050306"},
    {"[{'name':'transpose','configuration':{'order':'F'}},'bytes']", "uint8", 2, {2, 3},
        "010203040506", "010402050306"},
    {"[{'name':'transpose','configuration':{'order':'C'}},'bytes']", "uint8", 2, {2, 3},
        "010203040506", "010203040506"},
    {"[{'name':'transpose','configuration':{'order':[]}},'bytes']", "uint8", 0, {0}, "07", "07"},
    /* [1,2,0] twice is [2,0,1] */
    {"[{'name':'transpose','configuration':{'order':[1,2,0]}},"
     "{'name':'transpose','configuration':{'order':[1,2,0]}},'bytes']",
        "uint8", 3, {1, 2, 3}, "010203040506", "010402050306"},
    {"[" BIG "]", "r24", 1, {2}, "010203040506", "010203040506"},
    {"['bytes']", "bool", 1, {3}, "000101", "000101"},
    /* 119 */
    {"['bytes','crc32c']", "uint8", 1, {9}, "313233343536373839", "313233343536373839839206e3"},
    {"['bytes','crc32c']", "r256", 0, {0},
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000000aa36918a"},
};

START_TEST(chain_stores_elements_as_the_specification_says)
{
    struct zd_unit_chain what = {
        .codecs = stored[_i].codecs, .dtype = stored[_i].dtype, .rank = stored[_i].rank};
    memcpy(what.shape, stored[_i].shape, sizeof stored[_i].shape);
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_unit_hex(stored[_i].decoded);
    struct zd_buf *encoded = zd_unit_hex(stored[_i].encoded);
    struct zd_error err = {0};
    struct zd_buf *found = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &found, &err), ZD_OK);
    ck_assert_msg(zd_span_equal(zd_buf_span(found), zd_buf_span(encoded)), "%s", what.codecs);
    ck_assert_uint_eq(zd_chain_encoded(chain)->size, encoded->len);
    ck_assert(zd_chain_encoded(chain)->size_is_exact);
    zd_buf_unref(found);
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &found, &err), ZD_OK);
    ck_assert_msg(zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)), "%s", what.codecs);
    zd_buf_unref(found);
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

/* Chains that do not decode, or only with leniency. */
static const struct {
    const char *codecs;
    const char *dtype;
    uint64_t n;
    const char *encoded;
    enum zd_status status;
    const char *decoded; /* or part of the text */
} decodings[] = {
    /* 109 */
    {"[" LITTLE "]", "int16", 2, "010000", ZD_CORRUPT, "bytes: 3 bytes decoded, 4 expected"},
    {"[" LITTLE "]", "int16", 2, "0100000000", ZD_CORRUPT, "5 bytes decoded, 4 expected"},
    {"[" LITTLE "]", "int16", 2, "", ZD_CORRUPT, "0 bytes decoded, 4 expected"},
    {"['bytes']", "bool", 4, "0001ff02", ZD_OK, "00010101"},
    /* 119, 120 */
    {"['bytes','crc32c']", "uint8", 9, "313233343536373838839206e3", ZD_CORRUPT, "checksum"},
    {"['bytes','crc32c']", "uint8", 9, "313233343536373839839206e2", ZD_CORRUPT, "checksum"},
    {"['bytes','crc32c']", "uint8", 9, "3132333435363738393a839206e3", ZD_CORRUPT,
        "crc32c: 10 bytes decoded, 9 expected"},
    {"['bytes','crc32c']", "uint8", 9, "010203", ZD_CORRUPT, "cannot hold"},
    {"['bytes','crc32c']", "uint8", 9, "", ZD_CORRUPT, "cannot hold"},
};

START_TEST(chain_decodes_or_says_what_is_corrupt)
{
    struct zd_unit_chain what = {.codecs = decodings[_i].codecs,
        .dtype = decodings[_i].dtype,
        .rank = 1,
        .shape = {decodings[_i].n}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *encoded = zd_unit_hex(decodings[_i].encoded);
    struct zd_buf *found = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &found, &err);
    ck_assert_msg(
        status == decodings[_i].status, "%s: %s", decodings[_i].encoded, zd_status_name(status));
    if (status == ZD_OK) {
        struct zd_buf *decoded = zd_unit_hex(decodings[_i].decoded);
        ck_assert(zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)));
        zd_buf_unref(decoded);
    } else {
        ck_assert_ptr_null(found);
        ck_assert_msg(strstr(err.text, decodings[_i].decoded) != NULL, "%s", err.text);
    }
    zd_buf_unref(found);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(chain_of_bytes_alone_hands_the_same_buffer_on)
{
    const struct zd_unit_chain what = {
        .codecs = "[" LITTLE "]", .dtype = "int16", .rank = 1, .shape = {4}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *data = zd_unit_elements(8);
    struct zd_buf *found = NULL;
    ck_assert_int_eq(zd_chain_decode(chain, data, &found, NULL), ZD_OK);
    ck_assert_ptr_eq(found, data);
    zd_buf_unref(found);
    zd_buf_unref(data);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(chain_with_an_ignored_codec_decodes_but_never_encodes)
{
    const struct zd_unit_chain what = {.codecs = "[{'name':'x1','must_understand':false},'bytes']",
        .dtype = "uint8",
        .rank = 1,
        .shape = {4}};
    struct zd_chain *chain = zd_unit_chain(&what);
    ck_assert(zd_chain_is_partial(chain));
    ck_assert_uint_eq(zd_chain_count(chain), 1);
    struct zd_buf *data = zd_unit_elements(4);
    struct zd_buf *found = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, data, &found, NULL), ZD_UNSUPPORTED);
    ck_assert_int_eq(zd_chain_decode(chain, data, &found, NULL), ZD_OK);
    zd_buf_unref(found);
    zd_buf_unref(data);
    zd_chain_unref(chain);
}
END_TEST

#define ORDER "{'name':'transpose','configuration':{'order':[1,0]}}"
#define GZIP  "{'name':'gzip','configuration':{'level':1}}"
#define SHARD(inner)                                                                               \
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[2,2],'codecs':[" inner            \
    "],'index_codecs':[" LITTLE "]}}]"

/* Chains, and what is said of those that do not encode; NULL: they do. */
static const struct {
    const char *codecs;
    const char *refusal;
} encoding_facts[] = {
    {"['vlen-utf8']", NULL},
    {"['numcodecs.msgpack2']", "numcodecs.msgpack2: chunks with this codec are read-only"},
    {"[" ORDER ",'numcodecs.json2'," GZIP "]",
        "numcodecs.json2: chunks with this codec are read-only"},
    {SHARD("'vlen-utf8'"), NULL},
    {SHARD("'numcodecs.json2'"), "numcodecs.json2: chunks with this codec are read-only"},
    {SHARD("'vlen-utf8',{'name':'x1','must_understand':false}"), "does not know"},
};

START_TEST(chain_says_which_codec_is_only_read)
{
    const struct zd_unit_chain what = {
        .codecs = encoding_facts[_i].codecs, .dtype = "string", .rank = 2, .shape = {4, 4}};
    const char *refusal = encoding_facts[_i].refusal;
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_check_encodes(chain, &err);
    ck_assert_int_eq(status, refusal == NULL ? ZD_OK : ZD_UNSUPPORTED);
    ck_assert_msg(refusal == NULL || strstr(err.text, refusal) != NULL, "%s", err.text);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(chain_encodes_whole_chunks_only)
{
    const struct zd_unit_chain what = {
        .codecs = "['bytes']", .dtype = "uint8", .rank = 1, .shape = {4}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *data = zd_unit_elements(5);
    struct zd_buf *found = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, data, &found, NULL), ZD_INVALID);
    zd_buf_unref(data);
    zd_chain_unref(chain);
}
END_TEST

/* The written form of chains that were read. */
static const struct {
    const char *dtype;
    const char *read;
    const char *written;
} rewritten[] = {
    {"uint8", "['bytes']", "[{'name':'bytes'}]"},
    {"uint8", "[{'name':'bytes','configuration':{'endian':'big'}}]", "[{'name':'bytes'}]"},
    {"int16", "[{'name':'bytes','must_understand':true,'configuration':{'endian':'big'}}]",
        "[" BIG "]"},
    {"int16", "[]", "[" LITTLE "]"},
    {"int16", "[{'name':'transpose','configuration':{'order':'F'}},{'name':'crc32c'}]",
        "[{'name':'transpose','configuration':{'order':[1,0]}}," LITTLE ",{'name':'crc32c'}]"},
    {"int16", "[" LITTLE ",{'name':'gzip','configuration':{'level':5}}]",
        "[" LITTLE ",{'name':'gzip','configuration':{'level':5}}]"},
    {"int16", "[" LITTLE ",{'name':'zstd','configuration':{'level':-5,'checksum':false}}]",
        "[" LITTLE ",{'name':'zstd','configuration':{'level':-5}}]"},
    {"int16", "[" LITTLE ",{'name':'zstd','configuration':{'level':0,'checksum':true}}]",
        "[" LITTLE ",{'name':'zstd','configuration':{'level':0,'checksum':true}}]"},
};

START_TEST(chain_writes_the_form_that_all_readers_take)
{
    const struct zd_unit_chain what = {
        .codecs = rewritten[_i].read, .dtype = rewritten[_i].dtype, .rank = 2, .shape = {2, 3}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_json *json = zd_chain_json(chain);
    struct zd_json *expected = zd_unit_json(rewritten[_i].written);
    ck_assert_msg(zd_json_equal(json, expected), "%s", rewritten[_i].read);
    zd_json_unref(json);
    zd_json_unref(expected);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(chain_composes_its_permutations)
{
    const struct zd_unit_chain what = {
        .codecs = "[{'name':'transpose','configuration':{'order':[1,2,0]}},"
                  "{'name':'transpose','configuration':{'order':[0,2,1]}},'bytes']",
        .dtype = "uint8",
        .rank = 3,
        .shape = {2, 3, 5}};
    struct zd_chain *chain = zd_unit_chain(&what);
    uint32_t order[ZD_RANK_MAX];
    ck_assert(zd_chain_order(chain, order));
    ck_assert_uint_eq(order[0], 1);
    ck_assert_uint_eq(order[1], 0);
    ck_assert_uint_eq(order[2], 2);
    ck_assert_uint_eq(zd_chain_array_bytes(chain), 2);
    zd_chain_unref(chain);
}
END_TEST

#define LZ4                                                                                        \
    "{'name':'blosc','configuration':{'cname':'lz4','clevel':1,'shuffle':'shuffle','typesize':4,'" \
    "blocksize':0}}"
#define ZSTD "{'name':'zstd','configuration':{'level':1}}"
#define GZIP "{'name':'gzip','configuration':{'level':1}}"

/* Each takes longer than the one before it. */
static const char *const by_cost[] = {
    "['bytes']",
    "['bytes'," LZ4 "]",
    "['bytes'," ZSTD "]",
    "['bytes'," GZIP "]",
    "['bytes'," ZSTD "," GZIP "]",
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[16],'codecs':['bytes'," ZSTD
    "," GZIP "],'index_codecs':[{'name':'bytes','configuration':{'endian':'little'}}]}}]",
};

static uint64_t decode_ns(const char *codecs, uint64_t n)
{
    const struct zd_unit_chain what = {.codecs = codecs, .dtype = "uint8", .rank = 1, .shape = {n}};
    struct zd_chain *chain = zd_unit_chain(&what);
    const uint64_t ns = zd_chain_decode_ns(chain);
    zd_chain_unref(chain);
    return ns;
}

START_TEST(chain_guesses_what_decoding_costs)
{
    ck_assert_uint_eq(decode_ns(by_cost[0], 1 << 20), 0);
    for (size_t i = 1; i < ZD_COUNT_OF(by_cost); i++) {
        ck_assert_uint_gt(decode_ns(by_cost[i], 1 << 20), decode_ns(by_cost[i - 1], 1 << 20));
    }
    ck_assert_uint_eq(decode_ns("['bytes'," GZIP "]", UINT64_MAX), UINT64_MAX);
    ck_assert_uint_eq(decode_ns("['bytes'," ZSTD "," GZIP "]", UINT64_MAX / 1000), UINT64_MAX);
}
END_TEST

START_TEST(chain_has_at_most_32_codecs)
{
    ZD_SCOPED_TEXT(codecs, 4096);
    zd_text_add(&codecs, "['bytes'");
    for (int i = 1; i < ZD_CHAIN_CODECS_MAX + _i; i++) {
        zd_text_add(&codecs, ",'crc32c'");
    }
    zd_text_add(&codecs, "]");
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "uint8", .rank = 1, .shape = {4}};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    const enum zd_status status = zd_unit_chain_open(&what, &chain, &faults);
    ck_assert_int_eq(status, _i == 0 ? ZD_OK : ZD_UNSUPPORTED);
    if (_i > 0) {
        ck_assert_str_eq(faults.item[0].code, "out_of_range");
    }
    zd_chain_unref(chain);
    zd_faults_done(&faults);
}
END_TEST

static void add_random_codecs(struct zd_text *text, uint32_t rank)
{
    static const char *const last[] = {
        "",
        ",'crc32c'",
        ",{'name':'gzip','configuration':{'level':1}}",
        ",{'name':'gzip','configuration':{'level':1}},{'name':'zstd','configuration':{'level':1}}",
        ",{'name':'zstd','configuration':{'level':1}},'crc32c',"
        "{'name':'gzip','configuration':{'level':0}}",
        ",{'name':'blosc','configuration':{'cname':'lz4','clevel':5,'shuffle':'shuffle',"
        "'typesize':4,'blocksize':0}},{'name':'gzip','configuration':{'level':6}}",
    };
    zd_text_add(text, "[");
    if (zd_unit_random() % 3 > 0) {
        zd_text_add(text, "{'name':'transpose','configuration':{'order':[");
        const bool is_rotated = zd_unit_random() % 2 == 0; /* else reversed */
        const uint32_t first = rank == 0 ? 0 : (uint32_t)(zd_unit_random() % rank);
        for (uint32_t i = 0; i < rank; i++) {
            const uint32_t axis = is_rotated ? (first + i) % rank : rank - 1 - i;
            zd_text_addf(text, "%s%u", i == 0 ? "" : ",", axis);
        }
        zd_text_add(text, "]}},");
    }
    zd_text_add(text, zd_unit_random() % 2 == 0 ? LITTLE : BIG);
    zd_text_add(text, last[zd_unit_random() % ZD_COUNT_OF(last)]);
    zd_text_add(text, "]");
}

static void run_random_chain(const char *dtype)
{
    struct zd_unit_chain what = {.dtype = dtype, .rank = (uint32_t)(zd_unit_random() % 5)};
    for (uint32_t i = 0; i < what.rank; i++) {
        what.shape[i] = 1 + zd_unit_random() % 7;
    }
    ZD_SCOPED_TEXT(codecs, 4096);
    add_random_codecs(&codecs, what.rank);
    what.codecs = codecs.at;
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_unit_elements(zd_chain_decoded(chain)->size);
    const struct zd_dtype *type = &zd_chain_decoded(chain)->dtype;
    zd_dtype_settle(type, decoded->data, decoded->len / type->bytes);
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, &err), ZD_OK);
    ck_assert_uint_le(encoded->len, zd_chain_encoded(chain)->size);
    const enum zd_status status = zd_chain_decode(chain, encoded, &again, &err);
    ck_assert_msg(status == ZD_OK, "%s: %s", codecs.at, err.text);
    ck_assert_msg(zd_span_equal(zd_buf_span(again), zd_buf_span(decoded)), "%s", codecs.at);
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_buf_unref(again);
    zd_chain_unref(chain);
}

START_TEST(chain_decodes_what_it_encodes_for_every_data_type_of_fixed_size)
{
    for (size_t i = 0; zd_dtype_names[i] != NULL; i++) {
        const bool is_raw = strcmp(zd_dtype_names[i], "r*") == 0;
        const char *name = is_raw ? "r24" : zd_dtype_names[i];
        struct zd_dtype dtype;
        ck_assert_int_eq(zd_dtype_find(name, &dtype), ZD_OK);
        for (int n = 0; n < 40 && !zd_dtype_is_variable(&dtype); n++) {
            run_random_chain(name);
        }
    }
}
END_TEST

static enum zd_status open_and_run(void *context)
{
    const struct zd_unit_chain *what = context;
    struct zd_json *json = NULL;
    struct zd_chain *chain = NULL;
    struct zd_faults faults = {0};
    struct zd_buf *decoded = NULL;
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    enum zd_status status = zd_unit_chain_open(what, &chain, &faults);
    if (status == ZD_OK) {
        decoded = zd_buf_new(zd_chain_decoded(chain)->size);
        json = zd_chain_json(chain);
        status = decoded == NULL || json == NULL ? ZD_NO_MEMORY : ZD_OK;
    }
    if (status == ZD_OK) {
        memset(decoded->data, 1, decoded->cap);
        decoded->len = decoded->cap;
        status = zd_chain_encode(chain, decoded, &encoded, NULL);
    }
    if (status == ZD_OK) {
        status = zd_chain_decode(chain, encoded, &again, NULL);
    }
    if (status == ZD_OK) {
        ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(decoded)));
    }
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_buf_unref(again);
    zd_json_unref(json);
    zd_chain_unref(chain);
    zd_faults_done(&faults);
    return status;
}

START_TEST(chain_survives_every_shortage_of_memory)
{
    struct zd_unit_chain what = {
        .codecs = "[{'name':'transpose','configuration':{'order':'F'}}," BIG ",'crc32c',"
                  "{'name':'gzip','configuration':{'level':1}},"
                  "{'name':'zstd','configuration':{'level':1,'checksum':true}}]",
        .dtype = "int32",
        .rank = 2,
        .shape = {4, 6}};
    struct zd_json *long_list = zd_unit_json(what.codecs);
    struct zd_json *empty_list = zd_unit_json("[]");
    what.parsed = long_list;
    zd_unit_with_failing_memory(open_and_run, &what);
    what.parsed = empty_list;
    zd_unit_with_failing_memory(open_and_run, &what);
    zd_json_unref(long_list);
    zd_json_unref(empty_list);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, chain_judges_a_list_that_was_read, 0, ZD_COUNT_OF(judged));
    tcase_add_loop_test(tests, chain_judges_a_list_to_be_written, 0, ZD_COUNT_OF(judged));
    tcase_add_loop_test(
        tests, chain_stores_elements_as_the_specification_says, 0, ZD_COUNT_OF(stored));
    tcase_add_loop_test(tests, chain_decodes_or_says_what_is_corrupt, 0, ZD_COUNT_OF(decodings));
    tcase_add_test(tests, chain_of_bytes_alone_hands_the_same_buffer_on);
    tcase_add_test(tests, chain_with_an_ignored_codec_decodes_but_never_encodes);
    tcase_add_loop_test(tests, chain_says_which_codec_is_only_read, 0, ZD_COUNT_OF(encoding_facts));
    tcase_add_test(tests, chain_encodes_whole_chunks_only);
    tcase_add_loop_test(
        tests, chain_writes_the_form_that_all_readers_take, 0, ZD_COUNT_OF(rewritten));
    tcase_add_test(tests, chain_composes_its_permutations);
    tcase_add_test(tests, chain_guesses_what_decoding_costs);
    tcase_add_loop_test(tests, chain_has_at_most_32_codecs, 0, 2);
    tcase_add_test(tests, chain_decodes_what_it_encodes_for_every_data_type_of_fixed_size);
    tcase_add_test(tests, chain_survives_every_shortage_of_memory);
}
