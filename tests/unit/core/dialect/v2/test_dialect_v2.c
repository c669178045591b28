/* Facts about core/dialect/v2/dialect_v2: the documents of v2 as nodes, by the checklist of the
 * reference, section 8 J and M. */
#include "core/base/json_nonfinite.h"
#include "core/base/num.h"
#include "core/dialect/dialect.h"

#include <stdio.h>
#include <string.h>

#include "core/base/emit.h"
#include "tests/support/codec.h"

#define TEXT_BYTES_MAX 65536

enum verdict {
    FINE,        /* no finding at all */
    WARNED,      /* accepted, with a warning of that code */
    UNSUPPORTED, /* refused: nothing invalid, something unknown */
    INVALID,     /* refused: breaks the specification */
};

/* In documents ' stands for ", so that they can be read. */
#define FORMAT "'zarr_format':2"
#define SHAPE  ",'shape':[4,6],'chunks':[2,3]"
#define TYPE   ",'dtype':'<i2'"
#define PLAIN  ",'compressor':null,'filters':null"
#define FILL   ",'fill_value':0"
#define ORDER  ",'order':'C'"
#define REST   FORMAT SHAPE ORDER
#define ARRAY  "{" REST TYPE FILL PLAIN "}"

#define TYPED(type, fill)      "{" REST PLAIN ",'dtype':" type ",'fill_value':" fill "}"
#define COMPRESSED(compressor) "{" REST TYPE FILL ",'filters':null,'compressor':" compressor "}"
#define FILTERED(filters)      "{" REST TYPE FILL ",'compressor':null,'filters':" filters "}"
#define OBJECTS(filters, fill)                                                                     \
    "{" REST ",'dtype':'|O','compressor':null,'fill_value':" fill ",'filters':" filters "}"
#define WITH(members) "{" REST TYPE FILL PLAIN "," members "}"

static const struct zd_reading reading = {
    .zep10 = true,
    .judgement = ZD_JUDGE_READ,
    .limits = {.bytes_max = TEXT_BYTES_MAX, .nodes_max = 2000, .depth_max = 64},
    .consolidated_bytes_max = 1U << 24,
};

/* A copy with " for '. The caller's space; NULL stays nothing. */
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

/* The texts of .zarray, .zgroup, .zattrs; NULL: that one is not there. */
struct stored {
    const char *zarray;
    const char *zgroup;
    const char *zattrs;
};

static enum zd_status parse_by(const struct stored *stored, struct zd_meta **ret_meta)
{
    static char space[3][TEXT_BYTES_MAX];
    const char *texts[] = {stored->zarray, stored->zgroup, stored->zattrs};
    struct zd_documents documents = {0};
    struct zd_error err = {0};
    for (size_t i = 0; i < ZD_COUNT_OF(texts); i++) {
        documents.text[i] = quoted(texts[i], space[i]);
        documents.present[i] = texts[i] != NULL;
    }
    const struct zd_dialect *dialect = zd_dialect_find("v2");
    ck_assert_int_gt(dialect->bid(&documents), 0);
    return dialect->parse(&documents, &reading, ret_meta, &err);
}

static struct zd_meta *parse(const char *zarray, const char *zgroup, const char *zattrs)
{
    const struct stored stored = {.zarray = zarray, .zgroup = zgroup, .zattrs = zattrs};
    struct zd_meta *meta = NULL;
    ck_assert_int_eq(parse_by(&stored, &meta), ZD_OK);
    ck_assert_ptr_eq(meta->dialect, zd_dialect_find("v2"));
    return meta;
}

static enum verdict verdict_of(const struct zd_meta *meta)
{
    if (zd_faults_have(&meta->faults, ZD_FAULT_INVALID)) {
        return INVALID;
    }
    if (zd_faults_have(&meta->faults, ZD_FAULT_UNSUPPORTED)) {
        return UNSUPPORTED;
    }
    return meta->faults.n_items > 0 ? WARNED : FINE;
}

static void print_findings(const struct zd_meta *meta)
{
    for (size_t i = 0; i < meta->faults.n_items; i++) {
        const struct zd_fault *fault = &meta->faults.item[i];
        printf("  %d %s at \"%s\": %s\n", (int)fault->severity, fault->code, fault->pointer,
            fault->detail);
    }
    fflush(stdout);
}

static bool has_finding(const struct zd_meta *meta, const char *code, const char *pointer)
{
    for (size_t i = 0; i < meta->faults.n_items; i++) {
        const struct zd_fault *fault = &meta->faults.item[i];
        if (strcmp(fault->code, code) == 0 && strcmp(fault->pointer, pointer) == 0) {
            return true;
        }
    }
    return false;
}

