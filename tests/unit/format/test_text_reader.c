/* Facts about server/format/text_reader: bodies, whole and cut at every byte. */
#include "server/format/text_reader.h"

#include <string.h>

#include "core/base/num.h"
#include "core/grid/variable.h"
#include "tests/support/unit.h"

#define ELEMENT_BYTES_MAX 256

static const struct body_fact {
    const char *dtype;
    uint32_t rank;
    uint64_t shape[3];
    const char *text;
    const char *elements; /* hexadecimal; NULL: it is refused */
    const char *pointer;  /* of the fault; NULL: that of another reader, or none */
} body_facts[] = {
    {"uint8", 2, {3, 2}, "[[1,2],[3,4],[5,6]]", "010203040506", NULL},
    {"uint8", 2, {3, 2}, " [ [ 1 , 2 ]\n,\t[3,4],[5,6]\r] ", "010203040506", NULL},
    {"uint8", 2, {1, 2}, "{\"data\":[[1,2]]}", "0102", NULL},
    {"uint8", 2, {1, 2}, "{\"shape\":[1,2],\"data\":[[1,2]],\"dimensions\":[null,\"}\"]} ", "0102",
        NULL},
    {"uint8", 0, {0}, "42", "2a", NULL},
    {"uint8", 0, {0}, " \"42\" ", "2a", NULL},
    {"uint8", 0, {0}, "{\"data\":42}", "2a", NULL},
    {"uint8", 1, {0}, "[]", "", NULL},
    {"uint8", 2, {2, 0}, "[[],[ ]]", "", NULL},
    {"uint8", 2, {0, 7}, "[]", "", NULL},
    {"uint8", 1, {2}, "[\"1\",\"2\"]", "0102", NULL},
    {"float32", 1, {2}, "[\"NaN\",-0.0]", "0000c07f00000080", NULL},
    {"float32", 1, {5}, "[-0,0, -0 ,-0e5,-0.5]", "00000080000000000000008000000080000000bf", NULL},
    {"float16", 0, {0}, "-0", "0080", NULL},
    {"float64", 1, {2}, "{\"data\":[-0,-0]}", "00000000000000800000000000000080", NULL},
    {"int16", 1, {2}, "[-0,0]", "00000000", NULL},
    {"bfloat16", 1, {3}, "[-0,0,-0.0]", "008000000080", NULL},
    {"float8_e5m2", 1, {2}, "[-0,0]", "8000", NULL},
    {"float8_e5m2fnuz", 1, {2}, "[-0,0]", "0000", NULL}, /* 80 is no number */
    {"float6_e3m2fn", 1, {2}, "[-0,0]", "2000", NULL},
    {"float4_e2m1fn", 1, {2}, "[-0,0]", "0800", NULL},
    {"complex_bfloat16", 1, {2}, "[[-0,0],[0,-0]]", "0080000000000080", NULL},
    {"complex64", 1, {3}, "[[-0,0],[0,-0],[ -0 , \"NaN\" ]]",
        "00000080000000000000000000000080000000800000c07f", NULL},
    {"complex64", 1, {1}, "[[0.5,-0.5]]", "0000003f000000bf", NULL},
    {"complex64", 1, {1}, "[[ \"NaN\" , 1 ]]", "0000c07f0000803f", NULL},
    {"r24", 1, {2}, "[\"AQID\",[1,2,3]]", "010203010203", NULL},
    {"uint8", 1, {2}, "{\"data_type\":\"uint8\",\"data\":[1,2],\"selection\":\"9:11:1\"}", "0102",
        NULL},
    {"uint8", 0, {0}, "{\"shape\":[],\"dimensions\":[],\"data\":42}", "2a", NULL},
    {"uint8", 1, {2}, "{\"shape\":[3],\"data\":[1,2]}", NULL, "/shape"},
    {"uint8", 1, {2}, "{\"data\":[1,2],\"shape\":[3]}", NULL, "/shape"},
    {"uint8", 2, {3, 2}, "{\"shape\":[2,3],\"data\":[[1,2],[3,4],[5,6]]}", NULL, "/shape"},
    {"uint8", 1, {2}, "{\"shape\":[2,1],\"data\":[1,2]}", NULL, "/shape"},
    {"uint8", 1, {2}, "{\"shape\":2,\"data\":[1,2]}", NULL, "/shape"},
    {"uint8", 1, {2}, "{\"shape\":[\"2\"],\"data\":[1,2]}", NULL, "/shape"},
    {"uint8", 1, {2}, "{\"data_type\":\"int8\",\"data\":[1,2]}", NULL, "/data_type"},
    {"uint8", 1, {2}, "{\"data\":[1,2],\"data_type\":8}", NULL, "/data_type"},
    {"uint8", 1, {2}, "{\"dimensions\":[],\"data\":[1,2]}", NULL, "/dimensions"},
    {"uint8", 1, {2}, "{\"dimensions\":[\"x\",\"y\"],\"data\":[1,2]}", NULL, "/dimensions"},
    {"uint8", 1, {2}, "{\"dimensions\":[1],\"data\":[1,2]}", NULL, "/dimensions"},
    {"uint8", 1, {2}, "{\"dimensions\":\"x\",\"data\":[1,2]}", NULL, "/dimensions"},
    /* No number becomes an infinity unseen. */
    {"float16", 1, {2}, "[65519,-65504]", "ff7bfffb", NULL},
    {"float16", 1, {2}, "[1,65520]", NULL, "/1"},
    {"float32", 1, {2}, "[3.4028235e38,\"Infinity\"]", "ffff7f7f0000807f", NULL},
    {"float32", 1, {2}, "[1,1e39]", NULL, "/1"},
    {"float32", 1, {2}, "[-1e39,1]", NULL, "/0"},
    {"float64", 1, {2}, "[1,1e400]", NULL, "/1"},
    {"float64", 2, {1, 1}, "{\"data\":[[-1e400]]}", NULL, "/data/0/0"},
    {"complex64", 1, {1}, "[[0,1e39]]", NULL, "/0"},
    {"complex128", 1, {1}, "[[1e400,0]]", NULL, "/0"},
    {"uint8", 2, {3, 2}, "", NULL, ""},
    {"uint8", 2, {3, 2}, "  ", NULL, ""},
    {"uint8", 2, {3, 2}, "[[1,2],[3,4],[5,6]", NULL, "/3"},
    {"uint8", 2, {3, 2}, "[[1,2],[3,4],[5,6]]]", NULL, ""},
    {"uint8", 2, {3, 2}, "[[1,2],[3,4],[5,6]] 7", NULL, ""},
    {"uint8", 2, {3, 2}, "[[1,2,3],[4,5,6]]", NULL, "/0/2"},
    {"uint8", 2, {3, 2}, "[[1,2],[3],[5,6]]", NULL, "/1/1"},
    {"uint8", 2, {3, 2}, "[[[1],2],[3,4],[5,6]]", NULL, "/0/0"},
    {"uint8", 2, {3, 2}, "[1,2,3,4,5,6]", NULL, "/0"},
    {"uint8", 2, {3, 2}, "[[1,2],[3,4]]", NULL, "/2"},
    {"uint8", 2, {3, 2}, "[[1,2],[3,4],[5,6],[7,8]]", NULL, "/3"},
    {"uint8", 2, {3, 2}, "[[1,2],[3,4],[5,\"six\"]]", NULL, "/2/1"},
    {"uint8", 2, {3, 2}, "[[1,2],[3,4],[5,null]]", NULL, "/2/1"},
    {"uint8", 2, {3, 2}, "[[1,2],[3,4],[5,6],]", NULL, "/3"},
    {"uint8", 2, {3, 2}, "[[1,2],[3 4],[5,6]]", NULL, "/1/1"},
    {"uint8", 2, {3, 2}, "[[1,2],[3,,4],[5,6]]", NULL, "/1/1"},
    {"uint8", 2, {3, 2}, "[[1,2}", NULL, "/0/2"},
    {"uint8", 1, {2}, "[1,2", NULL, "/1"}, /* the number may go on */
    {"uint8", 1, {2}, "[1,\"2", NULL, "/1"},
    {"uint8", 1, {2}, "[1,256]", NULL, "/1"},
    {"uint8", 1, {0}, "[1]", NULL, "/0"},
    {"uint8", 1, {1}, "[]", NULL, "/0"},
    {"uint8", 1, {1}, "[\"\xff\"]", NULL, "/0"},
    {"uint8", 1, {1}, "{\"shape\":[1]}", NULL, ""},
    {"uint8", 1, {1}, "{}", NULL, ""},
    {"uint8", 1, {1}, "{\"data\":[1],\"date\":1}", NULL, NULL},
    {"uint8", 1, {1}, "{\"data\":[1],\"data\":[1]}", NULL, NULL},
    {"uint8", 1, {1}, "{\"data\":[1],}", NULL, ""},
    {"uint8", 1, {1}, "{\"data\" [1]}", NULL, ""},
    {"uint8", 1, {1}, "{\"data\":[1]", NULL, ""},
    {"uint8", 1, {1}, "{\"data\":[1]]", NULL, ""},
    {"uint8", 1, {1}, "{\"data\":[x]}", NULL, "/data/0"},
    {"uint8", 1, {1}, "{\"shape\":[1,\"data\":[1]}", NULL, NULL},
    {"uint8", 1, {1}, "{\"shape\":[[[1]]],\"data\":[1]}", NULL, NULL},
    {"complex64", 1, {1}, "[[[1],1]]", NULL, "/0"},
    {"uint8", 1, {1}, "{shape:[1]}", NULL, ""},
    {"uint8", 0, {0}, "4 2", NULL, ""},
    {"uint8", 0, {0}, "\"4", NULL, ""},
    {"uint8", 0, {0}, "{\"data\":4", NULL, "/data"},
};

