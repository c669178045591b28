/* Facts about server/format/table and column: the exact bytes of small tables. */
#include "server/format/table.h"

#include "server/format/column.h"
#include "tests/support/unit.h"

#define TEXT_BYTES_MAX 65536

/* uint8 arrays of rank 3 and less whose elements are 1, 2, .. */
static const struct table_fact {
    const struct zd_format *format;
    uint32_t rank;
    uint64_t shape[3];
    const char *slice;
    const char *attributes; /* or NULL */
    const char *text;       /* the whole body */
} table_facts[] = {
    {&zd_table_csv, 0, {0}, "", NULL, "\"a\"\"b\"\r\n1\r\n"},
    {&zd_table_csv, 1, {2}, "", NULL, "x,\"a\"\"b\"\r\n0,1\r\n1,2\r\n"},
    {&zd_table_csv, 1, {9}, "7:3:-2", NULL, "x,\"a\"\"b\"\r\n7,1\r\n5,2\r\n"},
    {&zd_table_csv, 2, {4, 2}, "1:3,:", NULL,
        "x,dim_1,\"a\"\"b\"\r\n1,0,1\r\n1,1,2\r\n2,0,3\r\n2,1,4\r\n"},
    {&zd_table_csv, 2, {4, 4}, "1,1:3", NULL, "dim_1,\"a\"\"b\"\r\n1,1\r\n2,2\r\n"},
    {&zd_table_csv, 3, {2, 1, 2}, "", NULL,
        "x,dim_1,z,\"a\"\"b\"\r\n0,0,0,1\r\n0,0,1,2\r\n1,0,0,3\r\n1,0,1,4\r\n"},
    {&zd_table_csv, 2, {0, 2}, "", NULL, "x,dim_1,\"a\"\"b\"\r\n"},
    {&zd_table_csv, 1, {2}, "", "{\"units\": \"days since 2000-02-28\"}",
        "x,\"a\"\"b\"\r\n0,2000-02-29T00:00:00\r\n1,2000-03-01T00:00:00\r\n"},
    {&zd_table_csv, 1, {2}, "", "{\"units\": \"days since 2000-02-28\", \"calendar\": \"noleap\"}",
        "x,\"a\"\"b\"\r\n0,2000-03-01T00:00:00\r\n1,2000-03-02T00:00:00\r\n"},
    {&zd_table_csv, 1, {1}, "", "{\"units\": \"days since 2000-02-28\", \"scale_factor\": 2}",
        "x,\"a\"\"b\"\r\n0,1\r\n"}, /* packed: the elements count no days */
    {&zd_table_csv, 1, {1}, "", "{\"units\": \"K\"}", "x,\"a\"\"b\"\r\n0,1\r\n"},
    {&zd_table_json, 0, {0}, "", NULL, "{\"columns\":[\"a\\\"b\"],\"rows\":[[1]]}"},
    {&zd_table_json, 1, {2}, "", NULL, "{\"columns\":[\"x\",\"a\\\"b\"],\"rows\":[[0,1],[1,2]]}"},
    {&zd_table_json, 2, {2, 2}, ":,1", NULL,
        "{\"columns\":[\"x\",\"a\\\"b\"],\"rows\":[[0,1],[1,2]]}"},
    {&zd_table_json, 1, {0}, "", NULL, "{\"columns\":[\"x\",\"a\\\"b\"],\"rows\":[]}"},
    {&zd_table_json, 1, {1}, "", "{\"units\": \"hours since 1-1-1\"}",
        "{\"columns\":[\"x\",\"a\\\"b\"],\"rows\":[[0,\"0001-01-01T01:00:00\"]]}"},
};

struct sample {
    struct zd_meta meta;
    struct zd_selection selection;
    struct zd_answer answer;
    struct zd_column column[3];
    struct zd_json *attributes;
};

static void make_sample(struct sample *sample, const struct table_fact *fact)
{
    static char x[] = "x";
    static char z[] = "z";
    static char *names[] = {x, NULL, z};
    const struct zd_json_limits limits = {.bytes_max = 4096, .nodes_max = 64, .depth_max = 4};
    *sample = (struct sample){.meta.dimension_name = names};
    ck_assert_int_eq(zd_dtype_find("uint8", &sample->meta.dtype), ZD_OK);
    if (fact->attributes != NULL) {
        ck_assert_int_eq(
            zd_json_parse(zd_span_of(fact->attributes), &limits, &sample->attributes, NULL), ZD_OK);
    }
    sample->meta.attributes = sample->attributes;
    ck_assert_int_eq(zd_selection_parse(zd_span_of(fact->slice), fact->rank, fact->shape,
                         &sample->selection, NULL),
        ZD_OK);
    zd_format_answer_init(&sample->answer, &sample->meta, &sample->selection);
    sample->answer.name = "a\"b";
    sample->answer.has_header = true;
    sample->answer.column = sample->column;
    for (uint32_t d = 0; d < sample->answer.rank; d++) {
        sample->column[d] = zd_column_of_indices(&sample->answer, d);
    }
}

/* The whole body, in bands of n_band. */
static void add_body(
    const struct zd_format *format, struct zd_answer *answer, uint64_t n_band, struct zd_text *text)
{
    static const uint8_t elements[] = {1, 2, 3, 4, 5, 6, 7, 8};
    ck_assert_int_eq(zd_format_open(format, answer, NULL), ZD_OK);
    format->head(answer, text);
    for (uint64_t first = 0; first < answer->n_elements; first += n_band) {
        const uint64_t n = zd_min_u64(n_band, answer->n_elements - first);
        format->band(answer, first, n, elements + first, text);
    }
    if (format->tail != NULL) {
        format->tail(answer, text);
    }
    zd_format_close(format, answer);
}