static const struct fact {
    const char *document;
    enum verdict verdict;
    const char *code; /* of a finding that must be there; NULL when there is none */
    const char *pointer;
} facts[] = {
    {ARRAY, FINE, NULL, NULL},
    {"{" REST TYPE ",'fill_value':null,'compressor':null,'filters':[]}", FINE, NULL, NULL},
    {WITH("'dimension_separator':'.'"), FINE, NULL, NULL},
    {WITH("'dimension_separator':'/'"), FINE, NULL, NULL},
    /* Members that v2 does not define are ignored; netcdf-c's own without a word. */
    {WITH("'_NCZARR_ARRAY':{'dimrefs':[]}"), FINE, NULL, NULL},
    {WITH("'dimension_seperator':'/'"), WARNED, "unknown_member", "/dimension_seperator"},
    {WITH("'codecs':[]"), WARNED, "unknown_member", "/codecs"},
    {"[]", INVALID, "wrong_type", ""},
    {"{}", INVALID, "missing_member", "/zarr_format"},
    {"{}", INVALID, "missing_member", "/filters"},
    {"{" REST TYPE PLAIN "}", INVALID, "missing_member", "/fill_value"},
    {"{", INVALID, "not_json", ""},
    {"{" FORMAT "," FORMAT "}", INVALID, "not_json", ""},
    {"{'zarr_format':3" SHAPE ORDER TYPE FILL PLAIN "}", INVALID, "out_of_range", "/zarr_format"},
    {"{'zarr_format':'2'" SHAPE ORDER TYPE FILL PLAIN "}", INVALID, "out_of_range", "/zarr_format"},
    {"{" FORMAT ",'shape':[4,6],'chunks':[2]" ORDER TYPE FILL PLAIN "}", INVALID, "rank_mismatch",
        "/chunks"},
    {"{" FORMAT ",'shape':[4,6],'chunks':[2,0]" ORDER TYPE FILL PLAIN "}", INVALID, "out_of_range",
        "/chunks/1"},
    {"{" FORMAT ",'shape':[4,6],'chunks':[2,'3']" ORDER TYPE FILL PLAIN "}", INVALID, "wrong_type",
        "/chunks/1"},
    {"{" FORMAT ",'shape':[4,6],'chunks':[4294967296,4294967296]" ORDER TYPE FILL PLAIN "}",
        INVALID, "too_large", "/chunks"},
    {"{" FORMAT ",'shape':[4,-6],'chunks':[2,3]" ORDER TYPE FILL PLAIN "}", INVALID, "out_of_range",
        "/shape/1"},
    {"{" FORMAT ",'shape':5,'chunks':[2,3]" ORDER TYPE FILL PLAIN "}", INVALID, "wrong_type",
        "/shape"},
    {"{" FORMAT SHAPE TYPE FILL PLAIN ",'order':'A'}", INVALID, "out_of_range", "/order"},
    {"{" FORMAT SHAPE TYPE FILL PLAIN ",'order':null}", INVALID, "out_of_range", "/order"},
    {WITH("'dimension_separator':'-'"), INVALID, "out_of_range", "/dimension_separator"},
    {WITH("'dimension_separator':null"), INVALID, "wrong_type", "/dimension_separator"},
    /* data types */
    {TYPED("'>i4'", "5"), FINE, NULL, NULL},
    {TYPED("'<x4'", "0"), INVALID, "bad_name", "/dtype"},
    {TYPED("'|i4'", "0"), INVALID, "bad_name", "/dtype"},
    {TYPED("4", "0"), INVALID, "wrong_type", "/dtype"},
    {TYPED("null", "0"), INVALID, "wrong_type", "/dtype"},
    {TYPED("'|S3'", "'YWI='"), FINE, NULL, NULL},
    {TYPED("'|S3'", "''"), FINE, NULL, NULL},
    {TYPED("'|S3'", "0"), FINE, NULL, NULL},
    {TYPED("'|S3'", "'YWJjZA=='"), INVALID, "bad_fill_value", "/fill_value"},
    {TYPED("'|S65537'", "''"), UNSUPPORTED, "unsupported_data_type", "/dtype"},
    {TYPED("'<U2'", "'ab'"), FINE, NULL, NULL},
    {TYPED("'<U2'", "0"), FINE, NULL, NULL},
    {TYPED("'<U2'", "'abc'"), INVALID, "bad_fill_value", "/fill_value"},
    {TYPED("'<M8[ns]'", "0"), FINE, NULL, NULL},
    {TYPED("'<M8[ns]'", "null"), FINE, NULL, NULL},
    {TYPED("'<m8[3D]'", "'NaT'"), FINE, NULL, NULL},
    {TYPED("'<M8[ns]'", "'2020-01-01'"), INVALID, "bad_fill_value", "/fill_value"},
    {TYPED("'|O'", "0"), UNSUPPORTED, "unsupported_data_type", "/dtype"},
    {OBJECTS("[{'id':'vlen-utf8'}]", "''"), FINE, NULL, NULL},
    {OBJECTS("[{'id':'vlen-utf8'},{'id':'zlib','level':1}]", "'n/a'"), FINE, NULL, NULL},
    {OBJECTS("[{'id':'vlen-utf8'}]", "0"), FINE, NULL, NULL},
    {OBJECTS("[{'id':'vlen-utf8'}]", "null"), FINE, NULL, NULL},
    {OBJECTS("[{'id':'vlen-utf8'}]", "1"), INVALID, "bad_fill_value", "/fill_value"},
    {OBJECTS("[{'id':'vlen-bytes'}]", "'AP8/'"), FINE, NULL, NULL},
    {OBJECTS("[{'id':'vlen-bytes'}]", "'%%'"), INVALID, "bad_fill_value", "/fill_value"},
    {OBJECTS("[{'id':'zlib','level':1}]", "0"), UNSUPPORTED, "unsupported_data_type", "/dtype"},
    {OBJECTS("[{'id':'pickle'}]", "0"), UNSUPPORTED, "unsupported_codec", "/filters/0"},
    {OBJECTS("[{'id':'zlib','level':1},{'id':'vlen-utf8'}]", "''"), UNSUPPORTED,
        "unsupported_codec", "/filters/1"},
    {COMPRESSED("{'id':'vlen-utf8'}"), INVALID, "wrong_data_type", "/compressor"},
    {TYPED("[['a','<i4'],['b','|u1']]", "null"), FINE, NULL, NULL},
    {TYPED("[['a','<i4'],['b','>i4']]", "null"), FINE, NULL, NULL},
    {TYPED("[['p','<i2',[2,3]]]", "null"), FINE, NULL, NULL},
    {TYPED("[['p','<i2',[2,0]]]", "null"), INVALID, "bad_name", "/dtype/0/1"},
    /* fill values */
    {TYPED("'<i4'", "0.0"), WARNED, "integral_float", "/fill_value"},
    {TYPED("'<i4'", "0.5"), INVALID, "bad_fill_value", "/fill_value"},
    {TYPED("'<i4'", "1e30"), INVALID, "bad_fill_value", "/fill_value"},
    {TYPED("'|u1'", "-1.0"), INVALID, "bad_fill_value", "/fill_value"},
    {TYPED("'|u1'", "256"), INVALID, "bad_fill_value", "/fill_value"},
    {TYPED("'<i4'", "'0'"), INVALID, "bad_fill_value", "/fill_value"},
    {TYPED("'|b1'", "true"), FINE, NULL, NULL},
    {TYPED("'|b1'", "1"), WARNED, "legacy_spelling", "/fill_value"},
    {TYPED("'|b1'", "2"), INVALID, "bad_fill_value", "/fill_value"},
    {TYPED("'<f4'", "'NaN'"), FINE, NULL, NULL},
    {TYPED("'<f4'", "-99"), FINE, NULL, NULL},
    {TYPED("'<f4'", "9.96921e+36"), FINE, NULL, NULL},
    {TYPED("'<f4'", "NaN"), WARNED, "bare_nonfinite", "/fill_value"},
    {TYPED("'<i4'", "NaN"), INVALID, "bad_fill_value", "/fill_value"},
    {TYPED("'<f4'", "'nan'"), INVALID, "bad_fill_value", "/fill_value"},
    {TYPED("'<c8'", "[1.0,'NaN']"), FINE, NULL, NULL},
    {TYPED("'<c8'", "0.0"), WARNED, "legacy_spelling", "/fill_value"},
    {TYPED("'|V3'", "'AQID'"), FINE, NULL, NULL},
    {TYPED("'|V3'", "0"), FINE, NULL, NULL},
    {TYPED("'|V3'", "'AQIDBA=='"), INVALID, "bad_fill_value", "/fill_value"},
    /* compressors */
    {COMPRESSED("{'id':'zlib','level':1}"), FINE, NULL, NULL},
    {COMPRESSED("{'id':'zlib','level':-1}"), FINE, NULL, NULL},
    {COMPRESSED("{'id':'zlib'}"), FINE, NULL, NULL},
    {COMPRESSED("{'id':'zlib','level':10}"), INVALID, "out_of_range", "/compressor/level"},
    {COMPRESSED("{'id':'gzip'}"), FINE, NULL, NULL},
    {COMPRESSED("{'id':'gzip','level':-1}"), FINE, NULL, NULL},
    {COMPRESSED("{'id':'gzip','level':'6'}"), INVALID, "wrong_type", "/compressor/level"},
    {COMPRESSED("{'id':'zstd','level':3}"), FINE, NULL, NULL},
    {COMPRESSED("{'id':'zstd'}"), FINE, NULL, NULL},
    {COMPRESSED("{'id':'zstd','checksum':1}"), INVALID, "wrong_type", "/compressor/checksum"},
    {COMPRESSED("{'id':'zstd','delta':1}"), WARNED, "unknown_codec_parameter", "/compressor/delta"},
    {COMPRESSED("{'id':'blosc'}"), FINE, NULL, NULL},
    {COMPRESSED("{'id':'blosc','cname':'zstd','clevel':5,'shuffle':-1,'blocksize':0}"), FINE, NULL,
        NULL},
    {COMPRESSED("{'id':'blosc','shuffle':'BIT'}"), WARNED, "legacy_spelling",
        "/compressor/shuffle"},
    {COMPRESSED("{'id':'blosc','shuffle':3}"), INVALID, "out_of_range", "/compressor/shuffle"},
    {COMPRESSED("{'id':'blosc','shuffle':'bit'}"), INVALID, "out_of_range", "/compressor/shuffle"},
    {COMPRESSED("{'id':'blosc','cname':'lzma'}"), INVALID, "out_of_range", "/compressor/cname"},
    {COMPRESSED("{'id':'crc32c'}"), FINE, NULL, NULL},
    {COMPRESSED("{'id':'crc32c','location':'end'}"), FINE, NULL, NULL},
    {COMPRESSED("{'id':'crc32c','location':'start'}"), FINE, NULL, NULL},
    {COMPRESSED("{'id':'crc32c','location':'middle'}"), INVALID, "out_of_range",
        "/compressor/location"},
    {COMPRESSED("{'id':'pcodec','level':8}"), UNSUPPORTED, "unsupported_codec", "/compressor"},
    {FILTERED("[{'id':'pickle','protocol':5}]"), UNSUPPORTED, "unsupported_codec", "/filters/0"},
    {COMPRESSED("{'id':'pickle'}"), UNSUPPORTED, "unsupported_codec", "/compressor"},
    {COMPRESSED("{'id':'bytes','endian':'little'}"), UNSUPPORTED, "unsupported_codec",
        "/compressor"},
    {COMPRESSED("{'id':'sharding_indexed'}"), UNSUPPORTED, "unsupported_codec", "/compressor"},
    {COMPRESSED("{'level':1}"), INVALID, "wrong_type", "/compressor"},
    {COMPRESSED("{'id':5}"), INVALID, "wrong_type", "/compressor"},
    {COMPRESSED("'zlib'"), INVALID, "wrong_type", "/compressor"},
    {COMPRESSED("[{'id':'zlib'}]"), INVALID, "wrong_type", "/compressor"},
    /* filters */
    {FILTERED("[{'id':'zlib'},{'id':'zstd','level':1}]"), FINE, NULL, NULL},
    {FILTERED("[{'id':'zlib'},{'id':'nothing'}]"), UNSUPPORTED, "unsupported_codec", "/filters/1"},
    {FILTERED("[{'id':'zlib','level':'x'}]"), INVALID, "wrong_type", "/filters/0/level"},
    {FILTERED("[{'id':'delta','dtype':'<i2'}]"), FINE, NULL, NULL},
    /* Only what the input is: numcodecs would take it for anything. */
    {FILTERED("[{'id':'delta','dtype':'<i4'}]"), UNSUPPORTED, "unsupported_codec",
        "/filters/0/dtype"},
    {FILTERED("[{'id':'delta','dtype':'>i2'}]"), UNSUPPORTED, "unsupported_codec",
        "/filters/0/dtype"},
    {FILTERED("[{'id':'zlib'},{'id':'delta','dtype':'<i2'}]"), UNSUPPORTED, "unsupported_codec",
        "/filters/1"},
    {FILTERED("{'id':'zlib'}"), INVALID, "wrong_type", "/filters"},
    {FILTERED("[null]"), INVALID, "wrong_type", "/filters/0"},
};

