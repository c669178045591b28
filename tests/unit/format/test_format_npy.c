/* Facts about server/format/format_npy, heads that are read: what NumPy writes, and what looks like
 * it. */
#include "server/format/format.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/unit.h"

extern const struct zd_format zd_format_npy;

#define HEAD(descr, fortran, shape)                                                                \
    "{'descr': '" descr "', 'fortran_order': " fortran ", 'shape': " shape ", }"
#define LENGTHS_8 "1, 1, 1, 1, 1, 1, 1, 1, "

static const struct good_fact {
    const char *dtype;
    uint8_t major;
    const char *text; /* of the dictionary, without the line feed */
    bool is_swapped;
    bool is_reversed;
    uint32_t rank;
    uint64_t shape[2]; /* of the first dimensions */
} good_facts[] = {
    {"float32", 1, HEAD("<f4", "False", "(3, 2)"), false, false, 2, {3, 2}},
    {"float32", 2, HEAD("<f4", "False", "(3, 2)"), false, false, 2, {3, 2}},
    {"float32", 3, HEAD("<f4", "False", "(3, 2)"), false, false, 2, {3, 2}},
    {"float32", 1, HEAD(">f4", "True", "(3, 2)") "      ", true, true, 2, {3, 2}},
    {"float32", 1, HEAD("f4", "False", "()"), false, false, 0, {0}},
    {"float32", 1, HEAD("=f4", "False", "(3,)"), false, false, 1, {3}},
    {"uint8", 1, HEAD("|u1", "False", "(0, 18446744073709551615)"), false, false, 2,
        {0, UINT64_MAX}},
    {"uint8", 1, HEAD(">u1", "False", "(3,)"), false, false, 1, {3}}, /* one byte has no order */
    {"float32", 1, "{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"<f4\"}", false, false, 1,
        {1}},
    {"uint8", 1, HEAD("|u1", "False", "(" LENGTHS_8 LENGTHS_8 LENGTHS_8 LENGTHS_8 ")"), false,
        false, 32, {1, 1}},
};

/* For an array of float32. */
static const struct bad_fact {
    uint8_t major;
    uint8_t minor;
    const char *text;
} bad_facts[] = {
    {0, 0, HEAD("<f4", "False", "(3, 2)")},
    {4, 0, HEAD("<f4", "False", "(3, 2)")},
    {1, 1, HEAD("<f4", "False", "(3, 2)")},
    {1, 0, HEAD("<i4", "False", "(3, 2)")},
    {1, 0, HEAD("<f8", "False", "(3, 2)")},
    {1, 0, HEAD("<f4x", "False", "(3, 2)")},
    {1, 0, HEAD("<", "False", "(3, 2)")},
    {1, 0, HEAD("", "False", "(3, 2)")},
    {1, 0, HEAD("|O", "False", "(3, 2)")},
    {1, 0, HEAD("<<f4", "False", "(3, 2)")},
    {1, 0, HEAD("<f4", "false", "(3, 2)")},
    {1, 0, HEAD("<f4", "not 1", "(3, 2)")},
    {1, 0, HEAD("<f4", "False", "(6)")}, /* is a number */
    {1, 0, HEAD("<f4", "False", "(,)")},
    {1, 0, HEAD("<f4", "False", "(3,,2)")},
    {1, 0, HEAD("<f4", "False", "(3 2)")},
    {1, 0, HEAD("<f4", "False", "(-3, 2)")},
    {1, 0, HEAD("<f4", "False", "(18446744073709551616,)")},
    {1, 0, HEAD("<f4", "False", "[3, 2]")},
    {1, 0, HEAD("<f4", "False", "(3, 2")},
    {1, 0, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }"},
    {1, 0, "{'descr': '<f4\", 'fortran_order': False, 'shape': (3,), }"},
    {1, 0, "{'descr': '<f4', 'shape': (3,), }"},
    {1, 0, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}"},
    {1, 0, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'shape': (3,)}"},
    {1, 0, "{'descr': '<f4' 'fortran_order': False, 'shape': (3,), }"},
    {1, 0, "{'descr' '<f4', 'fortran_order': False, 'shape': (3,), }"},
    {1, 0, HEAD("<f4", "False", "(3, 2)") "\n"},
    {1, 0, HEAD("<f4", "False", "(3, 2)") "x"},
    {1, 0, ""},
};

/* The head, and one element behind it. */
static void make_head(uint8_t major, uint8_t minor, const char *dictionary, struct zd_text *text)
{
    const size_t len = strlen(dictionary) + 1;
    zd_text_add(text, "\x93NUMPY");
    zd_text_add_char(text, (char)major);
    zd_text_add_char(text, (char)minor);
    for (int i = 0; i < (major == 1 ? 2 : 4); i++) {
        zd_text_add_char(text, (char)(len >> (8 * i)));
    }
    zd_text_add(text, dictionary);
    zd_text_add(text, "\n____");
    ck_assert_int_eq(text->status, ZD_OK);
}

