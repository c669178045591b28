/* Facts about core/dialect/n5/dialect_n5: attributes.json as nodes, by the checklist of the
 * reference, section 8 L. */
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
#define SHAPE                      "'dimensions':[5,17,13],'blockSize':[5,3,4]"
#define TYPE                       ",'dataType':'uint16'"
#define RAW                        ",'compression':{'type':'raw'}"
#define ARRAY                      "{" SHAPE TYPE RAW "}"
#define WITH(members)              "{" SHAPE TYPE RAW "," members "}"
#define TYPED(type)                "{" SHAPE RAW ",'dataType':" type "}"
#define COMPRESSED(object)         "{" SHAPE TYPE ",'compression':" object "}"
#define SHAPED(dimensions, blocks) "{'dimensions':" dimensions ",'blockSize':" blocks TYPE RAW "}"

static struct zd_reading reading_of(enum zd_judgement judgement)
{
    return (struct zd_reading){
        .zep10 = true,
        .judgement = judgement,
        .limits = {.bytes_max = TEXT_BYTES_MAX, .nodes_max = 2000, .depth_max = 64},
        .consolidated_bytes_max = 1U << 24,
    };
}

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

/* The documents of a dataset. */
struct stored {
    const char *own;  /* attributes.json of the node; NULL: that one is not there */
    const char *root; /* the same of the root */
    bool is_n5;
    bool is_reversed;
};

static struct zd_documents documents_of(const struct stored *stored)
{
    static char space[2][TEXT_BYTES_MAX];
    const char *texts[] = {stored->own, stored->root};
    struct zd_documents documents = {.is_n5 = stored->is_n5};
    for (size_t i = 0; i < ZD_COUNT_OF(texts); i++) {
        documents.text[i] = quoted(texts[i], space[i]);
        documents.present[i] = texts[i] != NULL;
    }
    return documents;
}

static struct zd_meta *parse_stored(const struct stored *stored)
{
    struct zd_reading reading = reading_of(ZD_JUDGE_READ);
    const struct zd_documents documents = documents_of(stored);
    struct zd_meta *meta = NULL;
    reading.is_reversed = stored->is_reversed;
    ck_assert_int_eq(zd_dialect_find("n5")->parse(&documents, &reading, &meta, NULL), ZD_OK);
    ck_assert_ptr_eq(meta->dialect, zd_dialect_find("n5"));
    return meta;
}

