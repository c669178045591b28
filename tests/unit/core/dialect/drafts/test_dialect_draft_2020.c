/* Facts about core/dialect/drafts/dialect_draft_2020: its entry point, its documents as nodes, its
 * keys; the reference, sections 7.1, 7.3 and 7.6, and its checklist, 209, 210, 212, 213, 218, 220,
 * 221, 223, 224, 274 and 275. */
#include <string.h>

#include "tests/support/draft.h"

#define NAME "draft-2020"
#define URI  "https://purl.org/zarr/spec/"
#define CORE URI "protocol/core/3.0"
#define ENTRY                                                                                      \
    "{'zarr_format':'" CORE "','metadata_encoding':'" CORE "','metadata_key_suffix':'.json'"

#define GRID "'chunk_grid':{'type':'regular','chunk_shape':[2,3],'separator':'/'}"
#define REST "'shape':[4,6]," GRID ",'chunk_memory_layout':'C'"
#define TAIL ",'extensions':[],'attributes':{}}"

#define TYPED(type, fill)      "{" REST ",'data_type':" type ",'fill_value':" fill TAIL
#define PLAIN                  "{" REST ",'data_type':'<i2','fill_value':0"
#define WITH(members)          PLAIN "," members TAIL
#define ATTRIBUTED(attributes) PLAIN ",'extensions':[],'attributes':" attributes "}"
#define GRIDDED(grid)                                                                              \
    "{'shape':[4,6],'chunk_memory_layout':'C','data_type':'<i2','fill_value':0,'chunk_grid':" grid \
        TAIL
#define CODEC(name, configuration)                                                                 \
    "'compressor':{'codec':'" URI "codec/" name "/1.0','configuration':" configuration "}"
#define SHARDED(configuration)                                                                     \
    WITH(                                                                                          \
        "'storage_transformers':[{'extension':'" URI                                               \
        "storage_transformers/sharding/1.0','type':'indexed','configuration':" configuration "}]")
#define EXTENDED(type, fallback)                                                                   \
    "{'extension':'TODO: no URL','type':" type ",'fallback':" fallback "}"

static const struct {
    const char *entry;
    const char *dialect; /* that bids; NULL: none does */
    const char *faults;  /* of a group below it */
} entries[] = {
    {ENTRY ",'extensions':[]}", NAME, ""},
    {ENTRY "}", NAME, ""},
    /* what is not known there is ignored */
    {ENTRY ",'more':{'zarr_format':3}}", NAME, ""},
    {"{'zarr_format':'" URI "core/3.0','metadata_key_suffix':'.json'}", NAME, ""},
    {"{'zarr_format':'" URI "core/3.1','metadata_key_suffix':'.json'}", NAME, ""},
    {"{'zarr_format':'" URI "core/4.0','metadata_key_suffix':'.json'}", NAME,
        "unsupported unsupported_version /zarr_format"},
    {"{'zarr_format':'3','metadata_key_suffix':'.json'}", NAME,
        "unsupported unsupported_version /zarr_format"},
    {"{'zarr_format':'" CORE "','metadata_key_suffix':'.cbor'}", NAME,
        "unsupported unsupported_extension /metadata_key_suffix"},
    {"{'zarr_format':'" CORE "','metadata_key_suffix':7}", NAME,
        "invalid wrong_type /metadata_key_suffix"},
    {ENTRY ",'extensions':{}}", NAME, "invalid wrong_type /extensions"},
    {ENTRY ",'extensions':[{'extension':'x:y','must_understand':false}]}", NAME,
        "warning ignored_extension /extensions/0"},
    {ENTRY ",'extensions':[{'extension':'x:y','must_understand':true},{'extension':'x:z'}]}", NAME,
        "unsupported unsupported_extension /extensions/0; "
        "unsupported unsupported_extension /extensions/1"},
    {ENTRY ",'extensions':[7,{'extension':'x:y','must_understand':0}]}", NAME,
        "invalid wrong_type /extensions/0/extension; "
        "invalid wrong_type /extensions/1/must_understand"},
    /* 209, 210: other drafts, final v3, and what is none of them */
    {"{'zarr_format':3,'node_type':'group','attributes':{'metadata_key_suffix':'.json'}}", NULL,
        ""},
    {"{'zarr_format':3,'node_type':'group','attributes':{'zarr_format':'" CORE "'}}", NULL, ""},
    {"{'zarr_format':'" CORE "'}", NULL, ""},
    {"{'zarr_format':'" CORE "','metadata_encoding':7,'metadata_key_suffix':'.json'}", NULL, ""},
    {"{'metadata_key_suffix':'.json'}", NULL, ""},
    {"{'zarr_format':'" CORE "','metadata_key_suffix':'.json'", NULL, ""},
    {"[]", NULL, ""},
    {"", NULL, ""},
};

