/* Facts about core/dialect/v2/v2_write: what final v3 documents and patches make of documents of
 * v2.
 */
#include "core/dialect/v2/v2_write.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/dialect/roundtrip.h"
#include "core/dialect/v2/v2_documents.h"
#include "tests/support/codec.h"

#define TEXT_BYTES_MAX 65536

/* In documents ' stands for ", so that they can be read. */
#define V3                                                                                         \
    "'zarr_format':3,'node_type':'array','shape':[4,6],'chunk_grid':{'name':'regular',"            \
    "'configuration':{'chunk_shape':[2,3]}},'chunk_key_encoding':{'name':'v2'}"
#define TYPED(type, fill, codecs)                                                                  \
    "{" V3 ",'data_type':" type ",'fill_value':" fill ",'codecs':[" codecs "]}"
#define LITTLE       "{'name':'bytes','configuration':{'endian':'little'}}"
#define BIG          "{'name':'bytes','configuration':{'endian':'big'}}"
#define INTS(codecs) TYPED("'int16'", "0", codecs)
#define WITH(members)                                                                              \
    "{" V3 ",'data_type':'int16','fill_value':0,'codecs':[" LITTLE "]," members "}"
#define STRUCT(fields)    "{'name':'struct','configuration':{'fields':[" fields "]}}"
#define FIELD(name, type) "{'name':'" name "','data_type':" type "}"

#define V2(compressor, dtype, fill, filters, order)                                                \
    "{'chunks':[2,3],'compressor':" compressor ",'dimension_separator':'.','dtype':" dtype         \
    ",'fill_value':" fill ",'filters':" filters ",'order':'" order                                 \
    "','shape':[4,6],'zarr_format':2}"
#define PLAIN(dtype, fill) V2("null", dtype, fill, "null", "C")

static const struct zd_reading reading = {
    .zep10 = true,
    .judgement = ZD_JUDGE_WRITE,
    .limits = {.bytes_max = TEXT_BYTES_MAX, .nodes_max = 2000, .depth_max = 64},
    .consolidated_bytes_max = 1U << 24,
};

/* A copy with " for '. */
static struct zd_span quoted(const char *text, char space[TEXT_BYTES_MAX])
{
    const size_t len = text == NULL ? 0 : strlen(text);
    ck_assert_uint_lt(len, TEXT_BYTES_MAX);
    for (size_t i = 0; i < len; i++) {
        space[i] = text[i];
        if (text[i] == '\'') {
            space[i] = '"';
        }
    }
    return (struct zd_span){.ptr = (const uint8_t *)space, .len = len};
}

static void expect_text(const struct zd_document_texts *texts, size_t i, const char *expected)
{
    static char space[TEXT_BYTES_MAX];
    ck_assert_int_eq(texts->present[i], expected != NULL);
    if (expected != NULL) {
        const struct zd_span span = quoted(expected, space);
        printf("  %s\n", texts->text[i].at);
        fflush(stdout);
        ck_assert_uint_eq(span.len, texts->text[i].len);
        ck_assert_int_eq(memcmp(span.ptr, texts->text[i].at, span.len), 0);
    }
}

static bool has_fault(const struct zd_faults *faults, const char *pointer)
{
    for (size_t i = 0; i < faults->n_items; i++) {
        printf("  %s at \"%s\": %s\n", faults->item[i].code, faults->item[i].pointer,
            faults->item[i].detail);
        fflush(stdout);
        if (faults->item[i].severity == ZD_FAULT_INVALID &&
            strcmp(faults->item[i].pointer, pointer) == 0) {
            return true;
        }
    }
    return false;
}

static struct zd_meta *judge(const char *document)
{
    static char space[TEXT_BYTES_MAX];
    struct zd_meta *meta = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_dialect_judge(quoted(document, space), &reading, &meta, &err), ZD_OK);
    ck_assert(!has_fault(&meta->faults, "nowhere") && !zd_meta_is_refused(meta));
    return meta;
}

/* ---- whole nodes ---- */