/* The outcome of a body. */
struct outcome {
    enum zd_status status;
    struct zd_error err;
    uint8_t element[ELEMENT_BYTES_MAX];
    size_t n_bytes;
};

/* Feed a piece, with room for so many elements at a time. */
static enum zd_status feed(
    struct zd_text_reader *reader, struct outcome *outcome, struct zd_span piece, uint64_t room)
{
    while (piece.len > 0) {
        size_t used = 0;
        reader->n_room = reader->n_room == 0 ? room : reader->n_room;
        const enum zd_status status = zd_text_reader_feed(reader, piece, &used, &outcome->err);
        if (status != ZD_OK) {
            return status;
        }
        ck_assert_uint_le(used, piece.len);
        ck_assert(used == piece.len || reader->n_room == 0);
        piece.ptr += used;
        piece.len -= used;
    }
    return ZD_OK;
}

/* The body in a first piece, and others of a length. */
static struct outcome read_cut(
    const struct body_fact *fact, size_t first_len, size_t piece_len, uint64_t room)
{
    struct outcome outcome = {.status = ZD_OK};
    struct zd_text_reader reader;
    struct zd_dtype dtype;
    const struct zd_span text = zd_span_of(fact->text);
    ck_assert_int_eq(zd_dtype_find(fact->dtype, &dtype), ZD_OK);
    zd_text_reader_init(&reader, &dtype, fact->rank, fact->shape);
    reader.to = outcome.element;
    for (size_t at = 0; at < text.len && outcome.status == ZD_OK;) {
        const size_t n = zd_min_u64(at == 0 ? first_len : piece_len, text.len - at);
        const struct zd_span piece = {.ptr = text.ptr + at, .len = n};
        outcome.status = feed(&reader, &outcome, piece, room);
        at += n;
    }
    if (outcome.status == ZD_OK) {
        reader.n_room = reader.n_room == 0 ? room : reader.n_room;
        outcome.status = zd_text_reader_end(&reader, &outcome.err);
    }
    outcome.n_bytes = (size_t)(reader.to - outcome.element);
    zd_text_reader_done(&reader);
    return outcome;
}

