/* Facts about core/dialect/drafts/dialect_draft_2019: what is other than in the drafts behind it.
 * No software is known that wrote it: the documents are made by the reference, sections 7.2
 * and 7.6, and its checklist, 209, 211, 220 and 223. */
#include <string.h>

#include "tests/support/draft.h"

#define NAME  "draft-2019"
#define URI   "http://purl.org/zarr/spec/"
#define ENTRY "{'zarr_format':'" URI "protocol/core/3.0','metadata_encoding':'application/json'"

#define GRID "'chunk_grid':{'type':'regular','chunk_shape':[2,3]}"
#define REST "'shape':[4,6]," GRID ",'chunk_memory_layout':'C'"
#define TAIL ",'extensions':[],'attributes':{}}"

#define TYPED(type, fill) "{" REST ",'data_type':" type ",'fill_value':" fill TAIL
#define PLAIN             "{" REST ",'data_type':'<f8','fill_value':0"
#define WITH(members)     PLAIN "," members TAIL
#define EXTENDED(type, fallback)                                                                   \
    "{'extension':'" URI "datetime','type':" type ",'fallback':" fallback "}"

static const struct {
    const char *entry;
    bool bids;
    const char *faults; /* of a group below it */
} entries[] = {
    {ENTRY ",'extensions':[]}", true, ""},
    {ENTRY "}", true, ""},
    {ENTRY ",'more':7}", true, ""},
    {"{'zarr_format':'" URI "protocol/core/2.0','metadata_encoding':'application/json'}", true,
        "unsupported unsupported_version /zarr_format"},
    {ENTRY ",'extensions':[{'extension':'x:y'}]}", true,
        "unsupported unsupported_extension /extensions/0"},
    /* 209 */
    {"{'zarr_format':'" URI "core/3.0','metadata_encoding':'application/cbor'}", false, ""},
    {"{'zarr_format':'" URI "core/3.0','metadata_encoding':{'type':'application/json'}}", false,
        ""},
    {"{'zarr_format':3,'metadata_encoding':'application/json'}", false, ""},
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
    /* nothing is said of other members */
    {WITH("'order':'F'"), "warning unknown_member /order"},
    {WITH("'codecs':[7],'dtype':'<f4'"), "warning unknown_member /codecs; "
                                         "warning unknown_member /dtype"},
    {WITH("'storage_transformers':[7]"), "warning unknown_member /storage_transformers"},
    {TYPED("'bool'", "true"), ""},
    {TYPED("'i1'", "-128"), ""},
    {TYPED("'u1'", "null"), ""},
    {TYPED("'<f8'", "'NaN'"), ""},
    {TYPED("'<f8'", "'nan'"), "invalid bad_fill_value /fill_value"},
    {TYPED(EXTENDED("'<x8[ns]'", "'<i8'"), "0"), "warning fallback_data_type /data_type/fallback"},
    {TYPED(EXTENDED("{'a':1}", "null"), "0"), "unsupported unsupported_data_type /data_type"},
    {WITH("'compressor':{'codec':'" URI "codec/gzip','configuration':{'level':1}}"), ""},
    {WITH("'compressor':{'codec':'" URI "codec/gzip/1.0','configuration':{'level':77}}"),
        "invalid out_of_range /compressor/configuration/level"},
    {WITH("'compressor':null"), ""},
    /* attributes are nothing but attributes */
    {PLAIN ",'extensions':[],'attributes':{'filters':[{'id':'lzo'}]}}", ""},
    {PLAIN ",'attributes':{},'extensions':[{'extension':'x:y','must_understand':false}]}",
        "warning ignored_extension /extensions/0"},
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

/* 220 */
static const struct {
    const char *array;
    const char *member;
    const char *value;
} normal_facts[] = {
    {PLAIN TAIL, "codecs", "[" LITTLE "]"},
    {PLAIN TAIL, "chunk_key_encoding", "{'name':'v2','configuration':{'separator':'.'}}"},
    {"{'shape':[4,6],'chunk_grid':{'type':'regular','chunk_shape':[2,3],'separator':'/'},"
     "'chunk_memory_layout':'F','data_type':'<f8','fill_value':null" TAIL,
        "chunk_key_encoding", "{'name':'v2','configuration':{'separator':'/'}}"},
    {"{'shape':[4,6]," GRID ",'chunk_memory_layout':'F','data_type':'>f8','fill_value':null" TAIL,
        "codecs",
        "[{'name':'transpose','configuration':{'order':[1,0]}},"
        "{'name':'bytes','configuration':{'endian':'big'}}]"},
    {TYPED(EXTENDED("'<x8[ns]'", "'>i8'"), "0"), "data_type", "'int64'"},
    {WITH("'order':'F'"), "codecs", "[" LITTLE "]"},
    {TYPED("'<f8'", "null"), "fill_value", "0.0"},
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

START_TEST(group_may_have_extensions)
{
    const struct zd_unit_draft group = {.dialect = NAME,
        .group = "{'extensions':[{'extension':'x:y','must_understand':false}],'more':1}",
        .entry = ENTRY "}"};
    ZD_AUTO(zd_meta)
    meta = zd_unit_draft_check(
        &group, "warning unknown_member /more; warning ignored_extension /extensions/0");
    ck_assert_int_eq(meta->type, ZD_NODE_GROUP);
}
END_TEST

/* 211 */
START_TEST(documents_children_and_chunks_have_their_keys)
{
    static const char *const expected[][3] = {
        {"", "meta/root.array", "meta/root.group"},
        {"foo/bar", "meta/root/foo/bar.array", "meta/root/foo/bar.group"},
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
    ck_assert_int_eq(draft->children_prefix("foo", &prefix), ZD_OK);
    ck_assert_str_eq(prefix.at, "meta/root/foo/");
    ZD_SCOPED_TEXT(name, 100);
    ck_assert_int_eq(draft->child_name(zd_span_of("a.array.json"), false, &name), ZD_NOT_FOUND);
    ck_assert_int_eq(draft->child_name(zd_span_of("bar.array"), false, &name), ZD_OK);
    ck_assert_str_eq(name.at, "bar");
    ck_assert(!zd_dialect_is_writable(draft));
}
END_TEST

static const struct {
    const char *array;
    uint64_t index[3];
    const char *key;
    const char *rest;
} chunks[] = {
    {"{'shape':[1,8,8],'chunk_grid':{'type':'regular','chunk_shape':[1,1,1]},"
     "'chunk_memory_layout':'C','data_type':'<f8','fill_value':0" TAIL,
        {0, 3, 7}, "data/foo/bar/0.3.7", "0.3.7"},
    {"{'shape':[4,6],'chunk_grid':{'type':'regular','chunk_shape':[2,3],'separator':'/'},"
     "'chunk_memory_layout':'C','data_type':'<f8','fill_value':0" TAIL,
        {1, 0}, "data/foo/bar/1/0", "1/0"},
    {"{'shape':[],'chunk_grid':{'type':'regular','chunk_shape':[]},"
     "'chunk_memory_layout':'C','data_type':'<f8','fill_value':0" TAIL,
        {0}, "data/foo/bar/0", "0"},
};

START_TEST(chunk_has_its_key)
{
    const struct zd_unit_draft array = {
        .dialect = NAME, .array = chunks[_i].array, .entry = ENTRY "}"};
    uint64_t found[ZD_RANK_MAX];
    ZD_AUTO(zd_meta) meta = zd_unit_draft_check(&array, "");
    ZD_SCOPED_TEXT(key, 100);
    ck_assert_int_eq(meta->dialect->chunk_key(meta, "foo/bar", chunks[_i].index, &key), ZD_OK);
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
    static const struct zd_unit_draft draft = {
        .dialect = NAME, .array = WITH("'order':'F'"), .group = "{}", .entry = ENTRY "}"};
    zd_unit_with_failing_memory(parse_with_little_memory, (void *)(uintptr_t)&draft);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, entry_point_is_told_and_judged, 0, ZD_COUNT_OF(entries));
    tcase_add_loop_test(tests, document_is_judged_where_it_stands, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, document_becomes_one_of_v3, 0, ZD_COUNT_OF(normal_facts));
    tcase_add_test(tests, group_may_have_extensions);
    tcase_add_test(tests, documents_children_and_chunks_have_their_keys);
    tcase_add_loop_test(tests, chunk_has_its_key, 0, ZD_COUNT_OF(chunks));
    tcase_add_test(tests, failing_memory_fails_cleanly);
}
