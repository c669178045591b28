/* server/slice/slice: whole and streamed bodies in every format, also in one with state. */
#include "server/slice/slice.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/front_fake.h"
#include "tests/support/unit.h"

#define SMALL "{\"datasets\": {\"m\": {\"location\": \"mem:\", \"writable\": true}}}"
/* The array is three times as long as what is not streamed. */
#define STREAMED                                                                                   \
    "{\"datasets\": {\"m\": {\"location\": \"mem:\", \"writable\": true}}, \"http\": "             \
    "{\"stream_bytes\": 4096}}"
#define DOCUMENT                                                                                   \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [120, 100], \"data_type\": "        \
    "\"uint8\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": "     \
    "[30, 50]}}, \"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, "             \
    "\"codecs\": [{\"name\": \"bytes\"}]}"
#define NODE       "/v1/datasets/m/nodes/a"
#define SLICE      "/v1/datasets/m/slices/a"
#define N_ROWS     120
#define N_COLUMNS  100
#define N_ELEMENTS (N_ROWS * N_COLUMNS)

/* ---- formats with state: the elements, and behind them their sum ---- */

struct sum {
    uint64_t n_elements;
    uint32_t sum;
    bool is_broken; /* a band came out of order */
};

static int n_sums; /* that are open */

static bool sum_accepts(const struct zd_dtype *dtype, uint32_t rank)
{
    (void)rank;
    return dtype->bytes == 1;
}

static bool sum_size(const struct zd_answer *answer, uint64_t *ret_bytes)
{
    return zd_format_fixed_size(answer, 8, ret_bytes);
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
    sum->is_broken = sum->is_broken || sum->n_elements != first;
    sum->n_elements += n_elements;
    for (uint64_t i = 0; i < n_elements; i++) {
        sum->sum += elements[i];
    }
    zd_text_add_bytes(text, (const char *)elements, n_elements);
}

static void sum_tail(const struct zd_answer *answer, struct zd_text *text)
{
    const struct sum *sum = answer->state;
    zd_text_addf(text, "%08x", sum->is_broken ? 0 : (unsigned)sum->sum);
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

static const struct zd_format format_sized = {
    .name = "sized",
    .media_type = "application/x-sized",
    .accepts = sum_accepts,
    .size = sum_size,
    .open = sum_open,
    .close = sum_close,
    .band = sum_band,
    .tail = sum_tail,
};

extern const struct zd_format zd_format_csv;
extern const struct zd_format zd_format_json;
extern const struct zd_format zd_format_npy;
extern const struct zd_format zd_format_raw;

/* In place of the list that the build makes. */
const struct zd_format *const zd_formats[] = {&zd_format_csv, &zd_format_json, &zd_format_npy,
    &zd_format_raw, &format_sized, &format_sum, NULL};

/* ---- one array, on a server that streams it or does not ---- */

static uint8_t element(size_t i)
{
    return (uint8_t)(i * 7 % 251);
}

static void open_array(struct zd_test_serve *serve, const char *config)
{
    uint8_t elements[N_ELEMENTS];
    for (size_t i = 0; i < N_ELEMENTS; i++) {
        elements[i] = element(i);
    }
    ck_assert_int_eq(zd_test_serve_open(serve, config), ZD_OK);
    zd_fake_put(serve, NODE, "application/json", zd_span_of(DOCUMENT));
    zd_fake_put(serve, SLICE, "application/octet-stream",
        (struct zd_span){.ptr = elements, .len = sizeof elements});
}

/* The bytes that a sum has of [first, first + n) of the array. */
static void add_sum(struct zd_text *text, size_t first, size_t n)
{
    unsigned sum = 0;
    for (size_t i = first; i < first + n; i++) {
        sum += element(i);
        zd_text_add_char(text, (char)element(i));
    }
    zd_text_addf(text, "%08x", sum);
}

static void check_sum(const struct zd_fake_exchange *exchange, size_t first, size_t n)
{
    ZD_SCOPED_TEXT(expected, 2 * N_ELEMENTS);
    add_sum(&expected, first, n);
    ck_assert_uint_eq(exchange->http_status, 200);
    ck_assert(!exchange->is_cut);
    ck_assert_uint_eq(exchange->answer.len, expected.len);
    ck_assert_mem_eq(exchange->answer.at, expected.at, expected.len);
}

static const struct sum_fact {
    const char *config;
    const char *target;
    size_t first;
    size_t n;
} sum_facts[] = {
    {SMALL, SLICE "?format=sum", 0, N_ELEMENTS},
    {SMALL, SLICE "?format=sized", 0, N_ELEMENTS},
    {SMALL, SLICE "?format=sum&slice=7,20:31", 720, 11},
    {SMALL, SLICE "?format=sum&slice=7,20:20", 720, 0},
    {STREAMED, SLICE "?format=sum", 0, N_ELEMENTS},
    {STREAMED, SLICE "?format=sized", 0, N_ELEMENTS},
    {STREAMED, SLICE "?format=sum&slice=1:119", 100, 11800},
    {STREAMED, SLICE "?format=sum&slice=7,20:31", 720, 11},
};

START_TEST(a_format_with_state_sees_all_elements_in_order)
{
    const struct sum_fact *fact = &sum_facts[_i];
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    open_array(&serve, fact->config);
    zd_fake_get(&exchange, &serve, fact->target, NULL);
    check_sum(&exchange, fact->first, fact->n);
    zd_fake_done(&exchange);
    ck_assert_int_eq(n_sums, 0);
    zd_test_serve_close(&serve);
}
END_TEST

START_TEST(a_client_that_leaves_closes_the_state)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    open_array(&serve, STREAMED);
    zd_fake_init(&exchange, &serve, "GET", SLICE "?format=sum");
    exchange.room_bytes = 100;
    zd_fake_start(&exchange);
    while (exchange.answer.len < exchange.room_bytes) {
        zd_fake_turn(&exchange);
    }
    ck_assert_int_eq(n_sums, 1);
    zd_fake_hang_up(&exchange);
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve); /* a worker may have had it until now */
    ck_assert_int_eq(n_sums, 0);
}
END_TEST

