/* Facts about core/extension/ome_levels: what attributes say, and how a group is read with them. */
#include "core/extension/ome_levels.h"

#include "core/base/num.h"
#include "core/dialect/v3/v3_document.h"
#include "tests/support/unit.h"

#define LEVELS_TEXT_BYTES 256
#define DOCUMENT_BYTES    (1 << 20)

static const struct fact {
    const char *attributes; /* JSON with ' for " */
    const char *levels;     /* between spaces; NULL: none */
    const char *code;       /* of the warning; NULL: no finding */
    const char *pointer;
} facts[] = {
    {"{}", NULL, NULL, NULL},
    {"{'multiscales':[{'datasets':[{'path':'0'},{'path':'1'}]}]}", "0 1", NULL, NULL},
    {"{'ome':{'multiscales':[{'datasets':[{'path':'s0'},{'path':'a/s1'}]}]}}", "s0 a/s1", NULL,
        NULL},
    /* 0.5 wins, and the first image */
    {"{'ome':{'multiscales':[{'datasets':[{'path':'new'}]},{'datasets':[{'path':'x'}]}]},"
     "'multiscales':[{'datasets':[{'path':'old'}]}]}",
        "new", NULL, NULL},
    {"{'ome':{'version':'0.5'},'multiscales':[{'datasets':[{'path':'0'}]}]}", "0", NULL, NULL},
    /* other things of that name */
    {"{'multiscales':{'tile_matrix_set':'x'}}", NULL, NULL, NULL},
    {"{'multiscales':'no'}", NULL, NULL, NULL},
    {"{'multiscales':[]}", NULL, NULL, NULL},
    {"{'multiscales':[5]}", NULL, NULL, NULL},
    {"{'multiscales':[{}]}", NULL, NULL, NULL},
    {"{'multiscales':[{'datasets':{}}]}", NULL, NULL, NULL},
    {"{'multiscales':[{'datasets':[]}]}", NULL, NULL, NULL},
    {"{'ome':[],'multiscales':null}", NULL, NULL, NULL},
    /* lists that cannot be used */
    {"{'multiscales':[{'datasets':['0']}]}", NULL, "wrong_type",
        "/attributes/multiscales/0/datasets/0"},
    {"{'multiscales':[{'datasets':[{'path':'0'},{}]}]}", NULL, "wrong_type",
        "/attributes/multiscales/0/datasets/1"},
    {"{'multiscales':[{'datasets':[{'path':0}]}]}", NULL, "wrong_type",
        "/attributes/multiscales/0/datasets/0"},
    {"{'ome':{'multiscales':[{'datasets':[{'path':'0'},{'path':'../0'}]}]}}", NULL, "bad_path",
        "/attributes/ome/multiscales/0/datasets/1"},
    {"{'multiscales':[{'datasets':[{'path':''}]}]}", NULL, "bad_path",
        "/attributes/multiscales/0/datasets/0"},
    {"{'multiscales':[{'datasets':[{'path':'/etc'}]}]}", NULL, "bad_path",
        "/attributes/multiscales/0/datasets/0"},
};

static struct zd_json *parsed(const char *text)
{
    const struct zd_json_limits limits = {
        .bytes_max = DOCUMENT_BYTES, .nodes_max = DOCUMENT_BYTES, .depth_max = 16};
    ZD_SCOPED_TEXT(json, DOCUMENT_BYTES);
    struct zd_json *tree = NULL;
    for (const char *c = text; *c != '\0'; c++) {
        zd_text_add_char(&json, *c == '\'' ? '"' : *c);
    }
    ck_assert_int_eq(zd_json_parse(zd_text_span(&json), &limits, &tree, NULL), ZD_OK);
    return tree;
}

static void check_levels(const char *const *path, uint32_t n, const char *wanted)
{
    ZD_SCOPED_TEXT(found, LEVELS_TEXT_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        zd_text_addf(&found, "%s%s", i == 0 ? "" : " ", path[i]);
    }
    ck_assert_str_eq(n == 0 ? "" : found.at, wanted == NULL ? "" : wanted);
}

