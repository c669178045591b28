/* Facts about core/dialect/drafts/dialect_draft_2023_01: what is other than in draft-2020. No
 * software is known that wrote it: the documents are made by the reference, sections 7.4 and 7.6,
 * and its checklist, 209, 214, 216 to 220, 223 and 224. */
#include <string.h>

#include "tests/support/draft.h"

#define NAME  "draft-2023-01"
#define URI   "https://purl.org/zarr/spec/"
#define CORE  "{'zarr_format':'" URI "core/3.0','metadata_encoding':"
#define ENTRY CORE "{'type':'json','metadata_key_suffix':'.json'}"

#define GRID "'chunk_grid':{'type':'regular','chunk_shape':[2,3],'separator':'/'}"
#define REST "'shape':[4,6]," GRID ",'chunk_memory_layout':'C'"
#define TAIL ",'extensions':[],'attributes':{}}"

#define TYPED(type, fill) "{" REST ",'data_type':" type ",'fill_value':" fill TAIL
#define PLAIN             "{" REST ",'data_type':'int16','fill_value':0"
#define WITH(members)     PLAIN "," members TAIL
#define CODEC(name, configuration)                                                                 \
    "{'type':'" URI "codec/" name "/1.0','configuration':" configuration "}"
#define CODED(codecs) WITH("'codecs':[" codecs "]")
#define BIG           CODEC("endian", "{'endian':'big'}")
#define SHARDED(members)                                                                           \
    WITH("'storage_transformers':[{'extension':'" URI                                              \
         "storage_transformers/sharding/1.0','type':'indexed','configuration':"                    \
         "{'chunks_per_shard':[1,2]}}]" members)
#define EXTENDED(type, fallback)                                                                   \
    "{'extension':'" URI "data_types/time/1.0','type':" type fallback "}"

static const struct {
    const char *entry;
    bool bids;
    const char *faults; /* of a group below it */
} entries[] = {
    {ENTRY ",'extensions':[]}", true, ""},
    /* 216: what is not known there is ignored */
    {ENTRY ",'more':7}", true, ""},
    {CORE "{'type':'json','metadata_key_suffix':'.cbor'}}", true,
        "unsupported unsupported_extension /metadata_encoding/metadata_key_suffix"},
    {CORE "{'type':'json'}}", true,
        "invalid missing_member /metadata_encoding/metadata_key_suffix"},
    {CORE "{'type':'cbor','extension':'x:y','metadata_key_suffix':'.json'}}", true,
        "unsupported unsupported_extension /metadata_encoding/type"},
    {CORE "{'type':7,'metadata_key_suffix':'.json'}}", true,
        "invalid wrong_type /metadata_encoding/type"},
    {"{'zarr_format':'" URI "core/2.0','metadata_encoding':{'type':'json','metadata_key_suffix':"
     "'.json'}}",
        true, "unsupported unsupported_version /zarr_format"},
    /* 217 */
    {ENTRY ",'extensions':[{'extension':'x:y','must_understand':true}]}", true,
        "unsupported unsupported_extension /extensions/0"},
    {ENTRY ",'extensions':[{'extension':'x:y','must_understand':false}]}", true,
        "warning ignored_extension /extensions/0"},
    /* 209 */
    {CORE "'application/json'}", false, ""},
    {CORE "{'metadata_key_suffix':'.json'}}", false, ""},
    {CORE "'x:y','metadata_key_suffix':'.json'}", false, ""},
    {"{'zarr_format':3,'metadata_encoding':{'type':'json','metadata_key_suffix':'.json'}}", false,
        ""},
};

START_TEST(entry_point_is_told_and_judged)
{
    const struct zd_unit_draft group = {.dialect = NAME, .group = "{}", .entry = entries[_i].entry};
    if (!entries[_i].bids) {
        ck_assert_int_eq(zd_unit_draft_bid(&group), 0);
        return;
    }
    ZD_AUTO(zd_meta) meta = zd_unit_draft_check(&group, entries[_i].faults);
    ck_assert_int_eq(meta->type, ZD_NODE_GROUP);
}
END_TEST

