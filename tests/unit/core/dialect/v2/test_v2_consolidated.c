/* Facts about core/dialect/v2/v2_consolidated: `.zmetadata` of v2 groups, by sections 4.6 and 8 I
 * of the reference. */
#include "core/dialect/v2/v2_consolidated.h"

#include <string.h>

#include "core/base/num.h"
#include "core/dialect/v2/v2_documents.h"
#include "tests/support/unit.h"

#define TEXT_BYTES_MAX 65536

/* In documents ' stands for ", so that they can be read. */
#define GROUP "{'zarr_format':2}"
#define ARRAY                                                                                      \
    "{'zarr_format':2,'shape':[4],'chunks':[2],'dtype':'<i2','compressor':null,'fill_value':0,"    \
    "'order':'C','filters':null}"
#define LIST(map) "{'zarr_consolidated_format':1,'metadata':" map "}"

static struct zd_reading reading_of(enum zd_judgement judgement)
{
    return (struct zd_reading){
        .zep10 = true,
        .judgement = judgement,
        .limits = {.bytes_max = 512, .nodes_max = 40, .depth_max = 8},
        .consolidated_bytes_max = TEXT_BYTES_MAX,
    };
}

static struct zd_span quoted(const char *text, char space[TEXT_BYTES_MAX])
{
    const size_t len = strlen(text);
    ck_assert_uint_lt(len, TEXT_BYTES_MAX);
    for (size_t i = 0; i < len; i++) {
        space[i] = text[i];
        if (text[i] == '\'') {
            space[i] = '"';
        }
    }
    return (struct zd_span){.ptr = (const uint8_t *)space, .len = len};
}

/* A group with that text as its .zmetadata. */
static struct zd_meta *parse(const char *text, enum zd_judgement judgement)
{
    static char space[TEXT_BYTES_MAX];
    const struct zd_reading reading = reading_of(judgement);
    const struct zd_documents documents = {
        .text = {[ZD_V2_GROUP] = zd_span_of("{\"zarr_format\":2}"),
            [ZD_V2_LISTING] = quoted(text, space)},
        .present = {[ZD_V2_GROUP] = true, [ZD_V2_LISTING] = true},
    };
    struct zd_meta *meta = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_dialect_find("v2")->parse(&documents, &reading, &meta, &err), ZD_OK);
    return meta;
}

/* The listed nodes: paths, "=" for an array, "@" behind a node with attributes, a comma each. */
static void add_listed(const struct zd_meta *meta, struct zd_text *out)
{
    for (size_t i = 0; i < zd_stored_listing_count(meta->listing); i++) {
        const struct zd_stored_entry entry = zd_stored_listing_entry(meta->listing, i);
        zd_text_add_bytes(out, entry.path.ptr, entry.path.len);
        zd_text_addf(out, "%s%s,", entry.is_group ? "" : "=", entry.attributes.len > 0 ? "@" : "");
    }
}