static const struct {
    const char *document;
    const char *zarray; /* or zgroup, where that begins with {'zarr_format */
    const char *zattrs;
} render_facts[] = {
    {INTS(LITTLE), PLAIN("'<i2'", "0"), NULL},
    {INTS(BIG), PLAIN("'>i2'", "0"), NULL},
    {TYPED("'uint8'", "7", "{'name':'bytes'}"), PLAIN("'|u1'", "7"), NULL},
    {TYPED("'bool'", "true", "{'name':'bytes'}"), PLAIN("'|b1'", "true"), NULL},
    {TYPED("'float32'", "'NaN'", BIG), PLAIN("'>f4'", "'NaN'"), NULL},
    {TYPED("'float64'", "'-Infinity'", LITTLE), PLAIN("'<f8'", "'-Infinity'"), NULL},
    {TYPED("'complex64'", "['NaN',1.5]", LITTLE), PLAIN("'<c8'", "['NaN',1.5]"), NULL},
    {TYPED("'r24'", "[1,2,3]", "{'name':'bytes'}"), PLAIN("'|V3'", "'AQID'"), NULL},
    {TYPED("'bfloat16'", "0.0", LITTLE), PLAIN("'bfloat16'", "0.0"), NULL},
    {TYPED("'int4'", "-8", "{'name':'bytes'}"), PLAIN("'int4'", "-8"), NULL},
    {TYPED("{'name':'fixed_length_utf32','configuration':{'length_bytes':12}}", "'ab'", LITTLE),
        PLAIN("'<U3'", "'ab'"), NULL},
    {TYPED("{'name':'numpy.timedelta64','configuration':{'unit':'s','scale_factor':5}}", "'NaT'",
         LITTLE),
        PLAIN("'<m8[5s]'", "-9223372036854775808"), NULL},
    {TYPED(STRUCT(FIELD("x", "'int16'") "," FIELD("y", "'uint8'")), "{'x':258,'y':3}", BIG),
        PLAIN("[['x','>i2'],['y','|u1']]", "'AQID'"), NULL},
    {TYPED(STRUCT(FIELD("a,", "'int16'") "," FIELD("b\\\\", "'int16'") "," FIELD(
               "s", STRUCT(FIELD("b", "'int16'")))),
         "{'a,':258,'b\\\\':1,'s':{'b':258}}",
         "{'name':'v2.struct','configuration':{'endian':['big','big','little','little']}}"),
        PLAIN("[['a,','>i2'],['b\\\\','>i2'],['s',[['b','<i2']]]]", "'AQIAAQIB'"), NULL},
    {TYPED("'string'", "''",
         "{'name':'vlen-utf8'},{'name':'zstd','configuration':{'level':3,"
         "'checksum':false}}"),
        V2("{'id':'zstd','level':3}", "'|O'", "''", "[{'id':'vlen-utf8'}]", "C"), NULL},
    {TYPED("'bytes'", "'AQ=='", "{'name':'vlen-bytes'}"),
        V2("null", "'|O'", "'AQ=='", "[{'id':'vlen-bytes'}]", "C"), NULL},
    {INTS("{'name':'transpose','configuration':{'order':[1,0]}}," LITTLE),
        V2("null", "'<i2'", "0", "null", "F"), NULL},
    {INTS("{'name':'numcodecs.delta','configuration':{'dtype':'<i2','astype':'<i4'}}," BIG),
        V2("null", "'>i2'", "0", "[{'id':'delta','dtype':'>i2','astype':'>i4'}]", "C"), NULL},
    {INTS(LITTLE ",{'name':'blosc','configuration':{'cname':'lz4','clevel':5,'shuffle':'shuffle',"
                 "'typesize':2,'blocksize':0}}"),
        V2("{'id':'blosc','cname':'lz4','clevel':5,'blocksize':0,'shuffle':1}", "'<i2'", "0",
            "null", "C"),
        NULL},
    {INTS(LITTLE ",{'name':'crc32c'},{'name':'numcodecs.lz4','configuration':{'acceleration':2}}"),
        V2("{'id':'lz4','acceleration':2}", "'<i2'", "0", "[{'id':'crc32c','location':'end'}]",
            "C"),
        NULL},
    {WITH("'attributes':{}"), PLAIN("'<i2'", "0"), NULL},
    {WITH("'attributes':{'b':1,'a':2},'dimension_names':['y','x']"), PLAIN("'<i2'", "0"),
        "{'b':1,'a':2,'_ARRAY_DIMENSIONS':['y','x']}"},
    {WITH("'attributes':{'_ARRAY_DIMENSIONS':['y','x']},'dimension_names':['y','x']"),
        PLAIN("'<i2'", "0"), "{'_ARRAY_DIMENSIONS':['y','x']}"},
    {"{'zarr_format':3,'node_type':'group'}", "{'zarr_format':2}", NULL},
    {"{'zarr_format':3,'node_type':'group','attributes':{'a':1}}", "{'zarr_format':2}", "{'a':1}"},
};

