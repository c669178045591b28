/* The codec sharding_indexed: its configuration, whole shards, damaged ones, shards in shards. */
#include <string.h>

#include "core/codec/chain_inner.h"
#include "tests/support/codec.h"

#define LITTLE      "{'name':'bytes','configuration':{'endian':'little'}}"
#define INDEX       "[" LITTLE ",'crc32c']"
#define SHARD(text) "[{'name':'sharding_indexed','configuration':{" text "}}]"
#define AT          "/codecs/0/configuration"

/* How a shard of uint8 [4, 6] is judged; checklist F, 127 to 135 of the reference. */
static const struct {
    const char *codecs;
    enum zd_judgement judgement;
    enum zd_status status;
    const char *faults;
} judged[] = {
    {SHARD("'chunk_shape':[2,3],'codecs':['bytes'],'index_codecs':" INDEX), ZD_JUDGE_WRITE, ZD_OK,
        ""},
    {SHARD("'chunk_shape':[4,6],'codecs':['bytes'],'index_codecs':[" LITTLE
           "],'index_location':'start'"),
        ZD_JUDGE_WRITE, ZD_OK, ""},
    /* 127 */
    {SHARD("'chunk_shape':[3,6],'codecs':['bytes'],'index_codecs':" INDEX), ZD_JUDGE_READ,
        ZD_INVALID, "invalid not_divisible " AT "/chunk_shape/0"},
    {SHARD("'chunk_shape':[8,18446744073709551615],'codecs':['bytes'],'index_codecs':" INDEX),
        ZD_JUDGE_READ, ZD_INVALID,
        "invalid not_divisible " AT "/chunk_shape/0; invalid not_divisible " AT "/chunk_shape/1"},
    {SHARD("'chunk_shape':[0,1.0],'codecs':['bytes'],'index_codecs':" INDEX), ZD_JUDGE_READ,
        ZD_INVALID,
        "invalid out_of_range " AT "/chunk_shape/0; invalid wrong_type " AT "/chunk_shape/1"},
    {SHARD("'chunk_shape':[-1,true],'codecs':['bytes'],'index_codecs':" INDEX), ZD_JUDGE_READ,
        ZD_INVALID,
        "invalid out_of_range " AT "/chunk_shape/0; invalid wrong_type " AT "/chunk_shape/1"},
    /* 128 */
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':" INDEX), ZD_JUDGE_READ, ZD_INVALID,
        "invalid wrong_rank " AT "/chunk_shape"},
    {SHARD("'chunk_shape':[],'codecs':['bytes'],'index_codecs':" INDEX), ZD_JUDGE_READ, ZD_INVALID,
        "invalid wrong_rank " AT "/chunk_shape"},
    {SHARD("'chunk_shape':2,'codecs':['bytes'],'index_codecs':" INDEX), ZD_JUDGE_READ, ZD_INVALID,
        "invalid wrong_type " AT "/chunk_shape"},
    /* 129 */
    {SHARD("'chunk_shape':[2,3],'codecs':['bytes']"), ZD_JUDGE_WRITE, ZD_INVALID,
        "invalid missing_member " AT "/index_codecs"},
    /* 276 */
    {SHARD("'chunk_shape':[2,3],'codecs':['bytes']"), ZD_JUDGE_READ, ZD_OK,
        "warning implied_parameter " AT "/index_codecs"},
    {SHARD("'chunk_shape':[2,3],'codecs':['bytes'],'index_codecs':[" LITTLE
           ",{'name':'gzip','configuration':{'level':1}}]"),
        ZD_JUDGE_READ, ZD_INVALID, "invalid variable_size " AT "/index_codecs/1"},
    {SHARD("'chunk_shape':[2,3],'codecs':['bytes'],'index_codecs':['bytes']"), ZD_JUDGE_READ,
        ZD_INVALID, "invalid missing_member " AT "/index_codecs/0/configuration/endian"},
    /* 254: implied within, never for the index */
    {SHARD("'chunk_shape':[2,3],'codecs':[],'index_codecs':" INDEX), ZD_JUDGE_READ, ZD_OK,
        "warning implied_bytes " AT "/codecs"},
    {SHARD("'chunk_shape':[2,3],'codecs':[],'index_codecs':" INDEX), ZD_JUDGE_WRITE, ZD_INVALID,
        "invalid missing_codec " AT "/codecs"},
    {SHARD("'chunk_shape':[2,3],'codecs':['bytes'],'index_codecs':[]"), ZD_JUDGE_READ, ZD_INVALID,
        "invalid missing_codec " AT "/index_codecs"},
    /* 2.3: an ignorable codec may be ignored within, not in the index */
    {SHARD("'chunk_shape':[2,3],'codecs':['bytes',{'name':'x1','must_understand':false}],"
           "'index_codecs':" INDEX),
        ZD_JUDGE_READ, ZD_OK, "warning ignored_codec " AT "/codecs/1"},
    {SHARD("'chunk_shape':[2,3],'codecs':['bytes'],"
           "'index_codecs':[" LITTLE ",{'name':'x1','must_understand':false}]"),
        ZD_JUDGE_READ, ZD_UNSUPPORTED, "unsupported unsupported_codec " AT "/index_codecs/1"},
    /* 130 */
    {SHARD("'chunk_shape':[2,3],'codecs':['bytes'],'index_codecs':" INDEX
           ",'index_location':'middle'"),
        ZD_JUDGE_READ, ZD_INVALID, "invalid out_of_range " AT "/index_location"},
    {SHARD("'chunk_shape':[2,3],'codecs':['bytes'],'index_codecs':" INDEX ",'index_location':0"),
        ZD_JUDGE_READ, ZD_INVALID, "invalid wrong_type " AT "/index_location"},
    /* every fault at once */
    {SHARD("'chunks':1,'index_location':'top'"), ZD_JUDGE_READ, ZD_INVALID,
        "invalid unknown_member " AT "/chunks; invalid out_of_range " AT
        "/index_location; invalid missing_member " AT "/chunk_shape; invalid missing_member " AT
        "/codecs; warning implied_parameter " AT "/index_codecs"},
    {SHARD("'chunk_shape':[2,3],'codecs':['gzip'],'index_codecs':['x1']"), ZD_JUDGE_READ,
        ZD_INVALID,
        "warning implied_bytes " AT "/codecs; invalid missing_member " AT
        "/codecs/0/configuration/level; unsupported unsupported_codec " AT "/index_codecs/0"},
    /* 261: the shape that reaches the codec counts */
    {"[{'name':'transpose','configuration':{'order':[1,0]}},{'name':'sharding_indexed',"
     "'configuration':{'chunk_shape':[3,4],'codecs':['bytes'],'index_codecs':" INDEX "}}]",
        ZD_JUDGE_WRITE, ZD_OK, ""},
    {"[{'name':'transpose','configuration':{'order':[1,0]}},{'name':'sharding_indexed',"
     "'configuration':{'chunk_shape':[4,3],'codecs':['bytes'],'index_codecs':" INDEX "}}]",
        ZD_JUDGE_READ, ZD_INVALID,
        "invalid not_divisible /codecs/1/configuration/chunk_shape/0; "
        "invalid not_divisible /codecs/1/configuration/chunk_shape/1"},
    /* 135 */
    {"[{'name':'sharding_indexed','configuration':{'chunk_shape':[2,3],'codecs':['bytes'],"
     "'index_codecs':" INDEX "}},{'name':'gzip','configuration':{'level':1}}]",
        ZD_JUDGE_WRITE, ZD_OK, ""},
};