START_TEST(attributes_list_levels)
{
    const struct fact *fact = &facts[_i];
    ZD_AUTO(zd_json) attributes = parsed(fact->attributes);
    struct zd_relative *levels = NULL;
    struct zd_faults faults = {0};
    ck_assert_int_eq(zd_ome_levels_find(attributes, &levels, &faults), ZD_OK);
    check_levels(
        levels == NULL ? NULL : levels->path, levels == NULL ? 0 : levels->n, fact->levels);
    ck_assert_uint_eq(faults.n_items, fact->code == NULL ? 0 : 1);
    if (fact->code != NULL) {
        ck_assert_str_eq(faults.item[0].code, fact->code);
        ck_assert_str_eq(faults.item[0].pointer, fact->pointer);
        ck_assert_int_eq(faults.item[0].severity, ZD_FAULT_WARNING);
    }
    zd_faults_done(&faults);
    zd_relative_free(levels);
}
END_TEST

/* 64 are used, 65 are not. */
START_TEST(many_levels_are_not_used)
{
    const uint32_t n = ZD_OME_LEVELS_MAX + (uint32_t)_i;
    struct zd_relative *levels = NULL;
    struct zd_faults faults = {0};
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES);
    zd_text_add(&text, "{'multiscales':[{'datasets':[");
    for (uint32_t i = 0; i < n; i++) {
        zd_text_addf(&text, "%s{'path':'%u'}", i == 0 ? "" : ",", i);
    }
    zd_text_add(&text, "]}]}");
    ZD_AUTO(zd_json) attributes = parsed(text.at);
    ck_assert_int_eq(zd_ome_levels_find(attributes, &levels, &faults), ZD_OK);
    ck_assert_int_eq(levels == NULL, _i == 1);
    ck_assert_uint_eq(faults.n_items, (size_t)_i);
    if (_i == 1) {
        ck_assert_str_eq(faults.item[0].code, "too_large");
        ck_assert_str_eq(faults.item[0].found, "65");
    }
    zd_faults_done(&faults);
    zd_relative_free(levels);
}
END_TEST

#define OME "'attributes':{'multiscales':[{'datasets':[{'path':'ome'}]}]}"

static const struct {
    const char *document;
    const char *levels;
    bool needs_levels;
} groups[] = {
    {"{'zarr_format':3,'node_type':'group'," OME "}", "ome", false},
    {"{'zarr_format':3,'node_type':'group'," OME ",'extensions':[{'name':"
     "'example.multiscale-arrays','configuration':{'multiscale':{'datasets':['own']}}}]}",
        "own", true},
    {"{'zarr_format':3,'node_type':'array','shape':[4],'data_type':'int8','fill_value':0,"
     "'chunk_grid':{'name':'regular','configuration':{'chunk_shape':[2]}},'codecs':['bytes'],"
     "'chunk_key_encoding':'default'," OME "}",
        NULL, false},
};

START_TEST(group_has_levels_and_an_extension_wins)
{
    ZD_AUTO(zd_json) document = parsed(groups[_i].document);
    ZD_AUTO(zd_meta) meta = NULL;
    struct zd_error err = {0};
    const struct zd_reading reading = {.judgement = ZD_JUDGE_READ, .zep10 = true};
    ck_assert_int_eq(
        zd_v3_document_parse(zd_dialect_find("v3"), document, &reading, &meta, &err), ZD_OK);
    ck_assert(!zd_meta_is_refused(meta));
    check_levels(meta->view.level, meta->view.n_levels, groups[_i].levels);
    ck_assert_int_eq(meta->view.needs_levels, groups[_i].needs_levels);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, attributes_list_levels, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, many_levels_are_not_used, 0, 2);
    tcase_add_loop_test(tests, group_has_levels_and_an_extension_wins, 0, ZD_COUNT_OF(groups));
}