START_TEST(document_becomes_documents_of_v2_and_they_say_the_same)
{
    const char *expected = render_facts[_i].zarray;
    const bool is_group = strncmp(expected, "{'zarr", 6) == 0;
    struct zd_document_texts texts;
    struct zd_documents documents = {0};
    struct zd_faults faults = {0};
    ZD_AUTO(zd_meta) meta = judge(render_facts[_i].document);
    ZD_AUTO(zd_meta) again = NULL;
    zd_document_texts_init(&texts, TEXT_BYTES_MAX);
    texts.is_dense = true;
    zd_v2_render(meta->document, NULL, &texts, &faults);
    ck_assert(!has_fault(&faults, "nowhere") && !zd_faults_refuse(&faults));
    ck_assert_int_eq(zd_document_texts_status(&texts), ZD_OK);
    expect_text(&texts, ZD_V2_ARRAY, is_group ? NULL : expected);
    expect_text(&texts, ZD_V2_GROUP, is_group ? expected : NULL);
    expect_text(&texts, ZD_V2_ATTRIBUTES, render_facts[_i].zattrs);
    for (size_t i = 0; i < ZD_V2_N_DOCUMENTS; i++) {
        ck_assert_int_ne(texts.present[i], texts.dropped[i]);
        documents.present[i] = texts.present[i];
        documents.text[i] = zd_text_span(&texts.text[i]);
    }
    ck_assert_int_eq(zd_dialect_find("v2")->parse(&documents, &reading, &again, NULL), ZD_OK);
    zd_roundtrip_judge(meta, again, &faults);
    ck_assert(!has_fault(&faults, "nowhere") && faults.n_items == 0);
    zd_faults_done(&faults);
    zd_document_texts_done(&texts);
}
END_TEST

static const struct {
    const char *document;
    const char *pointer;
} refusal_facts[] = {
    {INTS("{'name':'sharding_indexed','configuration':{'chunk_shape':[1,3],'codecs':[" LITTLE
          "],'index_codecs':[" LITTLE "]}}"),
        "/codecs/0"},
    {INTS("{'name':'transpose','configuration':{'order':[0,1]}}," LITTLE), "/codecs/0"},
    {INTS("{'name':'numcodecs.delta','configuration':{'dtype':'<i2'}},"
          "{'name':'transpose','configuration':{'order':[1,0]}}," LITTLE),
        "/codecs/1"},
    {INTS("{'name':'reshape','configuration':{'shape':[6]}}," LITTLE), "/codecs/0"},
    {TYPED("'bool'", "false", "{'name':'packbits'}"), "/codecs/0"},
    {TYPED("'float32'", "'0x7fc00001'", LITTLE), "/fill_value"},
    {TYPED("'complex64'", "[0,'0x7fc00001']", LITTLE), "/fill_value"},
    {TYPED("'bfloat16'", "0", BIG), "/data_type"},
    {WITH("'dimension_names':['y',null]"), "/dimension_names/1"},
    {WITH("'attributes':{'_ARRAY_DIMENSIONS':5},'dimension_names':['y','x']"),
        "/attributes/_ARRAY_DIMENSIONS"},
};

START_TEST(members_that_v2_lacks_are_named)
{
    struct zd_document_texts texts;
    struct zd_faults faults = {0};
    ZD_AUTO(zd_meta) meta = judge(refusal_facts[_i].document);
    zd_document_texts_init(&texts, TEXT_BYTES_MAX);
    zd_v2_render(meta->document, NULL, &texts, &faults);
    ck_assert(has_fault(&faults, refusal_facts[_i].pointer));
    ck_assert_str_eq(faults.item[0].code, "not_in_dialect");
    zd_faults_done(&faults);
    zd_document_texts_done(&texts);
}
END_TEST

/* ---- documents of v2 ---- */

static const struct {
    const char *body;
    enum zd_status status;
    const char *zarray;
    const char *zgroup;
    const char *zattrs;
} take_facts[] = {
    {"{'zarr_format':2}", ZD_OK, NULL, "{'zarr_format':2}", NULL},
    {"{'zarr_format':2,'attributes':{}}", ZD_OK, NULL, "{'zarr_format':2}", NULL},
    {"{'attributes':{'a':1},'zarr_format':2,'x':3}", ZD_OK, NULL, "{'zarr_format':2,'x':3}",
        "{'a':1}"},
    {"{'zarr_format':2,'attributes':null}", ZD_OK, NULL, "{'zarr_format':2}", "null"},
    {"{'zarr_format':2,'order':'C'}", ZD_OK, "{'zarr_format':2,'order':'C'}", NULL, NULL},
    {"{'zarr_format':3}", ZD_NOT_FOUND, NULL, NULL, NULL},
    {"{'zarr_format':2.0}", ZD_NOT_FOUND, NULL, NULL, NULL},
    {"{'zarr_format':'2'}", ZD_NOT_FOUND, NULL, NULL, NULL},
    {"{}", ZD_NOT_FOUND, NULL, NULL, NULL},
    {"[2]", ZD_NOT_FOUND, NULL, NULL, NULL},
    {"", ZD_NOT_FOUND, NULL, NULL, NULL},
    {"{'zarr_format':2", ZD_NOT_FOUND, NULL, NULL, NULL},
};