START_TEST(document_is_judged_by_the_checklist)
{
    const struct fact *fact = &facts[_i];
    ZD_AUTO(zd_meta) meta = parse(fact->document, NULL, NULL);
    const bool agrees = verdict_of(meta) == fact->verdict &&
                        (fact->code == NULL || has_finding(meta, fact->code, fact->pointer));
    if (!agrees) {
        print_findings(meta);
    }
    ck_assert_msg(agrees, "%s: verdict %d, expected %d with %s at %s", fact->document,
        verdict_of(meta), fact->verdict, fact->code == NULL ? "nothing" : fact->code,
        fact->pointer == NULL ? "nowhere" : fact->pointer);
    ck_assert(meta->document == NULL || !zd_json_nonfinite_is_in(meta->document));
}
END_TEST

START_TEST(document_tells_all_faults_of_its_members_at_once)
{
    ZD_AUTO(zd_meta)
    meta = parse("{'zarr_format':1,'shape':[4],'dtype':'<x','order':'B','fill_value':0,"
                 "'compressor':{'id':'foo'},'filters':[{'id':'bar'},{'id':'baz'}]}",
        NULL, NULL);
    static const char *const expected[][2] = {
        {"out_of_range", "/zarr_format"},
        {"missing_member", "/chunks"},
        {"bad_name", "/dtype"},
        {"out_of_range", "/order"},
        {"unsupported_codec", "/compressor"},
        {"unsupported_codec", "/filters/0"},
        {"unsupported_codec", "/filters/1"},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(expected); i++) {
        ck_assert_msg(has_finding(meta, expected[i][0], expected[i][1]), "%s", expected[i][1]);
    }
    ck_assert_uint_eq(meta->faults.n_items, ZD_COUNT_OF(expected));
}
END_TEST