static void check_same(const struct outcome *a, const struct outcome *b)
{
    ck_assert_int_eq(a->status, b->status);
    ck_assert_str_eq(a->err.text, b->err.text);
    ck_assert_uint_eq(a->n_bytes, b->n_bytes);
    ck_assert_mem_eq(a->element, b->element, a->n_bytes);
}

START_TEST(a_body_is_what_it_says_wherever_it_is_cut)
{
    const struct body_fact *fact = &body_facts[_i];
    const size_t len = strlen(fact->text);
    const struct outcome whole = read_cut(fact, len, len, ELEMENT_BYTES_MAX);
    if (fact->elements == NULL) {
        ck_assert_int_eq(whole.status, ZD_INVALID);
        ck_assert_str_ne(whole.err.text, "");
    } else {
        ZD_AUTO(zd_buf) want = zd_unit_hex(fact->elements);
        ck_assert_int_eq(whole.status, ZD_OK);
        ck_assert_uint_eq(whole.n_bytes, want->len);
        ck_assert_mem_eq(whole.element, want->data, want->len);
    }
    if (fact->pointer != NULL) {
        ck_assert(whole.err.facts.set & ZD_FACT_POINTER);
        ck_assert_str_eq(whole.err.facts.pointer, fact->pointer);
    }
    for (size_t cut = 1; cut < len; cut++) {
        const struct outcome in_two = read_cut(fact, cut, len, 1);
        check_same(&in_two, &whole);
    }
    const struct outcome in_bytes = read_cut(fact, 1, 1, 2);
    check_same(&in_bytes, &whole);
}
END_TEST

