/* Facts about core/dialect/v3/dialect_v3: the conformance checklist of the reference, section 8. */
#include "core/base/json_nonfinite.h"
#include "core/dialect/dialect.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/emit.h"
#include "tests/support/unit.h"

#define TEXT_BYTES_MAX 65536

enum verdict {
    FINE,        /* no finding at all */
    WARNED,      /* accepted, with a warning of that code */
    UNSUPPORTED, /* refused: nothing invalid, something unknown */
    INVALID,     /* refused: breaks the specification */
};

/** An expected judgement. */
struct opinion {
    enum verdict verdict;
    const char *code;    /* of a finding that must be there; NULL when there is none */
    const char *pointer; /* of the same finding */
};

/* In documents ' stands for ", so that they can be read. */
#define HEAD   "'zarr_format':3,'node_type':'array'"
#define SHAPE  ",'shape':[4,6]"
#define TYPE   ",'data_type':'int16'"
#define GRID   ",'chunk_grid':{'name':'regular','configuration':{'chunk_shape':[2,3]}}"
#define KEYS   ",'chunk_key_encoding':{'name':'default'}"
#define FILL   ",'fill_value':0"
#define BYTES  "{'name':'bytes','configuration':{'endian':'little'}}"
#define CODECS ",'codecs':[" BYTES "]"
#define ARRAY  HEAD SHAPE TYPE GRID KEYS FILL CODECS
#define GROUP  "'zarr_format':3,'node_type':'group'"
#define LINE(shape, chunk)                                                                         \
    "{" HEAD TYPE KEYS FILL CODECS ",'shape':[" shape                                              \
    "],'chunk_grid':{'name':'regular','configuration':{'chunk_shape':[" chunk "]}}}"
#define TYPED(type, fill, codecs)                                                                  \
    "{" HEAD SHAPE GRID KEYS ",'data_type':" type ",'fill_value':" fill ",'codecs':" codecs "}"
#define SHARDED(chunk, codecs, index)                                                              \
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[" chunk "],'codecs':[" codecs     \
    "],'index_codecs':[" index "]}}]"
#define CODED(codecs) "{" HEAD SHAPE TYPE GRID KEYS FILL ",'codecs':" codecs "}"
#define SUFFIXED(inside)                                                                           \
    "{" HEAD SHAPE TYPE GRID FILL CODECS                                                           \
    ",'chunk_key_encoding':{'name':'suffix','configuration':{" inside "}}}"
#define SUFFIXED_AT "/chunk_key_encoding/configuration/"
#define GRIDDED(name, inside)                                                                      \
    "{" HEAD SHAPE TYPE KEYS FILL CODECS ",'chunk_grid':{'name':" name ",'configuration':{" inside \
    "}}}"
#define SIDED(shapes) GRIDDED("'rectilinear'", "'kind':'inline','chunk_shapes':[" shapes "]")
#define SIDED_SHARDS(shapes, inner)                                                                \
    "{" HEAD SHAPE TYPE KEYS FILL ",'codecs':" SHARDED(                                            \
        inner, BYTES, BYTES) ",'chunk_grid':{'name':'rectilinear','configuration':{'kind':'"       \
                             "inline','chunk_shapes':[" shapes "]}}}"
#define SIDED_AT "/chunk_grid/configuration/"
#define BLOCK(inside)                                                                              \
    "{" GROUP                                                                                      \
    ",'consolidated_metadata':{'kind':'inline','must_understand':false,'metadata':{" inside "}}}"

static const struct zd_reading reading_zep10 = {
    .zep10 = true,
    .judgement = ZD_JUDGE_READ,
    .limits = {.bytes_max = TEXT_BYTES_MAX, .nodes_max = 2000, .depth_max = 64},
    .consolidated_bytes_max = 1U << 24,
};

static struct zd_reading reading_for(enum zd_judgement judgement)
{
    struct zd_reading reading = reading_zep10;
    reading.judgement = judgement;
    return reading;
}

/* A copy with " for '. The caller's space. */
static struct zd_span quoted(const char *text, char space[TEXT_BYTES_MAX])
{
    size_t len = strlen(text);
    ck_assert_uint_lt(len, TEXT_BYTES_MAX);
    for (size_t i = 0; i < len; i++) {
        space[i] = text[i];
        if (text[i] == '\'') {
            space[i] = '"';
        }
    }
    return (struct zd_span){.ptr = (const uint8_t *)space, .len = len};
}

static struct zd_meta *parse_span(struct zd_span text, const struct zd_reading *reading)
{
    const struct zd_documents documents = {.text = {text}, .present = {true}};
    struct zd_meta *meta = NULL;
    struct zd_error err = {0};
    const struct zd_dialect *dialect = zd_dialect_find("v3");
    ck_assert_ptr_nonnull(dialect);
    ck_assert_int_gt(dialect->bid(&documents), 0);
    ck_assert_msg(
        dialect->parse(&documents, reading, &meta, &err) == ZD_OK, "parse failed: %s", err.text);
    ck_assert_ptr_nonnull(meta);
    return meta;
}