#define V3(rest)                                                                                   \
    "{'zarr_format':3,'node_type':'array','shape':[4,6],'data_type':'int16',"                      \
    "'chunk_grid':{'name':'regular','configuration':{'chunk_shape':[2,3]}},"                       \
    "'chunk_key_encoding':{'name':'v2','configuration':{'separator':'.'}},'fill_value':0," rest    \
    "}"
#define LITTLE      "{'name':'bytes','configuration':{'endian':'little'}}"
#define CODED(list) V3("'codecs':[" list "]")
#define BLOSC(cname, shuffle, more)                                                                \
    "{'name':'blosc','configuration':{'cname':'" cname "','clevel':5,'shuffle':'" shuffle "'" more \
    ",'blocksize':0}}"

static const struct normal_fact {
    const char *zarray;
    const char *zattrs; /* or NULL */
    const char *document;
} normal_facts[] = {
    {ARRAY, NULL, CODED(LITTLE)},
    {ARRAY, "{'a':{'b':1}}", V3("'codecs':[" LITTLE "],'attributes':{'a':{'b':1}}")},
    {ARRAY, "{'_ARRAY_DIMENSIONS':['y','x']}",
        V3("'codecs':[" LITTLE "],'attributes':{'_ARRAY_DIMENSIONS':['y','x']},"
           "'dimension_names':['y','x']")},
    /* netcdf-c 4.9.0: of the wrong length they are no names */
    {ARRAY, "{'_ARRAY_DIMENSIONS':[]}",
        V3("'codecs':[" LITTLE "],'attributes':{'_ARRAY_DIMENSIONS':[]}")},
    {ARRAY, "{'_ARRAY_DIMENSIONS':['y',1]}",
        V3("'codecs':[" LITTLE "],'attributes':{'_ARRAY_DIMENSIONS':['y',1]}")},
    {ARRAY, "{'a':NaN}", V3("'codecs':[" LITTLE "],'attributes':{'a':'NaN'}")},
    {"{" FORMAT SHAPE TYPE FILL PLAIN ",'order':'F'}", NULL,
        CODED("{'name':'transpose','configuration':{'order':[1,0]}}," LITTLE)},
    {COMPRESSED("{'id':'zlib','level':4}"), NULL,
        CODED(LITTLE ",{'name':'numcodecs.zlib','configuration':{'level':4}}")},
    {COMPRESSED("{'id':'gzip','level':-1}"), NULL,
        CODED(LITTLE ",{'name':'gzip','configuration':{'level':6}}")},
    {COMPRESSED("{'id':'zstd'}"), NULL,
        CODED(LITTLE ",{'name':'zstd','configuration':{'level':0}}")},
    {COMPRESSED("{'id':'blosc'}"), NULL,
        CODED(LITTLE "," BLOSC("lz4", "shuffle", ",'typesize':2"))},
    {COMPRESSED("{'id':'blosc','shuffle':-1}"), NULL,
        CODED(LITTLE "," BLOSC("lz4", "shuffle", ",'typesize':2"))},
    {COMPRESSED("{'id':'blosc','cname':'zstd','shuffle':2}"), NULL,
        CODED(LITTLE "," BLOSC("zstd", "bitshuffle", ",'typesize':2"))},
    {COMPRESSED("{'id':'crc32c','location':'end'}"), NULL, CODED(LITTLE ",{'name':'crc32c'}")},
    {COMPRESSED("{'id':'crc32c','location':'start'}"), NULL,
        CODED(LITTLE ",{'name':'numcodecs.crc32c','configuration':{'location':'start'}}")},
    /* the byte order is that of the last array->array codec; a compressor may be one */
    {"{" REST TYPE FILL
     ",'filters':[{'id':'delta','dtype':'<i2','astype':'>i4'}],'compressor':{'id':'shuffle',"
     "'elementsize':0}}",
        NULL,
        CODED("{'name':'numcodecs.delta','configuration':{'dtype':'<i2','astype':'<i4'}},"
              "{'name':'bytes','configuration':{'endian':'big'}},"
              "{'name':'numcodecs.shuffle','configuration':{'elementsize':4}}")},
    {COMPRESSED("{'id':'delta','dtype':'<i2'}"), NULL,
        CODED("{'name':'numcodecs.delta','configuration':{'dtype':'<i2','astype':'<i2'}}," LITTLE)},
    /* behind bytes that another codec has made, an item is a byte */
    {FILTERED("[{'id':'zlib','level':1},{'id':'blosc','shuffle':-1}]"), NULL,
        CODED(LITTLE ",{'name':'numcodecs.zlib','configuration':{'level':1}}," BLOSC(
            "lz4", "bitshuffle", ",'typesize':1"))},
};