static struct zd_meta *parse(const char *own)
{
    const struct stored stored = {.own = own, .root = "{'n5':'4.0.0'}"};
    return parse_stored(&stored);
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

static void check_verdict(
    const struct zd_meta *meta, enum verdict verdict, const char *code, const char *pointer)
{
    const bool agrees =
        verdict_of(meta) == verdict && (code == NULL || has_finding(meta, code, pointer));
    if (!agrees) {
        print_findings(meta);
    }
    ck_assert_msg(agrees, "verdict %d, expected %d with %s at %s", verdict_of(meta), verdict,
        code == NULL ? "nothing" : code, pointer == NULL ? "nowhere" : pointer);
}

/* ---- datasets ---- */

static const struct fact {
    const char *document;
    enum verdict verdict;
    const char *code; /* of a finding that must be there; NULL when there is none */
    const char *pointer;
} facts[] = {
    {ARRAY, FINE, NULL, NULL}, {SHAPED("[]", "[]"), FINE, NULL, NULL},
    {SHAPED("[0]", "[3]"), FINE, NULL, NULL}, {"{", INVALID, "not_json", ""},
    {"[]", INVALID, "wrong_type", ""}, {"5", INVALID, "wrong_type", ""},
    {"{" SHAPE "," SHAPE TYPE RAW "}", INVALID, "not_json", ""},
    /* `dimensions` alone decides; what is missing then is a fault */
    {"{'dimensions':[5]}", INVALID, "missing_member", "/blockSize"},
    {"{'dimensions':[5]}", INVALID, "missing_member", "/dataType"},
    {"{'dimensions':[5]}", INVALID, "missing_member", "/compression"},
    {SHAPED("[5,6]", "[5]"), INVALID, "rank_mismatch", "/blockSize"},
    {SHAPED("[5]", "[0]"), INVALID, "out_of_range", "/blockSize/0"},
    {SHAPED("[5]", "['3']"), INVALID, "wrong_type", "/blockSize/0"},
    {SHAPED("[5]", "3"), INVALID, "wrong_type", "/blockSize"},
    {SHAPED("[5,-1]", "[5,3]"), INVALID, "out_of_range", "/dimensions/1"},
    {SHAPED("[5,1.5]", "[5,3]"), INVALID, "wrong_type", "/dimensions/1"},
    {SHAPED("5", "[5]"), INVALID, "wrong_type", "/dimensions"},
    {SHAPED("null", "[5]"), INVALID, "wrong_type", "/dimensions"},
    {SHAPED("[1,1]", "[4294967296,4294967296]"), INVALID, "too_large", "/blockSize"},
    {SHAPED("[1]", "[4294967296]"), INVALID, "out_of_range", "/blockSize"},
    /* data types */
    {TYPED("'object'"), UNSUPPORTED, "unsupported_data_type", "/dataType"},
    {TYPED("'string'"), UNSUPPORTED, "unsupported_data_type", "/dataType"},
    {TYPED("'UINT8'"), UNSUPPORTED, "unsupported_data_type", "/dataType"},
    {TYPED("'bool'"), UNSUPPORTED, "unsupported_data_type", "/dataType"},
    {TYPED("'float16'"), UNSUPPORTED, "unsupported_data_type", "/dataType"},
    {TYPED("5"), INVALID, "wrong_type", "/dataType"},
    /* compression */
    {COMPRESSED("{'type':'gzip'}"), FINE, NULL, NULL},
    {COMPRESSED("{'type':'gzip','level':-1,'useZlib':false}"), FINE, NULL, NULL},
    {COMPRESSED("{'type':'gzip','level':5,'useZlib':true}"), WARNED, "unregistered_name",
        "/compression/type"},
    {COMPRESSED("{'type':'bzip2','blockSize':9}"), WARNED, "unregistered_name",
        "/compression/type"},
    {COMPRESSED("{'type':'xz','preset':6}"), WARNED, "unregistered_name", "/compression/type"},
    {COMPRESSED("{'type':'lz4','blockSize':65536}"), WARNED, "unregistered_name",
        "/compression/type"},
    {COMPRESSED("{'type':'lz4','id':'lz4','acceleration':1}"), WARNED, "unregistered_name",
        "/compression/type"},
    {COMPRESSED("{'type':'zstd','level':3}"), FINE, NULL, NULL},
    {COMPRESSED("{'type':'zstd'}"), FINE, NULL, NULL},
    {COMPRESSED("{'type':'blosc','cname':'lz4','clevel':5,'shuffle':1,'blocksize':0}"), FINE, NULL,
        NULL},
    {COMPRESSED("{'type':'blosc'}"), FINE, NULL, NULL},
    {COMPRESSED("{'type':'jpeg'}"), UNSUPPORTED, "unsupported_codec", "/compression/type"},
    {COMPRESSED("{'type':'GZIP'}"), UNSUPPORTED, "unsupported_codec", "/compression/type"},
    {COMPRESSED("{}"), INVALID, "missing_member", "/compression/type"},
    {COMPRESSED("{'type':1}"), INVALID, "wrong_type", "/compression/type"},
    {COMPRESSED("'raw'"), INVALID, "wrong_type", "/compression"},
    {COMPRESSED("null"), INVALID, "wrong_type", "/compression"},
    /* Java has `nthreads`; what zarr-python copies from numcodecs says nothing */
    {COMPRESSED("{'type':'blosc','nthreads':1}"), FINE, NULL, NULL},
    {COMPRESSED("{'type':'zstd','id':'zstd','checksum':false}"), WARNED, "unknown_codec_parameter",
        "/compression/id"},
    {COMPRESSED("{'type':'zstd','id':'zstd','checksum':false}"), WARNED, "unknown_codec_parameter",
        "/compression/checksum"},
    /* parameters only steer who compresses */
    {COMPRESSED("{'type':'gzip','level':10}"), WARNED, "unknown_codec_parameter",
        "/compression/level"},
    {COMPRESSED("{'type':'gzip','useZlib':1}"), WARNED, "unknown_codec_parameter",
        "/compression/useZlib"},
    {COMPRESSED("{'type':'zstd','level':'x'}"), WARNED, "unknown_codec_parameter",
        "/compression/level"},
    {COMPRESSED("{'type':'blosc','shuffle':3}"), WARNED, "unknown_codec_parameter",
        "/compression/shuffle"},
    {COMPRESSED("{'type':'blosc','cname':'lzma'}"), WARNED, "unknown_codec_parameter",
        "/compression/cname"},
    /* the legacy form; the new one wins */
    {"{" SHAPE TYPE ",'compressionType':'raw'}", FINE, NULL, NULL},
    {"{" SHAPE TYPE ",'compressionType':'xz'}", WARNED, "unregistered_name", "/compressionType"},
    {"{" SHAPE TYPE ",'compressionType':'foo'}", UNSUPPORTED, "unsupported_codec",
        "/compressionType"},
    {"{" SHAPE TYPE ",'compressionType':5}", INVALID, "wrong_type", "/compressionType"},
    {WITH("'compressionType':'foo'"), FINE, NULL, NULL},
    {WITH("'codecs':[]"), UNSUPPORTED, "unsupported_codec", "/codecs"},
    /* attributes */
    {WITH("'axes':['x','y','z'],'units':'m','downsamplingFactors':[2,2,1]"), FINE, NULL, NULL},
    {WITH("'axes':['x']"), FINE, NULL, NULL}, {WITH("'a':NaN"), WARNED, "bare_nonfinite", ""},
    {WITH("'n5':'9.0.0'"), FINE, NULL, NULL}, /* the version is that of the root */
};

START_TEST(document_is_judged_by_the_checklist)
{
    ZD_AUTO(zd_meta) meta = parse(facts[_i].document);
    printf("%s\n", facts[_i].document);
    check_verdict(meta, facts[_i].verdict, facts[_i].code, facts[_i].pointer);
    ck_assert(meta->document == NULL || !zd_json_nonfinite_is_in(meta->document));
}
END_TEST

/* Also where the axes are reversed, findings point to what is stored. */
START_TEST(findings_about_reversed_axes_point_to_the_stored_ones)
{
    static const struct fact reversed[] = {
        {SHAPED("[5,-1,3]", "[5,3,1]"), INVALID, "out_of_range", "/dimensions/1"},
        {SHAPED("[-5,1,3]", "[5,3,1]"), INVALID, "out_of_range", "/dimensions/0"},
        {SHAPED("[5,1,3]", "[0,3,1]"), INVALID, "out_of_range", "/blockSize/0"},
        {SHAPED("[5,1,3]", "[5,3]"), INVALID, "rank_mismatch", "/blockSize"},
        {COMPRESSED("{'type':'jpeg'}"), UNSUPPORTED, "unsupported_codec", "/compression/type"},
        {ARRAY, WARNED, "reversed_axes", "/dimensions"},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(reversed); i++) {
        const struct stored stored = {
            .own = reversed[i].document, .root = "{'n5':'4.0.0'}", .is_reversed = true};
        ZD_AUTO(zd_meta) meta = parse_stored(&stored);
        check_verdict(meta, reversed[i].verdict, reversed[i].code, reversed[i].pointer);
    }
}
END_TEST

/* ---- groups, and what is N5 at all ---- */

static const struct {
    struct stored stored;
    enum verdict verdict;
    const char *code;
    const char *pointer;
} group_facts[] = {
    {{.own = "{'n5':'2.0.0'}", .root = "{'n5':'2.0.0'}"}, FINE, NULL, NULL},
    {{.own = "{'n5':'1'}", .root = "{'n5':'1'}"}, FINE, NULL, NULL},
    {{.own = "{'n5':'4.9'}", .root = "{'n5':'4.9'}"}, FINE, NULL, NULL},
    {{.own = "{'n5':'5.0.0'}", .root = "{'n5':'5.0.0'}"}, INVALID, "unsupported_version", "/n5"},
    {{.own = "{'n5':'99999999999999999999'}", .root = "{'n5':'99999999999999999999'}"}, INVALID,
        "unsupported_version", "/n5"},
    {{.own = "{'n5':'x'}", .root = "{'n5':'x'}"}, INVALID, "bad_name", "/n5"},
    {{.own = "{'n5':'2x'}", .root = "{'n5':'2x'}"}, INVALID, "bad_name", "/n5"},
    {{.own = "{'n5':2}", .root = "{'n5':2}"}, INVALID, "wrong_type", "/n5"},
    /* the whole store has the version of its root; elsewhere it says nothing */
    {{.own = "{'n5':'5.0.0'}", .root = "{'n5':'2.0.0'}"}, FINE, NULL, NULL},
    {{.own = "{}", .root = "{'n5':'5.0.0'}"}, INVALID, "unsupported_version", "/n5"},
    {{.own = NULL, .root = "{'n5':'5.0.0'}"}, INVALID, "unsupported_version", "/n5"},
    {{.own = ARRAY, .root = "{'n5':'5.0.0'}"}, INVALID, "unsupported_version", "/n5"},
    /* groups without a document */
    {{.own = NULL, .root = "{'n5':'2.0.0'}"}, FINE, NULL, NULL},
    {{.own = NULL, .is_n5 = true}, FINE, NULL, NULL},
    /* BigDataViewer */
    {{.own = "{'dataType':'uint8','downsamplingFactors':[[1,1,1]]}", .root = "{'n5':'2.0.0'}"},
        FINE, NULL, NULL},
    /* nothing says that it is N5 */
    {{.own = "{}", .root = "{}"}, UNSUPPORTED, "unknown_dialect", ""},
    {{.own = "{'a':1}"}, UNSUPPORTED, "unknown_dialect", ""},
    {{.own = "{'a':1}", .is_n5 = true}, FINE, NULL, NULL},
    {{.own = "{}", .root = "{}", .is_n5 = true}, FINE, NULL, NULL},
    {{.own = "{'a':1}", .root = "{"}, UNSUPPORTED, "unknown_dialect", ""},
};

START_TEST(group_is_judged_by_the_checklist)
{
    ZD_AUTO(zd_meta) meta = parse_stored(&group_facts[_i].stored);
    check_verdict(meta, group_facts[_i].verdict, group_facts[_i].code, group_facts[_i].pointer);
    const bool is_array =
        group_facts[_i].stored.own != NULL && strcmp(group_facts[_i].stored.own, ARRAY) == 0;
    ck_assert_int_eq(meta->type, is_array ? ZD_NODE_ARRAY : ZD_NODE_GROUP);
}
END_TEST

/* tensorstore writes no document but those of datasets. */
START_TEST(dataset_needs_no_root)
{
    const struct stored stored = {.own = ARRAY};
    ZD_AUTO(zd_meta) meta = parse_stored(&stored);
    check_verdict(meta, FINE, NULL, NULL);
}
END_TEST

/* ---- documents of v3 ---- */

#define V3(shape, chunks, type, keys, codecs, rest)                                                \
    "{'zarr_format':3,'node_type':'array','shape':" shape ",'data_type':'" type                    \
    "','chunk_grid':{'name':'regular','configuration':{'chunk_shape':" chunks                      \
    "}},'chunk_key_encoding':{'name':'" keys                                                       \
    "','configuration':{'separator':'/'}},'fill_value':0,'codecs':[" codecs "],'attributes':" rest \
    "}"
#define BIG              "{'name':'bytes','configuration':{'endian':'big'}}"
#define BLOCK(order, of) BLOCK_OF(order, BIG of)
#define BLOCK_OF(order, of)                                                                        \
    "{'name':'n5_default','configuration':{'codecs':[{'name':'transpose','configuration':"         \
    "{'order':" order "}}," of "]}}"
#define DIMENSIONS(of, rest) V3("[5,17,13]", "[5,3,4]", "uint16", "v2", BLOCK("[2,1,0]", of), rest)
#define CODED(of)            DIMENSIONS("," of, "{}")

static const struct normal_fact {
    const char *own;
    const char *document;
} normal_facts[] = {
    {ARRAY, DIMENSIONS("", "{}")},
    {COMPRESSED("{'type':'gzip'}"), CODED("{'name':'gzip','configuration':{'level':6}}")},
    {COMPRESSED("{'type':'gzip','level':-1}"),
        CODED("{'name':'gzip','configuration':{'level':6}}")},
    {COMPRESSED("{'type':'gzip','level':5,'useZlib':true}"),
        CODED("{'name':'numcodecs.zlib','configuration':{'level':5}}")},
    {COMPRESSED("{'type':'lz4','blockSize':6}"), CODED("{'name':'n5.lz4'}")},
    {COMPRESSED("{'type':'lz4','id':'lz4'}"),
        CODED("{'name':'numcodecs.lz4','configuration':{'acceleration':1}}")},
    {COMPRESSED("{'type':'zstd'}"), CODED("{'name':'zstd','configuration':{'level':3}}")},
    {COMPRESSED("{'type':'blosc','cname':'zstd','clevel':3,'shuffle':2,'nthreads':1}"),
        CODED("{'name':'blosc','configuration':{'cname':'zstd','clevel':3,'shuffle':'bitshuffle',"
              "'typesize':2,'blocksize':0}}")},
    {"{'dimensions':[7,5],'blockSize':[5,4],'dataType':'uint8','compressionType':'raw'}",
        V3("[7,5]", "[5,4]", "uint8", "v2", BLOCK_OF("[1,0]", "{'name':'bytes'}"), "{}")},
    {SHAPED("[]", "[]"), V3("[]", "[]", "uint16", "v2", BLOCK("[]", ""), "{}")},
    {WITH("'a':{'dimensions':[1]},'n5':'1','compressionType':'x'"),
        DIMENSIONS("", "{'a':{'dimensions':[1]}}")},
    {WITH("'axes':['x','','z']"),
        DIMENSIONS("", "{'axes':['x','','z']},'dimension_names':['x',null,'z']")},
    {WITH("'axes':['x',1,'z']"), DIMENSIONS("", "{'axes':['x',1,'z']}")},
    {"{'n5':'2.0.0','a':1}", "{'zarr_format':3,'node_type':'group','attributes':{'a':1}}"},
    {NULL, "{'zarr_format':3,'node_type':'group','attributes':{}}"},
};

static void check_document(const struct zd_meta *meta, const char *document)
{
    ZD_AUTO(zd_json) expected = zd_unit_json(document);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    struct zd_emit emit;
    print_findings(meta);
    ck_assert(!zd_meta_is_refused(meta));
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, meta->document);
    ck_assert_msg(zd_json_equal(meta->document, expected), "%s\n%s", text.at, document);
    /* A reader of v3 needs no leniency. */
    const struct zd_reading strict = reading_of(ZD_JUDGE_WRITE);
    ZD_AUTO(zd_meta) again = NULL;
    ck_assert_int_eq(zd_dialect_judge(zd_text_span(&text), &strict, &again, NULL), ZD_OK);
    ck_assert_msg(!zd_meta_is_refused(again), "%s", text.at);
}

