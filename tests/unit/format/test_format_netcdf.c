/* Files of netCDF, byte by byte (The NetCDF Classic Format Specification; CDF-5: PnetCDF's). */
#include "server/format/format.h"

#include "tests/support/unit.h"

#define TEXT_BYTES_MAX (1U << 20)

/* Three elements of v(x), with one attribute, units = "K". */
static const struct {
    const char *dtype;
    const char *elements;
    const char *file;
} files[] = {
    {"int16", "0100ffff0200",
        "43444602"
        "00000000" /* magic, numrecs */
        "0000000a00000001"
        "0000000178000000"
        "00000003"         /* dim_list */
        "0000000000000000" /* gatt_list: ABSENT */
        "0000000b00000001"
        "0000000176000000" /* var_list: name */
        "00000001"
        "00000000" /* its dimids */
        "0000000c00000001"
        "00000005756e697473000000"
        "00000002"
        "000000014b000000"
        "00000003"
        "00000008"
        "000000000000006c" /* nc_type, vsize, begin */
        "0001ffff0002"
        "0000"}, /* data, padding */
    {"uint8", "010203",
        "43444605"
        "0000000000000000"
        "0000000a0000000000000001"
        "000000000000000178000000"
        "0000000000000003"
        "000000000000000000000000"
        "0000000b0000000000000001"
        "000000000000000176000000"
        "0000000000000001"
        "0000000000000000"
        "0000000c0000000000000001"
        "0000000000000005756e697473000000"
        "00000002"
        "00000000000000014b000000"
        "00000007"
        "0000000000000004"
        "00000000000000a0"
        "010203"
        "00"},
};

struct sample {
    struct zd_meta meta;
    struct zd_selection selection;
    struct zd_answer answer;
};

static const struct zd_format *netcdf(void)
{
    return zd_format_find(zd_span_of("netcdf"));
}

static void make_sample(struct sample *sample, const char *dtype, uint32_t rank,
    const uint64_t *shape, const char *attributes)
{
    struct zd_json *json;
    const struct zd_json_limits limits = {
        .bytes_max = SIZE_MAX, .nodes_max = SIZE_MAX, .depth_max = 8};
    *sample = (struct sample){0};
    ck_assert_int_eq(zd_dtype_find(dtype, &sample->meta.dtype), ZD_OK);
    ck_assert_int_eq(zd_json_parse(zd_span_of(attributes), &limits, &json, NULL), ZD_OK);
    sample->meta.attributes = json;
    zd_selection_whole(rank, shape, &sample->selection);
    zd_format_answer_init(&sample->answer, &sample->meta, &sample->selection);
    sample->answer.name = "v";
}

static void end_sample(struct sample *sample)
{
    zd_format_close(netcdf(), &sample->answer);
    zd_json_unref(sample->meta.attributes);
}

START_TEST(a_file_is_what_the_specification_says)
{
    char x[] = "x";
    char *dimension_names[] = {x};
    const uint64_t shape[] = {3};
    struct sample sample;
    uint64_t size;
    make_sample(&sample, files[_i].dtype, 1, shape, "{\"units\": \"K\"}");
    sample.meta.dimension_name = dimension_names;
    ZD_AUTO(zd_buf) elements = zd_unit_hex(files[_i].elements);
    ZD_AUTO(zd_buf) expected = zd_unit_hex(files[_i].file);
    ck_assert(netcdf()->size(&sample.answer, &size));
    ck_assert_uint_eq(size, expected->len);
    for (uint64_t n_band = 1; n_band <= 3; n_band++) {
        ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
        ck_assert_int_eq(zd_format_open(netcdf(), &sample.answer, NULL), ZD_OK);
        netcdf()->head(&sample.answer, &text);
        for (uint64_t first = 0; first < 3; first += n_band) {
            netcdf()->band(&sample.answer, first, zd_min_u64(n_band, 3 - first),
                elements->data + first * sample.answer.dtype.bytes, &text);
        }
        netcdf()->tail(&sample.answer, &text);
        ck_assert_int_eq(text.status, ZD_OK);
        ck_assert_uint_eq(text.len, expected->len);
        ck_assert_mem_eq(text.at, expected->data, text.len);
    }
    end_sample(&sample);
}
END_TEST