START_TEST(document_becomes_one_of_v3)
{
    const struct normal_fact *fact = &normal_facts[_i];
    static char space[TEXT_BYTES_MAX];
    ZD_AUTO(zd_meta) meta = parse(fact->zarray, NULL, fact->zattrs);
    ZD_AUTO(zd_json) expected = zd_unit_json(fact->document);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    struct zd_emit emit;
    print_findings(meta);
    ck_assert(!zd_meta_is_refused(meta));
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, meta->document);
    ck_assert_msg(zd_json_equal(meta->document, expected), "%s\n%s", text.at, fact->document);
    /* A reader of v3 needs no leniency. */
    ck_assert_uint_lt(text.len, sizeof space);
    ZD_AUTO(zd_meta) again = NULL;
    struct zd_reading strict = reading;
    strict.judgement = ZD_JUDGE_WRITE;
    ck_assert_int_eq(zd_dialect_judge(zd_text_span(&text), &strict, &again, NULL), ZD_OK);
    ck_assert_msg(!zd_meta_is_refused(again), "%s", text.at);
}
END_TEST

static const struct {
    const char *dtype;
    const char *fill;
    const char *endian; /* or NULL */
    const char *v3;
} fill_facts[] = {
    {"'<i4'", "null", "little", "0"},
    {"'>i4'", "7.0", "big", "7"},
    {"'|b1'", "null", NULL, "false"},
    {"'|b1'", "1", NULL, "true"},
    {"'>f8'", "null", "big", "0.0"},
    {"'<f4'", "'-Infinity'", "little", "'-Infinity'"},
    {"'<c16'", "null", "little", "[0.0,0.0]"},
    {"'<c16'", "2.5", "little", "[2.5,0.0]"},
    {"'|V2'", "'AQI='", NULL, "[1,2]"},
    {"'|V2'", "null", NULL, "[0,0]"},
    {"'|u1'", "255", NULL, "255"},
};