START_TEST(sharding_judges_its_configuration)
{
    const struct zd_unit_chain what = {.codecs = judged[_i].codecs,
        .dtype = "uint8",
        .rank = 2,
        .shape = {4, 6},
        .judgement = judged[_i].judgement};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    const enum zd_status status = zd_unit_chain_open(&what, &chain, &faults);
    char *found = zd_unit_faults(&faults);
    ck_assert_msg(strcmp(found, judged[_i].faults) == 0, "%s: %s", what.codecs, found);
    ck_assert_int_eq(status, judged[_i].status);
    ck_assert_int_eq(chain != NULL, status == ZD_OK);
    zd_free(found);
    zd_chain_unref(chain);
    zd_faults_done(&faults);
}
END_TEST

/* Shards nested n deep around one chunk. */
static void add_nested(struct zd_text *text, int n)
{
    for (int i = 0; i < n; i++) {
        zd_text_add(text, "[{'name':'sharding_indexed','configuration':{'chunk_shape':[2],"
                          "'index_codecs':" INDEX ",'codecs':");
    }
    zd_text_add(text, "['bytes']");
    for (int i = 0; i < n; i++) {
        zd_text_add(text, "}}]");
    }
}

START_TEST(sharding_nests_to_a_depth_and_no_deeper)
{
    ZD_SCOPED_TEXT(codecs, 4096);
    add_nested(&codecs, _i);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "uint8", .rank = 1, .shape = {2}};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    const enum zd_status status = zd_unit_chain_open(&what, &chain, &faults);
    ck_assert_int_eq(status, _i <= ZD_CODEC_DEPTH_MAX ? ZD_OK : ZD_UNSUPPORTED);
    if (status == ZD_OK) {
        struct zd_buf *decoded = zd_unit_hex("0105");
        struct zd_buf *encoded = NULL;
        struct zd_buf *again = NULL;
        ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
        ck_assert_uint_eq(encoded->len, 2 + 20 * (size_t)_i);
        ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, NULL), ZD_OK);
        ck_assert(zd_span_equal(zd_buf_span(decoded), zd_buf_span(again)));
        zd_buf_unref(decoded);
        zd_buf_unref(encoded);
        zd_buf_unref(again);
    } else {
        ck_assert_str_eq(faults.item[0].code, "unsupported_codec");
    }
    zd_chain_unref(chain);
    zd_faults_done(&faults);
}
END_TEST