START_TEST(tables_have_a_row_for_each_element)
{
    const struct table_fact *fact = &table_facts[_i];
    struct sample sample;
    make_sample(&sample, fact);
    for (uint64_t n_band = 1; n_band <= 4; n_band++) {
        ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
        add_body(fact->format, &sample.answer, n_band, &text);
        ck_assert_int_eq(text.status, ZD_OK);
        ck_assert_str_eq(text.at, fact->text);
        ck_assert_uint_le(text.len, zd_format_answer_text_max(&sample.answer));
    }
    zd_json_unref(sample.attributes);
}
END_TEST

START_TEST(a_column_has_the_values_of_its_dimension)
{
    const struct table_fact fact = {.rank = 2, .shape = {4, 2}, .slice = "2::-2,:"};
    const double days[] = {0.25, 0, 1.5, 7};
    const uint16_t levels[] = {1000, 850};
    struct zd_cf_time time;
    struct sample sample;
    make_sample(&sample, &fact);
    sample.column[0].values = (const uint8_t *)days;
    sample.column[0].time = &time;
    sample.column[1].values = (const uint8_t *)levels;
    ck_assert_int_eq(zd_dtype_find("float64", &sample.column[0].dtype), ZD_OK);
    ck_assert_int_eq(zd_dtype_find("uint16", &sample.column[1].dtype), ZD_OK);
    ck_assert_int_eq(
        zd_cf_time_parse(zd_span_of("days since 2001-01-01"), (struct zd_span){0}, &time, NULL),
        ZD_OK);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    add_body(&zd_table_csv, &sample.answer, 3, &text);
    ck_assert_str_eq(text.at, "x,dim_1,\"a\"\"b\"\r\n2001-01-02T12:00:00,1000,1\r\n"
                              "2001-01-02T12:00:00,850,2\r\n2001-01-01T06:00:00,1000,3\r\n"
                              "2001-01-01T06:00:00,850,4\r\n");
}
END_TEST

START_TEST(a_block_is_called_as_its_first_element)
{
    const struct table_fact fact = {.rank = 1, .shape = {9}, .slice = "3:8"};
    const uint8_t values[] = {30, 31, 32, 33, 34, 35, 36, 37, 38};
    const uint64_t block[] = {2};
    struct sample sample;
    make_sample(&sample, &fact);
    sample.answer.block = block;
    sample.answer.shape[0] = 3;
    sample.answer.n_elements = 3;
    sample.answer.has_header = false;
    sample.column[0] = zd_column_of_indices(&sample.answer, 0);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    add_body(&zd_table_csv, &sample.answer, 2, &text);
    sample.column[0].values = values;
    sample.column[0].dtype = sample.meta.dtype;
    add_body(&zd_table_csv, &sample.answer, 2, &text);
    ck_assert_str_eq(text.at, "3,1\r\n5,2\r\n7,3\r\n33,1\r\n35,2\r\n37,3\r\n");
}
END_TEST

START_TEST(a_json_table_can_be_pretty)
{
    const struct table_fact fact = {.rank = 1, .shape = {2}, .slice = ""};
    struct sample sample;
    make_sample(&sample, &fact);
    sample.answer.pretty = true;
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    add_body(&zd_table_json, &sample.answer, 1, &text);
    ck_assert_str_eq(text.at, "{\n  \"columns\": [\n    \"x\",\n    \"a\\\"b\"\n  ],\n"
                              "  \"rows\": [\n    [0,1],\n    [1,2]\n  ]\n}\n");
}
END_TEST

START_TEST(a_table_may_have_no_header)
{
    const struct table_fact fact = {.rank = 1, .shape = {2}, .slice = ""};
    struct sample sample;
    make_sample(&sample, &fact);
    sample.answer.has_header = false;
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    add_body(&zd_table_csv, &sample.answer, 1, &text);
    ck_assert_str_eq(text.at, "0,1\r\n1,2\r\n");
}
END_TEST

static const struct header_fact {
    uint32_t rank;
    uint64_t shape[2];
    const char *text;
} header_facts[] = {
    {0, {0}, "\"a\"\"b\"\r\n1\r\n"},
    {1, {2}, "\"a\"\"b\"\r\n1\r\n2\r\n"},
    {2, {2, 2}, "0,1\r\n1,2\r\n3,4\r\n"},
    {2, {0, 2}, "0,1\r\n"},
};

START_TEST(csv_may_have_a_header)
{
    const struct header_fact *fact = &header_facts[_i];
    const struct table_fact table = {
        .rank = fact->rank, .shape = {fact->shape[0], fact->shape[1]}, .slice = ""};
    struct sample sample;
    make_sample(&sample, &table);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    add_body(zd_format_find(zd_span_of("csv")), &sample.answer, 1, &text);
    ck_assert_str_eq(text.at, fact->text);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, tables_have_a_row_for_each_element, 0, ZD_COUNT_OF(table_facts));
    tcase_add_loop_test(tests, csv_may_have_a_header, 0, ZD_COUNT_OF(header_facts));
    tcase_add_test(tests, a_column_has_the_values_of_its_dimension);
    tcase_add_test(tests, a_block_is_called_as_its_first_element);
    tcase_add_test(tests, a_json_table_can_be_pretty);
    tcase_add_test(tests, a_table_may_have_no_header);
}