static const struct fact {
    const char *text;
    const char *listed;  /* NULL: the listing is ignored */
    const char *warning; /* the code of the first finding; NULL: there is none */
    const char *fault;   /* of the first that refuses it to be written; NULL: it may be */
} facts[] = {
    {LIST("{'.zgroup':" GROUP ",'.zattrs':{'t':1},'a/.zarray':" ARRAY ",'a/.zattrs':{'u':2}}"),
        "@,a=@,", NULL, NULL},
    {LIST("{}"), "", NULL, NULL},
    {"{'metadata':{'g/.zgroup':" GROUP "},'zarr_consolidated_format':1}", "g,", NULL, NULL},
    {LIST("{'g/.zgroup':" GROUP ",'g/a/.zarray':" ARRAY ",'g-x/.zgroup':" GROUP "}"), "g,g/a=,g-x,",
        NULL, NULL}, /* pre-order */
    /* zarr-python 3 writes a member too many in groups */
    {LIST("{'g/.zgroup':{'zarr_format':2,'consolidated_metadata':{'metadata':{},"
          "'must_understand':false,'kind':'inline'}},'g/.zattrs':{}}"),
        "g@,", NULL, NULL},
    {"{'metadata':{'a/.zarray':" ARRAY "}}", "a=,", "missing_member", "missing_member"},
    {"{'zarr_consolidated_format':2,'metadata':{}}", NULL, "unsupported_version",
        "unsupported_version"},
    {"{'zarr_consolidated_format':'1','metadata':{}}", NULL, "unsupported_version",
        "unsupported_version"},
    {"{'zarr_consolidated_format':1}", NULL, "missing_member", "missing_member"},
    {LIST("[]"), NULL, "wrong_type", "wrong_type"},
    {LIST("null"), NULL, "wrong_type", "wrong_type"},
    {"[]", NULL, "missing_member", "missing_member"},
    {"", NULL, "not_json", "not_json"},
    {"{'metadata':{", NULL, "not_json", "not_json"},
    {LIST("{'a/.zarray':1,'a/.zarray':2}"), NULL, "not_json", "not_json"},
    {"{'metadata':{},'metadata':{},'zarr_consolidated_format':1}", NULL, "not_json", "not_json"},
    {"{'metadata':{},'x':[[[[[[[[[[[1]]]]]]]]]]]}", NULL, "too_large", "too_large"}, /* too deep */
    /* leading slashes */
    {LIST("{'/a/.zarray':" ARRAY ",'/.zgroup':" GROUP "}"), ",a=,", NULL, "bad_path"},
    {LIST("{'/a/.zarray':" ARRAY ",'a/.zarray':" ARRAY "}"), "a=,", "duplicate", "bad_path"},
    /* keys that name no document, kept and ignored */
    {LIST("{'a/.nczvar':{},'.nczgroup':{},'x':1,'a/.zarray':" ARRAY "}"), "a=,", "bad_path", NULL},
    {LIST("{'.zmetadata':{},'a.zarray':" ARRAY ",'':1}"), "", "bad_path", NULL},
    {LIST("{'a//b/.zarray':" ARRAY ",'../.zgroup':" GROUP ",'a/./.zgroup':" GROUP "}"), "",
        "bad_path", NULL},
    {LIST("{'__a/.zgroup':" GROUP "}"), "__a,", NULL, NULL}, /* v2 reserves no names */
    {LIST("{'\\u0061/.zgroup':" GROUP ",'a\\/b/.zarray':" ARRAY "}"), "a,a/b=,", NULL, NULL},
    /* documents that do not go together */
    {LIST("{'a/.zattrs':{}}"), "", "inconsistent_listing", "inconsistent_listing"},
    {LIST("{'a/.zgroup':" GROUP ",'a/.zarray':" ARRAY "}"), "a=,", "duplicate", "duplicate"},
    {LIST("{'a/b/.zarray':" ARRAY "}"), "a/b=,", "inconsistent_listing", "inconsistent_listing"},
    {LIST("{'a/.zarray':" ARRAY ",'a/b/.zarray':" ARRAY "}"), "a=,a/b=,", "inconsistent_listing",
        "inconsistent_listing"},
    /* entries are judged when they are used, and to be written */
    {LIST("{'a/.zarray':{}}"), "a=,", NULL, "missing_member"},
    {LIST("{'a/.zgroup':{'zarr_format':3}}"), "a,", NULL, "out_of_range"},
    {LIST("{'.zgroup':" GROUP ",'.zattrs':[]}"), "@,", NULL, "wrong_type"},
    {LIST("{'a/.zgroup':" GROUP ",'a/.zattrs':{'x':NaN}}"), "a@,", "bare_nonfinite", "not_json"},
};

static const char *first_code(const struct zd_faults *faults, enum zd_severity severity)
{
    for (size_t i = 0; i < faults->n_items; i++) {
        if (faults->item[i].severity == severity) {
            return faults->item[i].code;
        }
    }
    return NULL;
}

START_TEST(listing_is_read_as_far_as_it_can_be)
{
    const struct fact *fact = &facts[_i];
    ZD_AUTO(zd_meta) meta = parse(fact->text, ZD_JUDGE_READ);
    ZD_SCOPED_TEXT(listed, 1000);
    add_listed(meta, &listed);
    ck_assert_msg(!zd_meta_is_refused(meta), "%s", fact->text);
    ck_assert_msg(meta->has_listing == (fact->listed != NULL), "%s", fact->text);
    ck_assert(meta->has_unread_listing != meta->has_listing);
    ck_assert_msg(strcmp(listed.at, fact->listed == NULL ? "" : fact->listed) == 0, "%s: %s",
        fact->text, listed.at);
    ck_assert_pstr_eq(first_code(&meta->faults, ZD_FAULT_WARNING), fact->warning);
    ck_assert_uint_eq(meta->listing_bytes, strlen(fact->text));
}
END_TEST