START_TEST(document_becomes_one_of_v3)
{
    ZD_AUTO(zd_meta) meta = parse(normal_facts[_i].own);
    check_document(meta, normal_facts[_i].document);
}
END_TEST

/* Keys and blocks keep the order of `dimensions`, which no document of v3 can say. */
START_TEST(document_of_reversed_axes_is_that_of_decoded_chunks)
{
    const struct stored stored = {
        .own = WITH("'axes':['x','','z'],'resolution':[1,2,3]"), .is_reversed = true};
    ZD_AUTO(zd_meta) meta = parse_stored(&stored);
    check_document(
        meta, V3("[13,17,5]", "[4,3,5]", "uint16", "default",
                  "{'name':'bytes','configuration':{'endian':'little'}}",
                  "{'axes':['x','','z'],'resolution':[1,2,3]},'dimension_names':['z',null,'x']"));
}
END_TEST

/* ---- keys ---- */

START_TEST(block_has_one_key_in_both_orders_of_axes)
{
    static const struct {
        bool is_reversed;
        uint64_t index[3];
    } orders[] = {{false, {0, 2, 3}}, {true, {3, 2, 0}}};
    for (size_t i = 0; i < ZD_COUNT_OF(orders); i++) {
        const struct stored stored = {.own = ARRAY, .is_reversed = orders[i].is_reversed};
        ZD_AUTO(zd_meta) meta = parse_stored(&stored);
        ZD_SCOPED_TEXT(key, 100);
        uint64_t index[ZD_RANK_MAX];
        ck_assert_int_eq(meta->dialect->chunk_key(meta, "a/b", orders[i].index, &key), ZD_OK);
        ck_assert_str_eq(key.at, "a/b/0/2/3");
        ck_assert_int_eq(meta->dialect->chunk_index(meta, "0/2/3", index), ZD_OK);
        ck_assert_mem_eq(index, orders[i].index, sizeof orders[i].index);
        ck_assert_int_eq(meta->dialect->chunk_index(meta, "0/5/3", index), ZD_OK);
        ck_assert_int_eq(meta->dialect->chunk_index(meta, "1/2/3", index), ZD_OUT_OF_BOUNDS);
        ck_assert_int_eq(meta->dialect->chunk_index(meta, "0/6/3", index), ZD_OUT_OF_BOUNDS);
        static const char *const none[] = {"0/2", "0/2/3/1", "0.2.3", "00/2/3", "c/0/2/3", ""};
        for (size_t j = 0; j < ZD_COUNT_OF(none); j++) {
            ck_assert_int_eq(meta->dialect->chunk_index(meta, none[j], index), ZD_NOT_FOUND);
        }
    }
}
END_TEST