START_TEST(a_body_is_the_same_whole_and_streamed)
{
    ZD_SCOPED_TEXT(target, 128);
    struct zd_test_serve serve;
    struct zd_fake_exchange whole;
    struct zd_fake_exchange streamed;
    zd_text_addf(&target, SLICE "?slice=::-1,3:&format=%s", zd_formats[_i]->name);
    open_array(&serve, SMALL);
    zd_fake_get(&whole, &serve, target.at, NULL);
    ck_assert_uint_eq(whole.http_status, 200);
    struct zd_test_serve small;
    open_array(&small, STREAMED);
    zd_fake_get(&streamed, &small, target.at, NULL);
    ck_assert_uint_eq(streamed.http_status, 200);
    ck_assert_uint_eq(streamed.answer.len, whole.answer.len);
    ck_assert_mem_eq(streamed.answer.at, whole.answer.at, whole.answer.len);
    ck_assert(zd_fake_has(&whole, "Zarr-Chunks", "8/0"));
    ck_assert(zd_fake_has(&streamed, "Zarr-Chunks", "8/0"));
    zd_fake_done(&whole);
    zd_fake_done(&streamed);
    zd_test_serve_close(&small);
    zd_test_serve_close(&serve);
}
END_TEST

/* ---- what is refused, and what is not made ---- */

static const struct refusal_fact {
    const char *target;
    const char *code;
    unsigned http_status;
} refusal_facts[] = {
    {SLICE "?slice=0,x", "bad_slice", 400},
    {SLICE "?slice=120", "out_of_bounds", 400},
    {SLICE "?level=0", "bad_parameter", 400},
    {SLICE "?level=0&max_size=1", "bad_parameter", 400},
    {SLICE "?format=png", "not_acceptable", 406},
    {SLICE "?expected_shape=120,99", "shape_mismatch", 409},
    {SLICE "?fill=drop", "unknown_parameter", 400}, /* of statistics */
    {"/v1/datasets/m/slices/b", "node_not_found", 404},
};