#define PAIR(location)                                                                             \
    SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':" INDEX                             \
          ",'index_location':'" location "'")
#define OLD_PAIR SHARD("'chunk_shape':[2],'codecs':['bytes']")
#define NONE     "ffffffffffffffffffffffffffffffff"

/* Section 10 of the reference: two inner chunks of two uint8, the second one missing. */
#define SHARD_END                                                                                  \
    "0102"                                                                                         \
    "00000000000000000200000000000000" NONE "bd13bd56"
#define SHARD_START                                                                                \
    "24000000000000000200000000000000" NONE "2609790d"                                             \
    "0102"

/* 131 to 133 */
static const struct {
    const char *codecs;
    const char *encoded;
    const char *decoded; /* or part of the text */
    bool ok;
} shards[] = {
    {PAIR("end"), SHARD_END, "01020909", true},
    {PAIR("start"), SHARD_START, "01020909", true},
    {PAIR("end"), SHARD_START, "checksum", false},
    /* nothing there; something unused in front */
    {PAIR("end"), NONE NONE "43c3ffa1", "checksum", false},
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" LITTLE "]"), NONE NONE,
        "09090909", true},
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" LITTLE "]"), "aabb" NONE NONE,
        "09090909", true},
    /* in any order, and even the same bytes twice */
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" LITTLE "]"),
        "0304"
        "0102"
        "02000000000000000200000000000000"
        "00000000000000000200000000000000",
        "01020304", true},
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" LITTLE "]"),
        "0304"
        "00000000000000000200000000000000"
        "00000000000000000200000000000000",
        "03040304", true},
    /* the same index, transposed and big-endian */
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[{'name':'transpose',"
           "'configuration':{'order':[1,0]}},{'name':'bytes','configuration':{'endian':'big'}}]"),
        "0304"
        "0102"
        "0000000000000002"
        "0000000000000000"
        "0000000000000002"
        "0000000000000002",
        "01020304", true},
    /* 276: nothing is said of the index; a checksum that is right is one, else there is none */
    {OLD_PAIR, SHARD_END, "01020909", true},
    {OLD_PAIR, "010200000000000000000200000000000000" NONE, "01020909", true},
    {OLD_PAIR, "0102" NONE "21000000000000000200000000000000", "beyond the shard", false},
    {OLD_PAIR, NONE NONE, "09090909", true},
    {OLD_PAIR, "aabbccdd" NONE NONE, "09090909", true},
    {OLD_PAIR, "ffffffffffffffff", "shorter than its index", false},
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_location':'start'"), SHARD_START,
        "01020909", true},
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_location':'start'"),
        "20000000000000000200000000000000" NONE "0102aabb", "01020909", true},
    /* 132 */
    {PAIR("end"),
        "0102"
        "00000000000000000200000000000000" NONE "bd13bd57",
        "checksum", false},
    {PAIR("end"), "ffffffffffffffff", "shorter than its index", false},
    {PAIR("start"), "", "shorter than its index", false},
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" LITTLE "]"),
        "0102"
        "21000000000000000200000000000000" NONE,
        "beyond the shard", false},
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" LITTLE "]"),
        "0102"
        "feffffffffffffff0200000000000000" NONE,
        "beyond the shard", false},
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" LITTLE "]"),
        "0102"
        "0200000000000000feffffffffffffff" NONE,
        "beyond the shard", false},
    /* a chunk of the wrong length */
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" LITTLE "]"),
        "0102"
        "00000000000000000300000000000000" NONE,
        "longer than its codecs", false},
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" LITTLE "]"),
        "0102"
        "00000000000000000000000000000000" NONE,
        "0 bytes decoded, 2 expected", false},
    /* 133 */
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" LITTLE "]"),
        "0102"
        "ffffffffffffffff0200000000000000" NONE,
        "only one of two words marked", false},
    {SHARD("'chunk_shape':[2],'codecs':['bytes'],'index_codecs':[" LITTLE "]"),
        "0102"
        "0000000000000000ffffffffffffffff" NONE,
        "only one of two words marked", false},
};