static struct zd_meta *parse(const char *text, const struct zd_reading *reading)
{
    static char space[TEXT_BYTES_MAX];
    return parse_span(quoted(text, space), reading);
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

static bool has_finding(const struct zd_meta *meta, const struct opinion *opinion)
{
    for (size_t i = 0; i < meta->faults.n_items; i++) {
        const struct zd_fault *fault = &meta->faults.item[i];
        if (strcmp(fault->code, opinion->code) == 0 &&
            strcmp(fault->pointer, opinion->pointer) == 0) {
            return true;
        }
    }
    return false;
}

static void print_findings(const char *document, const struct zd_meta *meta)
{
    printf("%s\n", document);
    for (size_t i = 0; i < meta->faults.n_items; i++) {
        const struct zd_fault *fault = &meta->faults.item[i];
        printf("  %d %s at \"%s\": %s (expected %s, found %s)\n", (int)fault->severity, fault->code,
            fault->pointer, fault->detail, fault->expected == NULL ? "-" : fault->expected,
            fault->found == NULL ? "-" : fault->found);
    }
    fflush(stdout);
}

static void assert_opinion(const char *document, const struct zd_reading *reading,
    const struct opinion *expected, const char *row)
{
    ZD_AUTO(zd_meta) meta = parse(document, reading);
    const bool agrees = verdict_of(meta) == expected->verdict &&
                        (expected->code == NULL || has_finding(meta, expected));
    if (!agrees) {
        print_findings(document, meta);
    }
    ck_assert_msg(agrees, "row %s: verdict %d, expected %d with %s at %s", row, verdict_of(meta),
        expected->verdict, expected->code == NULL ? "nothing" : expected->code,
        expected->pointer == NULL ? "nowhere" : expected->pointer);
    /* A refused node shows the stored document, a good one always has a valid document. */
    if (expected->verdict == FINE || expected->verdict == WARNED) {
        ck_assert_ptr_nonnull(meta->document);
        ck_assert(!zd_json_nonfinite_is_in(meta->document));
    }
}

/* The same opinion by both judgements. */
#define BOTH(...)                                                                                  \
    {__VA_ARGS__},                                                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const struct row {
    const char *row; /* of the checklist */
    const char *document;
    struct opinion read;
    struct opinion write;
} rows[] = {
    /* A. Document level */
    {"1", "{" GROUP "}", BOTH(FINE, NULL, NULL)},
    {"2", "{" ARRAY "}", BOTH(FINE, NULL, NULL)},
    {"3", "", BOTH(INVALID, "not_json", "")},
    {"3", "{", BOTH(INVALID, "not_json", "")},
    {"3", "{" GROUP, BOTH(INVALID, "not_json", "")},
    {"3", "{" GROUP "} x", BOTH(INVALID, "not_json", "")},
    {"4", "[]", BOTH(INVALID, "wrong_type", "")},
    {"4", "'group'", BOTH(INVALID, "wrong_type", "")},
    {"4", "null", BOTH(INVALID, "wrong_type", "")},
    {"5", "\xef\xbb\xbf{" GROUP "}", BOTH(INVALID, "not_json", "")},
    {"5", "{" GROUP ",'attributes':{'a':'\xff'}}", BOTH(INVALID, "not_json", "")},
    {"6", "{'node_type':'group'}", BOTH(INVALID, "missing_member", "/zarr_format")},
    {"7", "{'zarr_format':'3','node_type':'group'}", BOTH(INVALID, "wrong_type", "/zarr_format")},
    {"8", "{'zarr_format':3.0,'node_type':'group'}", BOTH(INVALID, "wrong_type", "/zarr_format")},
    {"9", "{'zarr_format':true,'node_type':'group'}", BOTH(INVALID, "wrong_type", "/zarr_format")},
    {"10", "{'zarr_format':2,'node_type':'group'}",
        BOTH(INVALID, "unsupported_version", "/zarr_format")},
    {"11", "{'zarr_format':4,'node_type':'group'}",
        BOTH(INVALID, "unsupported_version", "/zarr_format")},
    {"11", "{'zarr_format':-3,'node_type':'group'}",
        BOTH(INVALID, "unsupported_version", "/zarr_format")},
    {"12", "{'zarr_format':3}", BOTH(INVALID, "missing_member", "/node_type")},
    {"13", "{'zarr_format':3,'node_type':'dataset'}", BOTH(INVALID, "out_of_range", "/node_type")},
    {"14", "{'zarr_format':3,'node_type':'Array'}", BOTH(INVALID, "out_of_range", "/node_type")},
    {"14", "{'zarr_format':3,'node_type':3}", BOTH(INVALID, "wrong_type", "/node_type")},
    {"15",
        "{'codecs':[" BYTES "]" FILL KEYS GRID TYPE SHAPE ",'node_type':'array','zarr_format':3}",
        BOTH(FINE, NULL, NULL)},
    {"18", "{" GROUP ",'attributes':{}}", BOTH(FINE, NULL, NULL)},
    {"18", "{" GROUP ",'attributes':null}", BOTH(INVALID, "wrong_type", "/attributes")},
    {"18", "{" GROUP ",'attributes':[]}", BOTH(INVALID, "wrong_type", "/attributes")},
    {"18", "{" ARRAY ",'attributes':'x'}", BOTH(INVALID, "wrong_type", "/attributes")},
    {"19", "{" ARRAY ",'attributes':{'must_understand':true,'codecs':5,'extensions':[]}}",
        BOTH(FINE, NULL, NULL)},
    {"20", "{" HEAD TYPE GRID KEYS FILL CODECS "}", BOTH(INVALID, "missing_member", "/shape")},
    {"20", "{" HEAD SHAPE GRID KEYS FILL CODECS "}", BOTH(INVALID, "missing_member", "/data_type")},
    {"20", "{" HEAD SHAPE TYPE KEYS FILL CODECS "}",
        BOTH(INVALID, "missing_member", "/chunk_grid")},
    {"20", "{" HEAD SHAPE TYPE GRID FILL CODECS "}",
        BOTH(INVALID, "missing_member", "/chunk_key_encoding")},
    {"20", "{" HEAD SHAPE TYPE GRID KEYS CODECS "}",
        BOTH(INVALID, "missing_member", "/fill_value")},
    {"20", "{" HEAD SHAPE TYPE GRID KEYS FILL "}", BOTH(INVALID, "missing_member", "/codecs")},

    /* B. Unknown fields */
    {"21", "{" ARRAY ",'foo':{'must_understand':false}}",
        BOTH(WARNED, "ignored_extension", "/foo")},
    {"21", "{" ARRAY ",'foo':{'must_understand':false,'name':'foo','configuration':{}}}",
        BOTH(WARNED, "ignored_extension", "/foo")},
    {"22", "{" ARRAY ",'foo':1}", {UNSUPPORTED, "unsupported_extension", "/foo"},
        {INVALID, "unknown_member", "/foo"}},
    {"23", "{" ARRAY ",'foo':null}", {UNSUPPORTED, "unsupported_extension", "/foo"},
        {INVALID, "unknown_member", "/foo"}},
    {"24", "{" ARRAY ",'foo':{}}", {UNSUPPORTED, "unsupported_extension", "/foo"},
        {INVALID, "unknown_member", "/foo"}},
    {"25", "{" ARRAY ",'foo':{'must_understand':true}}",
        {UNSUPPORTED, "unsupported_extension", "/foo"}, {INVALID, "unknown_member", "/foo"}},
    {"26", "{" ARRAY ",'foo':{'must_understand':'false'}}",
        {UNSUPPORTED, "unsupported_extension", "/foo"}, {INVALID, "unknown_member", "/foo"}},
    {"27", "{" ARRAY ",'foo':{'must_understand':0}}",
        {UNSUPPORTED, "unsupported_extension", "/foo"}, {INVALID, "unknown_member", "/foo"}},
    {"28", "{" ARRAY ",'foo':[{'must_understand':false}]}",
        {UNSUPPORTED, "unsupported_extension", "/foo"}, {INVALID, "unknown_member", "/foo"}},
    {"29", "{" GROUP ",'foo':{'must_understand':false}}",
        BOTH(WARNED, "ignored_extension", "/foo")},
    {"30", "{" GROUP ",'foo':'x'}", {UNSUPPORTED, "unsupported_extension", "/foo"},
        {INVALID, "unknown_member", "/foo"}},
    {"31", "{" GROUP ",'shape':[1]}", {UNSUPPORTED, "unsupported_extension", "/shape"},
        {INVALID, "unknown_member", "/shape"}},
    {"32", "{" ARRAY ",'compressor':null}", {UNSUPPORTED, "unsupported_extension", "/compressor"},
        {INVALID, "unknown_member", "/compressor"}},

    /* C. Extension definitions */
    {"35", TYPED("{'name':'int16'}", "0", "[" BYTES "]"), BOTH(FINE, NULL, NULL)},
    {"35", TYPED("{'name':'int16','configuration':{}}", "0", "[" BYTES "]"),
        BOTH(FINE, NULL, NULL)},
    {"35", TYPED("{'name':'int16','configuration':{'a':1}}", "0", "[" BYTES "]"),
        BOTH(INVALID, "unknown_member", "/data_type/configuration/a")},
    {"36", "{" HEAD SHAPE TYPE GRID FILL CODECS ",'chunk_key_encoding':'default'}",
        BOTH(FINE, NULL, NULL)},
    {"37", "{" HEAD SHAPE TYPE KEYS FILL CODECS ",'chunk_grid':'regular'}",
        BOTH(INVALID, "missing_member", "/chunk_grid/configuration/chunk_shape")},
    {"38", TYPED("'uint8'", "0", "['bytes']"), BOTH(FINE, NULL, NULL)},
    {"45", TYPED("{'name':'int16','must_understand':false}", "0", "[" BYTES "]"),
        {WARNED, "must_understand_false", "/data_type/must_understand"},
        {INVALID, "must_understand_false", "/data_type/must_understand"}},
    {"45", TYPED("{'name':'int17','must_understand':false}", "0", "[" BYTES "]"),
        {UNSUPPORTED, "unsupported_data_type", "/data_type"},
        {INVALID, "must_understand_false", "/data_type/must_understand"}},
    {"46",
        "{" HEAD SHAPE TYPE KEYS FILL CODECS ",'chunk_grid':{'name':'regular','must_understand':"
        "false,'configuration':{'chunk_shape':[2,3]}}}",
        {WARNED, "must_understand_false", "/chunk_grid/must_understand"},
        {INVALID, "must_understand_false", "/chunk_grid/must_understand"}},
    {"47",
        "{" HEAD SHAPE TYPE GRID FILL CODECS
        ",'chunk_key_encoding':{'name':'default','must_understand':false}}",
        {WARNED, "must_understand_false", "/chunk_key_encoding/must_understand"},
        {INVALID, "must_understand_false", "/chunk_key_encoding/must_understand"}},
    {"47",
        "{" HEAD SHAPE TYPE GRID FILL CODECS
        ",'chunk_key_encoding':{'name':'default','must_understand':false,'more':1}}",
        {INVALID, "unknown_member", "/chunk_key_encoding"},
        {INVALID, "unknown_member", "/chunk_key_encoding/more"}},
    {"48", CODED("[" BYTES ",{'name':'foo.bar'}]"),
        BOTH(UNSUPPORTED, "unsupported_codec", "/codecs/1")},
    {"51", TYPED("'Foo'", "0", "[" BYTES "]"), BOTH(INVALID, "bad_name", "/data_type")},
    {"53", TYPED("'https://example.com/x'", "0", "[" BYTES "]"),
        BOTH(UNSUPPORTED, "unsupported_data_type", "/data_type")},
    {"54", TYPED("'https://e.com/x?y'", "0", "[" BYTES "]"),
        BOTH(INVALID, "bad_name", "/data_type")},
    {"55", "{" ARRAY ",'storage_transformers':[]}", BOTH(FINE, NULL, NULL)},
    {"56", "{" ARRAY ",'storage_transformers':[{'name':'xx'}]}",
        BOTH(UNSUPPORTED, "unsupported_extension", "/storage_transformers/0")},
    {"57", "{" ARRAY ",'storage_transformers':[{'name':'xx','must_understand':false}]}",
        {WARNED, "ignored_extension", "/storage_transformers/0"},
        {UNSUPPORTED, "unsupported_extension", "/storage_transformers/0"}},
    {"58", "{" ARRAY ",'storage_transformers':{}}",
        BOTH(INVALID, "wrong_type", "/storage_transformers")},

    /* D. Shape, grid, keys */
    {"59", LINE("", ""), BOTH(FINE, NULL, NULL)},
    {"60", LINE("0", "4"), BOTH(FINE, NULL, NULL)},
    {"61", LINE("-1", "4"), BOTH(INVALID, "out_of_range", "/shape/0")},
    {"61", LINE("1.5", "4"), BOTH(INVALID, "wrong_type", "/shape/0")},
    {"61", LINE("'4'", "4"), BOTH(INVALID, "wrong_type", "/shape/0")},
    {"61", LINE("1e3", "4"), BOTH(INVALID, "wrong_type", "/shape/0")},
    {"61", LINE("18446744073709551616", "4"), BOTH(INVALID, "wrong_type", "/shape/0")},
    {"61", "{" HEAD TYPE GRID KEYS FILL CODECS ",'shape':4}",
        BOTH(INVALID, "wrong_type", "/shape")},
    {"62", LINE("4,4", "2"),
        BOTH(INVALID, "rank_mismatch", "/chunk_grid/configuration/chunk_shape")},
    {"63", LINE("4", "0"),
        BOTH(INVALID, "out_of_range", "/chunk_grid/configuration/chunk_shape/0")},
    /* Once written for a length of 0, where it can do no harm. */
    {"63", LINE("0", "0"), {WARNED, "out_of_range", "/chunk_grid/configuration/chunk_shape/0"},
        {INVALID, "out_of_range", "/chunk_grid/configuration/chunk_shape/0"}},
    {"63", LINE("4", "-1"),
        BOTH(INVALID, "out_of_range", "/chunk_grid/configuration/chunk_shape/0")},
    {"64", LINE("4", "100"), BOTH(FINE, NULL, NULL)},
    {"66", LINE("18446744073709551615", "4"), BOTH(FINE, NULL, NULL)},
    {"66", LINE("4294967296,4294967296", "4,4"), BOTH(INVALID, "too_large", "/shape")},
    {"66", LINE("0,4294967296,4294967296", "1,4,4"), BOTH(FINE, NULL, NULL)},
    {"66", LINE("4,4", "4294967296,4294967296"), BOTH(INVALID, "too_large", "/chunk_grid")},
    {"66", LINE("4", "18446744073709551615"), BOTH(INVALID, "too_large", "/chunk_grid")},
    {"66",
        LINE("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
            "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"),
        BOTH(FINE, NULL, NULL)},
    /* This shape has one dimension more than the limit. */
    {"66",
        LINE("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
            "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"),
        BOTH(UNSUPPORTED, "unsupported_grid", "/shape")},
    {"70",
        "{" HEAD SHAPE TYPE GRID FILL CODECS
        ",'chunk_key_encoding':{'name':'default','configuration':{'separator':'-'}}}",
        BOTH(INVALID, "out_of_range", "/chunk_key_encoding/configuration/separator")},
    {"70",
        "{" HEAD SHAPE TYPE GRID FILL CODECS
        ",'chunk_key_encoding':{'name':'v2','configuration':{'separator':1}}}",
        BOTH(INVALID, "wrong_type", "/chunk_key_encoding/configuration/separator")},
    {"70",
        "{" HEAD SHAPE TYPE GRID FILL CODECS
        ",'chunk_key_encoding':{'name':'v2','configuration':{'prefix':''}}}",
        BOTH(INVALID, "unknown_member", "/chunk_key_encoding/configuration/prefix")},
    {"71", "{" HEAD SHAPE TYPE GRID FILL CODECS ",'chunk_key_encoding':{'name':'fanout'}}",
        BOTH(UNSUPPORTED, "unsupported_grid", "/chunk_key_encoding")},
    /* Reference 5.6: a proposal. */
    {"suffix", SUFFIXED("'suffix':'.tiff','base_encoding':{'name':'default'}"), {FINE, NULL, NULL},
        {UNSUPPORTED, "unsupported_grid", "/chunk_key_encoding"}},
    {"suffix", SUFFIXED("'suffix':'','base_encoding':'v2'"), {FINE, NULL, NULL},
        {UNSUPPORTED, "unsupported_grid", "/chunk_key_encoding"}},
    {"suffix", SUFFIXED("'suffix':'.tiff'"),
        BOTH(INVALID, "missing_member", SUFFIXED_AT "base_encoding")},
    {"suffix", SUFFIXED("'base_encoding':'v2'"),
        BOTH(INVALID, "missing_member", SUFFIXED_AT "suffix")},
    {"suffix", "{" HEAD SHAPE TYPE GRID FILL CODECS ",'chunk_key_encoding':{'name':'suffix'}}",
        BOTH(INVALID, "missing_member", SUFFIXED_AT "suffix")},
    {"suffix", SUFFIXED("'suffix':1,'base_encoding':'v2'"),
        BOTH(INVALID, "wrong_type", SUFFIXED_AT "suffix")},
    {"suffix", SUFFIXED("'suffix':'/x','base_encoding':'v2'"),
        BOTH(INVALID, "out_of_range", SUFFIXED_AT "suffix")},
    {"suffix", SUFFIXED("'suffix':'\\u0001','base_encoding':'v2'"),
        BOTH(INVALID, "out_of_range", SUFFIXED_AT "suffix")},
    {"suffix", SUFFIXED("'suffix':'.tiff','base_encoding':{'name':'suffix'}"),
        BOTH(UNSUPPORTED, "unsupported_grid", SUFFIXED_AT "base_encoding")},
    {"suffix", SUFFIXED("'suffix':'.tiff','base_encoding':{'name':'v2','configuration':{'a':1}}"),
        BOTH(INVALID, "unknown_member", SUFFIXED_AT "base_encoding/configuration/a")},
    {"suffix", SUFFIXED("'suffix':'.tiff','base_encoding':'v2','separator':'.'"),
        BOTH(INVALID, "unknown_member", SUFFIXED_AT "separator")},
    {"76", "{" ARRAY ",'dimension_names':['x',null]}", BOTH(FINE, NULL, NULL)},
    {"77", "{" ARRAY ",'dimension_names':['x']}",
        BOTH(INVALID, "rank_mismatch", "/dimension_names")},
    {"78", "{" ARRAY ",'dimension_names':['x','x']}", BOTH(FINE, NULL, NULL)},
    {"79", "{" ARRAY ",'dimension_names':['x',1]}",
        BOTH(INVALID, "wrong_type", "/dimension_names/1")},
    {"79", "{" ARRAY ",'dimension_names':'xy'}", BOTH(INVALID, "wrong_type", "/dimension_names")},
    {"80",
        "{" HEAD TYPE KEYS FILL CODECS ",'shape':[],'dimension_names':[],'chunk_grid':{'name':"
        "'regular','configuration':{'chunk_shape':[]}}}",
        BOTH(FINE, NULL, NULL)},
    {"81", SIDED("4,[[1,3],3]"), BOTH(FINE, NULL, NULL)},
    {"81", SIDED("[2,2],[[6,1]]"), BOTH(FINE, NULL, NULL)},
    {"81", SIDED("[2,2,7,[1,9]],100"), BOTH(FINE, NULL, NULL)}, /* chunks behind the array */
    {"81", SIDED("5,9"), BOTH(FINE, NULL, NULL)},
    {"82", SIDED("[2,1],6"), BOTH(INVALID, "out_of_range", SIDED_AT "chunk_shapes/0")},
    {"82", SIDED("4,[]"), BOTH(INVALID, "out_of_range", SIDED_AT "chunk_shapes/1")},
    {"82", SIDED("4,[[1,5]]"), BOTH(INVALID, "out_of_range", SIDED_AT "chunk_shapes/1")},
    {"83", SIDED("4,[6,0]"), BOTH(INVALID, "out_of_range", SIDED_AT "chunk_shapes/1/1")},
    {"83", SIDED("4,[[6,0]]"), BOTH(INVALID, "out_of_range", SIDED_AT "chunk_shapes/1/0/1")},
    {"83", SIDED("4,[[0,6],6]"), BOTH(INVALID, "out_of_range", SIDED_AT "chunk_shapes/1/0/0")},
    {"83", SIDED("4,[[1,2,3]]"), BOTH(INVALID, "wrong_type", SIDED_AT "chunk_shapes/1/0")},
    {"83", SIDED("4,[[6]]"), BOTH(INVALID, "wrong_type", SIDED_AT "chunk_shapes/1/0")},
    {"83", SIDED("4,['6']"), BOTH(INVALID, "wrong_type", SIDED_AT "chunk_shapes/1/0")},
    {"83", SIDED("4,[[6.0,1]]"), BOTH(INVALID, "wrong_type", SIDED_AT "chunk_shapes/1/0/0")},
    {"83", SIDED("4,[-6]"), BOTH(INVALID, "out_of_range", SIDED_AT "chunk_shapes/1/0")},
    {"83", SIDED("0,6"), BOTH(INVALID, "out_of_range", SIDED_AT "chunk_shapes/0")},
    {"83", SIDED("null,6"), BOTH(INVALID, "wrong_type", SIDED_AT "chunk_shapes/0")},
    {"83", SIDED("4"), BOTH(INVALID, "rank_mismatch", SIDED_AT "chunk_shapes")},
    {"83", SIDED("4,6,1"), BOTH(INVALID, "rank_mismatch", SIDED_AT "chunk_shapes")},
    {"84", GRIDDED("'rectilinear'", "'chunk_shapes':[4,6]"),
        BOTH(INVALID, "missing_member", SIDED_AT "kind")},
    {"84", GRIDDED("'rectilinear'", "'kind':'file','chunk_shapes':[4,6]"),
        BOTH(INVALID, "out_of_range", SIDED_AT "kind")},
    {"84", GRIDDED("'rectilinear'", "'kind':'inline'"),
        BOTH(INVALID, "missing_member", SIDED_AT "chunk_shapes")},
    {"84", GRIDDED("'rectilinear'", "'kind':'inline','chunk_shapes':4"),
        BOTH(INVALID, "wrong_type", SIDED_AT "chunk_shapes")},
    {"84", GRIDDED("'rectilinear'", "'kind':'inline','chunk_shapes':[4,6],'chunk_shape':[4,6]"),
        BOTH(INVALID, "unknown_member", SIDED_AT "chunk_shape")},
    {"85", SIDED("4,[[1,1000000000000]]"), BOTH(FINE, NULL, NULL)}, /* no explosion */
    {"85", SIDED("4,[[1,18446744073709551615]]"), BOTH(FINE, NULL, NULL)},
    {"85", SIDED("4,[[-1,6]]"), BOTH(INVALID, "out_of_range", SIDED_AT "chunk_shapes/1/0/0")},
    {"85", SIDED("4,[[1,-6]]"), BOTH(INVALID, "out_of_range", SIDED_AT "chunk_shapes/1/0/1")},
    {"85", SIDED("4,[1.5]"), BOTH(INVALID, "wrong_type", SIDED_AT "chunk_shapes/1/0")},
    {"85", SIDED("4,[[1,18446744073709551615],1]"),
        BOTH(INVALID, "too_large", SIDED_AT "chunk_shapes/1/1")},
    {"85", SIDED("4,[[4294967296,4294967296]]"),
        BOTH(INVALID, "too_large", SIDED_AT "chunk_shapes/1/0")},
    {"85", SIDED("4,[9223372036854775807]"), BOTH(INVALID, "too_large", "/chunk_grid")},
    /* Reference 5.5: the draft of it. */
    {"rectangular", GRIDDED("'rectangular'", "'chunk_shape':[[1,3],6]"),
        {WARNED, "legacy_spelling", "/chunk_grid"}, {INVALID, "legacy_spelling", "/chunk_grid"}},
    {"rectangular", GRIDDED("'rectangular'", "'chunk_shape':[[[1,4]],6]"),
        BOTH(INVALID, "wrong_type", SIDED_AT "chunk_shape/0/0")},
    {"rectangular", GRIDDED("'rectangular'", "'chunk_shapes':[4,6]"),
        BOTH(INVALID, "missing_member", SIDED_AT "chunk_shape")},
    /* Every shard must have whole inner chunks, not the largest alone. */
    {"rectilinear shards", SIDED_SHARDS("[2,4],6", "2,3"), BOTH(FINE, NULL, NULL)},
    {"rectilinear shards", SIDED_SHARDS("[3,6],6", "2,3"),
        BOTH(INVALID, "not_divisible", "/codecs/0/configuration/chunk_shape/0")},
    {"rectilinear shards", SIDED_SHARDS("4,[2,6]", "2,3"),
        BOTH(INVALID, "not_divisible", "/codecs/0/configuration/chunk_shape/1")},

    /* E. Fill values: what the document adds to the facts about core/grid/scalar */
    {"86", TYPED("'bool'", "false", "['bytes']"), BOTH(FINE, NULL, NULL)},
    {"86", TYPED("'bool'", "0", "['bytes']"), BOTH(INVALID, "bad_fill_value", "/fill_value")},
    {"87", TYPED("'uint8'", "256", "['bytes']"), BOTH(INVALID, "bad_fill_value", "/fill_value")},
    {"87", TYPED("'int16'", "1.0", "[" BYTES "]"), BOTH(INVALID, "bad_fill_value", "/fill_value")},
    {"90", TYPED("'float32'", "'NaN'", "[" BYTES "]"), BOTH(FINE, NULL, NULL)},
    {"90", TYPED("'float32'", "'+Infinity'", "[" BYTES "]"),
        BOTH(INVALID, "bad_fill_value", "/fill_value")},
    {"91", TYPED("'float32'", "'0x7fc00001'", "[" BYTES "]"), BOTH(FINE, NULL, NULL)},
    {"93", TYPED("'float32'", "'0x7fc000011'", "[" BYTES "]"),
        BOTH(INVALID, "bad_fill_value", "/fill_value")},
    {"94", TYPED("'float16'", "65520", "[" BYTES "]"), {WARNED, "legacy_spelling", "/fill_value"},
        {INVALID, "bad_fill_value", "/fill_value"}},
    {"96", TYPED("'complex64'", "[1,'NaN']", "[" BYTES "]"), BOTH(FINE, NULL, NULL)},
    {"97", TYPED("'r16'", "[1,2]", "['bytes']"), BOTH(FINE, NULL, NULL)},
    {"97", TYPED("'r16'", "[1]", "['bytes']"), BOTH(INVALID, "bad_fill_value", "/fill_value")},
    {"97", TYPED("'r0'", "[]", "['bytes']"), BOTH(INVALID, "bad_name", "/data_type")},
    {"97", TYPED("'r7'", "[]", "['bytes']"), BOTH(INVALID, "bad_name", "/data_type")},
    {"97", TYPED("'r08'", "[]", "['bytes']"), BOTH(INVALID, "bad_name", "/data_type")},
    {"97", TYPED("'r18446744073709551616'", "[]", "['bytes']"),
        BOTH(UNSUPPORTED, "unsupported_data_type", "/data_type")},
    /* An unknown type does not make faults of what depends on it. */
    {"98", TYPED("'string'", "''", "['vlen-utf8']"), BOTH(FINE, NULL, NULL)},
    {"102", TYPED("{'name':'struct','configuration':{'fields':[]}}", "{}", "[" BYTES "]"),
        BOTH(INVALID, "out_of_range", "/data_type/configuration/fields")},
    {"105", TYPED("'int16'", "null", "[" BYTES "]"),
        BOTH(INVALID, "bad_fill_value", "/fill_value")},

    /* F. Codecs: what the document adds to the facts about core/codec/chain */
    {"106", CODED("{}"), BOTH(INVALID, "wrong_type", "/codecs")},
    {"106", CODED("null"), BOTH(INVALID, "wrong_type", "/codecs")},

    /* G. extensions */
    {"156", "{" GROUP ",'extensions':[]}", BOTH(INVALID, "out_of_range", "/extensions")},
    {"157", "{" GROUP ",'extensions':{}}", BOTH(INVALID, "wrong_type", "/extensions")},
    {"157", "{" GROUP ",'extensions':null}", BOTH(INVALID, "wrong_type", "/extensions")},
    {"157", "{" ARRAY ",'extensions':'x'}", BOTH(INVALID, "wrong_type", "/extensions")},
    {"158", "{" GROUP ",'extensions':['example.a']}",
        {UNSUPPORTED, "unsupported_extension", "/extensions/0"},
        {WARNED, "unknown_extension", "/extensions/0"}},
    {"158", "{" ARRAY ",'extensions':[{'name':'example.a'}]}",
        {UNSUPPORTED, "unsupported_extension", "/extensions/0"},
        {WARNED, "unknown_extension", "/extensions/0"}},
    {"159", "{" GROUP ",'extensions':[{'name':'example.a','must_understand':false}]}",
        BOTH(WARNED, "ignored_extension", "/extensions/0")},
    {"160", "{" GROUP ",'extensions':[{'name':'example.a','must_understand':false},'example.b']}",
        {UNSUPPORTED, "unsupported_extension", "/extensions/1"},
        {WARNED, "unknown_extension", "/extensions/1"}},
    {"161", "{" GROUP ",'extensions':[{'name':'example.a','configuration':[]}]}",
        BOTH(INVALID, "wrong_type", "/extensions/0/configuration")},
    {"161", "{" GROUP ",'extensions':[{'name':'example.a','configuration':null}]}",
        BOTH(INVALID, "wrong_type", "/extensions/0/configuration")},
    {"161", "{" GROUP ",'extensions':[{}]}", BOTH(INVALID, "missing_member", "/extensions/0/name")},
    {"161", "{" GROUP ",'extensions':[1]}", BOTH(INVALID, "wrong_type", "/extensions/0")},
    {"161", "{" GROUP ",'extensions':[[]]}", BOTH(INVALID, "wrong_type", "/extensions/0")},
    {"162", "{" GROUP ",'extensions':['Example']}", BOTH(INVALID, "bad_name", "/extensions/0")},
    {"163",
        "{" GROUP ",'extensions':[{'name':'example.a','must_understand':false},"
        "{'name':'example.a','must_understand':false}]}",
        BOTH(WARNED, "ignored_extension", "/extensions/1")},
    {"166", "{" GROUP ",'extensions':[{'extension':'https://e.com/x'}]}",
        BOTH(INVALID, "missing_member", "/extensions/0/name")},
    {"166",
        "{" GROUP ",'extensions':[{'name':'example.a','extension':'https://e.com/x',"
        "'must_understand':false}]}",
        {INVALID, "unknown_member", "/extensions/0"},
        {INVALID, "unknown_member", "/extensions/0/extension"}},

    /* I. Consolidated metadata */
    {"178", BLOCK(""), BOTH(FINE, NULL, NULL)},
    {"178", BLOCK("'a':{" ARRAY "},'g':{" GROUP "},'g/x':{" ARRAY "}"), BOTH(FINE, NULL, NULL)},
    {"179",
        "{" GROUP ",'consolidated_metadata':{'metadata':{},'must_understand':false,"
        "'kind':'inline'}}",
        BOTH(FINE, NULL, NULL)},
    {"180",
        "{" GROUP ",'consolidated_metadata':{'metadata':{},'must_understand':false,"
        "'kind':'other'}}",
        {WARNED, "out_of_range", "/consolidated_metadata/kind"},
        {INVALID, "out_of_range", "/consolidated_metadata/kind"}},
    {"191", "{" GROUP ",'consolidated_metadata':{'a':{" ARRAY "}}}", /* the form of ZEP 6 */
        {WARNED, "legacy_spelling", "/consolidated_metadata"},
        {INVALID, "missing_member", "/consolidated_metadata/kind"}},
    {"191", "{" GROUP ",'consolidated_metadata':{'a/b':{" ARRAY "},'a/b/c':{" ARRAY "}}}",
        {WARNED, "inconsistent_listing", "/consolidated_metadata/a~1b~1c"},
        {INVALID, "missing_member", "/consolidated_metadata/kind"}},
    {"191", "{" GROUP ",'consolidated_metadata':{'a':{" ARRAY "},'b':{}}}",
        {WARNED, "missing_member", "/consolidated_metadata/kind"},
        {INVALID, "missing_member", "/consolidated_metadata/kind"}},
    {"191", "{" GROUP ",'consolidated_metadata':{'metadata':{'node_type':{" GROUP "}}}}",
        {WARNED, "missing_member", "/consolidated_metadata/kind"},
        {INVALID, "missing_member", "/consolidated_metadata/kind"}},
    {"181",
        "{" GROUP ",'consolidated_metadata':{'metadata':{},'must_understand':true,"
        "'kind':'inline'}}",
        {WARNED, "out_of_range", "/consolidated_metadata/must_understand"},
        {INVALID, "out_of_range", "/consolidated_metadata/must_understand"}},
    {"181", "{" GROUP ",'consolidated_metadata':{'metadata':{},'kind':'inline'}}",
        {WARNED, "missing_member", "/consolidated_metadata/must_understand"},
        {INVALID, "missing_member", "/consolidated_metadata/must_understand"}},
    {"181", "{" GROUP ",'consolidated_metadata':{'kind':'inline','must_understand':false}}",
        BOTH(INVALID, "missing_member", "/consolidated_metadata/metadata")},
    {"181",
        "{" GROUP ",'consolidated_metadata':{'kind':'inline','must_understand':false,"
        "'metadata':[]}}",
        BOTH(INVALID, "wrong_type", "/consolidated_metadata/metadata")},
    {"181", "{" GROUP ",'consolidated_metadata':[]}",
        BOTH(INVALID, "wrong_type", "/consolidated_metadata")},
    {"182", "{" GROUP ",'consolidated_metadata':null}",
        {WARNED, "null_consolidated_metadata", "/consolidated_metadata"},
        {INVALID, "null_consolidated_metadata", "/consolidated_metadata"}},
    {"183", BLOCK("'/g':{" GROUP "}"), {FINE, NULL, NULL},
        {INVALID, "bad_path", "/consolidated_metadata/metadata/~1g"}},
    {"183", BLOCK("'/g':{" GROUP "},'g':{" GROUP "}"),
        {WARNED, "duplicate", "/consolidated_metadata/metadata/~1g"},
        {INVALID, "bad_path", "/consolidated_metadata/metadata/~1g"}},
    {"183", BLOCK("'g/':{" GROUP "}"), {WARNED, "bad_path", "/consolidated_metadata/metadata/g~1"},
        {INVALID, "bad_path", "/consolidated_metadata/metadata/g~1"}},
    {"183", BLOCK("'':{" GROUP "}"), {WARNED, "bad_path", "/consolidated_metadata/metadata/"},
        {INVALID, "bad_path", "/consolidated_metadata/metadata/"}},
    {"183", BLOCK("'../g':{" GROUP "}"),
        {WARNED, "bad_path", "/consolidated_metadata/metadata/..~1g"},
        {INVALID, "bad_path", "/consolidated_metadata/metadata/..~1g"}},
    {"183", BLOCK("'__g':{" GROUP "}"), {WARNED, "bad_path", "/consolidated_metadata/metadata/__g"},
        {INVALID, "bad_path", "/consolidated_metadata/metadata/__g"}},
    {"184", BLOCK("'g/x':{" ARRAY "}"),
        {WARNED, "inconsistent_listing", "/consolidated_metadata/metadata/g~1x"},
        {INVALID, "inconsistent_listing", "/consolidated_metadata/metadata/g~1x"}},
    {"184", BLOCK("'g':{" ARRAY "},'g/x':{" ARRAY "}"),
        {WARNED, "inconsistent_listing", "/consolidated_metadata/metadata/g~1x"},
        {INVALID, "inconsistent_listing", "/consolidated_metadata/metadata/g~1x"}},
    {"185",
        BLOCK("'g':{" GROUP ",'consolidated_metadata':{'kind':'inline','must_understand':false,"
              "'metadata':{}}},'g/x':{" ARRAY "}"),
        BOTH(FINE, NULL, NULL)},
    /* Reading leaves a faulty entry to whoever uses it; writing judges them all. */
    {"185", BLOCK("'g':{'node_type':'group'}"), {FINE, NULL, NULL},
        {INVALID, "missing_member", "/consolidated_metadata/metadata/g/zarr_format"}},
    {"185", BLOCK("'g':{'zarr_format':2}"), {FINE, NULL, NULL},
        {INVALID, "unsupported_version", "/consolidated_metadata/metadata/g/zarr_format"}},
    {"186",
        "{" ARRAY ",'consolidated_metadata':{'kind':'inline','must_understand':false,"
        "'metadata':{}}}",
        BOTH(WARNED, "ignored_extension", "/consolidated_metadata")},

    /* Strings that no UTF-8 can hold: attributes have them, nothing that has a meaning does. */
    {"odd", "{" GROUP ",'attributes':{'a':'\\u0000','b':{'c':['\\ud800']}}}",
        BOTH(FINE, NULL, NULL)},
    {"odd", "{" GROUP ",'foo':{'must_understand':false,'x':'\\ud800'}}",
        BOTH(WARNED, "ignored_extension", "/foo")},
    {"odd", BLOCK("'g':{" GROUP ",'attributes':{'a':'\\u0000'}}"), BOTH(FINE, NULL, NULL)},
    {"odd", "{" GROUP ",'attributes':{'\\u0000':1}}", BOTH(INVALID, "not_json", "")},
    {"odd", "{" ARRAY ",'dimension_names':['y\\u0000',null]}",
        BOTH(INVALID, "wrong_type", "/dimension_names/0")},
    {"odd", TYPED("'float32'", "'NaN\\u0000'", "[" BYTES "]"),
        BOTH(INVALID, "bad_fill_value", "/fill_value")},
    {"odd", CODED("['bytes\\u0000']"), BOTH(INVALID, "wrong_type", "/codecs/0")},
    {"odd", CODED("[{'name':'bytes\\u0000'}]"), BOTH(INVALID, "wrong_type", "/codecs/0/name")},
    {"odd", "{'zarr_format':3,'node_type':'group\\u0000'}",
        BOTH(INVALID, "wrong_type", "/node_type")},
    {"odd", "{" ARRAY ",'extensions':[{'name':'example.a\\ud800','must_understand':false}]}",
        BOTH(INVALID, "wrong_type", "/extensions/0/name")},

    /* M. Leniencies */
    {"256", TYPED("'float32'", "NaN", "[" BYTES "]"), {WARNED, "bare_nonfinite", "/fill_value"},
        {INVALID, "not_json", ""}},
    {"256", TYPED("'float32'", "-Infinity", "[" BYTES "]"),
        {WARNED, "bare_nonfinite", "/fill_value"}, {INVALID, "not_json", ""}},
    {"256", TYPED("'complex64'", "[NaN, 0]", "[" BYTES "]"),
        {WARNED, "bare_nonfinite", "/fill_value"}, {INVALID, "not_json", ""}},
    {"256", TYPED("'int16'", "NaN", "[" BYTES "]"), {INVALID, "bad_fill_value", "/fill_value"},
        {INVALID, "not_json", ""}},
    {"257", "{" GROUP ",'attributes':{'a':[NaN,'a NaN b']}}",
        {WARNED, "bare_nonfinite", "/attributes"}, {INVALID, "not_json", ""}},
    {"257", BLOCK("'a':{" GROUP ",'attributes':{'a':NaN}}"),
        {WARNED, "bare_nonfinite", "/consolidated_metadata/metadata"}, {INVALID, "not_json", ""}},
    {"258", "{" ARRAY ",'dimension_names':[NaN,null]}",
        {INVALID, "bare_nonfinite", "/dimension_names"}, {INVALID, "not_json", ""}},
    {"258", "{" GROUP ",'fill_value':NaN}", {INVALID, "bare_nonfinite", "/fill_value"},
        {INVALID, "not_json", ""}},
    {"258", TYPED("'float32'", "nan", "[" BYTES "]"), BOTH(INVALID, "not_json", "")},
    {"258", TYPED("'float32'", "-NaN", "[" BYTES "]"), BOTH(INVALID, "not_json", "")},
    {"258", TYPED("'float32'", "+Infinity", "[" BYTES "]"), BOTH(INVALID, "not_json", "")},
    {"258", TYPED("'float32'", "NaNx", "[" BYTES "]"), BOTH(INVALID, "not_json", "")},
    {"260", "{" ARRAY ",'dimension_names':null}",
        {WARNED, "null_dimension_names", "/dimension_names"},
        {INVALID, "null_dimension_names", "/dimension_names"}},
};

START_TEST(document_is_judged_by_the_checklist)
{
    const struct row *row = &rows[_i];
    const struct zd_reading read = reading_for(ZD_JUDGE_READ);
    const struct zd_reading write = reading_for(ZD_JUDGE_WRITE);
    assert_opinion(row->document, &read, &row->read, row->row);
    assert_opinion(row->document, &write, &row->write, row->row);
}
END_TEST

/* Rows whose verdict depends on the codecs' own judgement. */
static const struct row codec_rows[] = {
    {"39", CODED("['bytes']"), BOTH(INVALID, NULL, NULL)},
    {"40", CODED("[{'configuration':{}}]"), BOTH(INVALID, "missing_member", "/codecs/0/name")},
    {"41", CODED("[{'name':5}]"), BOTH(INVALID, "wrong_type", "/codecs/0/name")},
    {"42", CODED("[" BYTES ",{'name':'crc32c','configuration':null}]"),
        BOTH(INVALID, "wrong_type", "/codecs/1/configuration")},
    {"44", CODED("[" BYTES ",{'name':'crc32c','extra':1}]"),
        BOTH(INVALID, "unknown_member", "/codecs/1/extra")},
    {"49", CODED("[" BYTES ",{'name':'foo.bar','must_understand':false}]"), {WARNED, NULL, NULL},
        {UNSUPPORTED, NULL, NULL}},
    {"50", CODED("[{'name':'foo.bar','must_understand':false}]"),
        BOTH(UNSUPPORTED, "unsupported_codec", "/codecs/0")},
    {"254", CODED("[]"), {WARNED, NULL, NULL}, {INVALID, NULL, NULL}},
    {"255", CODED("[{'name':'gzip','configuration':{'level':1}}]"), {WARNED, NULL, NULL},
        {INVALID, NULL, NULL}},
    {"107", CODED("[" BYTES "," BYTES "]"), BOTH(INVALID, NULL, NULL)},
    {"107", CODED("[{'name':'gzip','configuration':{'level':1}}," BYTES "]"),
        BOTH(INVALID, NULL, NULL)},
    {"110", CODED("[{'name':'bytes','configuration':{'endian':'native'}}]"),
        BOTH(INVALID, NULL, NULL)},
    {"113", CODED("[{'name':'transpose','configuration':{'order':[0,0]}}," BYTES "]"),
        BOTH(INVALID, NULL, NULL)},
    {"114", CODED("[{'name':'transpose','configuration':{'order':'F'}}," BYTES "]"),
        {WARNED, NULL, NULL}, {INVALID, NULL, NULL}},
};

START_TEST(codecs_are_judged_with_the_document)
{
    const struct row *row = &codec_rows[_i];
    const struct zd_reading read = reading_for(ZD_JUDGE_READ);
    const struct zd_reading write = reading_for(ZD_JUDGE_WRITE);
    assert_opinion(row->document, &read, &row->read, row->row);
    assert_opinion(row->document, &write, &row->write, row->row);
}
END_TEST

/* Strict mode: row 165. */
static const struct strict_fact {
    const char *document;
    enum verdict verdict;
} strict_facts[] = {
    {"{" GROUP "}", FINE},
    {"{" GROUP ",'extensions':[]}", UNSUPPORTED},
    {"{" GROUP ",'extensions':[{'name':'example.a','must_understand':false}]}", UNSUPPORTED},
    {"{" GROUP ",'extensions':null}", UNSUPPORTED},
    {"{" GROUP ",'extensions':{'must_understand':false}}", UNSUPPORTED},
    {"{" GROUP ",'other':{'must_understand':false}}", WARNED},
    {"{" ARRAY ",'extensions':['example.a']}", UNSUPPORTED},
};

START_TEST(strict_mode_knows_no_extensions)
{
    struct zd_reading reading = reading_for(ZD_JUDGE_READ);
    reading.zep10 = false;
    ZD_AUTO(zd_meta) meta = parse(strict_facts[_i].document, &reading);
    ck_assert_int_eq(verdict_of(meta), strict_facts[_i].verdict);
}
END_TEST

START_TEST(document_tells_all_faults_at_once)
{
    ZD_AUTO(zd_meta)
    meta = parse("{'zarr_format':3,'node_type':'array','shape':[-1,'x'],"
                 "'data_type':'float99','chunk_grid':{'name':'triangular'},"
                 "'foo':1,'bar':2,'codecs':['foo.bar','foo.baz']}",
        &reading_zep10);
    const struct opinion expected[] = {
        {INVALID, "out_of_range", "/shape/0"},
        {INVALID, "wrong_type", "/shape/1"},
        {INVALID, "unsupported_data_type", "/data_type"},
        {INVALID, "unsupported_grid", "/chunk_grid"},
        {INVALID, "unsupported_extension", "/foo"},
        {INVALID, "unsupported_extension", "/bar"},
        {INVALID, "unsupported_codec", "/codecs/0"},
        {INVALID, "unsupported_codec", "/codecs/1"},
        {INVALID, "missing_member", "/chunk_key_encoding"},
        {INVALID, "missing_member", "/fill_value"},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(expected); i++) {
        ck_assert_msg(has_finding(meta, &expected[i]), "%s at %s is not told", expected[i].code,
            expected[i].pointer);
    }
    ck_assert_uint_eq(meta->faults.n_items, ZD_COUNT_OF(expected));
}
END_TEST

/* A fault of one member, which those of others must not hide. Its document is made of good members
 * beside it. */
static const struct lone_fault {
    const char *member;
    const char *value;
    const char *code;
    const char *pointer;
    const char *depends; /* on the members of these names: without them it cannot be judged */
} lone_faults[] = {
    {"shape", "[-1,6]", "out_of_range", "/shape/0", ""},
    {"shape", "'x'", "wrong_type", "/shape", ""},
    {"data_type", "{'name':'int16','configuration':{'a':1}}", "unknown_member",
        "/data_type/configuration/a", ""},
    {"data_type", "'Int16'", "bad_name", "/data_type", ""},
    {"data_type", "{'name':'int16','must_understand':false}", "must_understand_false",
        "/data_type/must_understand", ""},
    {"chunk_grid", "{'name':'regular','configuration':{'chunk_shape':[0,3]}}", "out_of_range",
        "/chunk_grid/configuration/chunk_shape/0", ""},
    {"chunk_grid", "{'name':'regular','must_understand':0,'configuration':{'chunk_shape':[2,'3']}}",
        "wrong_type", "/chunk_grid/configuration/chunk_shape/1", ""},
    {"chunk_grid", "{'name':'Regular'}", "bad_name", "/chunk_grid/name", ""},
    {"chunk_key_encoding", "{'name':'default','configuration':{'separator':'-'}}", "out_of_range",
        "/chunk_key_encoding/configuration/separator", ""},
    {"chunk_key_encoding", "{'name':'default','extra':1,'configuration':{'separator':'-'}}",
        "out_of_range", "/chunk_key_encoding/configuration/separator", ""},
    {"chunk_key_encoding", "'Default'", "bad_name", "/chunk_key_encoding", ""},
    {"fill_value", "40000", "bad_fill_value", "/fill_value", "data_type"},
    {"codecs", "[" BYTES ",{'name':'gzip','configuration':{'level':10}}]", "out_of_range",
        "/codecs/1/configuration/level", ""},
    {"codecs", "[{'name':'bytes','configuration':{'endian':'middle'}}]", "out_of_range",
        "/codecs/0/configuration/endian", ""},
    {"codecs", "['bytes']", "missing_member", "/codecs/0/configuration/endian", "data_type"},
    {"codecs", "[" BYTES ",{'name':'Gzip'}]", "bad_name", "/codecs/1/name", ""},
    {"codecs", "[{'name':'Delta'},{'name':'bytes','configuration':{'endian':'middle'}}]",
        "out_of_range", "/codecs/1/configuration/endian", ""},
    {"codecs", "[{'name':'transpose','configuration':{'order':[1,1]}}," BYTES "]", "duplicate",
        "/codecs/0/configuration/order/1", ""},
    {"codecs", "[{'name':'transpose','configuration':{'order':[1,0,2]}}," BYTES "]", "wrong_rank",
        "/codecs/0/configuration/order", "shape chunk_grid data_type"},
    {"codecs", SHARDED("0,3", BYTES, BYTES), "out_of_range",
        "/codecs/0/configuration/chunk_shape/0", ""},
    {"codecs", SHARDED("0,3", "{'name':'bytes','configuration':{'endian':1}}", BYTES), "wrong_type",
        "/codecs/0/configuration/codecs/0/configuration/endian", ""},
    {"codecs", SHARDED("1,3", "{'name':'bytes','configuration':{'endian':1}}", BYTES), "wrong_type",
        "/codecs/0/configuration/codecs/0/configuration/endian", ""},
    {"codecs", SHARDED("1,3", BYTES, "'bytes'"), "missing_member",
        "/codecs/0/configuration/index_codecs/0/configuration/endian", ""},
    {"dimension_names", "['y',5]", "wrong_type", "/dimension_names/1", ""},
    {"dimension_names", "['y',5,'x']", "wrong_type", "/dimension_names/1", ""},
    {"dimension_names", "['y']", "rank_mismatch", "/dimension_names", "shape"},
    {"storage_transformers", "['foo.bar']", "unsupported_extension", "/storage_transformers/0", ""},
    {"attributes", "[]", "wrong_type", "/attributes", ""},
    {"extensions", "[5]", "wrong_type", "/extensions/0", ""},
    {"extensions", "[{'name':'example.offset','configuration':{'offset':'0'}}]", "wrong_type",
        "/extensions/0/configuration/offset", ""},
    {"extensions", "[{'name':'example.offset','configuration':{'offset':[5,0]}}]", "out_of_range",
        "/extensions/0/configuration/offset/0", "shape chunk_grid data_type fill_value"},
    {"extensions",
        "[{'name':'example.offset','must_understand':false,'configuration':{'offset':[0,0]}}]",
        "must_understand_false", "/extensions/0/must_understand", ""},
    {"foo", "1", "unknown_member", "/foo", ""},
};

static const struct good_member {
    const char *name;
    const char *value;
} good_members[] = {
    {"shape", "[4,6]"},
    {"data_type", "'int16'"},
    {"chunk_grid", "{'name':'regular','configuration':{'chunk_shape':[2,3]}}"},
    {"chunk_key_encoding", "'default'"},
    {"fill_value", "0"},
    {"codecs", "[" BYTES "]"},
    {"dimension_names", "['y','x']"},
    {"storage_transformers", "[]"},
    {"attributes", "{}"},
    {"extensions", "['example.skip_empty_chunks']"},
    {"foo", "{'must_understand':false}"},
};

/* The document with the faults of some rows. */
static struct zd_meta *parse_with(const struct lone_fault *const *fault, size_t n)
{
    const struct zd_reading write = reading_for(ZD_JUDGE_WRITE);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    zd_text_add(&text, "{" HEAD);
    for (size_t i = 0; i < ZD_COUNT_OF(good_members); i++) {
        const char *value = good_members[i].value;
        for (size_t k = 0; k < n; k++) {
            value = strcmp(fault[k]->member, good_members[i].name) == 0 ? fault[k]->value : value;
        }
        zd_text_addf(&text, ",'%s':%s", good_members[i].name, value);
    }
    zd_text_add(&text, "}");
    return parse(text.at, &write);
}

/* It is told, with what would be right, unless one of the others excuses it. */
static void assert_told(
    const struct lone_fault *fault, const struct zd_meta *meta, const struct lone_fault *beside)
{
    const struct opinion opinion = {INVALID, fault->code, fault->pointer};
    if (beside != NULL && strstr(fault->depends, beside->member) != NULL) {
        return;
    }
    ck_assert_msg(has_finding(meta, &opinion), "%s at %s is not told beside %s", fault->code,
        fault->pointer, beside == NULL ? "nothing" : beside->pointer);
    for (size_t i = 0; i < meta->faults.n_items; i++) {
        const struct zd_fault *told = &meta->faults.item[i];
        ck_assert_msg(told->severity == ZD_FAULT_WARNING || told->expected != NULL,
            "%s at %s: what would be right?", told->code, told->pointer);
    }
}

START_TEST(no_fault_hides_another)
{
    const struct lone_fault *fault = &lone_faults[_i];
    for (size_t i = 0; i < ZD_COUNT_OF(lone_faults); i++) {
        const struct lone_fault *other = &lone_faults[i];
        const struct lone_fault *const both[] = {fault, other};
        const bool is_alone = strcmp(fault->member, other->member) == 0;
        ZD_AUTO(zd_meta) meta = parse_with(both, is_alone ? 1 : 2);
        assert_told(fault, meta, is_alone ? NULL : other);
    }
}
END_TEST

START_TEST(grid_codec_name_and_fill_value_are_faulted_together)
{
    const struct opinion expected[] = {
        {INVALID, "out_of_range", "/chunk_grid/configuration/chunk_shape/1"},
        {INVALID, "out_of_range", "/codecs/1/configuration/level"},
        {INVALID, "bad_name", "/chunk_key_encoding/name"},
        {INVALID, "bad_fill_value", "/fill_value"},
    };
    const struct zd_reading write = reading_for(ZD_JUDGE_WRITE);
    ZD_AUTO(zd_meta)
    meta = parse("{" HEAD SHAPE TYPE
                 ",'chunk_grid':{'name':'regular','configuration':{'chunk_shape':[2,0]}},"
                 "'chunk_key_encoding':{'name':'Default'},'fill_value':'none','codecs':[" BYTES
                 ",{'name':'gzip','configuration':{'level':99}}]}",
        &write);
    for (size_t i = 0; i < ZD_COUNT_OF(expected); i++) {
        ck_assert_msg(has_finding(meta, &expected[i]), "%s is not told", expected[i].pointer);
    }
    ck_assert_uint_eq(meta->faults.n_items, ZD_COUNT_OF(expected));
}
END_TEST

START_TEST(a_wrong_flag_of_what_is_known_is_a_warning_on_reading)
{
    static const struct row flags[] = {
        {"known",
            "{" ARRAY ",'extensions':[{'name':'example.offset','must_understand':false,"
            "'configuration':{'offset':[1,1]}}]}",
            {WARNED, "must_understand_false", "/extensions/0/must_understand"},
            {INVALID, "must_understand_false", "/extensions/0/must_understand"}},
        {"unknown", TYPED("{'name':'float99','must_understand':false}", "0", "[" BYTES "]"),
            {UNSUPPORTED, "unsupported_data_type", "/data_type"},
            {INVALID, "must_understand_false", "/data_type/must_understand"}},
    };
    const struct zd_reading read = reading_for(ZD_JUDGE_READ);
    const struct zd_reading write = reading_for(ZD_JUDGE_WRITE);
    for (size_t i = 0; i < ZD_COUNT_OF(flags); i++) {
        assert_opinion(flags[i].document, &read, &flags[i].read, flags[i].row);
        assert_opinion(flags[i].document, &write, &flags[i].write, flags[i].row);
    }
    ZD_AUTO(zd_meta) meta = parse(flags[0].document, &read);
    ck_assert(meta->view.has_origin); /* it is applied */
}
END_TEST

START_TEST(unknown_data_type_makes_no_other_fault)
{
    ZD_AUTO(zd_meta) meta = parse(TYPED("'datetime77'", "'NaT'", "[" BYTES "]"), &reading_zep10);
    ck_assert_uint_eq(meta->faults.n_items, 1);
    ck_assert_uint_eq(meta->faults.n_unsupported, 1);
    ck_assert_str_eq(meta->faults.item[0].name, "datetime77");
}
END_TEST

#define NORMAL_KEYS ",'chunk_key_encoding':{'name':'default','configuration':{'separator':'/'}}"

/* The normal form of a document. */
static const struct normal_fact {
    const char *document;
    const char *normal;
} normal_facts[] = {
    {"{" GROUP "}", "{'zarr_format':3,'node_type':'group'}"},
    {"{'attributes':{'a':'\\u0000','b':['\\uD800\\n','\\udfff'],'c':1e999}," GROUP "}",
        "{'zarr_format':3,'node_type':'group','attributes':{'a':'\\u0000','b':['\\uD800\\n',"
        "'\\udfff'],'c':1e999}}"},
    {SIDED("[[2,1],2,[2,3]],[[7,1]]"),
        "{" HEAD SHAPE TYPE ",'chunk_grid':{'name':'rectilinear','configuration':{'kind':'inline',"
        "'chunk_shapes':[[[2,5]],[7]]}}" NORMAL_KEYS FILL CODECS "}"},
    {GRIDDED("'rectangular'", "'chunk_shape':[4,[1,1,5]]"),
        "{" HEAD SHAPE TYPE ",'chunk_grid':{'name':'rectilinear','configuration':{'kind':'inline',"
        "'chunk_shapes':[4,[[1,2],5]]}}" NORMAL_KEYS FILL CODECS "}"},
    {SUFFIXED("'suffix':'.x','base_encoding':'default'"),
        "{" HEAD SHAPE TYPE GRID ",'chunk_key_encoding':{'name':'suffix','configuration':{'suffix':"
        "'.x','base_encoding':{'name':'default','configuration':{'separator':'/'}}}}" FILL CODECS
        "}"},
    {"{'foo':{'must_understand':false,'x':1},'attributes':{'b':1,'a':[NaN]}," GROUP "}",
        "{'zarr_format':3,'node_type':'group','attributes':{'b':1,'a':['NaN']},"
        "'foo':{'must_understand':false,'x':1}}"},
    {BLOCK("'g':{" GROUP "}"), "{'zarr_format':3,'node_type':'group'}"},
    {"{'dimension_names':['y',null],'storage_transformers':[],'attributes':{}," HEAD
     ",'codecs':['bytes'],'fill_value':7,'chunk_key_encoding':'v2','chunk_grid':{'name':'regular',"
     "'configuration':{'chunk_shape':[2,3]}},'data_type':{'name':'uint8'},'shape':[4,6]"
     ",'extensions':[{'name':'example.a','must_understand':false}]}",
        "{'zarr_format':3,'node_type':'array','shape':[4,6],'data_type':'uint8','chunk_grid':{"
        "'name':'regular','configuration':{'chunk_shape':[2,3]}},'chunk_key_encoding':{'name':"
        "'v2','configuration':{'separator':'.'}},'fill_value':7,'codecs':[{'name':'bytes'}],"
        "'attributes':{},'dimension_names':['y',null],"
        "'extensions':[{'name':'example.a','must_understand':false}]}"},
    {TYPED("'float32'", "NaN", "[" BYTES "]"),
        "{'zarr_format':3,'node_type':'array','shape':[4,6],'data_type':'float32','chunk_grid':{"
        "'name':'regular','configuration':{'chunk_shape':[2,3]}},'chunk_key_encoding':{'name':"
        "'default','configuration':{'separator':'/'}},'fill_value':'NaN','codecs':[" BYTES "]}"},
};

START_TEST(document_is_normalised)
{
    const struct normal_fact *fact = &normal_facts[_i];
    static char space[TEXT_BYTES_MAX];
    ZD_AUTO(zd_meta) meta = parse(fact->document, &reading_zep10);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, meta->document);
    ck_assert_int_eq(text.status, ZD_OK);
    const struct zd_span expected = quoted(fact->normal, space);
    ck_assert_msg(zd_span_equal(zd_text_span(&text), expected), "found %s\nexpected %.*s", text.at,
        (int)expected.len, space);
}
END_TEST

