/* Facts about core/dialect/stored_listing. */
#include "core/dialect/stored_listing.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

#define G "{\"node_type\":\"group\"}"
#define A "{\"node_type\":\"array\"}"

static enum zd_status make(
    const char *text, struct zd_stored_listing **ret_listing, struct zd_error *err)
{
    ZD_AUTO(zd_buf) bytes = zd_buf_copy(zd_span_of(text));
    if (bytes == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory");
    }
    return zd_stored_listing_new(
        bytes, zd_buf_span(bytes), zd_stored_listing_tell_path, ret_listing, err);
}

static const struct listing_fact {
    const char *text;
    const char *paths; /* that are listed, in pre-order, each with a comma behind */
} listing_facts[] = {
    {"{}", ""},
    {"{\"b\":1,\"a\":2}", "a,b,"},
    {"{\"a-b\":1,\"a/x\":1,\"ab\":1,\"a\":1}", "a,a/x,a-b,ab,"}, /* pre-order, not by bytes */
    {"{\"/a\":1}", "a,"},
    {"{\"/a\":1,\"a\":2}", "a,"},
    {"{\"a\":2,\"/a\":1}", "a,"},
    {"{\"\\u0061/b\":1,\"\\/c\":1,\"b\\u00e9\":1}", "a/b,b\xC3\xA9,c,"},
    {"{\"\":1,\"/\":1,\"//a\":1,\"a/\":1,\"a//b\":1,\"..\":1,\"a/..\":1,\"__a\":1,\"a/"
     "zarr.json\":1}",
        ""},
};

START_TEST(entries_stand_in_pre_order)
{
    const struct listing_fact *fact = &listing_facts[_i];
    ZD_AUTO(zd_stored_listing) listing = NULL;
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(paths, 1000);
    ck_assert_int_eq(make(fact->text, &listing, &err), ZD_OK);
    for (size_t i = 0; i < zd_stored_listing_count(listing); i++) {
        const struct zd_stored_entry entry = zd_stored_listing_entry(listing, i);
        struct zd_stored_entry found;
        zd_text_add_bytes(&paths, entry.path.ptr, entry.path.len);
        zd_text_add_char(&paths, ',');
        ck_assert(zd_stored_listing_find(listing, entry.path, &found));
        ck_assert_ptr_eq(found.document.ptr, entry.document.ptr);
    }
    ck_assert_str_eq(paths.at, fact->paths);
    ck_assert_uint_gt(zd_stored_listing_index_bytes(listing), zd_stored_listing_count(listing));
    ck_assert_uint_le(zd_stored_listing_index_bytes(listing) + strlen(fact->text),
        zd_stored_listing_bytes_max(strlen(fact->text)));
    ck_assert(zd_span_is(zd_stored_listing_text(listing), fact->text));
}
END_TEST

START_TEST(the_spelling_without_a_slash_counts)
{
    static const char *const texts[] = {"{\"/a\":1,\"a\":2}", "{\"a\":2,\"/a\":1}"};
    ZD_AUTO(zd_stored_listing) listing = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(make(texts[_i], &listing, &err), ZD_OK);
    ck_assert(zd_span_is(zd_stored_listing_entry(listing, 0).document, "2"));
}
END_TEST

/* Even one that is no path. */
static const struct twice_fact {
    const char *text;
    size_t position; /* of the second value */
} twice_facts[] = {
    {"{\"a\":1,\"a\":2}", 11},
    {"{\"a\":1,\"b\":1,\"\\u0061\":2}", 22},
    {"{\"/a\":1,\"a\":1,\"/a\":2}", 19},
    {"{\"\":1,\"\":2}", 9},
    {"{\"a//b\":1,\"a//b\":2}", 17},
};

START_TEST(key_that_is_there_twice_is_refused)
{
    const struct twice_fact *fact = &twice_facts[_i];
    ZD_AUTO(zd_stored_listing) listing = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(make(fact->text, &listing, &err), ZD_INVALID);
    ck_assert_uint_eq(err.facts.position, fact->position);
    ck_assert_ptr_null(listing);
}
END_TEST

static const struct place_fact {
    const char *path;
    size_t place;
    bool is_there;
} place_facts[] = {
    {"", 0, false},
    {"a", 0, true},
    {"a/", 1, false},
    {"a/x", 1, true},
    {"a/y", 2, false},
    {"a-b", 2, false},
    {"b", 2, true},
    {"b/x", 3, false},
    {"c", 3, false},
};