START_TEST(entry_point_is_told_and_judged)
{
    const struct zd_unit_draft group = {.dialect = NAME, .group = "{}", .entry = entries[_i].entry};
    if (entries[_i].dialect == NULL) {
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
    /* 274 */
    {WITH("'dimension_separator':'.'"), "warning unknown_member /dimension_separator"},
    {WITH("'order':'C'"), "invalid unknown_member /order"},
    {WITH("'codecs':[]"), "invalid unknown_member /codecs"},
    {"[]", "invalid wrong_type "},
    {"{", "invalid not_json "},
    {"{}", "invalid missing_member /shape; invalid missing_member /data_type; "
           "invalid missing_member /chunk_grid; invalid missing_member /chunk_memory_layout; "
           "invalid missing_member /fill_value"},
    {TYPED("'<i2'", "NaN"),
        "warning bare_nonfinite /fill_value; invalid bad_fill_value /fill_value"},
    {ATTRIBUTED("{'a':NaN}"), "warning bare_nonfinite /attributes"},
    {ATTRIBUTED("[]"), "invalid wrong_type /attributes"},
    {"{'shape':[NaN]}", "invalid bare_nonfinite /shape"},
    /* shape and grid */
    {GRIDDED("{'type':'regular','chunk_shape':[2]}"),
        "invalid rank_mismatch /chunk_grid/chunk_shape"},
    {GRIDDED("{'type':'regular','chunk_shape':[2,0]}"),
        "invalid out_of_range /chunk_grid/chunk_shape/1"},
    {GRIDDED("{'type':'regular','chunk_shape':7}"), "invalid wrong_type /chunk_grid/chunk_shape"},
    {GRIDDED("{'type':'regular'}"), "invalid missing_member /chunk_grid/chunk_shape"},
    {GRIDDED("{'type':'rectangular','chunk_shape':[2,3]}"),
        "unsupported unsupported_grid /chunk_grid/type"},
    {GRIDDED("{'chunk_shape':[2,3],'size':7}"),
        "invalid missing_member /chunk_grid/type; invalid unknown_member /chunk_grid/size"},
    {GRIDDED("{'type':'regular','chunk_shape':[2,3],'separator':'-'}"),
        "invalid out_of_range /chunk_grid/separator"},
    {GRIDDED("'regular'"), "invalid wrong_type /chunk_grid"},
    {"{'shape':[-4,6]," GRID ",'chunk_memory_layout':'C','data_type':'<i2','fill_value':0}",
        "invalid out_of_range /shape/0"},
    {"{'shape':[4,6]," GRID ",'chunk_memory_layout':'K','data_type':'<i2','fill_value':0}",
        "invalid out_of_range /chunk_memory_layout"},
    /* data types and fill values */
    {TYPED("'bool'", "true"), ""},
    {TYPED("'u1'", "255"), ""},
    {TYPED("'|i1'", "-128"), ""},
    {TYPED("'>f8'", "'NaN'"), ""},
    {TYPED("'r16'", "null"), ""},
    {TYPED("'<i3'", "0"), "unsupported unsupported_data_type /data_type"},
    {TYPED("7", "0"), "invalid wrong_type /data_type"},
    {TYPED("'<u2'", "-1"), "invalid bad_fill_value /fill_value"},
    {TYPED(EXTENDED("'<c8'", "null"), "[0.0,0.0]"), ""},
    {TYPED(EXTENDED("'<q8'", "null"), "0"), "invalid bad_name /data_type/type"},
    {TYPED(EXTENDED("'<q8'", "'<i8'"), "0"), "warning fallback_data_type /data_type/fallback"},
    {TYPED(EXTENDED("'<q8'", "['<q8','u1']"), "0"),
        "warning fallback_data_type /data_type/fallback"},
    {TYPED(EXTENDED("[['x','<f4']]", "'r32'"), "null"), ""},
    {TYPED(EXTENDED("{'a':1}", "null"), "0"), "unsupported unsupported_data_type /data_type"},
    {TYPED(EXTENDED("{'a':1}", "'r24'"), "null"), "warning fallback_data_type /data_type/fallback"},
    /* codecs */
    {WITH("'compressor':null"), ""},
    {WITH(CODEC("gzip", "{'level':1}")), ""},
    {WITH(CODEC("gzip", "{'level':77}")), "invalid out_of_range /compressor/configuration/level"},
    {WITH(CODEC("zlib", "{'level':1,'wbits':15}")),
        "warning unknown_codec_parameter /compressor/configuration/wbits"},
    {WITH("'compressor':{'codec':'" URI "codec/gzip/1.0'}"), ""},
    {WITH("'compressor':{'codec':'gzip','configuration':[]}"),
        "invalid wrong_type /compressor/configuration"},
    {WITH("'compressor':{'codec':7}"), "invalid wrong_type /compressor/codec"},
    {WITH("'compressor':{'codec':'/'}"), "invalid wrong_type /compressor/codec"},
    {WITH("'compressor':'gzip'"), "invalid missing_member /compressor/codec"},
    {WITH(CODEC("lzo", "{}")), "unsupported unsupported_codec /compressor"},
    {ATTRIBUTED("{'filters':[{'id':'delta','dtype':'<i2'}]}"), ""},
    {ATTRIBUTED("{'filters':[{'id':'delta','dtype':'<q2'}]}"),
        "invalid out_of_range /attributes/filters/0/dtype"},
    {ATTRIBUTED("{'filters':[{'id':'delta','dtype':'<i2'},{'id':'lzo'}]}"),
        "unsupported unsupported_codec /attributes/filters/1"},
    /* what is no list of codecs is an attribute like any other */
    {ATTRIBUTED("{'filters':'none'}"), ""},
    {ATTRIBUTED("{'filters':[]}"), ""},
    {ATTRIBUTED("{'filters':[{'id':'delta'},'x']}"), ""},
    /* extensions */
    {PLAIN ",'extensions':[{'extension':'x:y','must_understand':false}]}",
        "warning ignored_extension /extensions/0"},
    {PLAIN ",'extensions':[{'extension':'x:y','must_understand':true}]}",
        "unsupported unsupported_extension /extensions/0"},
    /* 275 */
    {WITH("'storage_transformers':[]"), ""},
    {WITH("'storage_transformers':{}"), "invalid wrong_type /storage_transformers"},
    {WITH("'storage_transformers':[{'extension':'x:cache','type':'indexed'}]"),
        "unsupported unsupported_extension /storage_transformers/0"},
    {WITH("'storage_transformers':[{'extension':'x/sharding/1.0','type':'plain'},7]"),
        "unsupported unsupported_extension /storage_transformers/0; "
        "unsupported unsupported_extension /storage_transformers/1"},
    {SHARDED("{'chunks_per_shard':[2,1]}"), ""},
    {SHARDED("{'chunks_per_shard':[2]}"),
        "invalid out_of_range /storage_transformers/0/configuration/chunks_per_shard"},
    {SHARDED("{'chunks_per_shard':[2,0]}"),
        "invalid out_of_range /storage_transformers/0/configuration/chunks_per_shard"},
    {SHARDED("{}"),
        "invalid missing_member /storage_transformers/0/configuration/chunks_per_shard"},
    {SHARDED("{'chunks_per_shard':[1,9223372036854775807]}"),
        "invalid too_large /storage_transformers/0/configuration/chunks_per_shard"},
};

START_TEST(document_is_judged_where_it_stands)
{
    const struct zd_unit_draft array = {
        .dialect = NAME, .array = facts[_i].array, .entry = ENTRY "}"};
    ZD_AUTO(zd_meta) meta = zd_unit_draft_check(&array, facts[_i].faults);
    ck_assert_int_eq(meta->type, ZD_NODE_ARRAY);
    ck_assert(meta->document != NULL || strcmp(facts[_i].array, "{") == 0);
}
END_TEST

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define ZLIB   "{'name':'numcodecs.zlib','configuration':{'level':3}}"

/* 220, 221, 224 */
static const struct {
    const char *array;
    const char *member;
    const char *value;
} normal_facts[] = {
    {PLAIN TAIL, "codecs", "[" LITTLE "]"},
    {PLAIN TAIL, "chunk_key_encoding", "{'name':'default','configuration':{'separator':'/'}}"},
    {GRIDDED("{'type':'regular','chunk_shape':[2,3],'separator':'.'}"), "chunk_key_encoding",
        "{'name':'default','configuration':{'separator':'.'}}"},
    {TYPED("'>f4'", "null"), "fill_value", "0.0"},
    {TYPED("'>f4'", "'+Infinity'"), "fill_value", "'Infinity'"},
    {TYPED("'>f4'", "'0b01111111110000000000000000000001'"), "fill_value", "'0x7fc00001'"},
    {TYPED("'>f4'", "0"), "codecs", "[{'name':'bytes','configuration':{'endian':'big'}}]"},
    {TYPED("'r24'", "null"), "data_type", "'r24'"},
    {TYPED(EXTENDED("'<q8'", "['>u4']"), "0"), "data_type", "'uint32'"},
    {"{'shape':[4,6]," GRID ",'chunk_memory_layout':'F','data_type':'<i2','fill_value':0}",
        "codecs", "[{'name':'transpose','configuration':{'order':[1,0]}}," LITTLE "]"},
    {WITH(CODEC("zlib", "{'level':3}")), "codecs", "[" LITTLE "," ZLIB "]"},
    {ATTRIBUTED("{'filters':[{'id':'delta','dtype':'<i2'}],'a':1}"), "attributes", "{'a':1}"},
    {ATTRIBUTED("{'_ARRAY_DIMENSIONS':['y','x']}"), "dimension_names", "['y','x']"},
    {SHARDED("{'chunks_per_shard':[2,1]}"), "chunk_grid",
        "{'name':'regular','configuration':{'chunk_shape':[4,3]}}"},
    {SHARDED("{'chunks_per_shard':[2,1]}"), "codecs",
        "[{'name':'sharding_indexed','configuration':{'chunk_shape':[2,3],'codecs':[" LITTLE
        "],'index_codecs':[" LITTLE "],'index_location':'end'}}]"},
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
    {NULL, ""}, /* one that is only implied */
    {"{}", ""},
    {"{'attributes':{'a':1},'extensions':[]}", ""},
    {"{'attributes':[]}", "invalid wrong_type /attributes"},
    {"{'shape':[]}", "warning unknown_member /shape"},
    {"{'extensions':[{'extension':'x:y'}]}", "unsupported unsupported_extension /extensions/0"},
    {"7", "invalid wrong_type "},
    {"{", "invalid not_json "},
};

START_TEST(group_is_judged_or_implied)
{
    const struct zd_unit_draft group = {
        .dialect = NAME, .group = groups[_i].group, .entry = ENTRY "}"};
    const int bid = zd_unit_draft_bid(&group);
    ck_assert_int_eq(bid == ZD_BID_IMPLIED, groups[_i].group == NULL);
    ZD_AUTO(zd_meta) meta = zd_unit_draft_check(&group, groups[_i].faults);
    ck_assert_int_eq(meta->type, ZD_NODE_GROUP);
}
END_TEST

START_TEST(array_beside_a_group_is_one_with_a_warning)
{
    const struct zd_unit_draft both = {
        .dialect = NAME, .array = PLAIN TAIL, .group = "{}", .entry = ENTRY "}"};
    ZD_AUTO(zd_meta) meta = zd_unit_draft_check(&both, "warning two_documents ");
    ck_assert_int_eq(meta->type, ZD_NODE_ARRAY);
}
END_TEST

/* 274: beside its consolidated metadata zarr-python leaves a group. */
START_TEST(stray_group_is_none)
{
    struct zd_unit_draft group = {
        .dialect = NAME, .group = "{'attributes':{}}", .aside = "{}", .entry = ENTRY "}"};
    ck_assert_int_eq(zd_unit_draft_bid(&group), 0);
    group.group = NULL;
    ck_assert_int_eq(zd_unit_draft_bid(&group), 0);
    group.group = "{'attributes':{'a':1}}";
    ck_assert_int_gt(zd_unit_draft_bid(&group), 0);
}
END_TEST

START_TEST(documents_and_children_have_their_keys)
{
    static const char *const expected[][6] = {
        {"", "meta/root.array.json", "meta/root.group.json", "data/root/c",
            "meta/root/consolidated/.zmetadata", "zarr.json"},
        {"g/a", "meta/root/g/a.array.json", "meta/root/g/a.group.json", "data/root/g/a/c", NULL,
            "zarr.json"},
        {"consolidated", "meta/root/consolidated.array.json", "meta/root/consolidated.group.json",
            "meta/root/consolidated/.zmetadata", "meta/root/consolidated/.zmetadata", "zarr.json"},
    };
    const struct zd_dialect *draft = zd_dialect_find(NAME);
    for (size_t i = 0; i < ZD_COUNT_OF(expected); i++) {
        for (uint32_t number = 0; number < draft->n_documents; number++) {
            ZD_SCOPED_TEXT(key, 100);
            const char *found = expected[i][number + 1];
            ck_assert_int_eq(draft->document_key(expected[i][0], number, &key),
                found == NULL ? ZD_NOT_FOUND : ZD_OK);
            ck_assert_str_eq(key.at, found == NULL ? "" : found);
        }
    }
    ZD_SCOPED_TEXT(prefix, 100);
    ck_assert_int_eq(draft->children_prefix("", &prefix), ZD_OK);
    ck_assert_str_eq(prefix.at, "meta/root/");
    ck_assert_int_eq(draft->children_prefix("g", &prefix), ZD_OK);
    ck_assert_str_eq(prefix.at, "meta/root/meta/root/g/");
    ck_assert(!zd_dialect_is_writable(draft));
}
END_TEST

static const struct {
    const char *entry;
    bool is_prefix;
    const char *name; /* NULL: it is no child */
} children[] = {
    {"a.array.json", false, "a"},
    {"a.group.json", false, "a"},
    {"a.array.array.json", false, "a.array"},
    {"a", true, "a"},
    {"a.array.json", true, "a.array.json"},
    {"a", false, NULL},
    {"a.json", false, NULL},
    {".array.json", false, NULL},
    {"...array.json", false, NULL},
    {"..", true, NULL},
    {"__a", true, NULL},
};

START_TEST(child_has_the_name_of_its_entry)
{
    ZD_SCOPED_TEXT(name, 100);
    const enum zd_status status = zd_dialect_find(NAME)->child_name(
        zd_span_of(children[_i].entry), children[_i].is_prefix, &name);
    ck_assert_int_eq(status, children[_i].name == NULL ? ZD_NOT_FOUND : ZD_OK);
    ck_assert(children[_i].name == NULL || strcmp(name.at, children[_i].name) == 0);
}
END_TEST

#define SCALAR                                                                                     \
    "{'shape':[],'chunk_grid':{'type':'regular','chunk_shape':[]},'chunk_memory_layout':'C',"      \
    "'data_type':'<i2','fill_value':0}"

/* 212, 213, 275 */
static const struct {
    const char *array;
    const char *aside;
    uint64_t index[2];
    const char *key;
} chunks[] = {
    {PLAIN TAIL, NULL, {1, 0}, "data/root/g/c1/0"},
    {GRIDDED("{'type':'regular','chunk_shape':[2,3],'separator':'.'}"), NULL, {1, 0},
        "data/root/g/c1.0"},
    {SHARDED("{'chunks_per_shard':[2,1]}"), NULL, {0, 1}, "data/root/g/c0/1"},
    {SCALAR, NULL, {0, 0}, "data/root/g/c0"},
    {SCALAR, "ab", {0, 0}, "data/root/g/c"},
};

START_TEST(chunk_has_its_key)
{
    const struct zd_unit_draft array = {
        .dialect = NAME, .array = chunks[_i].array, .aside = chunks[_i].aside, .entry = ENTRY "}"};
    uint64_t found[ZD_RANK_MAX];
    ZD_AUTO(zd_meta) meta = zd_unit_draft_check(&array, "");
    ZD_SCOPED_TEXT(key, 100);
    ck_assert_int_eq(meta->dialect->chunk_key(meta, "g", chunks[_i].index, &key), ZD_OK);
    ck_assert_str_eq(key.at, chunks[_i].key);
    const char *rest = key.at + strlen("data/root/g/");
    ck_assert_int_eq(meta->dialect->chunk_index(meta, rest, found), ZD_OK);
    ck_assert_int_eq(memcmp(found, chunks[_i].index, meta->grid.rank * sizeof found[0]), 0);
    ck_assert_int_eq(meta->dialect->chunk_index(meta, "c/1/0", found), ZD_NOT_FOUND);
    ck_assert_int_eq(meta->dialect->chunk_index(meta, "", found), ZD_NOT_FOUND);
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
        {NAME, SHARDED("{'chunks_per_shard':[2,1]}"), "{}", NULL, ENTRY ",'extensions':[7]}"},
        {NAME, ATTRIBUTED("{'filters':[{'id':'delta','dtype':'<i2'}]}"), NULL, NULL, ENTRY "}"},
        {NAME, TYPED(EXTENDED("'<q8'", "['>f4']"), "'0b01111111110000000000000000000001'"), NULL,
            NULL, ENTRY "}"},
        {NAME, WITH(CODEC("gzip", "{'level':77,'x':1}")), NULL, NULL, ENTRY "}"},
        {NAME, NULL, "{'attributes':{'a':NaN}}", NULL, ENTRY "}"},
    };
    zd_unit_with_failing_memory(parse_with_little_memory, (void *)(uintptr_t)&cases[_i]);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, entry_point_is_told_and_judged, 0, ZD_COUNT_OF(entries));
    tcase_add_loop_test(tests, document_is_judged_where_it_stands, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, document_becomes_one_of_v3, 0, ZD_COUNT_OF(normal_facts));
    tcase_add_loop_test(tests, group_is_judged_or_implied, 0, ZD_COUNT_OF(groups));
    tcase_add_test(tests, array_beside_a_group_is_one_with_a_warning);
    tcase_add_test(tests, stray_group_is_none);
    tcase_add_test(tests, documents_and_children_have_their_keys);
    tcase_add_loop_test(tests, child_has_the_name_of_its_entry, 0, ZD_COUNT_OF(children));
    tcase_add_loop_test(tests, chunk_has_its_key, 0, ZD_COUNT_OF(chunks));
    tcase_add_loop_test(tests, failing_memory_fails_cleanly, 0, 5);
}