static const struct text_fact {
    const char *dtype;
    const char *text;
    size_t bytes_max;
    enum zd_status status;
    const char *bytes; /* of both elements */
    size_t first_len;
} text_facts[] = {
    {"string", "[\"a\",\"\xc3\xa9\"]", 3, ZD_OK, "a\xc3\xa9", 1},
    {"string", "[\"\\u00e9\\n\",\"\"]", 3, ZD_OK, "\xc3\xa9\n", 3},
    {"string", "[\"\",\"\"]", 0, ZD_OK, "", 0},
    {"bytes", "[\"YQ==\",[98,99]]", 3, ZD_OK, "abc", 1},
    {"string", "[\"a\",\"bcd\"]", 3, ZD_TOO_LARGE, NULL, 0},
    {"string", "[\"a\",1]", 3, ZD_INVALID, NULL, 0},
    {"string", "[\"a\",null]", 3, ZD_INVALID, NULL, 0},
    {"string", "[\"a\",\"\\u0000\"]", 3, ZD_INVALID, NULL, 0},
    {"string", "[\"a\"]", 3, ZD_INVALID, NULL, 0},
    {"bytes", "[\"a\",\"\"]", 3, ZD_INVALID, NULL, 0},
    {"bytes", "[\"YQ==\",[256]]", 3, ZD_INVALID, NULL, 0},
    {"bytes", "[[ 97 ,\n98\t] ,[]]", 3, ZD_OK, "ab", 2},
    {"bytes", "[[97,98,],\"\"]", 3, ZD_INVALID, NULL, 0},
    {"bytes", "[[97,098],\"\"]", 3, ZD_INVALID, NULL, 0},
    {"bytes", "[[97 98],\"\"]", 3, ZD_INVALID, NULL, 0},
    {"bytes", "[[97,[98]],\"\"]", 3, ZD_INVALID, NULL, 0},
    {"bytes", "[[97,\"98\"],\"\"]", 3, ZD_INVALID, NULL, 0},
    {"bytes", "[[97,98,99,100],\"\"]", 3, ZD_TOO_LARGE, NULL, 0},
};