static const struct {
    const char *array;
    const char *faults;
} facts[] = {
    {PLAIN TAIL, ""},
    {PLAIN "}", ""},
    /* 216 */
    {WITH("'dimension_separator':'.'"), "invalid unknown_member /dimension_separator"},
    {WITH("'compressor':null"), "invalid unknown_member /compressor"},
    {WITH("'more':{'must_understand':false}"), "invalid unknown_member /more"},
    {WITH("'order':'C','dtype':'<f4'"), "invalid unknown_member /order; "
                                        "invalid unknown_member /dtype"},
    /* 217 */
    {PLAIN ",'attributes':{},'extensions':[{'extension':'x:y','must_understand':true}]}",
        "unsupported unsupported_extension /extensions/0"},
    {PLAIN ",'attributes':{},'extensions':[{'extension':'x:y','must_understand':false}]}",
        "warning ignored_extension /extensions/0"},
    /* data types by name, and as the examples of the text have them */
    {TYPED("'bool'", "true"), ""},
    {TYPED("'int64'", "-9223372036854775808"), ""},
    {TYPED("'<f8'", "'-Infinity'"), ""},
    {TYPED("'complex128'", "['+Infinity',0.0]"), ""},
    {TYPED("'float99'", "0"), "invalid bad_name /data_type"},
    /* 218 */
    {TYPED(EXTENDED("{'unit':'s'}", ",'fallback':'int64'"), "0"),
        "warning fallback_data_type /data_type/fallback"},
    {TYPED(EXTENDED("'time'", ",'fallback':['x1','int64']"), "0"),
        "warning fallback_data_type /data_type/fallback"},
    {TYPED(EXTENDED("{'unit':'s'}", ",'fallback':null"), "0"),
        "unsupported unsupported_data_type /data_type"},
    {TYPED(EXTENDED("{'unit':'s'}", ""), "0"), "unsupported unsupported_data_type /data_type"},
    {TYPED("{'extension':'x:y'}", "0"), "unsupported unsupported_data_type /data_type"},
    /* null is forbidden, yet an example of the text has it */
    {TYPED("'int16'", "null"), "warning legacy_spelling /fill_value"},
    {TYPED("'float32'", "'0b0111'"), "invalid bad_fill_value /fill_value"},
    /* codecs */
    {CODED(""), ""},
    {CODED(BIG), ""},
    {CODED(BIG "," CODEC("gzip", "{'level':1}")), ""},
    {CODED(CODEC("endian", "{'endian':'middle'}")),
        "invalid out_of_range /codecs/0/configuration/endian"},
    {CODED(CODEC("endian", "{}")), "invalid out_of_range /codecs/0/configuration/endian"},
    {CODED(CODEC("gzip", "{'level':1}") "," BIG), "unsupported unsupported_codec /codecs/1"},
    {CODED(BIG "," CODEC("gzip", "{'level':77}")),
        "invalid out_of_range /codecs/1/configuration/level"},
    {CODED(CODEC("gzip", "{'level':1,'x':2}")),
        "warning unknown_codec_parameter /codecs/0/configuration/x"},
    {CODED(BIG "," CODEC("lzo", "{}")), "unsupported unsupported_codec /codecs/1"},
    {CODED("{'type':7},'gzip',{'type':'x/gzip/1.0','configuration':7}"),
        "invalid wrong_type /codecs/0/type; invalid missing_member /codecs/1/type; "
        "invalid wrong_type /codecs/2/configuration"},
    {WITH("'codecs':{}"), "invalid wrong_type /codecs"},
    /* attributes are nothing but attributes */
    {PLAIN ",'extensions':[],'attributes':{'filters':[{'id':'lzo'}]}}", ""},
    {WITH("'dimension_names':['y',null]"), ""},
    {WITH("'dimension_names':['y']"), "invalid rank_mismatch /dimension_names"},
    {WITH("'dimension_names':['y',7]"), "invalid wrong_type /dimension_names/1"},
    /* 224 */
    {SHARDED(""), ""},
    {SHARDED(",'codecs':[" CODEC("gzip", "{'level':77}") "]"),
        "invalid out_of_range /codecs/0/configuration/level"},
    {WITH("'storage_transformers':[{'extension':'x:cache','type':'t'}]"),
        "unsupported unsupported_extension /storage_transformers/0"},
};