START_TEST(refused_document_is_kept_as_stored)
{
    ZD_AUTO(zd_meta)
    meta = parse("{" GROUP ",'foo':1,'attributes':{'a':NaN},"
                 "'consolidated_metadata':{'kind':'inline','must_understand':false"
                 ",'metadata':{}}}",
        &reading_zep10);
    ck_assert(zd_meta_is_refused(meta));
    ck_assert_int_eq(meta->type, ZD_NODE_GROUP);
    ck_assert_ptr_nonnull(zd_json_member(meta->document, "foo"));
    ck_assert_ptr_null(zd_json_member(meta->document, "consolidated_metadata"));
    ck_assert(!zd_json_nonfinite_is_in(meta->document));
}
END_TEST

START_TEST(document_that_is_not_json_has_no_type)
{
    ZD_AUTO(zd_meta) meta = parse("{nonsense", &reading_zep10);
    ck_assert(zd_meta_is_refused(meta));
    ck_assert_int_eq(meta->type, ZD_NODE_UNKNOWN);
    ck_assert_ptr_null(meta->document);
}
END_TEST

START_TEST(array_is_taken_into_the_model)
{
    ZD_AUTO(zd_meta)
    meta = parse("{" ARRAY ",'attributes':{'units':'K'},"
                 "'dimension_names':['lat',null]}",
        &reading_zep10);
    ck_assert(zd_meta_is_array(meta));
    ck_assert_str_eq(meta->dialect->name, "v3");
    ck_assert_uint_eq(meta->grid.rank, 2);
    ck_assert_uint_eq(meta->grid.shape[1], 6);
    ck_assert_uint_eq(meta->grid.chunk[1], 3);
    ck_assert_str_eq(meta->dtype.name, "int16");
    ck_assert_uint_eq(zd_load_u16(meta->fill), 0);
    ck_assert_ptr_nonnull(meta->chain);
    ck_assert_str_eq(meta->dimension_name[0], "lat");
    ck_assert_ptr_null(meta->dimension_name[1]);
    ck_assert_str_eq(zd_json_string(zd_json_member(meta->attributes, "units")), "K");
}
END_TEST

