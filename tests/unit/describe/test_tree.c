/* Facts about server/tree. */
#include "server/describe/tree.h"

#include <string.h>

#include "server/describe/tree_cursor.h"
#include "tests/support/unit.h"

#define GROUP "{\"zarr_format\":3,\"node_type\":\"group\"}"

static struct zd_reading reading(void)
{
    return (struct zd_reading){
        .zep10 = true,
        .judgement = ZD_JUDGE_READ,
        .limits = {.bytes_max = 1U << 20, .nodes_max = 10000, .depth_max = 64},
        .consolidated_bytes_max = 1U << 20,
    };
}

static enum zd_status parse(const char *text, struct zd_meta **ret_meta, struct zd_error *err)
{
    const struct zd_documents documents = {.text = {zd_span_of(text)}, .present = {true}};
    const struct zd_reading how = reading();
    return zd_dialect_find("v3")->parse(&documents, &how, ret_meta, err);
}

/* A group whose block says b, a and a/x. */
static const char stored_group[] =
    "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","
    "\"must_understand\":false,\"metadata\":{\"b\":" GROUP ",\"a\":" GROUP ",\"a/x\":" GROUP "}}}";

/* The live rows: the start, a, and a group c that the block does not know. */
static enum zd_status make(struct zd_tree *tree, const char *start, struct zd_error *err)
{
    ZD_AUTO(zd_meta) group = NULL;
    *tree = (struct zd_tree){
        .ask = {.path = zd_strdup(""), .depth_max = UINT64_MAX, .limit = UINT64_MAX},
        .reading = reading(),
    };
    if (tree->ask.path == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory");
    }
    ZD_TRY(parse(start, &tree->start, err));
    if (tree->start->listing != NULL) {
        tree->listing = zd_stored_listing_ref(tree->start->listing);
    }
    ZD_TRY(parse(GROUP, &group, err));
    ZD_TRY(zd_tree_add(&tree->live, "", tree->start, false, err));
    ZD_TRY(zd_tree_add(&tree->live, "a", group, false, err));
    return zd_tree_add(&tree->live, "c", group, false, err);
}

static const struct listing_fact {
    bool is_stored;
    bool check;
    uint64_t limit;
    uint64_t depth_max;
    const char *after;
    const char *match;
    const char *answer;
} listing_facts[] = {
    {false, false, 9, 9, NULL, NULL,
        "{'path':'','nodes':[{'path':''},{'path':'a'},{'path':'c'}],'next':null,'source':'live'}"},
    {false, false, 3, 9, NULL, NULL, /* exactly all: there is no next page */
        "{'path':'','nodes':[{'path':''},{'path':'a'},{'path':'c'}],'next':null,'source':'live'}"},
    {false, false, 1, 9, NULL, NULL,
        "{'path':'','nodes':[{'path':''}],'next':'p','source':'live'}"},
    {false, false, 1, 9, "", NULL,
        "{'path':'','nodes':[{'path':'a'}],'next':'p61','source':'live'}"},
    {false, false, 9, 9, "b", NULL, /* the cursor's node may be gone */
        "{'path':'','nodes':[{'path':'c'}],'next':null,'source':'live'}"},
    {true, false, 9, 9, NULL, NULL,
        "{'path':'','nodes':[{'path':''},{'path':'a'},{'path':'a/x'},{'path':'b'}],'next':null,"
        "'source':'stored'}"},
    {true, false, 9, 1, NULL, NULL,
        "{'path':'','nodes':[{'path':''},{'path':'a'},{'path':'b'}],'next':null,"
        "'source':'stored'}"},
    {true, false, 9, 0, NULL, NULL,
        "{'path':'','nodes':[{'path':''}],'next':null,'source':'stored'}"},
    {true, false, 9, 9, NULL, "**/x",
        "{'path':'','nodes':[{'path':'a/x'}],'next':null,'source':'stored'}"},
    {false, true, 9, 0, NULL, NULL,
        "{'path':'','nodes':[{'path':''}],'next':null,'source':'live','check':{'missing':['c'],"
        "'surplus':['a/x','b'],'differing':[],'stored':true}}"},
};

static void quote(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            *text = '"';
        }
    }
}