static void check_good(const struct good_fact *fact, const struct zd_body_head *head, size_t bytes)
{
    ck_assert_uint_eq(head->bytes, bytes);
    ck_assert(head->has_shape);
    ck_assert_int_eq(head->is_swapped, fact->is_swapped);
    ck_assert_int_eq(head->is_reversed, fact->is_reversed);
    ck_assert_uint_eq(head->rank, fact->rank);
    ck_assert_mem_eq(head->shape, fact->shape, zd_min_u64(fact->rank, 2) * sizeof fact->shape[0]);
}

/* Reads the text piece by piece, as long as more is asked for. */
static enum zd_status read_growing(
    const char *name, const struct zd_text *text, struct zd_body_head *head, struct zd_error *err)
{
    struct zd_dtype dtype;
    size_t wanted = 0;
    enum zd_status status = ZD_AGAIN;
    ck_assert_int_eq(zd_dtype_find(name, &dtype), ZD_OK);
    for (size_t len = 0; len <= text->len && status == ZD_AGAIN; len++) {
        const struct zd_span begin = {.ptr = (const uint8_t *)text->at, .len = len};
        status = zd_format_npy.read_head(&dtype, begin, head, err);
        if (status == ZD_AGAIN) {
            ck_assert_uint_gt(head->bytes, len);
            ck_assert_uint_ge(head->bytes, wanted);
            wanted = head->bytes;
        } else if (status == ZD_OK) {
            ck_assert_uint_eq(len, wanted);
        }
    }
    return status;
}

START_TEST(a_head_is_read_when_it_is_whole_and_not_before)
{
    const struct good_fact *fact = &good_facts[_i];
    struct zd_body_head head = {0};
    ZD_SCOPED_TEXT(text, ZD_BODY_HEAD_MAX);
    make_head(fact->major, 0, fact->text, &text);
    ck_assert_int_eq(read_growing(fact->dtype, &text, &head, NULL), ZD_OK);
    check_good(fact, &head, text.len - 4);
    struct zd_dtype dtype;
    struct zd_body_head whole = {0};
    ck_assert_int_eq(zd_dtype_find(fact->dtype, &dtype), ZD_OK);
    ck_assert_int_eq(zd_format_npy.read_head(&dtype, zd_text_span(&text), &whole, NULL), ZD_OK);
    check_good(fact, &whole, text.len - 4);
}
END_TEST

START_TEST(headers_that_numpy_would_not_write_are_refused)
{
    const struct bad_fact *fact = &bad_facts[_i];
    struct zd_body_head head = {0};
    struct zd_error err = {0};
    ZD_SCOPED_TEXT(text, ZD_BODY_HEAD_MAX);
    make_head(fact->major, fact->minor, fact->text, &text);
    ck_assert_int_eq(read_growing("float32", &text, &head, &err), ZD_INVALID);
    ck_assert_str_ne(err.text, "");
    ck_assert(err.facts.set & ZD_FACT_EXPECTED);
}
END_TEST

/* Nobody is asked for a head that nobody writes. */
START_TEST(a_length_beyond_the_limit_is_refused_at_once)
{
    static const struct {
        const char *begin;
        size_t len;
        enum zd_status status;
    } facts[] = {
        {"\x93NUMPY\1\0\xf6\x27", 10, ZD_AGAIN}, /* 10230 and 10 before them */
        {"\x93NUMPY\1\0\xf7\x27", 10, ZD_INVALID},
        {"\x93NUMPY\2\0\xf4\x27\0\0", 12, ZD_AGAIN},
        {"\x93NUMPY\2\0\xf5\x27\0\0", 12, ZD_INVALID},
        {"\x93NUMPY\2\0\xff\xff\xff\xff", 12, ZD_INVALID},
    };
    struct zd_dtype dtype;
    struct zd_body_head head = {0};
    const struct zd_span begin = {.ptr = (const uint8_t *)facts[_i].begin, .len = facts[_i].len};
    ck_assert_int_eq(zd_dtype_find("uint8", &dtype), ZD_OK);
    ck_assert_int_eq(zd_format_npy.read_head(&dtype, begin, &head, NULL), facts[_i].status);
    ck_assert_uint_eq(head.bytes, facts[_i].status == ZD_AGAIN ? ZD_BODY_HEAD_MAX : 0);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, a_head_is_read_when_it_is_whole_and_not_before, 0, ZD_COUNT_OF(good_facts));
    tcase_add_loop_test(
        tests, headers_that_numpy_would_not_write_are_refused, 0, ZD_COUNT_OF(bad_facts));
    tcase_add_loop_test(tests, a_length_beyond_the_limit_is_refused_at_once, 0, 5);
}
