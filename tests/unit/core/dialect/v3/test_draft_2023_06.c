/* Facts about core/dialect/v3/draft_2023_06: which documents of a zarr.json are of the drafts of
 * 2023, and what they become; the reference, section 7.5 and its checklist, 222, 223 and 276. */
#include <stdio.h>
#include <string.h>

#include "core/base/emit.h"
#include "core/dialect/dialect.h"
#include "tests/support/codec.h"

#define TEXT_BYTES_MAX 65536

/* In documents ' stands for ", so that they can be read. */
#define HEAD   "{'zarr_format':3,'node_type':'array','shape':[4,6],'fill_value':0"
#define TYPE   ",'data_type':'int16'"
#define GRID   ",'chunk_grid':{'name':'regular','configuration':{'chunk_shape':[2,3]}}"
#define KEYS   ",'chunk_key_encoding':{'name':'default','configuration':{'separator':'/'}}"
#define ENDIAN "{'name':'endian','configuration':{'endian':'big'}}"
#define BYTES  "{'name':'bytes','configuration':{'endian':'big'}}"

#define SHAPED "{'zarr_format':3,'node_type':'array','shape':[4,6]" GRID KEYS
#define FILLED(type, fill, codecs)                                                                 \
    SHAPED ",'fill_value':" fill ",'data_type':" type ",'codecs':[" codecs "]}"
#define CODED(codecs)   HEAD TYPE GRID KEYS ",'codecs':[" codecs "]}"
#define TYPED(type)     HEAD ",'data_type':" type GRID KEYS ",'codecs':[" BYTES "]}"
#define GRIDDED(config) HEAD TYPE ",'codecs':[" BYTES "],'chunk_grid':{'name':'regular'," config "}"
#define SHARDED(lists)                                                                             \
    CODED("{'name':'sharding_indexed','configuration':{'chunk_shape':[1,3]," lists "}}")
#define FALLEN(fallback) "{'name':'datetime','configuration':{'unit':'ns'},'fallback':" fallback "}"

static const struct zd_reading reading = {
    .zep10 = true,
    .judgement = ZD_JUDGE_READ,
    .limits = {.bytes_max = TEXT_BYTES_MAX, .nodes_max = 2000, .depth_max = 64},
    .consolidated_bytes_max = 1U << 24,
};

static struct zd_span text_of(const struct zd_json *json, struct zd_text *text)
{
    struct zd_emit emit;
    zd_emit_init(&emit, text, false);
    zd_emit_json(&emit, json);
    ck_assert_int_eq(text->status, ZD_OK);
    return zd_text_span(text);
}

/* A stored document, as any dialect's table would get it. */
static enum zd_status parse_by(
    const char *quoted, enum zd_judgement judgement, struct zd_meta **ret_meta)
{
    ZD_AUTO(zd_json) json = zd_unit_json(quoted);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    struct zd_reading judged = reading;
    judged.judgement = judgement;
    const struct zd_documents documents = {.text = {text_of(json, &text)}, .present = {true}};
    return zd_dialect_find("draft-2023-06")->parse(&documents, &judged, ret_meta, NULL);
}

static struct zd_meta *parse(const char *quoted)
{
    struct zd_meta *meta = NULL;
    ck_assert_int_eq(parse_by(quoted, ZD_JUDGE_READ, &meta), ZD_OK);
    return meta;
}