START_TEST(place_is_where_a_path_stands_or_would)
{
    const struct place_fact *fact = &place_facts[_i];
    ZD_AUTO(zd_stored_listing) listing = NULL;
    struct zd_error err = {0};
    bool is_there = !fact->is_there;
    ck_assert_int_eq(make("{\"b\":" A ",\"a/x\":" A ",\"a\":" G "}", &listing, &err), ZD_OK);
    ck_assert_uint_eq(
        zd_stored_listing_place(listing, zd_span_of(fact->path), &is_there), fact->place);
    ck_assert(is_there == fact->is_there);
    ck_assert_uint_eq(zd_stored_listing_place(NULL, zd_span_of(fact->path), &is_there), 0);
    ck_assert(!is_there);
}
END_TEST

static const struct type_fact {
    const char *text;
    bool is_group;
} type_facts[] = {
    {"{\"a\":" G "}", true},
    {"{\"a\":" A "}", false},
    {"{\"a\":{\"x\":" G "}}", false},
    {"{\"a\":{\"n\\u006fde_type\":\"gr\\u006fup\"}}", true},
    {"{\"a\":[\"node_type\",\"group\"]}", false},
    {"{\"a\":\"group\"}", false},
    {"{\"a\":{\"node_type\":[\"group\"]}}", false},
    {"{\"a\":{\"node_type\":group}}", false},
};

START_TEST(group_is_what_its_document_calls_so)
{
    ZD_AUTO(zd_stored_listing) listing = NULL;
    struct zd_error err = {0};
    ck_assert_int_eq(make(type_facts[_i].text, &listing, &err), ZD_OK);
    ck_assert(zd_stored_listing_entry(listing, 0).is_group == type_facts[_i].is_group);
}
END_TEST

/* The listing of n entries with that key (n stands in it) and that document. */
static void add_many(struct zd_text *text, size_t n, const char *before, const char *document)
{
    zd_text_add_char(text, '{');
    for (size_t i = 0; i < n; i++) {
        zd_text_addf(text, "%s\"%s%zu\":%s", i == 0 ? "" : ",", before, i * 7919 % n, document);
    }
    zd_text_add_char(text, '}');
}

static const struct size_fact {
    const char *before;
    const char *document;
    enum zd_status status;
} size_facts[] = {
    {"a", G, ZD_OK}, {"a", "1", ZD_TOO_LARGE},                       /* entries of 10 bytes */
    {"\\u0061\xC3\xA9", "{\"a\":\"xxxxxxxxxxxxxxxxxxxxx\"}", ZD_OK}, /* names of their own */
};

START_TEST(index_is_never_larger_than_the_text)
{
    const struct size_fact *fact = &size_facts[_i];
    ZD_SCOPED_TEXT(text, 1 << 20);
    ZD_AUTO(zd_stored_listing) listing = NULL;
    struct zd_error err = {0};
    add_many(&text, 5000, fact->before, fact->document);
    ck_assert_int_eq(make(text.at, &listing, &err), fact->status);
    ck_assert_uint_eq(zd_stored_listing_count(listing), fact->status == ZD_OK ? 5000 : 0);
    for (size_t i = 1; i < zd_stored_listing_count(listing); i++) {
        const struct zd_span before = zd_stored_listing_entry(listing, i - 1).path;
        const struct zd_span path = zd_stored_listing_entry(listing, i).path;
        const int order = memcmp(before.ptr, path.ptr, zd_min_u64(before.len, path.len));
        ck_assert(order < 0 || (order == 0 && before.len < path.len));
    }
}
END_TEST

static enum zd_status make_with_little_memory(void *context)
{
    ZD_AUTO(zd_stored_listing) listing = NULL;
    struct zd_error err = {0};
    (void)context;
    return make("{\"b\":" A ",\"\\u0061/x\":" A ",\"a\":" G "}", &listing, &err);
}

START_TEST(failing_memory_fails_cleanly)
{
    zd_unit_with_failing_memory(make_with_little_memory, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, entries_stand_in_pre_order, 0, ZD_COUNT_OF(listing_facts));
    tcase_add_loop_test(tests, the_spelling_without_a_slash_counts, 0, 2);
    tcase_add_loop_test(tests, key_that_is_there_twice_is_refused, 0, ZD_COUNT_OF(twice_facts));
    tcase_add_loop_test(tests, place_is_where_a_path_stands_or_would, 0, ZD_COUNT_OF(place_facts));
    tcase_add_loop_test(tests, group_is_what_its_document_calls_so, 0, ZD_COUNT_OF(type_facts));
    tcase_add_loop_test(tests, index_is_never_larger_than_the_text, 0, ZD_COUNT_OF(size_facts));
    tcase_add_test(tests, failing_memory_fails_cleanly);
}