/* Consolidated entries, as they are walked. */
START_TEST(stored_listing_has_no_faulty_paths)
{
    ZD_AUTO(zd_meta)
    meta = parse(BLOCK("'/g':{" GROUP "},'g/x':{" ARRAY "},'a//b':{" ARRAY "},'':{" GROUP
                       "},'__z':{" GROUP "},'b':{" GROUP "},'/b':{" GROUP "}"),
        &reading_zep10);
    ck_assert(!zd_meta_is_refused(meta));
    const char *const expected[] = {"b", "g", "g/x"};
    ck_assert_uint_eq(zd_stored_listing_count(meta->listing), ZD_COUNT_OF(expected));
    for (size_t i = 0; i < ZD_COUNT_OF(expected); i++) {
        const struct zd_stored_entry entry = zd_stored_listing_entry(meta->listing, i);
        ck_assert(zd_span_is(entry.path, expected[i]));
        ZD_AUTO(zd_meta) node = NULL;
        struct zd_error err = {0};
        ck_assert_int_eq(meta->dialect->parse_entry(&entry, &reading_zep10, &node, &err), ZD_OK);
        ck_assert(!zd_meta_is_refused(node));
    }
}
END_TEST

START_TEST(map_by_itself_is_a_listing_whatever_its_nodes_are_called)
{
    ZD_AUTO(zd_meta)
    meta = parse("{" GROUP ",'consolidated_metadata':{'metadata':{" GROUP "},'metadata/a':{" ARRAY
                 "}}}",
        &reading_zep10);
    ck_assert(meta->has_listing);
    ck_assert_uint_eq(zd_stored_listing_count(meta->listing), 2);
    ck_assert(zd_span_is(zd_stored_listing_entry(meta->listing, 1).path, "metadata/a"));
}
END_TEST

