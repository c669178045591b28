/* Facts about server/format/format: the exact bytes of small answers. */
#include "server/format/format.h"

#include "tests/support/unit.h"

#define TEXT_BYTES_MAX 65536

/* Elements of a small array, answered in one format. */
static const struct format_fact {
    const char *format;
    const char *dtype;
    const char *elements; /* hexadecimal, as in memory */
    uint32_t rank;
    uint64_t shape[3];
    const char *text; /* the whole body */
} format_facts[] = {
    {"json", "int16", "0100ffff", 1, {2}, "[1,-1]"},
    {"json", "uint8", "2a", 0, {0}, "42"},
    {"json", "uint8", "010203040506", 2, {2, 3}, "[[1,2,3],[4,5,6]]"},
    {"json", "uint8", "01020304", 3, {2, 1, 2}, "[[[1,2]],[[3,4]]]"},
    {"json", "uint8", "0102", 3, {1, 2, 1}, "[[[1],[2]]]"},
    {"json", "bool", "0100", 1, {2}, "[true,false]"},
    {"json", "float32", "0000c07f0000807f000080ff0000003f", 1, {4},
        "[\"NaN\",\"Infinity\",\"-Infinity\",0.5]"},
    {"json", "uint64", "ffffffffffffffff", 1, {1}, "[18446744073709551615]"},
    {"json", "complex64", "0000003f000000bf", 1, {1}, "[[0.5,-0.5]]"},
    {"json", "r24", "010203", 1, {1}, "[\"AQID\"]"},
    {"json", "uint8", "", 1, {0}, "[]"},
    {"json", "uint8", "", 2, {2, 0}, "[[],[]]"},
    {"json", "uint8", "", 2, {0, 18446744073709551615U}, "[]"},
    {"json", "uint8", "", 3, {2, 0, 7}, "[[],[]]"},
    {"json", "uint8", "", 3, {2, 1, 0}, "[[[]],[[]]]"},
    {"csv", "uint8", "2a", 0, {0}, "42\r\n"},
    {"csv", "int16", "0100ffff", 1, {2}, "1\r\n-1\r\n"},
    {"csv", "uint8", "010203040506", 2, {2, 3}, "1,2,3\r\n4,5,6\r\n"},
    {"csv", "float32", "0000c07f0000807f000080ff0000003f", 2, {2, 2},
        "NaN,Infinity\r\n-Infinity,0.5\r\n"},
    {"csv", "bool", "0100", 1, {2}, "true\r\nfalse\r\n"},
    {"csv", "complex64", "0000003f000000bf", 1, {1}, "\"[0.5,-0.5]\"\r\n"}, /* RFC 4180, 2.6 */
    {"csv", "uint8", "", 2, {2, 0}, ""},
};

struct sample {
    struct zd_meta meta;
    struct zd_selection selection;
    struct zd_answer answer;
};

static void make_sample(
    struct sample *sample, const char *dtype, uint32_t rank, const uint64_t *shape)
{
    *sample = (struct sample){0};
    ck_assert_int_eq(zd_dtype_find(dtype, &sample->meta.dtype), ZD_OK);
    zd_selection_whole(rank, shape, &sample->selection);
    zd_format_answer_init(&sample->answer, &sample->meta, &sample->selection);
}

static const struct zd_format *find(const char *name)
{
    const struct zd_format *format = zd_format_find(zd_span_of(name));
    ck_assert_ptr_nonnull(format);
    return format;
}

/* A format with state: raw elements, and behind them how many bytes they were and their sum. */
struct sum {
    uint64_t n_bytes;
    uint8_t sum;
};

static int n_sums; /* that are open */

static bool sum_accepts(const struct zd_dtype *dtype, uint32_t rank)
{
    return dtype->bytes == 1 && rank == 1;
}

static enum zd_status sum_open(
    const struct zd_answer *answer, void **ret_state, struct zd_error *err)
{
    (void)answer;
    struct sum *sum = zd_alloc_zero(1, sizeof *sum);
    if (sum == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a sum");
    }
    n_sums++;
    *ret_state = sum;
    return ZD_OK;
}

static void sum_close(void *state)
{
    n_sums--;
    zd_free(state);
}