START_TEST(fill_value_and_byte_order_are_translated)
{
    ZD_SCOPED_TEXT(document, 1000);
    zd_text_addf(&document, "{" REST PLAIN ",'dtype':%s,'fill_value':%s}", fill_facts[_i].dtype,
        fill_facts[_i].fill);
    ZD_AUTO(zd_meta) meta = parse(document.at, NULL, NULL);
    ZD_AUTO(zd_json) fill = zd_unit_json(fill_facts[_i].v3);
    ck_assert(!zd_meta_is_refused(meta));
    ck_assert_msg(
        zd_json_equal(zd_json_member(meta->document, "fill_value"), fill), "%s", document.at);
    const struct zd_json *bytes = zd_json_element(zd_json_member(meta->document, "codecs"), 0);
    const char *endian =
        zd_json_string(zd_json_member(zd_json_member(bytes, "configuration"), "endian"));
    ck_assert_pstr_eq(endian, fill_facts[_i].endian);
}
END_TEST

static const struct group_fact {
    struct stored stored;
    enum verdict verdict;
    const char *code;
    const char *pointer;
} group_facts[] = {
    {{NULL, "{'zarr_format':2}", NULL}, FINE, NULL, NULL},
    {{NULL, "{'zarr_format':2}", "{'a':1}"}, FINE, NULL, NULL},
    {{NULL, "{'zarr_format':2,'_NCZARR_GROUP':{}}", NULL}, FINE, NULL, NULL},
    {{NULL, "{'zarr_format':2,'consolidated_metadata':{}}", NULL}, FINE, NULL, NULL},
    {{NULL, "{'zarr_format':3}", NULL}, INVALID, "out_of_range", "/zarr_format"},
    {{NULL, "{}", NULL}, INVALID, "out_of_range", "/zarr_format"},
    {{NULL, "[2]", NULL}, INVALID, "wrong_type", ""},
    {{NULL, "", NULL}, INVALID, "not_json", ""},
    {{NULL, "{'zarr_format':2}", "[]"}, INVALID, "wrong_type", ""},
    {{NULL, "{'zarr_format':2}", "{"}, INVALID, "not_json", ""},
    {{ARRAY, NULL, "{"}, INVALID, "not_json", ""},
    {{ARRAY, NULL, "5"}, INVALID, "wrong_type", ""},
    {{ARRAY, NULL, "{'a':NaN}"}, WARNED, "bare_nonfinite", "/attributes"},
    {{ARRAY, "{'zarr_format':2}", NULL}, WARNED, "two_documents", ""},
};