START_TEST(group_without_a_block_has_no_listing)
{
    ZD_AUTO(zd_meta) meta = parse("{" GROUP "}", &reading_zep10);
    ck_assert(!meta->has_listing);
    ck_assert_uint_eq(zd_stored_listing_count(meta->listing), 0);
}
END_TEST

/* A text of that many entries (or attributes), owned. */
static struct zd_buf *large_group(const char *open, const char *entry, size_t n, const char *close)
{
    ZD_SCOPED_TEXT(text, 1U << 26);
    zd_text_add(&text, open);
    for (size_t i = 0; i < n; i++) {
        zd_text_addf(&text, "%s\"n%zu\":%s", i == 0 ? "" : ",", i, entry);
    }
    zd_text_add(&text, close);
    struct zd_buf *buf = NULL;
    ck_assert_int_eq(zd_text_buf(&text, &buf), ZD_OK);
    return buf;
}

#define LARGE_N 20000

START_TEST(consolidated_block_may_exceed_the_limits_of_one_document)
{
    ZD_AUTO(zd_buf)
    text = large_group("{\"zarr_format\":3,\"node_type\":\"group\","
                       "\"consolidated_metadata\":{\"kind\":\"inline\","
                       "\"must_understand\":false,\"metadata\":{",
        "{\"zarr_format\":3,\"node_type\":\"group\"}", LARGE_N, "}}}");
    ck_assert_uint_gt(text->len, TEXT_BYTES_MAX);
    ZD_AUTO(zd_meta) meta = parse_span(zd_buf_span(text), &reading_zep10);
    ck_assert_int_eq(verdict_of(meta), FINE);
    ck_assert_uint_eq(zd_stored_listing_count(meta->listing), LARGE_N);
}
END_TEST