START_TEST(document_is_judged_where_it_stands)
{
    const struct zd_unit_draft array = {
        .dialect = NAME, .array = facts[_i].array, .entry = ENTRY "}"};
    ZD_AUTO(zd_meta) meta = zd_unit_draft_check(&array, facts[_i].faults);
    ck_assert_int_eq(meta->type, ZD_NODE_ARRAY);
}
END_TEST

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define GZIP   "{'name':'gzip','configuration':{'level':1}}"

/* 219, 220, 224 */
static const struct {
    const char *array;
    const char *member;
    const char *value;
} normal_facts[] = {
    {PLAIN TAIL, "codecs", "[" LITTLE "]"},
    {PLAIN TAIL, "data_type", "'int16'"},
    {PLAIN TAIL, "chunk_key_encoding", "{'name':'default','configuration':{'separator':'/'}}"},
    {CODED(BIG), "codecs", "[{'name':'bytes','configuration':{'endian':'big'}}]"},
    {CODED(CODEC("gzip", "{'level':1}")), "codecs", "[" LITTLE "," GZIP "]"},
    {"{'shape':[4,6]," GRID
     ",'chunk_memory_layout':'F','data_type':'int16','fill_value':0,'codecs':[" BIG "]" TAIL,
        "codecs",
        "[{'name':'transpose','configuration':{'order':[1,0]}},"
        "{'name':'bytes','configuration':{'endian':'big'}}]"},
    {TYPED(EXTENDED("{'unit':'s'}", ",'fallback':['x1','uint64']"), "0"), "data_type", "'uint64'"},
    {TYPED("'float32'", "'0b01111111110000000000000000000001'"), "fill_value", "'0x7fc00001'"},
    {TYPED("'float32'", "'+Infinity'"), "fill_value", "'Infinity'"},
    {WITH("'dimension_names':['y',null]"), "dimension_names", "['y',null]"},
    {SHARDED(",'codecs':[" CODEC("gzip", "{'level':1}") "]"), "codecs",
        "[{'name':'sharding_indexed','configuration':{'chunk_shape':[2,3],'codecs':[" LITTLE
        "," GZIP "],'index_codecs':[" LITTLE "],'index_location':'end'}}]"},
    {SHARDED(""), "chunk_grid", "{'name':'regular','configuration':{'chunk_shape':[2,6]}}"},
};

START_TEST(document_becomes_one_of_v3)
{
    const struct zd_unit_draft array = {
        .dialect = NAME, .array = normal_facts[_i].array, .entry = ENTRY "}"};
    ZD_AUTO(zd_meta) meta = NULL;
    ZD_AUTO(zd_json) expected = zd_unit_json(normal_facts[_i].value);
    ck_assert_int_eq(zd_unit_draft_parse(&array, &meta), ZD_OK);
    ck_assert(!zd_meta_is_refused(meta));
    const struct zd_json *found = zd_json_member(meta->document, normal_facts[_i].member);
    ck_assert_msg(zd_json_equal(found, expected), "%s", normal_facts[_i].array);
}
END_TEST

static const struct {
    const char *group;
    const char *faults;
} groups[] = {
    {NULL, ""},
    {"{'attributes':{'a':1}}", ""},
    {"{'attributes':{},'extensions':[]}", "invalid unknown_member /extensions"},
    {"{'attributes':7}", "invalid wrong_type /attributes"},
};

START_TEST(group_has_nothing_but_attributes)
{
    const struct zd_unit_draft group = {
        .dialect = NAME, .group = groups[_i].group, .entry = ENTRY "}"};
    ZD_AUTO(zd_meta) meta = zd_unit_draft_check(&group, groups[_i].faults);
    ck_assert_int_eq(meta->type, ZD_NODE_GROUP);
}
END_TEST