START_TEST(node_has_the_type_of_its_document)
{
    const struct group_fact *fact = &group_facts[_i];
    ZD_AUTO(zd_meta) meta = NULL;
    ck_assert_int_eq(parse_by(&fact->stored, &meta), ZD_OK);
    print_findings(meta);
    ck_assert_int_eq(meta->type, fact->stored.zarray == NULL ? ZD_NODE_GROUP : ZD_NODE_ARRAY);
    ck_assert_int_eq(verdict_of(meta), fact->verdict);
    ck_assert(fact->code == NULL || has_finding(meta, fact->code, fact->pointer));
}
END_TEST

START_TEST(refused_document_is_kept_as_stored)
{
    ZD_AUTO(zd_meta) meta = parse(COMPRESSED("{'id':'zlib','level':99}"), NULL, NULL);
    ck_assert(zd_meta_is_refused(meta));
    ck_assert_ptr_nonnull(zd_json_member(meta->document, "compressor"));
    ZD_AUTO(zd_meta) unread = parse("{", NULL, NULL);
    ck_assert_ptr_null(unread->document);
}
END_TEST

START_TEST(attributes_alone_are_no_node)
{
    struct zd_documents documents = {.present = {false, false, true}};
    ck_assert_int_eq(zd_dialect_find("v2")->bid(&documents), 0);
}
END_TEST