START_TEST(large_document_without_a_block_is_refused)
{
    ZD_AUTO(zd_buf)
    text = large_group(
        "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{", "1", LARGE_N, "}}");
    ZD_AUTO(zd_meta) meta = parse_span(zd_buf_span(text), &reading_zep10);
    ck_assert_int_eq(verdict_of(meta), INVALID);
    ck_assert_str_eq(meta->faults.item[0].code, "too_large");
}
END_TEST

START_TEST(block_does_not_excuse_what_stands_beside_it)
{
    ZD_AUTO(zd_buf)
    many = large_group("{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{", "1", LARGE_N,
        "},\"consolidated_metadata\":{\"kind\":\"inline\",\"must_understand\":false,"
        "\"metadata\":{}}}");
    ZD_AUTO(zd_meta) large = parse_span(zd_buf_span(many), &reading_zep10);
    ck_assert_int_eq(verdict_of(large), INVALID);
    ck_assert_str_eq(large->faults.item[0].code, "too_large");
    /* Few bytes, too many values. */
    struct zd_reading reading = reading_zep10;
    reading.limits.nodes_max = 10;
    ZD_AUTO(zd_meta)
    meta = parse("{" GROUP ",'attributes':{'a':[1,2,3,4,5,6,7]},'consolidated_metadata':{'kind':"
                 "'inline','must_understand':false,'metadata':{}}}",
        &reading);
    ck_assert_int_eq(verdict_of(meta), INVALID);
    ck_assert_str_eq(meta->faults.item[0].code, "too_large");
}
END_TEST