/* 214 */
START_TEST(documents_children_and_chunks_have_their_keys)
{
    static const char *const expected[][3] = {
        {"", "meta/array.json", "meta/group.json"},
        {"foo/baz", "meta/foo/baz.array.json", "meta/foo/baz.group.json"},
    };
    const struct zd_dialect *draft = zd_dialect_find(NAME);
    for (size_t i = 0; i < ZD_COUNT_OF(expected); i++) {
        for (uint32_t number = 0; number < draft->n_documents; number++) {
            ZD_SCOPED_TEXT(key, 100);
            ck_assert_int_eq(draft->document_key(expected[i][0], number, &key), ZD_OK);
            ck_assert_str_eq(key.at, number == 2 ? "zarr.json" : expected[i][number + 1]);
        }
    }
    ZD_SCOPED_TEXT(prefix, 100);
    ck_assert_int_eq(draft->children_prefix("", &prefix), ZD_OK);
    ck_assert_str_eq(prefix.at, "meta/");
    ZD_SCOPED_TEXT(name, 100);
    /* the root's own document is no child */
    ck_assert_int_eq(draft->child_name(zd_span_of("group.json"), false, &name), ZD_NOT_FOUND);
    ck_assert_int_eq(draft->child_name(zd_span_of("foo.group.json"), false, &name), ZD_OK);
    ck_assert_str_eq(name.at, "foo");
    ck_assert(!zd_dialect_is_writable(draft));
}
END_TEST

static const struct {
    const char *array;
    const char *path;
    uint64_t index[2];
    const char *key;
    const char *rest;
} chunks[] = {
    {PLAIN TAIL, "foo/baz", {1, 0}, "data/foo/baz/c1/0", "c1/0"},
    {PLAIN TAIL, "", {0, 0}, "data/c0/0", "c0/0"},
    {"{'shape':[],'chunk_grid':{'type':'regular','chunk_shape':[],'separator':'/'},"
     "'chunk_memory_layout':'C','data_type':'int16','fill_value':0" TAIL,
        "s", {0, 0}, "data/s/c", "c"},
};

START_TEST(chunk_has_its_key)
{
    const struct zd_unit_draft array = {
        .dialect = NAME, .array = chunks[_i].array, .entry = ENTRY "}"};
    uint64_t found[ZD_RANK_MAX];
    ZD_AUTO(zd_meta) meta = zd_unit_draft_check(&array, "");
    ZD_SCOPED_TEXT(key, 100);
    ck_assert_int_eq(
        meta->dialect->chunk_key(meta, chunks[_i].path, chunks[_i].index, &key), ZD_OK);
    ck_assert_str_eq(key.at, chunks[_i].key);
    ck_assert_int_eq(meta->dialect->chunk_index(meta, chunks[_i].rest, found), ZD_OK);
    ck_assert_int_eq(memcmp(found, chunks[_i].index, meta->grid.rank * sizeof found[0]), 0);
}
END_TEST

static enum zd_status parse_with_little_memory(void *context)
{
    ZD_AUTO(zd_meta) meta = NULL;
    return zd_unit_draft_parse(context, &meta);
}

START_TEST(failing_memory_fails_cleanly)
{
    static const struct zd_unit_draft cases[] = {
        {NAME, SHARDED(",'codecs':[" BIG "," CODEC("gzip", "{'level':1}") "]"), NULL, NULL,
            ENTRY "}"},
        {NAME, CODED(CODEC("gzip", "{'level':77,'x':1}")), NULL, NULL, ENTRY "}"},
        {NAME, NULL, "{'attributes':{},'more':1}", NULL, CORE "{'type':7}}"},
    };
    zd_unit_with_failing_memory(parse_with_little_memory, (void *)(uintptr_t)&cases[_i]);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, entry_point_is_told_and_judged, 0, ZD_COUNT_OF(entries));
    tcase_add_loop_test(tests, document_is_judged_where_it_stands, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, document_becomes_one_of_v3, 0, ZD_COUNT_OF(normal_facts));
    tcase_add_loop_test(tests, group_has_nothing_but_attributes, 0, ZD_COUNT_OF(groups));
    tcase_add_test(tests, documents_children_and_chunks_have_their_keys);
    tcase_add_loop_test(tests, chunk_has_its_key, 0, ZD_COUNT_OF(chunks));
    tcase_add_loop_test(tests, failing_memory_fails_cleanly, 0, 3);
}