START_TEST(document_of_v2_is_taken_apart)
{
    static char space[TEXT_BYTES_MAX];
    struct zd_document_texts texts;
    zd_document_texts_init(&texts, TEXT_BYTES_MAX);
    texts.is_dense = true;
    ck_assert_int_eq(zd_v2_take(quoted(take_facts[_i].body, space), &reading.limits, &texts),
        take_facts[_i].status);
    expect_text(&texts, ZD_V2_ARRAY, take_facts[_i].zarray);
    expect_text(&texts, ZD_V2_GROUP, take_facts[_i].zgroup);
    expect_text(&texts, ZD_V2_ATTRIBUTES, take_facts[_i].zattrs);
    zd_document_texts_done(&texts);
}
END_TEST

/* ---- patches ---- */

#define OWN   "{ 'x': 1, 'shape' : [4, 6] }" /* any document: it keeps its spaces */
#define GROUP NULL, "{ }"

static const struct {
    const char *stored[3]; /* .zarray, .zgroup, .zattrs, or NULL */
    const char *patch;
    const char *made[3]; /* NULL: not made */
    bool drops;          /* .zattrs */
    const char *pointer; /* of a fault, in place of all that; or NULL */
} patch_facts[] = {
    {{OWN}, "{}", {OWN}, false, NULL},
    {{OWN, NULL, "{'a':1}"}, "{}", {OWN}, false, NULL},
    {{OWN}, "{'shape':[1,2]}", {"{ 'x': 1, 'shape' : [1,2] }"}, false, NULL},
    {{OWN}, "{'shape':null}", {"{ 'x': 1 }"}, false, NULL},
    {{OWN}, "{'attributes':{'a':1}}", {NULL, NULL, "{'a':1}"}, false, NULL},
    {{OWN, NULL, "{ 'a':1, 'b': NaN }"}, "{'attributes':{'a':null,'c':{'d':2}}}",
        {NULL, NULL, "{ 'b': NaN, 'c': {'d':2} }"}, false, NULL},
    {{OWN, NULL, "{'a':1}"}, "{'attributes':{'a':null}}", {OWN}, true, NULL},
    {{OWN, NULL, "{'a':1}"}, "{'attributes':null}", {OWN}, true, NULL},
    {{OWN, NULL, "{'a':1,'_ARRAY_DIMENSIONS':['y','x']}"}, "{'attributes':null}",
        {NULL, NULL, "{\n  '_ARRAY_DIMENSIONS': ['y','x']\n}"}, false, NULL},
    {{OWN, NULL, "{'a':1,'_ARRAY_DIMENSIONS':['y','x']}"},
        "{'attributes':null,'dimension_names':null}", {OWN}, true, NULL},
    {{OWN}, "{'dimension_names':['y','x']}", {NULL, NULL, "{'_ARRAY_DIMENSIONS':['y','x']}"}, false,
        NULL},
    {{OWN, NULL, "{'_ARRAY_DIMENSIONS':['y','x']}"}, "{'dimension_names':[null,null]}", {OWN}, true,
        NULL},
    {{OWN}, "{'dimension_names':['y'],'shape':[5]}",
        {"{ 'x': 1, 'shape' : [5] }", NULL, "{'_ARRAY_DIMENSIONS':['y']}"}, false, NULL},
    {{OWN}, "{'extensions':null}", {OWN}, false, NULL},
    {{GROUP}, "{'attributes':{'a':1}}", {NULL, NULL, "{'a':1}"}, false, NULL},
    {{GROUP, "{'_ARRAY_DIMENSIONS':[]}"}, "{'attributes':null}", {GROUP}, true, NULL},
    {{GROUP}, "{'shape':[1]}", {NULL}, false, "/shape"},
    {{GROUP}, "{'dimension_names':null}", {NULL}, false, "/dimension_names"},
    {{OWN}, "{'extensions':[]}", {NULL}, false, "/extensions"},
    {{OWN}, "{'attributes':[]}", {NULL}, false, "/attributes"},
    {{OWN}, "{'dimension_names':['y']}", {NULL}, false, "/dimension_names"},
    {{OWN}, "{'dimension_names':[5,'x']}", {NULL}, false, "/dimension_names/0"},
    {{OWN}, "{'dimension_names':7}", {NULL}, false, "/dimension_names"},
    {{OWN}, "{'dimension_names':['y','x'],'attributes':{'_ARRAY_DIMENSIONS':null}}", {NULL}, false,
        "/attributes/_ARRAY_DIMENSIONS"},
};