static const struct {
    const char *dtype;
    uint32_t rank;
    uint64_t shape[3];
    char version; /* 0: it cannot be said */
} versions[] = {
    {"float32", 0, {0}, 2},
    {"float32", 1, {0}, 2}, /* no records */
    {"float32", 2, {0, 5}, 2},
    {"float32", 2, {5, 0}, 0},
    {"float32", 3, {0, UINT64_C(1) << 62, 4}, 5},
    {"float32", 3, {0, UINT64_MAX, 1}, 0},
    {"float32", 1, {INT32_MAX}, 5}, /* 8 GiB */
    {"int8", 1, {INT32_MAX}, 2},
    {"int8", 1, {UINT64_C(1) << 31}, 5},       /* a length of 32 bits */
    {"int8", 2, {4, (UINT32_MAX - 3) / 4}, 2}, /* 2^32 - 4 bytes */
    {"int8", 2, {4, (UINT32_MAX - 3) / 4 + 1}, 5},
    {"int64", 1, {1}, 5},
    {"uint8", 1, {1}, 5},
    {"float64", 1, {UINT64_C(1) << 61}, 0},
};

START_TEST(the_version_follows_from_types_and_lengths)
{
    struct sample sample;
    uint64_t size;
    make_sample(&sample, versions[_i].dtype, versions[_i].rank, versions[_i].shape, "{}");
    const struct zd_answer *answer = &sample.answer;
    const bool is_said = netcdf()->accepts(&answer->dtype, answer->rank) &&
                         netcdf()->accepts_shape(answer->rank, answer->shape) &&
                         netcdf()->size(answer, &size);
    ck_assert_int_eq(is_said, versions[_i].version != 0);
    if (is_said) {
        ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
        ck_assert_int_eq(zd_format_open(netcdf(), &sample.answer, NULL), ZD_OK);
        netcdf()->head(answer, &text);
        ck_assert_int_eq(text.at[3], versions[_i].version);
        ck_assert_uint_ge(size, text.len + answer->n_elements * answer->dtype.bytes);
    }
    end_sample(&sample);
}
END_TEST

/* However long attributes are, the header is short: what is too much of them is left out. */
START_TEST(hostile_attributes_are_bounded)
{
    ZD_SCOPED_TEXT(attributes, 64U << 20);
    zd_text_add(&attributes, "{\"deep\": [[[1]]], \"long\": \"");
    for (int i = 0; i < 100000; i++) {
        zd_text_add(&attributes, "0123456789012345678901234567890123456789");
    }
    zd_text_add(&attributes, "\", \"odd\": \"\\u0000\", \"huge\": 1e999, \"list\": [0");
    for (int i = 0; i < 100000; i++) {
        zd_text_add(&attributes, ",1");
    }
    zd_text_add(&attributes, "]");
    for (int i = 0; i < 10000; i++) {
        zd_text_addf(&attributes, ",\"a%d\": \"%d\"", i, i);
    }
    zd_text_add(&attributes, "}");
    const uint64_t shape[] = {1};
    struct sample sample;
    uint64_t size;
    make_sample(&sample, "float32", 1, shape, attributes.at);
    ck_assert(netcdf()->size(&sample.answer, &size));
    ck_assert_uint_le(size, UINT64_C(1) << 19);
    end_sample(&sample);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_file_is_what_the_specification_says, 0, ZD_COUNT_OF(files));
    tcase_add_loop_test(
        tests, the_version_follows_from_types_and_lengths, 0, ZD_COUNT_OF(versions));
    tcase_add_test(tests, hostile_attributes_are_bounded);
}