static void sum_band(const struct zd_answer *answer, uint64_t first, uint64_t n_elements,
    const uint8_t *elements, struct zd_text *text)
{
    struct sum *sum = answer->state;
    ck_assert_uint_eq(sum->n_bytes, first);
    sum->n_bytes += n_elements;
    for (uint64_t i = 0; i < n_elements; i++) {
        sum->sum = (uint8_t)(sum->sum + elements[i]);
        zd_text_addf(text, "%u ", elements[i]);
    }
}

static void sum_tail(const struct zd_answer *answer, struct zd_text *text)
{
    const struct sum *sum = answer->state;
    zd_text_addf(text, "= %u of %llu", sum->sum, (unsigned long long)sum->n_bytes);
}

static const struct zd_format format_sum = {
    .name = "sum",
    .media_type = "application/x-sum",
    .accepts = sum_accepts,
    .open = sum_open,
    .close = sum_close,
    .band = sum_band,
    .tail = sum_tail,
};

/* The elements in bands of n_band, without the head. */
static void add_body(const struct zd_format *format, const struct zd_answer *answer,
    const struct zd_buf *elements, uint64_t n_band, struct zd_text *text)
{
    const uint64_t bytes = answer->dtype.bytes;
    for (uint64_t first = 0; first < answer->n_elements; first += n_band) {
        const uint64_t n = zd_min_u64(n_band, answer->n_elements - first);
        format->band(answer, first, n, elements->data + first * bytes, text);
    }
    if (format->tail != NULL) {
        format->tail(answer, text);
    }
}

START_TEST(text_formats_write_elements_exactly)
{
    const struct format_fact *fact = &format_facts[_i];
    const struct zd_format *format = find(fact->format);
    ZD_AUTO(zd_buf) elements = zd_unit_hex(fact->elements);
    struct sample sample;
    make_sample(&sample, fact->dtype, fact->rank, fact->shape);
    for (uint64_t n_band = 1; n_band <= 4; n_band++) {
        ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
        ZD_SCOPED_TEXT(expected, TEXT_BYTES_MAX);
        add_body(format, &sample.answer, elements, n_band, &text);
        zd_text_add(&expected, fact->text);
        zd_text_add(&expected, format->tail == NULL ? "" : "}");
        ck_assert_int_eq(text.status, ZD_OK);
        ck_assert_str_eq(text.at, expected.at);
        ck_assert_uint_le(text.len, zd_format_answer_text_max(&sample.answer));
    }
}
END_TEST

START_TEST(a_format_with_state_sees_all_bands_and_ends_with_a_trailer)
{
    const uint64_t shape[] = {5};
    ZD_AUTO(zd_buf) elements = zd_unit_hex("01020304ff");
    struct sample sample;
    make_sample(&sample, "uint8", 1, shape);
    for (uint64_t n_band = 1; n_band <= 5; n_band++) {
        ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
        ck_assert_int_eq(zd_format_open(&format_sum, &sample.answer, NULL), ZD_OK);
        add_body(&format_sum, &sample.answer, elements, n_band, &text);
        ck_assert_str_eq(text.at, "1 2 3 4 255 = 9 of 5");
        ck_assert_int_eq(n_sums, 1); /* an older state is closed */
    }
    zd_format_close(&format_sum, &sample.answer);
    zd_format_close(&format_sum, &sample.answer);
    ck_assert_int_eq(n_sums, 0);
}
END_TEST

START_TEST(formats_without_state_have_nothing_to_open)
{
    const uint64_t shape[] = {5};
    struct sample sample;
    make_sample(&sample, "uint8", 1, shape);
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        ck_assert_int_eq(zd_format_open(zd_formats[i], &sample.answer, NULL), ZD_OK);
        ck_assert_int_eq(sample.answer.state == NULL, zd_formats[i]->open == NULL);
        zd_format_close(zd_formats[i], &sample.answer);
        ck_assert(zd_format_encodes(zd_formats[i]) || zd_formats[i]->size != NULL);
    }
}
END_TEST

START_TEST(json_says_what_it_holds)
{
    char lat[] = "lat\"1\"";
    char *names[] = {lat, NULL};
    const uint64_t shape[] = {10, 4};
    struct sample sample;
    make_sample(&sample, "float64", 2, shape);
    ck_assert_int_eq(
        zd_selection_parse(zd_span_of("9::-3,2"), 2, shape, &sample.selection, NULL), ZD_OK);
    sample.meta.dimension_name = names;
    zd_format_answer_init(&sample.answer, &sample.meta, &sample.selection);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    find("json")->head(&sample.answer, &text);
    ck_assert_str_eq(text.at,
        "{\"shape\":[4],\"data_type\":\"float64\",\"dimensions\":[\"lat\\\"1\\\"\"],"
        "\"selection\":\"9::-3,2\",\"data\":");
}
END_TEST