START_TEST(sharding_decodes_shards_or_says_what_is_corrupt)
{
    const struct zd_unit_chain what = {
        .codecs = shards[_i].codecs, .dtype = "uint8", .rank = 1, .shape = {4}, .fill = "\x09"};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *encoded = zd_unit_hex(shards[_i].encoded);
    struct zd_buf *found = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &found, &err);
    if (shards[_i].ok) {
        struct zd_buf *decoded = zd_unit_hex(shards[_i].decoded);
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        ck_assert(zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)));
        zd_buf_unref(decoded);
    } else {
        ck_assert_int_eq(status, ZD_CORRUPT);
        ck_assert_msg(strstr(err.text, shards[_i].decoded) != NULL, "%s", err.text);
    }
    zd_buf_unref(found);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(sharding_encodes_the_vectors_of_the_reference)
{
    const struct zd_unit_chain what = {.codecs = _i == 0 ? PAIR("end") : PAIR("start"),
        .dtype = "uint8",
        .rank = 1,
        .shape = {4},
        .fill = "\x09"};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_unit_hex("01020909");
    struct zd_buf *expected = zd_unit_hex(_i == 0 ? SHARD_END : SHARD_START);
    struct zd_buf *found = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &found, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(found), zd_buf_span(expected)));
    ck_assert_uint_le(found->len, zd_chain_encoded(chain)->size);
    zd_buf_unref(found);
    zd_buf_unref(expected);
    zd_buf_unref(decoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(sharding_of_nothing_but_fill_is_an_index_alone)
{
    const struct zd_unit_chain what = {
        .codecs = PAIR("end"), .dtype = "uint8", .rank = 1, .shape = {4}, .fill = "\x09"};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_unit_hex("09090909");
    struct zd_buf *found = NULL;
    struct zd_buf *again = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &found, NULL), ZD_OK);
    ck_assert_uint_eq(found->len, 36);
    ck_assert_int_eq(zd_chain_decode(chain, found, &again, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(decoded)));
    zd_buf_unref(found);
    zd_buf_unref(again);
    zd_buf_unref(decoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(sharding_of_rank_0_holds_one_chunk)
{
    const struct zd_unit_chain what = {
        .codecs = SHARD("'chunk_shape':[],'codecs':['bytes'],'index_codecs':" INDEX),
        .dtype = "uint8",
        .rank = 0};
    struct zd_chain *chain = zd_unit_chain(&what);
    const struct zd_codec *codec = zd_chain_codec(chain, 0);
    const struct zd_shard *shard = codec->shard(zd_chain_state(chain, 0));
    ck_assert_uint_eq(shard->n_chunks, 1);
    ck_assert_uint_eq(shard->index_bytes, 20);
    struct zd_buf *decoded = zd_unit_hex("07");
    struct zd_buf *found = NULL;
    struct zd_buf *again = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &found, NULL), ZD_OK);
    ck_assert_int_eq(zd_chain_decode(chain, found, &again, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(again), zd_buf_span(decoded)));
    zd_buf_unref(found);
    zd_buf_unref(again);
    zd_buf_unref(decoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(sharding_refuses_a_rank_whose_index_has_no_room)
{
    struct zd_unit_chain what = {
        .codecs = SHARD("'chunk_shape':[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                        "1,1,1,1],'codecs':['bytes'],'index_codecs':" INDEX),
        .dtype = "uint8",
        .rank = ZD_RANK_MAX};
    for (uint32_t i = 0; i < ZD_RANK_MAX; i++) {
        what.shape[i] = 1;
    }
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    ck_assert_int_eq(zd_unit_chain_open(&what, &chain, &faults), ZD_UNSUPPORTED);
    zd_faults_done(&faults);
}
END_TEST

START_TEST(sharding_refuses_more_inner_chunks_than_can_be_counted)
{
    const struct zd_unit_chain what = {
        .codecs = SHARD("'chunk_shape':[1,1],'codecs':['bytes'],'index_codecs':" INDEX),
        .dtype = "uint8",
        .rank = 2,
        .shape = {UINT64_C(1) << 40, UINT64_C(1) << 23}};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    ck_assert_int_eq(zd_unit_chain_open(&what, &chain, &faults), ZD_UNSUPPORTED);
    ck_assert_str_eq(faults.item[0].code, "out_of_range");
    zd_faults_done(&faults);
}
END_TEST

/* A shard of 64 TiB costs nothing to open, and a short object is no shard. */
START_TEST(sharding_opens_large_shards_without_memory_for_them)
{
    const struct zd_unit_chain what = {
        .codecs = SHARD("'chunk_shape':[1048576,1],'codecs':['bytes'],'index_codecs':" INDEX),
        .dtype = "uint8",
        .rank = 2,
        .shape = {UINT64_C(1) << 30, UINT64_C(1) << 16}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *encoded = zd_unit_hex("00");
    struct zd_buf *found = NULL;
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &found, NULL), ZD_CORRUPT);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

/* The bound of two million compressed inner chunks is at least 137 GB; the shard has 32 MiB. */
static const char *const compressed_shards[] = {"gzip", "zstd"};

START_TEST(sharding_of_small_chunks_may_be_compressed)
{
    ZD_SCOPED_TEXT(codecs, 1024);
    zd_text_addf(&codecs,
        "[{'name':'sharding_indexed','configuration':{'chunk_shape':[1],'codecs':['bytes',"
        "{'name':'zstd','configuration':{'level':1}}],'index_codecs':" INDEX
        "}},{'name':'%s','configuration':{'level':1}}]",
        compressed_shards[_i]);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "uint8", .rank = 1, .shape = {1U << 21}};
    ZD_AUTO(zd_chain) chain = zd_unit_chain(&what);
    ZD_AUTO(zd_buf) decoded = zd_buf_new(1U << 21);
    ck_assert_ptr_nonnull(decoded);
    memset(decoded->data, 0, decoded->cap);
    decoded->len = decoded->cap;
    decoded->data[5] = 1;
    ZD_AUTO(zd_buf) encoded = NULL;
    ZD_AUTO(zd_buf) again = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    ck_assert_msg(zd_chain_decode(chain, encoded, &again, &err) == ZD_OK, "%s", err.text);
    ck_assert(zd_span_equal(zd_buf_span(decoded), zd_buf_span(again)));
}
END_TEST