START_TEST(impossible_answers_are_refused_before_reading)
{
    const struct refusal_fact *fact = &refusal_facts[_i];
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    open_array(&serve, SMALL);
    zd_fake_get(&exchange, &serve, fact->target, NULL);
    ck_assert_str_eq(exchange.code, fact->code);
    ck_assert_uint_eq(exchange.http_status, fact->http_status);
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

START_TEST(a_tag_names_what_a_client_has)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    char etag[ZD_TAG_BYTES];
    open_array(&serve, _i == 0 ? SMALL : STREAMED);
    zd_fake_get(&exchange, &serve, SLICE "?format=sum", NULL);
    zd_fake_etag(&exchange, etag);
    zd_fake_done(&exchange);
    const struct zd_header same = {"If-None-Match", etag};
    zd_fake_get(&exchange, &serve, SLICE "?format=sum", &same);
    ck_assert_uint_eq(exchange.http_status, 304);
    zd_fake_done(&exchange);
    zd_fake_get(&exchange, &serve, SLICE "?format=sized", &same); /* another form has another tag */
    ck_assert_uint_eq(exchange.http_status, 200);
    zd_fake_done(&exchange);
    const struct zd_header other = {"If-Match", "\"other\""};
    zd_fake_get(&exchange, &serve, SLICE "?format=sum", &other);
    ck_assert_uint_eq(exchange.http_status, 412);
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

START_TEST(a_writer_may_name_the_tag_of_any_format)
{
    static const uint8_t one[] = {1};
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    char etag[ZD_TAG_BYTES];
    open_array(&serve, SMALL);
    zd_fake_get(&exchange, &serve, SLICE "?format=sum&slice=0,0", NULL);
    zd_fake_etag(&exchange, etag);
    zd_fake_done(&exchange);
    const struct zd_header match = {"If-Match", etag};
    for (unsigned i = 0; i < 2; i++) {
        zd_fake_init(&exchange, &serve, "PUT", SLICE "?slice=0,0");
        exchange.header = &match;
        exchange.n_headers = 1;
        exchange.body = (struct zd_span){.ptr = one, .len = 1};
        zd_fake_run(&exchange);
        ck_assert_uint_eq(exchange.http_status, i == 0 ? 200 : 412); /* it is another one by then */
        zd_fake_done(&exchange);
    }
    zd_test_serve_close(&serve);
}
END_TEST

static const struct range_fact {
    const char *config;
    const char *format;
    const char *range;
    unsigned http_status;
    size_t first;
    size_t len;
} range_facts[] = {
    {SMALL, "raw", "bytes=5-9", 206, 5, 5},
    {STREAMED, "raw", "bytes=5-9", 206, 5, 5},
    {STREAMED, "raw", "bytes=50-11949", 206, 50, 11900},
    {SMALL, "raw", "bytes=-1", 206, N_ELEMENTS - 1, 1},
    {SMALL, "raw", "bytes=12000-", 416, 0, 0},
    {SMALL, "sum", "bytes=5-9", 200, 0, N_ELEMENTS + 8}, /* what is encoded has no ranges */
    {STREAMED, "sized", "bytes=5-9", 200, 0, N_ELEMENTS + 8},
};

START_TEST(ranges_are_of_formats_that_do_not_encode)
{
    const struct range_fact *fact = &range_facts[_i];
    const struct zd_header range = {"Range", fact->range};
    ZD_SCOPED_TEXT(target, 128);
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    zd_text_addf(&target, SLICE "?format=%s", fact->format);
    open_array(&serve, fact->config);
    zd_fake_get(&exchange, &serve, target.at, &range);
    ck_assert_uint_eq(exchange.http_status, fact->http_status);
    if (fact->len > 0) {
        ck_assert_uint_eq(exchange.answer.len, fact->len);
        ck_assert_uint_eq((uint8_t)exchange.answer.at[0], element(fact->first));
    }
    zd_fake_done(&exchange);
    zd_test_serve_close(&serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, a_format_with_state_sees_all_elements_in_order, 0, ZD_COUNT_OF(sum_facts));
    tcase_add_test(tests, a_client_that_leaves_closes_the_state);
    tcase_add_loop_test(tests, a_body_is_the_same_whole_and_streamed, 0, 6);
    tcase_add_loop_test(
        tests, impossible_answers_are_refused_before_reading, 0, ZD_COUNT_OF(refusal_facts));
    tcase_add_loop_test(tests, a_tag_names_what_a_client_has, 0, 2);
    tcase_add_test(tests, a_writer_may_name_the_tag_of_any_format);
    tcase_add_loop_test(
        tests, ranges_are_of_formats_that_do_not_encode, 0, ZD_COUNT_OF(range_facts));
}