/* A block that nobody here can read: the group is there without it. What is to be written is
 * refused with it. */
static void assert_block_is_left_out(struct zd_span text, struct zd_reading reading)
{
    const struct opinion opinion = {WARNED, "too_large", "/consolidated_metadata"};
    ZD_AUTO(zd_meta) meta = parse_span(text, &reading);
    ck_assert_int_eq(verdict_of(meta), opinion.verdict);
    ck_assert(has_finding(meta, &opinion));
    ck_assert_int_eq(meta->type, ZD_NODE_GROUP);
    ck_assert_ptr_null(meta->listing);
    ck_assert(!meta->has_listing);
    ck_assert(meta->has_unread_listing);
    reading.judgement = ZD_JUDGE_WRITE;
    ZD_AUTO(zd_meta) written = parse_span(text, &reading);
    ck_assert_int_eq(verdict_of(written), INVALID);
    ck_assert_str_eq(written->faults.item[0].code, "too_large");
}

START_TEST(block_past_the_large_limit_is_left_out)
{
    struct zd_reading reading = reading_zep10;
    ZD_AUTO(zd_buf)
    text = large_group("{\"zarr_format\":3,\"node_type\":\"group\","
                       "\"consolidated_metadata\":{\"kind\":\"inline\","
                       "\"must_understand\":false,\"metadata\":{",
        "{\"zarr_format\":3,\"node_type\":\"group\"}", LARGE_N, "}}}");
    reading.consolidated_bytes_max = text->len - 1;
    assert_block_is_left_out(zd_buf_span(text), reading);
}
END_TEST

/* A group's text: an attribute of so many levels, itself or as an entry of its block. */
static void add_deep_group(struct zd_text *text, size_t depth)
{
    zd_text_add(text, "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{\"a\":");
    for (size_t i = 2; i < depth; i++) {
        zd_text_add_char(text, '[');
    }
    for (size_t i = 2; i < depth; i++) {
        zd_text_add_char(text, ']');
    }
    zd_text_add(text, "}}");
}

static const struct depth_fact {
    size_t depth; /* of the document */
    bool is_read; /* by itself, and as an entry */
} depth_facts[] = {{3, true}, {63, true}, {64, true}, {65, false}, {1000, false}};

START_TEST(document_that_is_read_is_read_in_a_listing)
{
    const struct depth_fact *fact = &depth_facts[_i];
    const struct zd_dialect *v3 = zd_dialect_find("v3");
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(own, TEXT_BYTES_MAX);
    ZD_SCOPED_TEXT(listed, TEXT_BYTES_MAX);
    add_deep_group(&own, fact->depth);
    zd_text_add(&listed,
        "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","
        "\"must_understand\":false,\"metadata\":{\"a\":");
    add_deep_group(&listed, fact->depth);
    zd_text_add(&listed, "}}}");
    const struct zd_documents documents[] = {
        {.text = {zd_text_span(&own)}, .present = {true}},
        {.text = {zd_text_span(&listed)}, .present = {true}},
    };
    for (size_t i = 0; i < 2; i++) {
        const enum zd_status status = v3->check(&documents[i], &reading_zep10, &err);
        ck_assert_int_eq(status, fact->is_read ? ZD_OK : ZD_TOO_LARGE);
    }
    ZD_AUTO(zd_meta) meta = parse_span(zd_text_span(&own), &reading_zep10);
    ck_assert_int_eq(verdict_of(meta), fact->is_read ? FINE : INVALID);
    if (!fact->is_read) {
        assert_block_is_left_out(zd_text_span(&listed), reading_zep10);
        return;
    }
    ZD_AUTO(zd_meta) group = parse_span(zd_text_span(&listed), &reading_zep10);
    ck_assert_int_eq(verdict_of(group), FINE);
    ck_assert_uint_eq(zd_stored_listing_count(group->listing), 1);
}
END_TEST

START_TEST(deep_document_is_refused)
{
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    zd_text_add(&text, "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{\"a\":");
    for (size_t i = 0; i < 1000; i++) {
        zd_text_add_char(&text, '[');
    }
    for (size_t i = 0; i < 1000; i++) {
        zd_text_add_char(&text, ']');
    }
    zd_text_add(&text, "}}");
    ZD_AUTO(zd_meta) meta = parse_span(zd_text_span(&text), &reading_zep10);
    ck_assert_int_eq(verdict_of(meta), INVALID);
}
END_TEST

START_TEST(keys_of_documents_and_children)
{
    const struct zd_dialect *v3 = zd_dialect_find("v3");
    ZD_SCOPED_TEXT(text, 64);
    ck_assert_int_eq(v3->document_key("", 0, &text), ZD_OK);
    ck_assert_str_eq(text.at, "zarr.json");
    zd_text_clear(&text);
    ck_assert_int_eq(v3->document_key("a/b", 0, &text), ZD_OK);
    ck_assert_str_eq(text.at, "a/b/zarr.json");
    zd_text_clear(&text);
    ck_assert_int_eq(v3->children_prefix("", &text), ZD_OK);
    ck_assert_str_eq(text.at, "");
    ck_assert_int_eq(v3->children_prefix("a/b", &text), ZD_OK);
    ck_assert_str_eq(text.at, "a/b/");
    zd_text_clear(&text);
    const uint64_t index[2] = {1, 1};
    ZD_AUTO(zd_meta) meta = parse("{" ARRAY "}", &reading_zep10);
    ck_assert_int_eq(v3->chunk_key(meta, "", index, &text), ZD_OK);
    ck_assert_str_eq(text.at, "c/1/1");
    zd_text_clear(&text);
    ck_assert_int_eq(v3->chunk_key(meta, "a/b", index, &text), ZD_OK);
    ck_assert_str_eq(text.at, "a/b/c/1/1");
    uint64_t back[2] = {0};
    ck_assert_int_eq(v3->chunk_index(meta, "c/1/1", back), ZD_OK);
    ck_assert_uint_eq(back[1], 1);
    ck_assert_int_eq(v3->chunk_index(meta, "c/1/2", back), ZD_OUT_OF_BOUNDS);
}
END_TEST

static const struct path_fact {
    const char *key;
    const char *path; /* NULL: no document */
} path_facts[] = {
    {"zarr.json", ""},
    {"a/zarr.json", "a"},
    {"a/b.c/zarr.json", "a/b.c"},
    {"zarr.json/zarr.json", "zarr.json"}, /* no node can have that name: judged elsewhere */
    {"azarr.json", NULL},
    {"zarr.json/a", NULL},
    {"a/zarr.jso", NULL},
    {"a/c/0/0", NULL},
    {"", NULL},
};

START_TEST(key_of_a_document_tells_its_node)
{
    const struct path_fact *fact = &path_facts[_i];
    ZD_SCOPED_TEXT(path, 64);
    zd_text_add(&path, "left over");
    ck_assert_int_eq(
        zd_dialect_node_path(fact->key, &path), fact->path == NULL ? ZD_NOT_FOUND : ZD_OK);
    if (fact->path != NULL) {
        ck_assert_str_eq(path.at, fact->path);
    }
}
END_TEST

START_TEST(key_past_its_ceiling_is_too_large)
{
    const struct zd_dialect *v3 = zd_dialect_find("v3");
    ZD_SCOPED_TEXT(text, 12);
    ck_assert_int_eq(v3->document_key("a/b", 0, &text), ZD_TOO_LARGE);
}
END_TEST

static const struct child_fact {
    const char *entry;
    bool is_prefix;
    bool is_child;
} child_facts[] = {
    {"a", true, true},
    {"c", true, true}, /* a legal name below a group */
    {"0", true, true},
    {"a.b", true, true},
    {"a b", true, true},
    {"\xc3\xa9", true, true},
    {"_x", true, true},
    {".zarr", true, true},
    {"a", false, false}, /* a key, no prefix */
    {"zarr.json", false, false},
    {"zarr.json", true, false},
    {"__x", true, false},
    {".", true, false},
    {"...", true, false},
    {"", true, false},
    {"\xff", true, false},
};

START_TEST(child_is_a_prefix_with_a_name)
{
    const struct child_fact *fact = &child_facts[_i];
    ZD_SCOPED_TEXT(name, 64);
    const enum zd_status status =
        zd_dialect_find("v3")->child_name(zd_span_of(fact->entry), fact->is_prefix, &name);
    ck_assert_int_eq(status, fact->is_child ? ZD_OK : ZD_NOT_FOUND);
    ck_assert_str_eq(name.at, fact->is_child ? fact->entry : "");
}
END_TEST