/* Element `at` (coordinates) of a dense array in C order. */
static uint64_t offset_of(uint32_t rank, const uint64_t *shape, const uint64_t *at)
{
    uint64_t offset = 0;
    for (uint32_t i = 0; i < rank; i++) {
        offset = offset * shape[i] + at[i];
    }
    return offset;
}

/* A random shard of up to three dimensions behind a random permutation. */
struct sample {
    uint32_t rank;
    uint64_t inner[3]; /* as it reaches the codec */
    uint64_t grid[3];
    uint64_t order[3];
    char codecs[512];
};

static void sample_init(struct sample *sample)
{
    static const uint64_t orders[][3] = {
        {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    *sample = (struct sample){.rank = 3};
    memcpy(sample->order, orders[zd_unit_random() % ZD_COUNT_OF(orders)], sizeof sample->order);
    for (uint32_t i = 0; i < 3; i++) {
        sample->inner[i] = 1 + zd_unit_random() % 5;
        sample->grid[i] = 1 + zd_unit_random() % 4;
    }
    ZD_SCOPED_TEXT(text, sizeof sample->codecs - 1);
    zd_text_addf(&text,
        "[{'name':'transpose','configuration':{'order':[%u,%u,%u]}},{'name':'sharding_indexed',"
        "'configuration':{'chunk_shape':[%u,%u,%u],'codecs':[{'name':'transpose','configuration':"
        "{'order':[2,0,1]}},{'name':'bytes','configuration':{'endian':'big'}}%s],"
        "'index_codecs':" INDEX ",'index_location':'%s'}}]",
        (unsigned)sample->order[0], (unsigned)sample->order[1], (unsigned)sample->order[2],
        (unsigned)sample->inner[0], (unsigned)sample->inner[1], (unsigned)sample->inner[2],
        zd_unit_random() % 2 == 0 ? "" : ",{'name':'zstd','configuration':{'level':1}}",
        zd_unit_random() % 2 == 0 ? "start" : "end");
    ck_assert_int_eq(text.status, ZD_OK);
    memcpy(sample->codecs, text.at, text.len + 1);
}

/* Inner chunk `index` (in the codec's axes), decoded by the chain of inner chunks and compared
 * element by element with the whole. */
static void compare_inner(const struct sample *sample, const struct zd_chain *inner,
    const struct zd_shard *shard, const struct zd_buf *encoded, const struct zd_buf *entries,
    const struct zd_buf *decoded, uint64_t i)
{
    const struct zd_repr *repr = zd_chain_decoded(inner);
    const uint64_t offset = zd_load_u64(entries->data + 16 * i);
    if (offset == ZD_SHARD_MISSING) {
        return;
    }
    const struct zd_span bytes = {
        .ptr = encoded->data + offset, .len = zd_load_u64(entries->data + 16 * i + 8)};
    struct zd_buf *chunk = zd_buf_copy(bytes);
    struct zd_buf *found = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(inner, chunk, &found, &err);
    ck_assert_msg(status == ZD_OK, "%s", err.text);
    uint64_t index[3];
    uint64_t rest = i;
    for (uint32_t d = 3; d-- > 0;) {
        index[d] = rest % shard->grid[d];
        rest /= shard->grid[d];
    }
    uint64_t whole_shape[3];
    for (uint32_t d = 0; d < 3; d++) {
        whole_shape[sample->order[d]] = sample->inner[d] * sample->grid[d];
    }
    uint64_t at[3];
    for (at[0] = 0; at[0] < repr->shape[0]; at[0]++) {
        for (at[1] = 0; at[1] < repr->shape[1]; at[1]++) {
            for (at[2] = 0; at[2] < repr->shape[2]; at[2]++) {
                uint64_t whole[3];
                for (uint32_t d = 0; d < 3; d++) {
                    const uint64_t axis = sample->order[d];
                    whole[axis] = index[d] * sample->inner[d] + at[axis];
                }
                ck_assert_mem_eq(found->data + 2 * offset_of(3, repr->shape, at),
                    decoded->data + 2 * offset_of(3, whole_shape, whole), 2);
            }
        }
    }
    zd_buf_unref(chunk);
    zd_buf_unref(found);
}

static void compare_one_by_one(void)
{
    struct sample sample;
    sample_init(&sample);
    struct zd_unit_chain what = {.codecs = sample.codecs, .dtype = "int16", .rank = 3};
    for (uint32_t i = 0; i < 3; i++) {
        what.shape[sample.order[i]] = sample.inner[i] * sample.grid[i];
    }
    struct zd_chain *chain = zd_unit_chain(&what);
    const uint32_t place = zd_chain_array_bytes(chain);
    const struct zd_shard *shard =
        zd_chain_codec(chain, place)->shard(zd_chain_state(chain, place));
    struct zd_chain *inner = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_chain_inner_open(chain, &inner, &err), ZD_OK);
    struct zd_buf *decoded = zd_unit_elements(zd_chain_decoded(chain)->size);
    /* Some inner chunks are all fill. */
    memset(decoded->data, 0, zd_unit_random() % (decoded->len + 1));
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    struct zd_buf *entries = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, &err), ZD_OK);
    ck_assert_int_eq(zd_chain_decode(chain, encoded, &again, &err), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(decoded), zd_buf_span(again)));
    const struct zd_span index = {
        .ptr = encoded->data + (shard->index_at_start ? 0 : encoded->len - shard->index_bytes),
        .len = shard->index_bytes};
    struct zd_buf *index_bytes = zd_buf_copy(index);
    ck_assert_int_eq(zd_chain_decode(shard->index, index_bytes, &entries, &err), ZD_OK);
    for (uint64_t i = 0; i < shard->n_chunks; i++) {
        compare_inner(&sample, inner, shard, encoded, entries, decoded, i);
    }
    zd_buf_unref(index_bytes);
    zd_buf_unref(entries);
    zd_buf_unref(again);
    zd_buf_unref(encoded);
    zd_buf_unref(decoded);
    zd_chain_unref(inner);
    zd_chain_unref(chain);
}