START_TEST(patch_changes_the_documents_it_is_about)
{
    static char space[3][TEXT_BYTES_MAX];
    struct zd_document_texts texts;
    struct zd_documents stored = {0};
    struct zd_faults faults = {0};
    ZD_AUTO(zd_json) patch = zd_unit_json(patch_facts[_i].patch);
    for (size_t i = 0; i < 3; i++) {
        stored.present[i] = patch_facts[_i].stored[i] != NULL;
        stored.text[i] = quoted(patch_facts[_i].stored[i], space[i]);
    }
    zd_document_texts_init(&texts, TEXT_BYTES_MAX);
    zd_v2_patch(&stored, patch, &texts, &faults);
    if (patch_facts[_i].pointer != NULL) {
        ck_assert(has_fault(&faults, patch_facts[_i].pointer));
    } else {
        ck_assert(!has_fault(&faults, "nowhere") && faults.n_items == 0);
        ck_assert_int_eq(zd_document_texts_status(&texts), ZD_OK);
        for (size_t i = 0; i < 3; i++) {
            expect_text(&texts, i, patch_facts[_i].made[i]);
        }
        ck_assert_int_eq(texts.dropped[ZD_V2_ATTRIBUTES], patch_facts[_i].drops);
    }
    zd_faults_done(&faults);
    zd_document_texts_done(&texts);
}
END_TEST

/* ---- without memory ---- */

static enum zd_status render_with_little_memory(void *context)
{
    const struct zd_meta *meta = context;
    struct zd_document_texts texts;
    struct zd_faults faults = {0};
    zd_document_texts_init(&texts, TEXT_BYTES_MAX);
    zd_v2_render(meta->document, NULL, &texts, &faults);
    const enum zd_status status =
        faults.out_of_memory ? ZD_NO_MEMORY : zd_document_texts_status(&texts);
    zd_faults_done(&faults);
    zd_document_texts_done(&texts);
    return status;
}

static enum zd_status patch_with_little_memory(void *context)
{
    static const char own[] = "{\"shape\":[2]}";
    static const char attributes[] = "{\"a\":1,\"b\":2}";
    const struct zd_documents stored = {
        .text = {zd_span_of(own), {0}, zd_span_of(attributes)}, .present = {true, false, true}};
    struct zd_document_texts texts;
    struct zd_faults faults = {0};
    zd_document_texts_init(&texts, TEXT_BYTES_MAX);
    zd_v2_patch(&stored, context, &texts, &faults);
    const enum zd_status status =
        faults.out_of_memory ? ZD_NO_MEMORY : zd_document_texts_status(&texts);
    zd_faults_done(&faults);
    zd_document_texts_done(&texts);
    return status;
}

START_TEST(failing_memory_fails_cleanly)
{
    ZD_AUTO(zd_meta) meta = judge(render_facts[_i].document);
    ZD_AUTO(zd_json)
    patch = zd_unit_json("{'shape':[3],'attributes':{'a':null},'dimension_names':['x']}");
    zd_unit_with_failing_memory(render_with_little_memory, meta);
    zd_unit_with_failing_memory(patch_with_little_memory, patch);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, document_becomes_documents_of_v2_and_they_say_the_same, 0,
        ZD_COUNT_OF(render_facts));
    tcase_add_loop_test(tests, members_that_v2_lacks_are_named, 0, ZD_COUNT_OF(refusal_facts));
    tcase_add_loop_test(tests, document_of_v2_is_taken_apart, 0, ZD_COUNT_OF(take_facts));
    tcase_add_loop_test(
        tests, patch_changes_the_documents_it_is_about, 0, ZD_COUNT_OF(patch_facts));
    tcase_add_loop_test(tests, failing_memory_fails_cleanly, 0, ZD_COUNT_OF(render_facts));
}