START_TEST(elements_of_any_length_are_read_with_a_limit)
{
    const struct text_fact *fact = &text_facts[_i];
    struct zd_text_reader reader;
    struct zd_dtype dtype;
    struct zd_error err = {0};
    uint8_t elements[2 * ZD_VARIABLE_BYTES];
    size_t used = 0;
    ck_assert_int_eq(zd_dtype_find(fact->dtype, &dtype), ZD_OK);
    zd_text_reader_init(&reader, &dtype, 1, (const uint64_t[]){2});
    zd_text_reader_allow(&reader, fact->bytes_max);
    reader.to = elements;
    reader.n_room = 2;
    const enum zd_status status = zd_text_reader_feed(&reader, zd_span_of(fact->text), &used, &err);
    ck_assert_msg(status == fact->status, "%s", err.text);
    if (status == ZD_OK) {
        ck_assert(zd_span_is(zd_text_span(&reader.bytes), fact->bytes));
        ck_assert_uint_eq(zd_variable_at(elements, 0).len, fact->first_len);
        ck_assert_uint_eq(zd_variable_at(elements, 1).len, strlen(fact->bytes) - fact->first_len);
    }
    zd_text_reader_done(&reader);
}
END_TEST

/* Read a list byte by byte; its last item is right or not. */
static enum zd_status read_long_list(size_t n, const char *last, struct zd_error *err)
{
    struct zd_text_reader reader;
    struct zd_dtype dtype;
    uint8_t element[ZD_VARIABLE_BYTES];
    size_t used = 0;
    ZD_SCOPED_TEXT(body, 4 * n + 100);
    zd_text_add(&body, "[");
    for (size_t i = 1; i < n; i++) {
        zd_text_add(&body, "7,");
    }
    zd_text_addf(&body, "%s]", last);
    ck_assert_int_eq(body.status, ZD_OK);
    ck_assert_int_eq(zd_dtype_find("bytes", &dtype), ZD_OK);
    zd_text_reader_init(&reader, &dtype, 0, (const uint64_t[]){0});
    zd_text_reader_allow(&reader, body.len);
    reader.to = element;
    reader.n_room = 1;
    const enum zd_status status = zd_text_reader_feed(&reader, zd_text_span(&body), &used, err);
    if (status == ZD_OK) {
        ck_assert_uint_eq(zd_variable_at(element, 0).len, n);
        ck_assert_uint_eq(reader.bytes.len, n);
        ck_assert_int_eq(reader.bytes.at[n - 1], 8);
    }
    zd_text_reader_done(&reader);
    return status;
}

START_TEST(a_list_of_many_bytes_is_read)
{
    struct zd_error err = {0};
    ck_assert_int_eq(read_long_list(300000, "8", &err), ZD_OK);
    ck_assert_int_eq(read_long_list(1000, "256", &err), ZD_INVALID);
    ck_assert_msg(strstr(err.text, "integers from 0 to 255") != NULL, "%s", err.text);
    ck_assert_int_eq(read_long_list(300000, "256", &err), ZD_INVALID);
    ck_assert_msg(strstr(err.text, "or more than 131072 items") != NULL, "%s", err.text);
}
END_TEST

/* A value, a name and a member that never end: what is held of them has a limit. */
START_TEST(the_held_part_of_a_body_has_a_limit)
{
    static const char *const begins[] = {"[\"", "{\"", "{\"shape\":[", "{\"shape\":\"", "[1"};
    struct zd_text_reader reader;
    struct zd_dtype dtype;
    uint8_t element;
    size_t used = 0;
    size_t n = 0;
    enum zd_status status;
    ck_assert_int_eq(zd_dtype_find("uint8", &dtype), ZD_OK);
    zd_text_reader_init(&reader, &dtype, 1, (const uint64_t[]){1});
    reader.to = &element;
    reader.n_room = 1;
    status = zd_text_reader_feed(&reader, zd_span_of(begins[_i]), &used, NULL);
    while (status == ZD_OK && n < (1U << 20)) {
        status = zd_text_reader_feed(&reader, zd_span_of("1"), &used, NULL);
        n++;
    }
    ck_assert_int_eq(status, ZD_INVALID);
    ck_assert_uint_ge(n, 1000);
    ck_assert_uint_le(n, 1U << 16);
    zd_text_reader_done(&reader);
}
END_TEST

static enum zd_status read_in_need(void *context)
{
    const struct outcome outcome = read_cut(context, 1, 1, 1);
    return outcome.status;
}