START_TEST(sharding_agrees_with_its_inner_chunks_one_by_one)
{
    for (int n = 0; n < 300; n++) {
        compare_one_by_one();
    }
}
END_TEST

START_TEST(sharding_decodes_or_refuses_every_damaged_shard)
{
    const struct zd_unit_chain what = {
        .codecs = SHARD("'chunk_shape':[2,3],'codecs':['bytes',{'name':'zstd','configuration':"
                        "{'level':1}}],'index_codecs':[" LITTLE "]"),
        .dtype = "uint8",
        .rank = 2,
        .shape = {4, 6}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_unit_elements(24);
    struct zd_buf *encoded = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    for (int n = 0; n < 5000; n++) {
        struct zd_buf *damaged = zd_buf_copy(zd_buf_span(encoded));
        damaged->data[zd_unit_random() % damaged->len] ^= (uint8_t)(1U << zd_unit_random() % 8);
        if (n % 5 == 0) {
            damaged->len = zd_unit_random() % damaged->len;
        }
        struct zd_buf *found = NULL;
        const enum zd_status status = zd_chain_decode(chain, damaged, &found, NULL);
        ck_assert(status == ZD_OK || status == ZD_CORRUPT);
        zd_buf_unref(found);
        zd_buf_unref(damaged);
    }
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(sharding_writes_its_configuration_back)
{
    const struct zd_unit_chain what = {
        .codecs = SHARD("'chunk_shape':[2,3],'codecs':[],'index_codecs':" INDEX),
        .dtype = "uint8",
        .rank = 2,
        .shape = {4, 6}};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_json *json = zd_chain_json(chain);
    struct zd_json *expected =
        zd_unit_json(SHARD("'chunk_shape':[2,3],'codecs':[{'name':'bytes'}],'index_codecs':[" LITTLE
                           ",{'name':'crc32c'}],'index_location':'end'"));
    ck_assert(zd_json_equal(json, expected));
    zd_json_unref(json);
    zd_json_unref(expected);
    zd_chain_unref(chain);
}
END_TEST

START_TEST(sharding_that_ignores_a_codec_never_encodes)
{
    const struct zd_unit_chain what = {
        .codecs = SHARD("'chunk_shape':[2,3],'codecs':['bytes',{'name':'x1','must_understand':"
                        "false}],'index_codecs':" INDEX),
        .dtype = "uint8",
        .rank = 2,
        .shape = {4, 6}};
    struct zd_chain *chain = zd_unit_chain(&what);
    ck_assert(zd_chain_is_partial(chain));
    struct zd_buf *decoded = zd_unit_elements(24);
    struct zd_buf *encoded = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_UNSUPPORTED);
    zd_buf_unref(decoded);
    zd_chain_unref(chain);
}
END_TEST

static enum zd_status open_and_run(void *context)
{
    const struct zd_unit_chain *what = context;
    struct zd_json *json = NULL;
    struct zd_chain *chain = NULL;
    struct zd_chain *inner = NULL;
    struct zd_faults faults = {0};
    struct zd_buf *decoded = NULL;
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    enum zd_status status = zd_unit_chain_open(what, &chain, &faults);
    if (status == ZD_OK) {
        status = zd_chain_inner_open(chain, &inner, NULL);
    }
    if (status == ZD_OK) {
        decoded = zd_buf_new(24);
        json = zd_chain_json(chain);
        status = decoded == NULL || json == NULL ? ZD_NO_MEMORY : ZD_OK;
    }
    if (status == ZD_OK) {
        memset(decoded->data, 0, 24);
        decoded->data[23] = 1;
        decoded->len = 24;
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
    zd_chain_unref(inner);
    zd_chain_unref(chain);
    zd_faults_done(&faults);
    return status;
}

START_TEST(sharding_survives_every_shortage_of_memory)
{
    struct zd_json *codecs = zd_unit_json(
        "[{'name':'transpose','configuration':{'order':[1,0]}},{'name':'sharding_indexed',"
        "'configuration':{'chunk_shape':[3,2],'codecs':['bytes',{'name':'zstd','configuration':"
        "{'level':1}}],'index_codecs':" INDEX "}}]");
    struct zd_unit_chain what = {.parsed = codecs, .dtype = "uint8", .rank = 2, .shape = {4, 6}};
    zd_unit_with_failing_memory(open_and_run, &what);
    zd_json_unref(codecs);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, sharding_judges_its_configuration, 0, ZD_COUNT_OF(judged));
    tcase_add_loop_test(tests, sharding_nests_to_a_depth_and_no_deeper, 1, ZD_CODEC_DEPTH_MAX + 2);
    tcase_add_loop_test(
        tests, sharding_decodes_shards_or_says_what_is_corrupt, 0, ZD_COUNT_OF(shards));
    tcase_add_loop_test(tests, sharding_encodes_the_vectors_of_the_reference, 0, 2);
    tcase_add_test(tests, sharding_of_nothing_but_fill_is_an_index_alone);
    tcase_add_test(tests, sharding_of_rank_0_holds_one_chunk);
    tcase_add_test(tests, sharding_refuses_a_rank_whose_index_has_no_room);
    tcase_add_test(tests, sharding_refuses_more_inner_chunks_than_can_be_counted);
    tcase_add_test(tests, sharding_opens_large_shards_without_memory_for_them);
    tcase_add_loop_test(
        tests, sharding_of_small_chunks_may_be_compressed, 0, ZD_COUNT_OF(compressed_shards));
    tcase_add_test(tests, sharding_agrees_with_its_inner_chunks_one_by_one);
    tcase_add_test(tests, sharding_decodes_or_refuses_every_damaged_shard);
    tcase_add_test(tests, sharding_writes_its_configuration_back);
    tcase_add_test(tests, sharding_that_ignores_a_codec_never_encodes);
    tcase_add_test(tests, sharding_survives_every_shortage_of_memory);
}