static enum zd_status parse_by(const char *text, const struct zd_reading *reading)
{
    static char space[TEXT_BYTES_MAX];
    const struct zd_documents documents = {.text = {quoted(text, space)}, .present = {true}};
    ZD_AUTO(zd_meta) meta = NULL;
    struct zd_error err = {0};
    return zd_dialect_find("v3")->parse(&documents, reading, &meta, &err);
}

static enum zd_status parse_with_little_memory(void *context)
{
    return parse_by(context, &reading_zep10);
}

/* The block is past the limits of a document, what stands beside it is not. */
static enum zd_status parse_large_with_little_memory(void *context)
{
    struct zd_reading reading = reading_zep10;
    reading.limits.nodes_max = 10;
    reading.limits.bytes_max = 200;
    return parse_by(context, &reading);
}

/* Nobody could read the block. */
static enum zd_status parse_beside_with_little_memory(void *context)
{
    struct zd_reading reading = reading_zep10;
    reading.limits.nodes_max = 10;
    reading.consolidated_bytes_max = 10;
    reading.limits.bytes_max = 200;
    return parse_by(context, &reading);
}

START_TEST(failing_memory_fails_cleanly)
{
    char array[] = "{" ARRAY ",'attributes':{'a':[1,NaN]},'dimension_names':['x',null],'foo':{"
                   "'must_understand':false},'extensions':[{'name':'example.a','must_understand':"
                   "false}]}";
    char group[] = BLOCK("'g':{" GROUP "},'/g/x':{" ARRAY "},'k/x':{" ARRAY "}");
    char suffixed[] = SUFFIXED("'suffix':'.tiff','base_encoding':'v2'");
    char refused[] = "{" GROUP ",'foo':1}";
    char no_json[] = "{";
    zd_unit_with_failing_memory(parse_with_little_memory, array);
    zd_unit_with_failing_memory(parse_with_little_memory, group);
    char sided[] = SIDED("[1,2,3,1,2],[1,5]");
    zd_unit_with_failing_memory(parse_with_little_memory, suffixed);
    zd_unit_with_failing_memory(parse_with_little_memory, sided);
    zd_unit_with_failing_memory(parse_with_little_memory, refused);
    zd_unit_with_failing_memory(parse_with_little_memory, no_json);
    zd_unit_with_failing_memory(parse_large_with_little_memory, group);
    zd_unit_with_failing_memory(parse_beside_with_little_memory, group);
}
END_TEST

/* The example files, read with ZEP 10; written, "valid" documents of features that
 * come later are refused as unsupported, never as invalid. */
static const struct example {
    const char *file;
    enum verdict read;
    enum verdict write;
    enum verdict strict; /* reading without ZEP 10 */
} examples[] = {
    {"invalid/blosc-v2-integer-shuffle", INVALID, INVALID, INVALID},
    {"invalid/bytes-endian-missing-for-int16", INVALID, INVALID, INVALID},
    {"invalid/chunk-grid-rank-mismatch", INVALID, INVALID, INVALID},
    {"invalid/chunk-grid-zero-chunk", INVALID, INVALID, INVALID},
    {"invalid/chunk-key-separator-illegal", INVALID, INVALID, INVALID},
    {"invalid/codecs-empty", WARNED, INVALID, WARNED}, /* tolerated on reading */
    {"invalid/codecs-wrong-order-gzip-before-bytes", INVALID, INVALID, INVALID},
    {"invalid/consolidated-must-understand-missing", WARNED, INVALID, WARNED}, /* tolerated */
    {"invalid/data-type-must-understand-false", WARNED, INVALID, WARNED},      /* tolerated */
    {"invalid/fill-value-out-of-range-uint8", INVALID, INVALID, INVALID},
    {"invalid/fill-value-plus-infinity", INVALID, INVALID, INVALID},
    {"invalid/missing-fill-value", INVALID, INVALID, INVALID},
    {"invalid/sharding-compressed-index", INVALID, INVALID, INVALID},
    {"invalid/sharding-inner-shape-does-not-divide", INVALID, INVALID, INVALID},
    {"invalid/transpose-order-not-a-permutation", INVALID, INVALID, INVALID},
    /* A reader cannot tell a mistake from an extension that it lacks. */
    {"invalid/unknown-field-must-understand-default-true", UNSUPPORTED, INVALID, UNSUPPORTED},
    {"invalid/unknown-field-not-an-object", UNSUPPORTED, INVALID, UNSUPPORTED},
    {"invalid/zarr-format-is-float", INVALID, INVALID, INVALID},
    {"invalid/zarr-format-is-string", INVALID, INVALID, INVALID},
    {"invalid/zep10-extension-draft-uri-member", INVALID, INVALID, UNSUPPORTED},
    {"invalid/zep10-extension-without-name", INVALID, INVALID, UNSUPPORTED},
    {"invalid/zep10-extensions-empty", INVALID, INVALID, UNSUPPORTED},
    {"valid/v3-array-fill-nan-payload-hex", FINE, FINE, FINE},
    {"valid/v3-array-minimal", FINE, FINE, FINE},
    {"valid/v3-array-rectilinear-rle", FINE, FINE, FINE},
    {"valid/v3-array-scalar-0d", FINE, FINE, FINE},
    {"valid/v3-array-scale-offset-cast-value", FINE, FINE, FINE},
    {"valid/v3-array-sharded-index-start", FINE, FINE, FINE},
    {"valid/v3-array-shorthand-names", FINE, FINE, FINE},
    {"valid/v3-array-string-vlen-utf8", FINE, FINE, FINE},
    {"valid/v3-array-struct-nested", FINE, FINE, FINE},
    {"valid/v3-array-transpose-blosc-zstd-checks", FINE, FINE, FINE},
    {"valid/v3-array-unknown-field-ignorable", WARNED, WARNED, WARNED},
    {"valid/v3-group-consolidated-inline", FINE, FINE, FINE},
    {"valid/v3-group-minimal", FINE, FINE, FINE},
    {"valid/zep10-array-extensions-required-and-shorthand", FINE, FINE, UNSUPPORTED},
    {"valid/zep10-group-extensions-ignorable", WARNED, WARNED, UNSUPPORTED},
};

static void assert_example(
    const struct example *example, const struct zd_reading *reading, enum verdict expected)
{
    char path[256];
    snprintf(path, sizeof path, "tests/corpus/documents/%s.json", example->file);
    ZD_AUTO(zd_buf) text = zd_unit_file(path);
    ZD_AUTO(zd_meta) meta = parse_span(zd_buf_span(text), reading);
    if (verdict_of(meta) != expected) {
        print_findings(example->file, meta);
    }
    ck_assert_msg(verdict_of(meta) == expected, "%s: verdict %d, expected %d", example->file,
        verdict_of(meta), expected);
}

START_TEST(example_gets_its_verdict)
{
    const struct example *example = &examples[_i];
    struct zd_reading strict = reading_for(ZD_JUDGE_READ);
    strict.zep10 = false;
    const struct zd_reading read = reading_for(ZD_JUDGE_READ);
    const struct zd_reading write = reading_for(ZD_JUDGE_WRITE);
    assert_example(example, &read, example->read);
    assert_example(example, &write, example->write);
    assert_example(example, &strict, example->strict);
}
END_TEST

/* Every document of a real writer, wherever the stores are, is parsed; folders are kept in a list.
 */
static void parse_stored(const char *path)
{
    ZD_AUTO(zd_buf) text = zd_unit_file(path);
    ZD_AUTO(zd_meta) meta = parse_span(zd_buf_span(text), &reading_zep10);
    if (verdict_of(meta) == INVALID) {
        print_findings(path, meta);
    }
    ck_assert_ptr_nonnull(meta->dialect);
}

#define PENDING_MAX 4096

START_TEST(every_stored_document_is_parsed)
{
    static char pending[PENDING_MAX][512];
    const char *const roots[] = {ZD_BINARY_DIR "/corpus/stores/v3",
        ZD_SOURCE_DIR "/../shared/data/stores/v3", ZD_SOURCE_DIR "/../../shared/data/stores/v3"};
    size_t n_pending = 1;
    size_t n_parsed = 0;
    snprintf(pending[0], sizeof pending[0], "%s", roots[_i]);
    while (n_pending > 0) {
        char folder[512];
        memcpy(folder, pending[--n_pending], sizeof folder);
        DIR *dir = opendir(folder);
        for (struct dirent *entry = dir == NULL ? NULL : readdir(dir); entry != NULL;
            entry = readdir(dir)) {
            char path[1024];
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            if (strcmp(entry->d_name, "zarr.json") == 0) {
                parse_stored(path);
                n_parsed++;
            } else if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
                       strcmp(entry->d_name, "c") != 0) {
                ck_assert_uint_lt(n_pending, PENDING_MAX);
                ck_assert_uint_lt(strlen(path), sizeof pending[0]);
                memcpy(pending[n_pending++], path, strlen(path) + 1);
            }
        }
        if (dir != NULL) {
            closedir(dir);
        }
    }
    printf("%s: %zu documents\n", roots[_i], n_parsed);
    ck_assert(_i > 0 || n_parsed > 10);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, document_is_judged_by_the_checklist, 0, ZD_COUNT_OF(rows));
    tcase_add_loop_test(tests, codecs_are_judged_with_the_document, 0, ZD_COUNT_OF(codec_rows));
    tcase_add_loop_test(tests, strict_mode_knows_no_extensions, 0, ZD_COUNT_OF(strict_facts));
    tcase_add_loop_test(tests, no_fault_hides_another, 0, ZD_COUNT_OF(lone_faults));
    tcase_add_test(tests, grid_codec_name_and_fill_value_are_faulted_together);
    tcase_add_test(tests, a_wrong_flag_of_what_is_known_is_a_warning_on_reading);
    tcase_add_test(tests, document_tells_all_faults_at_once);
    tcase_add_test(tests, unknown_data_type_makes_no_other_fault);
    tcase_add_loop_test(tests, document_is_normalised, 0, ZD_COUNT_OF(normal_facts));
    tcase_add_test(tests, refused_document_is_kept_as_stored);
    tcase_add_test(tests, document_that_is_not_json_has_no_type);
    tcase_add_test(tests, array_is_taken_into_the_model);
    tcase_add_test(tests, stored_listing_has_no_faulty_paths);
    tcase_add_test(tests, map_by_itself_is_a_listing_whatever_its_nodes_are_called);
    tcase_add_test(tests, group_without_a_block_has_no_listing);
    tcase_add_test(tests, consolidated_block_may_exceed_the_limits_of_one_document);
    tcase_add_test(tests, large_document_without_a_block_is_refused);
    tcase_add_test(tests, block_does_not_excuse_what_stands_beside_it);
    tcase_add_test(tests, block_past_the_large_limit_is_left_out);
    tcase_add_loop_test(tests, document_that_is_read_is_read_in_a_listing, 0,
        sizeof depth_facts / sizeof *depth_facts);
    tcase_add_test(tests, deep_document_is_refused);
    tcase_add_test(tests, keys_of_documents_and_children);
    tcase_add_loop_test(tests, key_of_a_document_tells_its_node, 0, ZD_COUNT_OF(path_facts));
    tcase_add_test(tests, key_past_its_ceiling_is_too_large);
    tcase_add_loop_test(tests, child_is_a_prefix_with_a_name, 0, ZD_COUNT_OF(child_facts));
    tcase_add_test(tests, failing_memory_fails_cleanly);
    tcase_add_loop_test(tests, example_gets_its_verdict, 0, ZD_COUNT_OF(examples));
    tcase_add_loop_test(tests, every_stored_document_is_parsed, 0, 3);
}