START_TEST(allocations_may_fail)
{
    static struct body_fact fact = {
        "complex64", 1, {2}, "{\"shape\":[2],\"data\":[[1,2],[\"NaN\",4]]}", "", NULL};
    zd_unit_with_failing_memory(read_in_need, &fact);
}
END_TEST

static const struct element_fact {
    const char *dtype;
    const char *text;
    const char *bytes; /* hexadecimal; NULL: it is none of that type */
} element_facts[] = {
    {"int8", "127", "7f"},
    {"int8", "128", NULL},
    {"int8", "-128", "80"},
    {"int8", "-129", NULL},
    {"int8", "-0", "00"},
    {"int8", "\"-7\"", "f9"},
    {"uint8", "255", "ff"},
    {"uint8", "256", NULL},
    {"uint8", "-0", "00"},
    {"uint8", "-1", NULL},
    {"uint8", "\"255\"", "ff"},
    {"uint8", "\"256\"", NULL},
    {"uint8", "00", NULL},
    {"uint8", "01", NULL},
    {"uint8", "+1", NULL},
    {"uint8", "-", NULL},
    {"uint8", "", NULL},
    {"uint8", "1x", NULL},
    {"uint8", "\"\"", NULL},
    {"uint8", "\"one\"", NULL},
    {"uint8", "\"\\\"1\\\"\"", NULL}, /* quoted twice */
    {"uint8", "\" 1\"", NULL},
    {"uint8", "\"1 \"", NULL},
    {"uint8", "\"[1]\"", NULL},
    {"uint8", "\"1.0\"", NULL},
    {"uint8", "\"-\"", NULL},
    {"uint8", "\"1e1\"", NULL},
    {"uint8", "[1]", NULL},
    {"uint8", "null", NULL},
    {"uint8", "true", NULL},
    /* where the short reader of digits ends, and the tree begins */
    {"int64", "999999999999999999", "ffff63a7b3b6e00d"},
    {"int64", "1000000000000000000", "000064a7b3b6e00d"},
    {"int64", "-999999999999999999", "01009c584c491ff2"},
    {"int64", "-1000000000000000000", "00009c584c491ff2"},
    {"int64", "9223372036854775807", "ffffffffffffff7f"},
    {"int64", "9223372036854775808", NULL},
    {"int64", "-9223372036854775808", "0000000000000080"},
    {"int64", "-9223372036854775809", NULL},
    {"int64", "\"-9223372036854775808\"", "0000000000000080"},
    {"uint64", "18446744073709551615", "ffffffffffffffff"},
    {"uint64", "\"18446744073709551615\"", "ffffffffffffffff"},
    {"uint64", "18446744073709551616", NULL},
    {"uint64", "-1000000000000000000", NULL},
    {"bool", "true", "01"},
    {"bool", "1", NULL},
    {"float32", "-0.0", "00000080"},
    {"float32", "\"NaN\"", "0000c07f"},
    {"float32", "\"-Infinity\"", "000080ff"},
    {"float32", "\"0x7fc00001\"", "0100c07f"},
    {"float32", "NaN", NULL},
    {"float32", "\"1\"", NULL},
    {"complex64", "[0.5,-0.5]", "0000003f000000bf"},
    {"complex64", "[0.5]", NULL},
    {"complex64", "[[0.5],1]", NULL},
    /* base64: one, two and three bytes in the last group */
    {"r8", "\"/w==\"", "ff"},
    {"r8", "\"/x==\"", NULL}, /* bits behind the last byte */
    {"r8", "\"/w=\"", NULL},
    {"r8", "\"/w\"", NULL},
    {"r8", "\"/w=A\"", NULL},
    {"r8", "\"AQID\"", NULL},
    {"r16", "\"AQI=\"", "0102"},
    {"r16", "\"AQJ=\"", NULL}, /* bits behind the last byte */
    {"r16", "\"AQ==\"", NULL},
    {"r24", "\"AQID\"", "010203"},
    {"r24", "\"AQI=\"", NULL},
    {"r24", "\"A=ID\"", NULL},
    {"r24", "\"-_ID\"", NULL}, /* the alphabet of URLs */
    {"r24", "\"AQ D\"", NULL},
    {"r32", "\"AQIDBA==\"", "01020304"},
    {"r32", "\"AQ==AwQF\"", NULL},
    {"r24", "\"\"", NULL},
    {"r24", "[1,2,255]", "0102ff"},
    {"r24", "[1,2]", NULL},
    {"r24", "[1,2,256]", NULL},
};