/* Documents, what they are called, and all that is found in them. */
static const struct {
    const char *document;
    const char *dialect;
    const char *faults;
} facts[] = {
    {"{'zarr_format':3,'node_type':'group'}", "v3", ""},
    {CODED(BYTES), "v3", ""},
    /* Final writers have these, too: they are no marks. */
    {CODED(""), "v3", "warning implied_bytes /codecs"},
    {CODED("{'name':'transpose','configuration':{'order':'F'}}," BYTES), "v3",
        "warning letter_order /codecs/0/configuration/order"},
    /* 222: the codec endian, at any depth */
    {CODED(ENDIAN), "draft-2023-06", "warning legacy_spelling /codecs/0"},
    {CODED("{'name':'transpose','configuration':{'order':'C'}}," ENDIAN), "draft-2023-06",
        "warning legacy_spelling /codecs/1; warning letter_order /codecs/0/configuration/order"},
    {CODED("{'name':'endian'}"), "draft-2023-06",
        "warning legacy_spelling /codecs/0; invalid missing_member /codecs/0/configuration/endian"},
    {CODED("{'name':'endian','configuration':{'endian':'middle'}}"), "draft-2023-06",
        "warning legacy_spelling /codecs/0; invalid out_of_range /codecs/0/configuration/endian"},
    {CODED(ENDIAN "," ENDIAN), "draft-2023-06",
        "warning legacy_spelling /codecs/0; warning legacy_spelling /codecs/1; "
        "invalid codec_order /codecs/1"},
    {SHARDED("'codecs':[" ENDIAN "],'index_codecs':[" ENDIAN "]"), "draft-2023-06",
        "warning legacy_spelling /codecs/0/configuration/codecs/0; "
        "warning legacy_spelling /codecs/0/configuration/index_codecs/0"},
    {SHARDED("'index_codecs':[" BYTES "],'codecs':[{'name':'sharding_indexed','configuration':"
             "{'chunk_shape':[1,1],'codecs':[" ENDIAN "],'index_codecs':[" BYTES "]}}]"),
        "draft-2023-06",
        "warning legacy_spelling /codecs/0/configuration/codecs/0/configuration/codecs/0"},
    /* 276: sharding without index_codecs */
    {SHARDED("'codecs':[" BYTES "]"), "draft-2023-06",
        "warning implied_parameter /codecs/0/configuration/index_codecs"},
    {SHARDED("'codecs':[],'index_codecs':[]"), "v3",
        "warning implied_bytes /codecs/0/configuration/codecs; "
        "invalid missing_codec /codecs/0/configuration/index_codecs"},
    {CODED("{'name':'sharding_indexed','configuration':[]}"), "v3",
        "invalid wrong_type /codecs/0/configuration"},
    {CODED("{'name':'sharding_indexed','configuration':{}}"), "draft-2023-06",
        "invalid missing_member /codecs/0/configuration/chunk_shape; "
        "invalid missing_member /codecs/0/configuration/codecs; "
        "warning implied_parameter /codecs/0/configuration/index_codecs"},
    {CODED(ENDIAN ",{'name':'lzo'},7"), "draft-2023-06",
        "warning legacy_spelling /codecs/0; unsupported unsupported_codec /codecs/1; "
        "invalid wrong_type /codecs/2"},
    /* 218: data types with a fallback */
    {TYPED("{'name':'int16','fallback':'r16'}"), "draft-2023-06",
        "warning legacy_spelling /data_type/fallback"},
    {TYPED(FALLEN("'int64'")), "draft-2023-06", "warning fallback_data_type /data_type/fallback"},
    {TYPED(FALLEN("['time','uint8','int64']")), "draft-2023-06",
        "warning fallback_data_type /data_type/fallback"},
    {TYPED(FALLEN("null")), "draft-2023-06", "unsupported unsupported_data_type /data_type"},
    {TYPED(FALLEN("['time']")), "draft-2023-06", "unsupported unsupported_data_type /data_type"},
    {TYPED("{'fallback':5}"), "draft-2023-06", "invalid missing_member /data_type/name"},
    /* the separator in the grid */
    {GRIDDED("'configuration':{'chunk_shape':[2,3],'separator':'.'}") "}", "draft-2023-06",
        "warning legacy_spelling /chunk_grid/configuration/separator"},
    {GRIDDED("'configuration':{'chunk_shape':[2,3],'separator':'-'}") "}", "draft-2023-06",
        "warning legacy_spelling /chunk_grid/configuration/separator; "
        "invalid out_of_range /chunk_grid/configuration/separator"},
    {GRIDDED("'configuration':{'chunk_shape':[2,3],'separator':7}") "}", "draft-2023-06",
        "warning legacy_spelling /chunk_grid/configuration/separator; "
        "invalid wrong_type /chunk_grid/configuration/separator"},
    /* beside a chunk_key_encoding it is one too many */
    {GRIDDED("'configuration':{'chunk_shape':[2,3],'separator':'/'}") KEYS "}", "draft-2023-06",
        "invalid unknown_member /chunk_grid/configuration/separator"},
    /* older spellings of fill values, beside a mark alone */
    {FILLED("'float32'", "'+Infinity'", ENDIAN), "draft-2023-06",
        "warning legacy_spelling /codecs/0; warning legacy_spelling /fill_value"},
    {FILLED("'complex64'", "['+Infinity','0b01111111110000000000000000000001']", ENDIAN),
        "draft-2023-06", "warning legacy_spelling /codecs/0; warning legacy_spelling /fill_value"},
    {FILLED("'float32'", "'0b0111'", ENDIAN), "draft-2023-06",
        "warning legacy_spelling /codecs/0; invalid bad_fill_value /fill_value"},
    {FILLED("'float32'", "'+Infinity'", BYTES), "v3", "invalid bad_fill_value /fill_value"},
    /* All else is judged as in v3. */
    {"{'zarr_format':3,'node_type':'array','shape':[4],'codecs':[" ENDIAN "],'order':'C'}",
        "draft-2023-06",
        "warning legacy_spelling /codecs/0; unsupported unsupported_extension /order; "
        "invalid missing_member /data_type; invalid missing_member /chunk_grid; "
        "invalid missing_member /chunk_key_encoding; invalid missing_member /fill_value"},
};