START_TEST(listing_shows_what_was_asked)
{
    const struct listing_fact *fact = &listing_facts[_i];
    struct zd_tree tree;
    struct zd_error err = {0};
    ck_assert_int_eq(make(&tree, stored_group, &err), ZD_OK);
    tree.ask.is_stored = fact->is_stored;
    tree.ask.check = fact->check;
    tree.ask.limit = fact->limit;
    tree.ask.depth_max = fact->depth_max;
    tree.ask.after = fact->after == NULL ? NULL : zd_strdup(fact->after);
    tree.ask.match = fact->match == NULL ? NULL : zd_strdup(fact->match);
    ck_assert_int_eq(
        zd_fields_parse(zd_span_of("path"), zd_node_fields, &tree.ask.fields, &err), ZD_OK);
    ZD_SCOPED_TEXT(text, 65536);
    ck_assert_int_eq(zd_tree_render(&tree, &text, &err), ZD_OK);
    char expected[1024];
    ck_assert_uint_lt(strlen(fact->answer), sizeof expected);
    memcpy(expected, fact->answer, strlen(fact->answer) + 1);
    quote(expected);
    ck_assert_str_eq(text.at, expected);
    zd_tree_done(&tree);
}
END_TEST

START_TEST(document_of_a_group_has_relative_paths)
{
    struct zd_tree tree;
    struct zd_error err = {0};
    ck_assert_int_eq(make(&tree, GROUP, &err), ZD_OK);
    tree.ask.format = ZD_TREE_ZARR;
    ZD_SCOPED_TEXT(text, 65536);
    ck_assert_int_eq(zd_tree_render(&tree, &text, &err), ZD_OK);
    ck_assert_str_eq(text.at,
        "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","
        "\"must_understand\":false,\"metadata\":{\"a\":" GROUP ",\"c\":" GROUP "}}}");
    tree.ask.limit = 2;
    zd_text_clear(&text);
    ck_assert_int_eq(zd_tree_render(&tree, &text, &err), ZD_TOO_LARGE);
    zd_tree_done(&tree);
}
END_TEST

START_TEST(listing_past_its_ceiling_is_too_large)
{
    struct zd_tree tree;
    struct zd_error err = {0};
    ck_assert_int_eq(make(&tree, GROUP, &err), ZD_OK);
    ZD_SCOPED_TEXT(text, 100);
    ck_assert_int_eq(zd_tree_render(&tree, &text, &err), ZD_TOO_LARGE);
    ck_assert(err.facts.set & ZD_FACT_LIMIT);
    zd_tree_done(&tree);
}
END_TEST

START_TEST(cursor_reads_back)
{
    const char *const paths[] = {"", "a", "level1/\xc3\xa9", "a b/c"};
    for (size_t i = 0; i < ZD_COUNT_OF(paths); i++) {
        ZD_SCOPED_TEXT(cursor, 1000);
        ck_assert_int_eq(zd_tree_cursor_add(paths[i], &cursor), ZD_OK);
        ZD_AUTO_TEXT back = NULL;
        ck_assert_int_eq(zd_tree_cursor_parse(zd_text_span(&cursor), &back, NULL), ZD_OK);
        ck_assert_str_eq(back, paths[i]);
    }
}
END_TEST

static const char *const bad_cursors[] = {
    "", "!", "61", "p6", "p6g", "p00", "p6100", "pc3", "p2f", "p2e2e", "P61", "p6A"};

START_TEST(foreign_cursor_is_refused)
{
    char *path = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(zd_tree_cursor_parse(zd_span_of(bad_cursors[_i]), &path, &err), ZD_INVALID);
    ck_assert_ptr_null(path);
}
END_TEST

static enum zd_status render_with_little_memory(void *context)
{
    (void)context;
    struct zd_tree tree;
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(text, 65536);
    enum zd_status status = make(&tree, stored_group, &err);
    tree.ask.check = true;
    if (status == ZD_OK) {
        status = zd_tree_render(&tree, &text, &err);
    }
    zd_tree_done(&tree);
    return status;
}

START_TEST(failing_memory_fails_cleanly)
{
    zd_unit_with_failing_memory(render_with_little_memory, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, listing_shows_what_was_asked, 0, ZD_COUNT_OF(listing_facts));
    tcase_add_test(tests, document_of_a_group_has_relative_paths);
    tcase_add_test(tests, listing_past_its_ceiling_is_too_large);
    tcase_add_test(tests, cursor_reads_back);
    tcase_add_loop_test(tests, foreign_cursor_is_refused, 0, ZD_COUNT_OF(bad_cursors));
    tcase_add_test(tests, failing_memory_fails_cleanly);
}