/* Read an element without lists. */
static enum zd_status read_element(
    const char *type, struct zd_span text, uint8_t *to, struct zd_error *err)
{
    static const uint64_t shape[1];
    struct zd_text_reader reader;
    struct zd_dtype dtype;
    size_t used = 0;
    ck_assert_int_eq(zd_dtype_find(type, &dtype), ZD_OK);
    zd_text_reader_init(&reader, &dtype, 0, shape);
    reader.to = to;
    reader.n_room = 1;
    enum zd_status status = zd_text_reader_feed(&reader, text, &used, err);
    status = status == ZD_OK ? zd_text_reader_end(&reader, err) : status;
    zd_text_reader_done(&reader);
    return status;
}

START_TEST(an_element_is_read_as_it_is_spelt)
{
    const struct element_fact *fact = &element_facts[_i];
    const uint8_t untouched[8] = {0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa};
    uint8_t bytes[sizeof untouched];
    struct zd_error err = {0};
    memcpy(bytes, untouched, sizeof bytes);
    const enum zd_status status = read_element(fact->dtype, zd_span_of(fact->text), bytes, &err);
    if (fact->bytes == NULL) {
        ck_assert_int_eq(status, ZD_INVALID);
        ck_assert_str_ne(err.text, "");
        return;
    }
    ZD_AUTO(zd_buf) want = zd_unit_hex(fact->bytes);
    ck_assert_int_eq(status, ZD_OK);
    ck_assert_mem_eq(bytes, want->data, want->len);
    ck_assert_mem_eq(bytes + want->len, untouched, sizeof bytes - want->len);
}
END_TEST

START_TEST(the_longest_spelling_fits)
{
    ZD_SCOPED_TEXT(text, 4096);
    for (int i = 0; i < 32; i++) {
        zd_text_add(&text, i == 0 ? "[255" : ", 255");
    }
    zd_text_add(&text, "]");
    uint8_t bytes[32];
    ck_assert_int_eq(read_element("r256", zd_text_span(&text), bytes, NULL), ZD_OK);
}
END_TEST

static enum zd_status read_elements_in_need(void *context)
{
    static const char *const text[] = {"1000000000000000000", "\"1\"", "\"AQIDBAUGBwg=\""};
    static const char *const types[] = {"int64", "int64", "r64"};
    uint8_t bytes[8];
    enum zd_status status = ZD_OK;
    (void)context;
    for (size_t i = 0; i < ZD_COUNT_OF(text) && status == ZD_OK; i++) {
        status = read_element(types[i], zd_span_of(text[i]), bytes, NULL);
    }
    return status;
}

START_TEST(allocations_for_an_element_may_fail)
{
    zd_unit_with_failing_memory(read_elements_in_need, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, an_element_is_read_as_it_is_spelt, 0, ZD_COUNT_OF(element_facts));
    tcase_add_test(tests, the_longest_spelling_fits);
    tcase_add_test(tests, allocations_for_an_element_may_fail);
    tcase_add_loop_test(
        tests, a_body_is_what_it_says_wherever_it_is_cut, 0, ZD_COUNT_OF(body_facts));
    tcase_add_test(tests, a_list_of_many_bytes_is_read);
    tcase_add_loop_test(tests, the_held_part_of_a_body_has_a_limit, 0, 5);
    tcase_add_test(tests, allocations_may_fail);
    tcase_add_loop_test(
        tests, elements_of_any_length_are_read_with_a_limit, 0, ZD_COUNT_OF(text_facts));
}