START_TEST(document_is_called_and_judged_by_its_marks)
{
    ZD_AUTO(zd_meta) meta = parse(facts[_i].document);
    char *found = zd_unit_faults(&meta->faults);
    ck_assert_msg(strcmp(found, facts[_i].faults) == 0, "%s: %s", facts[_i].document, found);
    ck_assert_str_eq(meta->dialect->name, facts[_i].dialect);
    zd_free(found);
}
END_TEST

START_TEST(mark_is_a_fault_to_be_written)
{
    static const char *const documents[] = {
        CODED(ENDIAN),
        SHARDED("'codecs':[" BYTES "]"),
        TYPED("{'name':'int16','fallback':'r16'}"),
        GRIDDED("'configuration':{'chunk_shape':[2,3],'separator':'.'}") "}",
    };
    for (size_t i = 0; i < ZD_COUNT_OF(documents); i++) {
        ZD_AUTO(zd_meta) meta = NULL;
        ck_assert_int_eq(parse_by(documents[i], ZD_JUDGE_WRITE, &meta), ZD_OK);
        ck_assert(zd_meta_is_refused(meta));
        ck_assert_str_eq(meta->dialect->name, "v3");
    }
}
END_TEST

/* 223: what documents become is valid to be written. */
static const struct {
    const char *document;
    const char *member;
    const char *value;
} normal_facts[] = {
    {CODED(ENDIAN), "codecs", "[" BYTES "]"},
    {CODED("{'name':'endian','configuration':{'endian':'little'}},{'name':'blosc','configuration':"
           "{'cname':'lz4','clevel':5,'shuffle':'shuffle','blocksize':0}}"),
        "codecs",
        "[{'name':'bytes','configuration':{'endian':'little'}},{'name':'blosc','configuration':"
        "{'cname':'lz4','clevel':5,'shuffle':'shuffle','typesize':2,'blocksize':0}}]"},
    {SHARDED("'codecs':[" ENDIAN "]"), "codecs",
        "[{'name':'sharding_indexed','configuration':{'chunk_shape':[1,3],'codecs':[" BYTES "],"
        "'index_codecs':[{'name':'bytes','configuration':{'endian':'little'}},{'name':'crc32c'}],"
        "'index_location':'end'}}]"},
    {TYPED(FALLEN("['time','uint16','int64']")), "data_type", "'uint16'"},
    {TYPED("{'name':'int16','fallback':'r16'}"), "data_type", "'int16'"},
    {GRIDDED("'configuration':{'chunk_shape':[2,3],'separator':'.'}") "}", "chunk_key_encoding",
        "{'name':'default','configuration':{'separator':'.'}}"},
};