START_TEST(keys_of_documents_chunks_and_children)
{
    const struct zd_dialect *v2 = zd_dialect_find("v2");
    static const char *const keys[] = {"a/.zarray", "a/.zgroup", "a/.zattrs", "a/.zmetadata"};
    for (uint32_t i = 0; i < v2->n_documents; i++) {
        ZD_SCOPED_TEXT(key, 100);
        ZD_SCOPED_TEXT(path, 100);
        ck_assert_int_eq(v2->document_key("a", i, &key), ZD_OK);
        ck_assert_str_eq(key.at, keys[i]);
        ck_assert_int_eq(zd_dialect_node_path(keys[i], &path), ZD_OK);
        ck_assert_str_eq(path.at, "a");
        ck_assert_int_eq(zd_dialect_node_path(keys[i] + 2, &path), ZD_OK);
        ck_assert_str_eq(path.at, "");
        ck_assert_int_eq(zd_dialect_written_node_path(keys[i], &path, NULL), ZD_OK);
        ck_assert_str_eq(path.at, "a");
        ck_assert_int_eq(zd_dialect_first_node_path(keys[i], &path), ZD_NOT_FOUND);
    }
    ZD_SCOPED_TEXT(none, 100);
    ck_assert_int_eq(zd_dialect_node_path("a/x.zarray", &none), ZD_NOT_FOUND);
    ck_assert_int_eq(zd_dialect_node_path("a/.zstuff", &none), ZD_NOT_FOUND);
    ck_assert_int_eq(v2->child_name(zd_span_of("__a"), true, &none), ZD_OK);
    ck_assert_str_eq(none.at, "__a");
    ck_assert_int_eq(v2->child_name(zd_span_of("a"), false, &none), ZD_NOT_FOUND);
    ck_assert_int_eq(v2->child_name(zd_span_of(".."), true, &none), ZD_NOT_FOUND);
}
END_TEST

static const struct {
    const char *members; /* of the document */
    uint64_t index[2];
    const char *key;
} chunk_facts[] = {
    {"'shape':[4,6],'chunks':[2,3]", {1, 0}, "a/1.0"},
    {"'shape':[4,6],'chunks':[2,3],'dimension_separator':'/'", {1, 0}, "a/1/0"},
    {"'shape':[],'chunks':[]", {0, 0}, "a/0"},
    {"'shape':[40],'chunks':[2],'dimension_separator':'/'", {19, 0}, "a/19"},
};

START_TEST(chunk_has_its_key)
{
    ZD_SCOPED_TEXT(document, 1000);
    ZD_SCOPED_TEXT(key, 100);
    uint64_t index[ZD_RANK_MAX];
    zd_text_addf(&document, "{" FORMAT ORDER TYPE FILL PLAIN ",%s}", chunk_facts[_i].members);
    ZD_AUTO(zd_meta) meta = parse(document.at, NULL, NULL);
    ck_assert(zd_meta_is_array(meta));
    ck_assert_int_eq(meta->dialect->chunk_key(meta, "a", chunk_facts[_i].index, &key), ZD_OK);
    ck_assert_str_eq(key.at, chunk_facts[_i].key);
    ck_assert_int_eq(meta->dialect->chunk_index(meta, key.at + 2, index), ZD_OK);
    ck_assert_int_eq(memcmp(index, chunk_facts[_i].index, meta->grid.rank * sizeof index[0]), 0);
}
END_TEST

static enum zd_status parse_with_little_memory(void *context)
{
    ZD_AUTO(zd_meta) meta = NULL;
    return parse_by(context, &meta);
}

START_TEST(failing_memory_fails_cleanly)
{
    static const struct stored cases[] = {
        {"{" FORMAT SHAPE ",'order':'F','dtype':'>f4','fill_value':null,'x':1,'compressor':"
         "{'id':'blosc','y':2},'filters':[{'id':'zlib'}]}",
            "{'zarr_format':2}", "{'_ARRAY_DIMENSIONS':['y','x']}"},
        {TYPED("'|V3'", "'AQID'"), NULL, NULL},
        {TYPED("'<c8'", "1"), NULL, NULL},
        {FILTERED("[{'id':'nothing'},{'id':'zlib','level':'x'}]"), NULL, NULL},
        {COMPRESSED("{'id':'gzip','level':77}"), NULL, NULL},
        {NULL, "{'zarr_format':2}", "{'a':NaN}"},
    };
    zd_unit_with_failing_memory(parse_with_little_memory, (void *)(uintptr_t)&cases[_i]);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, document_is_judged_by_the_checklist, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, document_tells_all_faults_of_its_members_at_once);
    tcase_add_loop_test(tests, document_becomes_one_of_v3, 0, ZD_COUNT_OF(normal_facts));
    tcase_add_loop_test(
        tests, fill_value_and_byte_order_are_translated, 0, ZD_COUNT_OF(fill_facts));
    tcase_add_loop_test(tests, node_has_the_type_of_its_document, 0, ZD_COUNT_OF(group_facts));
    tcase_add_test(tests, refused_document_is_kept_as_stored);
    tcase_add_test(tests, attributes_alone_are_no_node);
    tcase_add_test(tests, keys_of_documents_chunks_and_children);
    tcase_add_loop_test(tests, chunk_has_its_key, 0, ZD_COUNT_OF(chunk_facts));
    tcase_add_loop_test(tests, failing_memory_fails_cleanly, 0, 6);
}