START_TEST(listing_is_judged_to_be_written)
{
    const struct fact *fact = &facts[_i];
    ZD_AUTO(zd_meta) meta = parse(fact->text, ZD_JUDGE_WRITE);
    ck_assert_msg(zd_meta_is_refused(meta) == (fact->fault != NULL), "%s", fact->text);
    ck_assert_pstr_eq(first_code(&meta->faults, ZD_FAULT_INVALID), fact->fault);
}
END_TEST

START_TEST(a_text_past_the_limit_is_ignored)
{
    static const char begin[] = "{\"metadata\":{";
    static const char end[] = "},\"zarr_consolidated_format\":1}";
    static char text[TEXT_BYTES_MAX];
    memset(text, ' ', sizeof text - 1);
    memcpy(text, begin, sizeof begin - 1);
    memcpy(text + sizeof text - sizeof end, end, sizeof end);
    ZD_AUTO(zd_meta) meta = parse(text, ZD_JUDGE_READ);
    ck_assert(meta->has_listing); /* the limit is of a listing, not of a document */
    struct zd_reading reading = reading_of(ZD_JUDGE_READ);
    reading.consolidated_bytes_max = TEXT_BYTES_MAX - 2;
    ZD_AUTO(zd_meta) group = zd_meta_new(zd_dialect_find("v2"));
    ck_assert_int_eq(
        zd_v2_consolidated_judge(zd_span_of(text), NULL, zd_v2_consolidated_tell, &reading, group),
        ZD_OK);
    ck_assert(!group->has_listing && group->has_unread_listing);
    ck_assert_str_eq(group->faults.item[0].code, "too_large");
}
END_TEST

START_TEST(an_entry_is_a_node)
{
    const struct zd_reading reading = reading_of(ZD_JUDGE_READ);
    ZD_AUTO(zd_meta)
    meta = parse(LIST("{'a/.zattrs':{'_ARRAY_DIMENSIONS':['x'],'u':1},'a/.zarray':" ARRAY "}"),
        ZD_JUDGE_READ);
    const struct zd_stored_entry entry = zd_stored_listing_entry(meta->listing, 0);
    ZD_AUTO(zd_meta) node = NULL;
    ck_assert_int_eq(meta->dialect->parse_entry(&entry, &reading, &node, NULL), ZD_OK);
    ck_assert(zd_meta_is_array(node));
    ck_assert_str_eq(node->dimension_name[0], "x");
    ck_assert_ptr_nonnull(zd_json_member(node->attributes, "u"));
}
END_TEST

static enum zd_status parse_with_little_memory(void *context)
{
    static char space[TEXT_BYTES_MAX];
    const struct zd_reading reading = reading_of(ZD_JUDGE_WRITE);
    const struct zd_documents documents = {
        .text = {[ZD_V2_GROUP] = zd_span_of("{\"zarr_format\":2}"),
            [ZD_V2_LISTING] = quoted(context, space)},
        .present = {[ZD_V2_GROUP] = true, [ZD_V2_LISTING] = true},
    };
    ZD_AUTO(zd_meta) meta = NULL;
    struct zd_error err = {0};
    return zd_dialect_find("v2")->parse(&documents, &reading, &meta, &err);
}

START_TEST(failing_memory_fails_cleanly)
{
    zd_unit_with_failing_memory(parse_with_little_memory, (void *)(uintptr_t)facts[_i].text);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    const int n = (int)ZD_COUNT_OF(facts);
    tcase_add_loop_test(tests, listing_is_read_as_far_as_it_can_be, 0, n);
    tcase_add_loop_test(tests, listing_is_judged_to_be_written, 0, n);
    tcase_add_test(tests, a_text_past_the_limit_is_ignored);
    tcase_add_test(tests, an_entry_is_a_node);
    tcase_add_loop_test(tests, failing_memory_fails_cleanly, 0, n);
}