START_TEST(a_result_has_its_own_type_and_dimensions)
{
    char time[] = "time";
    char lat[] = "lat";
    char *names[] = {time, lat, NULL};
    const uint64_t shape[] = {10, 2};
    ZD_AUTO(zd_buf) elements = zd_unit_hex("000000000000e03f0000000000000040");
    struct sample sample;
    make_sample(&sample, "int8", 2, shape);
    sample.meta.dimension_name = names;
    ck_assert_str_eq(zd_format_answer_dimension(&sample.answer, 1), "lat");
    ck_assert_int_eq(zd_dtype_find("float64", &sample.answer.dtype), ZD_OK);
    sample.answer.rank = 1;
    sample.answer.shape[0] = 2;
    sample.answer.dim[0] = 1;
    sample.answer.n_elements = 2;
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    find("json")->head(&sample.answer, &text);
    add_body(find("json"), &sample.answer, elements, 2, &text);
    ck_assert_str_eq(text.at, "{\"shape\":[2],\"data_type\":\"float64\",\"dimensions\":[\"lat\"],"
                              "\"selection\":\"0:10:1,0:2:1\",\"data\":[0.5,2.0]}");
    sample.answer.dim[0] = ZD_ANSWER_NO_DIM;
    ck_assert_ptr_null(zd_format_answer_dimension(&sample.answer, 0));
}
END_TEST

START_TEST(lengths_have_commas_between_them)
{
    const uint64_t lengths[] = {0, UINT64_MAX, 7};
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    ZD_SCOPED_TEXT(none, TEXT_BYTES_MAX);
    zd_format_add_lengths(&text, lengths, 3);
    zd_format_add_lengths(&none, lengths, 0);
    ck_assert_str_eq(text.at, "0,18446744073709551615,7");
    ck_assert_uint_eq(none.len, 0);
}
END_TEST

START_TEST(json_can_be_pretty)
{
    const uint64_t shape[] = {2, 2};
    ZD_AUTO(zd_buf) elements = zd_unit_hex("01020304");
    struct sample sample;
    make_sample(&sample, "uint8", 2, shape);
    sample.answer.pretty = true;
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    add_body(find("json"), &sample.answer, elements, 3, &text);
    ck_assert_str_eq(text.at, "[\n    [1, 2],\n    [3, 4]\n  ]\n}\n");
}
END_TEST

START_TEST(too_many_empty_lists_are_refused)
{
    const uint64_t shape[] = {UINT64_MAX, 2, 0};
    struct sample sample;
    make_sample(&sample, "uint8", 3, shape);
    ZD_SCOPED_TEXT(text, zd_format_answer_text_max(&sample.answer));
    find("json")->tail(&sample.answer, &text);
    ck_assert_int_eq(text.status, ZD_TOO_LARGE);
}
END_TEST