START_TEST(document_becomes_one_of_v3)
{
    ZD_AUTO(zd_meta) meta = parse(normal_facts[_i].document);
    ZD_AUTO(zd_json) expected = zd_unit_json(normal_facts[_i].value);
    ck_assert(!zd_meta_is_refused(meta));
    const struct zd_json *found = zd_json_member(meta->document, normal_facts[_i].member);
    ck_assert(zd_json_equal(found, expected));
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    ZD_AUTO(zd_meta) again = NULL;
    struct zd_reading strict = reading;
    strict.judgement = ZD_JUDGE_WRITE;
    ck_assert_int_eq(
        zd_dialect_judge(text_of(meta->document, &text), &strict, &again, NULL), ZD_OK);
    ck_assert_uint_eq(again->faults.n_items, 0);
}
END_TEST

START_TEST(refused_document_is_kept_as_stored)
{
    ZD_AUTO(zd_json) stored = zd_unit_json(CODED(ENDIAN ",{'name':'lzo'}"));
    ZD_AUTO(zd_meta) meta = parse(CODED(ENDIAN ",{'name':'lzo'}"));
    ck_assert(zd_meta_is_refused(meta));
    ck_assert(zd_json_equal(meta->document, stored));
}
END_TEST

START_TEST(dialect_has_the_keys_of_v3_and_is_only_read)
{
    const struct zd_dialect *draft = zd_dialect_find("draft-2023-06");
    const struct zd_documents documents = {.present = {true}};
    ZD_SCOPED_TEXT(key, 100);
    ck_assert(!zd_dialect_is_writable(draft));
    ck_assert_int_eq(draft->bid(&documents), 0);
    ck_assert_int_eq(draft->document_key("a", 0, &key), ZD_OK);
    ck_assert_str_eq(key.at, "a/zarr.json");
    ZD_AUTO(zd_meta) meta = parse(CODED(ENDIAN));
    const uint64_t index[] = {1, 0};
    uint64_t found[ZD_RANK_MAX];
    zd_text_clear(&key);
    ck_assert_int_eq(meta->dialect->chunk_key(meta, "a", index, &key), ZD_OK);
    ck_assert_str_eq(key.at, "a/c/1/0");
    ck_assert_int_eq(meta->dialect->chunk_index(meta, "c/1/0", found), ZD_OK);
    ck_assert_uint_eq(found[0], 1);
}
END_TEST

/* A parsed document: only the work itself takes memory. */
struct little {
    struct zd_text text;
};

static enum zd_status parse_with_little_memory(void *context)
{
    const struct little *little = context;
    ZD_AUTO(zd_meta) meta = NULL;
    const struct zd_documents documents = {
        .text = {zd_text_span(&little->text)}, .present = {true}};
    return zd_dialect_find("v3")->parse(&documents, &reading, &meta, NULL);
}

START_TEST(failing_memory_fails_cleanly)
{
    static const char *const documents[] = {
        SHARDED("'codecs':[" ENDIAN "]"),
        TYPED(FALLEN("['time','int16']")),
        GRIDDED("'configuration':{'chunk_shape':[2,3],'separator':'.'}") "}",
        CODED(ENDIAN ",{'name':'lzo'}"),
    };
    struct little little;
    ZD_AUTO(zd_json) json = zd_unit_json(documents[_i]);
    zd_text_init(&little.text, TEXT_BYTES_MAX);
    (void)text_of(json, &little.text);
    zd_unit_with_failing_memory(parse_with_little_memory, &little);
    zd_text_done(&little.text);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, document_is_called_and_judged_by_its_marks, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, mark_is_a_fault_to_be_written);
    tcase_add_loop_test(tests, document_becomes_one_of_v3, 0, ZD_COUNT_OF(normal_facts));
    tcase_add_test(tests, refused_document_is_kept_as_stored);
    tcase_add_test(tests, dialect_has_the_keys_of_v3_and_is_only_read);
    tcase_add_loop_test(tests, failing_memory_fails_cleanly, 0, 4);
}