START_TEST(document_has_a_key_beside_that_of_the_root)
{
    const struct zd_dialect *n5 = zd_dialect_find("n5");
    ZD_SCOPED_TEXT(key, 100);
    ZD_SCOPED_TEXT(path, 100);
    ck_assert_int_eq(n5->document_key("a/b", 0, &key), ZD_OK);
    ck_assert_str_eq(key.at, "a/b/attributes.json");
    ck_assert_int_eq(n5->document_path(zd_text_span(&key), &path), ZD_OK);
    ck_assert_str_eq(path.at, "a/b");
    zd_text_clear(&key);
    ck_assert_int_eq(n5->document_key("a/b", 1, &key), ZD_OK);
    ck_assert_str_eq(key.at, "attributes.json");
    zd_text_clear(&path);
    ck_assert_int_eq(n5->document_path(zd_text_span(&key), &path), ZD_OK);
    ck_assert_str_eq(path.at, "");
    ck_assert_int_eq(n5->document_path(zd_span_of("a/xattributes.json"), &path), ZD_NOT_FOUND);
}
END_TEST

START_TEST(dialect_bids_less_than_any_of_zarr_and_implies_groups_in_n5_alone)
{
    const struct zd_dialect *n5 = zd_dialect_find("n5");
    const struct zd_documents zarray = {.present = {true}};
    static const struct {
        struct stored stored;
        bool is_node;
        int bid; /* else */
    } bids[] = {
        {{.own = ARRAY}, true, 0},
        {{.own = "{}", .is_n5 = true}, true, 0},
        {{.own = "{}", .root = "{'n5':'2.0.0'}"}, true, 0},
        {{.own = "{}", .root = "{'dimensions':[1]}"}, true, 0},
        {{.own = "{}", .root = "{}"}, false, ZD_BID_UNSURE},
        {{.own = "{}"}, false, ZD_BID_UNSURE},
        {{.root = "{'n5':'2.0.0'}"}, false, ZD_BID_IMPLIED},
        {{.is_n5 = true}, false, ZD_BID_IMPLIED},
        {{.root = "{}"}, false, 0},
        {{.own = NULL}, false, 0},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(bids); i++) {
        const struct zd_documents documents = documents_of(&bids[i].stored);
        const int bid = n5->bid(&documents);
        if (bids[i].is_node) {
            ck_assert_int_gt(bid, ZD_BID_IMPLIED);
            ck_assert_int_lt(bid, zd_dialect_find("v2")->bid(&zarray));
        } else {
            ck_assert_int_eq(bid, bids[i].bid);
        }
    }
}
END_TEST