static const struct npy_fact {
    const char *dtype;
    uint32_t rank;
    uint64_t shape[2];
    const char *dictionary;
} npy_facts[] = {
    {"float32", 2, {3, 4}, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"},
    {"int64", 1, {3}, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }"},
    {"bool", 0, {0}, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }"},
    {"uint8", 1, {0}, "{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }"},
    {"complex128", 1, {1}, "{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }"},
    {"r24", 1, {1}, "{'descr': '|V3', 'fortran_order': False, 'shape': (1,), }"},
};

START_TEST(npy_has_a_header_that_numpy_reads)
{
    const struct npy_fact *fact = &npy_facts[_i];
    const struct zd_format *npy = find("npy");
    struct sample sample;
    make_sample(&sample, fact->dtype, fact->rank, fact->shape);
    ZD_SCOPED_TEXT(head, TEXT_BYTES_MAX);
    npy->head(&sample.answer, &head);
    ck_assert_int_eq(head.status, ZD_OK);
    ck_assert_uint_eq(head.len % 64, 0);
    ck_assert_mem_eq(head.at, "\x93NUMPY\x01\x00", 8);
    ck_assert_uint_eq(zd_load_u16(head.at + 8), head.len - 10);
    ck_assert_mem_eq(head.at + 10, fact->dictionary, strlen(fact->dictionary));
    ck_assert_int_eq(head.at[head.len - 1], '\n');
    uint64_t bytes;
    ck_assert(npy->size(&sample.answer, &bytes));
    ck_assert_uint_eq(bytes, head.len + sample.answer.n_elements * sample.meta.dtype.bytes);
}
END_TEST

START_TEST(raw_is_nothing_but_elements)
{
    const uint64_t shape[] = {3, 5};
    struct sample sample;
    make_sample(&sample, "float64", 2, shape);
    const struct zd_format *raw = find("raw");
    uint64_t bytes;
    ck_assert(raw->size(&sample.answer, &bytes));
    ck_assert_uint_eq(bytes, 120);
    ck_assert_ptr_null(raw->head);
    ck_assert_ptr_null(raw->band);
}
END_TEST

START_TEST(formats_accept_what_they_can_say)
{
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find("float32", &dtype), ZD_OK);
    ck_assert(zd_format_accepts(find("csv"), &dtype, 2, NULL));
    ck_assert(!zd_format_accepts(find("csv"), &dtype, 3, NULL));
    ck_assert(zd_format_accepts(find("json"), &dtype, 32, NULL));
    ck_assert(zd_format_accepts(find("npy"), &dtype, 32, NULL));
    ck_assert(zd_format_accepts(find("raw"), &dtype, 32, NULL));
    ck_assert_ptr_null(zd_format_find(zd_span_of("RAW")));
    ck_assert_ptr_null(zd_format_find(zd_span_of("")));
}
END_TEST

static const struct choice_fact {
    const char *name;   /* of `format=`, or NULL */
    const char *accept; /* or NULL */
    uint32_t rank;
    const char *format; /* NULL: none */
} choice_facts[] = {
    {NULL, NULL, 1, "raw"},
    {NULL, "*/*", 1, "raw"},
    {NULL, "application/json", 1, "json"},
    {NULL, "application/*", 1, "raw"},
    {NULL, "text/csv, application/json;q=0.9", 2, "csv"},
    {NULL, "text/csv, application/json;q=0.9", 3, "json"}, /* CSV has no third dimension */
    {NULL, "text/csv", 3, NULL},
    {NULL, "image/png", 2, NULL},
    {NULL, "application/octet-stream;q=0.1, application/x-npy;q=0.2", 2, "npy"},
    {"csv", "application/json", 2, "csv"}, /* a name outranks Accept */
    {"csv", NULL, 3, NULL},
    {"CSV", NULL, 1, NULL},
    {"", NULL, 1, NULL},
};

START_TEST(a_name_decides_then_accept)
{
    const struct choice_fact *fact = &choice_facts[_i];
    struct zd_dtype dtype;
    ZD_SCOPED_TEXT(name, TEXT_BYTES_MAX);
    ck_assert_int_eq(zd_dtype_find("float32", &dtype), ZD_OK);
    zd_text_add(&name, fact->name == NULL ? "" : fact->name);
    const struct zd_format *format = zd_format_choose(
        fact->name == NULL ? NULL : &name, fact->accept, ZD_LAYOUT_ARRAY, &dtype, fact->rank, NULL);
    ck_assert_pstr_eq(format == NULL ? NULL : format->name, fact->format);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_name_decides_then_accept, 0, ZD_COUNT_OF(choice_facts));
    tcase_add_loop_test(tests, text_formats_write_elements_exactly, 0, ZD_COUNT_OF(format_facts));
    tcase_add_test(tests, a_format_with_state_sees_all_bands_and_ends_with_a_trailer);
    tcase_add_test(tests, formats_without_state_have_nothing_to_open);
    tcase_add_test(tests, json_says_what_it_holds);
    tcase_add_test(tests, a_result_has_its_own_type_and_dimensions);
    tcase_add_test(tests, lengths_have_commas_between_them);
    tcase_add_test(tests, json_can_be_pretty);
    tcase_add_test(tests, too_many_empty_lists_are_refused);
    tcase_add_loop_test(tests, npy_has_a_header_that_numpy_reads, 0, ZD_COUNT_OF(npy_facts));
    tcase_add_test(tests, raw_is_nothing_but_elements);
    tcase_add_test(tests, formats_accept_what_they_can_say);
}