static enum zd_status try_to_parse(void *context)
{
    const struct stored *stored = context;
    const struct zd_documents documents = documents_of(stored);
    struct zd_reading reading = reading_of(ZD_JUDGE_READ);
    ZD_AUTO(zd_meta) meta = NULL;
    reading.is_reversed = stored->is_reversed;
    return zd_dialect_find("n5")->parse(&documents, &reading, &meta, NULL);
}

START_TEST(parsing_survives_a_lack_of_memory)
{
    static struct stored rows[] = {
        {.own = WITH("'axes':['x','','z']"), .root = "{'n5':'4.0.0'}"},
        {.own = COMPRESSED("{'type':'blosc','shuffle':9}"), .is_reversed = true},
        {.own = COMPRESSED("{'type':'xz'}")},
        {.own = COMPRESSED("{'type':'jpeg'}")},
        {.own = SHAPED("[-1,2]", "[1,0]"), .is_reversed = true},
        {.own = "{'n5':'5.0.0','a':1}", .root = "{'n5':'5.0.0'}"},
        {.root = "{'n5':'4.0.0'}"},
    };
    zd_unit_with_failing_memory(try_to_parse, &rows[_i]);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, document_is_judged_by_the_checklist, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, findings_about_reversed_axes_point_to_the_stored_ones);
    tcase_add_loop_test(tests, group_is_judged_by_the_checklist, 0, ZD_COUNT_OF(group_facts));
    tcase_add_test(tests, dataset_needs_no_root);
    tcase_add_loop_test(tests, document_becomes_one_of_v3, 0, ZD_COUNT_OF(normal_facts));
    tcase_add_test(tests, document_of_reversed_axes_is_that_of_decoded_chunks);
    tcase_add_loop_test(tests, parsing_survives_a_lack_of_memory, 0, 7);
    tcase_add_test(tests, block_has_one_key_in_both_orders_of_axes);
    tcase_add_test(tests, document_has_a_key_beside_that_of_the_root);
    tcase_add_test(tests, dialect_bids_less_than_any_of_zarr_and_implies_groups_in_n5_alone);
}
