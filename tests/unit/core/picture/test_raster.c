/* Facts about core/picture/raster. */
#include "core/picture/raster.h"

#include <math.h>
#include <string.h>

#include "tests/support/unit.h"

#define N_RANDOM     400
#define SIDE_MAX     40
#define WIDE         (2 * ZD_RASTER_LOT + 37) /* three lots of columns */
#define CHANNELS_MAX 4
#define ELEMENTS_MAX (SIDE_MAX * WIDE * CHANNELS_MAX)

/* A picture as it is defined: each element counts in each cell by its share. */
static double defined(
    const struct zd_raster *raster, const double *number, uint64_t y, uint64_t x, uint32_t channel)
{
    const uint64_t width = raster->x.n_elements;
    long double sum = 0;
    long double weight = 0;
    for (uint64_t i = 0; i < raster->y.n_elements; i++) {
        const uint64_t share_y = zd_scale_overlap(&raster->y, i, i + 1, y);
        for (uint64_t k = 0; share_y > 0 && k < width; k++) {
            const uint64_t share = share_y * zd_scale_overlap(&raster->x, k, k + 1, x);
            const double value = number[(i * width + k) * raster->n_channels + channel];
            if (share > 0 && !isnan(value)) {
                sum += (long double)share * value;
                weight += share;
            }
        }
    }
    return weight == 0 ? (double)NAN : (double)(sum / weight);
}

static void check_cells(struct zd_raster *raster, const double *number)
{
    zd_raster_settle(raster, 0, raster->n_cells);
    for (uint64_t i = 0; i < raster->n_cells; i++) {
        const uint32_t channel = (uint32_t)(i % raster->n_channels);
        const uint64_t cell = i / raster->n_channels;
        const double wanted =
            defined(raster, number, cell / raster->x.n_cells, cell % raster->x.n_cells, channel);
        const double found = raster->value[i];
        ck_assert_msg((isnan(found) && isnan(wanted)) ||
                          fabs(found - wanted) <= 1e-12 * fmax(1, fabs(wanted)),
            "cell %llu: %.17g, expected %.17g", (unsigned long long)i, found, wanted);
    }
}

static struct zd_dtype type_of(const char *name)
{
    struct zd_dtype dtype;
    ck_assert_int_eq(zd_dtype_find(name, &dtype), ZD_OK);
    return dtype;
}

static uint64_t random_below(uint64_t n)
{
    return zd_unit_random() % n;
}

static struct zd_scale random_scale(uint64_t n)
{
    struct zd_scale scale = zd_scale_blocks(n, 1 + random_below(n + 2));
    if (random_below(2) == 0) {
        ck_assert_int_eq(zd_scale_to(n, 1 + random_below(2 * n), &scale), ZD_OK);
    }
    return scale;
}

/* float32, some of them missing, or uint8. */
static void make_elements(const struct zd_raster *raster, uint8_t *elements, double *number)
{
    const uint64_t n = raster->y.n_elements * raster->x.n_elements * raster->n_channels;
    for (uint64_t i = 0; i < n; i++) {
        if (raster->dtype.bytes == 1) {
            elements[i] = (uint8_t)zd_unit_random();
            number[i] = elements[i];
            continue;
        }
        const float value =
            random_below(5) == 0 ? NAN : (float)random_below(1000000) / 1000.0F - 300.0F;
        memcpy(elements + i * sizeof value, &value, sizeof value);
        number[i] = (double)value;
    }
}

/* Add a chunk as it lies in memory. A box of one value is added as fill. */
static void add_chunk(
    struct zd_raster *raster, const uint8_t *elements, const struct zd_raster_box *box)
{
    const uint64_t bytes = raster->dtype.bytes;
    ZD_AUTO(zd_buf) chunk = zd_buf_new(box->n_y * box->n_x * box->n_channels * bytes + 1);
    uint8_t *to = chunk->data + 1; /* at any address */
    for (uint64_t i = 0; i < box->n_y * box->n_x * box->n_channels; i++) {
        const uint64_t channel = box->channel + i % box->n_channels;
        const uint64_t x = box->x + i / box->n_channels % box->n_x;
        const uint64_t y = box->y + i / box->n_channels / box->n_x;
        const uint64_t at = (y * raster->x.n_elements + x) * raster->n_channels + channel;
        memcpy(to + i * bytes, elements + at * bytes, bytes);
    }
    if (box->n_y * box->n_x * box->n_channels == 1) {
        zd_raster_add_fill(raster, box, to);
    } else {
        zd_raster_add(raster, box, to);
    }
}

/* All chunks of a random grid, from its end. */
static void add_chunks(struct zd_raster *raster, const uint8_t *elements)
{
    const uint64_t height = raster->y.n_elements;
    const uint64_t width = raster->x.n_elements;
    const uint64_t chunk_y = 1 + random_below(height);
    const uint64_t chunk_x = 1 + random_below(width);
    const uint32_t chunk_c = 1 + (uint32_t)random_below(raster->n_channels);
    for (uint64_t i = zd_div_up(height, chunk_y); i-- > 0;) {
        for (uint64_t k = zd_div_up(width, chunk_x); k-- > 0;) {
            for (uint32_t c = 0; c < raster->n_channels; c += chunk_c) {
                const struct zd_raster_box box = {
                    .y = i * chunk_y,
                    .x = k * chunk_x,
                    .n_y = zd_min_u64(chunk_y, height - i * chunk_y),
                    .n_x = zd_min_u64(chunk_x, width - k * chunk_x),
                    .n_channels = (uint32_t)zd_min_u64(chunk_c, raster->n_channels - c),
                    .channel = c,
                };
                add_chunk(raster, elements, &box);
            }
        }
    }
}

/* @param is_wide columns of several lots */
static void check_random(uint8_t *elements, double *number, bool is_wide)
{
    static const uint32_t channels[] = {1, 1, 3, 4};
    const uint32_t n_channels = channels[random_below(ZD_COUNT_OF(channels))];
    struct zd_error err = {0};
    struct zd_raster raster = {
        .dtype = type_of(n_channels > 1 ? "uint8" : "float32"),
        .y = random_scale(1 + random_below(is_wide ? 3 : SIDE_MAX)),
        .x = random_scale(is_wide ? WIDE : 1 + random_below(SIDE_MAX)),
        .n_channels = n_channels,
    };
    make_elements(&raster, elements, number);
    ck_assert_int_eq(zd_raster_init(&raster, &err), ZD_OK);
    add_chunks(&raster, elements);
    zd_raster_clear(&raster); /* begun again: nothing counts twice */
    add_chunks(&raster, elements);
    check_cells(&raster, number);
    zd_raster_done(&raster);
}

START_TEST(cells_are_means_over_their_area)
{
    ZD_AUTO(zd_buf) elements = zd_buf_new(ELEMENTS_MAX * sizeof(float));
    ZD_AUTO(zd_buf) number = zd_buf_new(ELEMENTS_MAX * sizeof(double));
    for (int i = 0; i < N_RANDOM; i++) {
        check_random(elements->data, (double *)(void *)number->data, i % 50 == 0);
    }
}
END_TEST

static const struct {
    const char *dtype;
    const void *element;
    double number;
} numbers[] = {
    {"bool", (const uint8_t[]){1}, 1},
    {"int8", (const int8_t[]){-128}, -128},
    {"int16", (const int16_t[]){-32768}, -32768},
    {"int32", (const int32_t[]){INT32_MIN}, INT32_MIN},
    {"int64", (const int64_t[]){INT64_MIN}, -0x1p63},
    {"uint8", (const uint8_t[]){255}, 255},
    {"uint16", (const uint16_t[]){65535}, 65535},
    {"uint32", (const uint32_t[]){UINT32_MAX}, UINT32_MAX},
    {"uint64", (const uint64_t[]){UINT64_MAX}, 0x1p64},
    {"float16", (const uint16_t[]){0xc000}, -2},
    {"float16", (const uint16_t[]){0x7c00}, INFINITY},
    {"float16", (const uint16_t[]){0x7e00}, NAN},
    {"bfloat16", (const uint16_t[]){0x4000}, 2},
    {"float32", (const float[]){-0.5F}, -0.5},
    {"float32", (const float[]){NAN}, NAN},
    {"float64", (const double[]){1e300}, 1e300},
    {"float64", (const double[]){-INFINITY}, -INFINITY},
};

START_TEST(an_element_is_a_number)
{
    const struct zd_dtype dtype = type_of(numbers[_i].dtype);
    double found[2];
    uint8_t elements[2 * sizeof(double) + 1];
    memcpy(elements + 1, numbers[_i].element, dtype.bytes);
    memcpy(elements + 1 + dtype.bytes, numbers[_i].element, dtype.bytes);
    zd_raster_numbers(&dtype, elements + 1, 2, found);
    for (int i = 0; i < 2; i++) {
        ck_assert(found[i] == numbers[_i].number || (isnan(found[i]) && isnan(numbers[_i].number)));
    }
    found[0] = zd_raster_number(&dtype, numbers[_i].element);
    ck_assert(found[0] == found[1] || (isnan(found[0]) && isnan(found[1])));
}
END_TEST

/* A sum of thirds is no multiple of a third: the mean of equal numbers is that number. */
START_TEST(equal_numbers_have_exactly_their_mean)
{
    double element[21 * 13];
    struct zd_error err = {0};
    struct zd_raster raster = {.dtype = type_of("float64"), .n_channels = 1};
    const struct zd_raster_box box = {.n_y = 21, .n_x = 13, .n_channels = 1};
    ck_assert_int_eq(zd_scale_to(21, 4, &raster.y), ZD_OK);
    ck_assert_int_eq(zd_scale_to(13, 5, &raster.x), ZD_OK);
    for (size_t i = 0; i < ZD_COUNT_OF(element); i++) {
        element[i] = 1e17 / 3;
    }
    ck_assert_int_eq(zd_raster_init(&raster, &err), ZD_OK);
    zd_raster_add(&raster, &box, (const uint8_t *)element);
    zd_raster_settle(&raster, 0, raster.n_cells);
    for (uint64_t i = 0; i < raster.n_cells; i++) {
        ck_assert(raster.value[i] == 1e17 / 3);
    }
    zd_raster_done(&raster);
}
END_TEST

START_TEST(an_infinity_is_that_of_its_cell_alone)
{
    const float element[] = {1, INFINITY, 3, 5, NAN, -INFINITY};
    const double wanted[] = {INFINITY, 4, -INFINITY};
    struct zd_error err = {0};
    struct zd_raster raster = {.dtype = type_of("float32"),
        .y = zd_scale_blocks(1, 1),
        .x = zd_scale_blocks(6, 2),
        .n_channels = 1};
    const struct zd_raster_box box = {.n_y = 1, .n_x = 6, .n_channels = 1};
    ck_assert_int_eq(zd_raster_init(&raster, &err), ZD_OK);
    zd_raster_add(&raster, &box, (const uint8_t *)element);
    zd_raster_settle(&raster, 0, 3);
    ck_assert_mem_eq(raster.value, wanted, sizeof wanted);
    zd_raster_done(&raster);
}
END_TEST

static enum zd_status init(void *context)
{
    struct zd_error err = {0};
    struct zd_raster *raster = context;
    const enum zd_status status = zd_raster_init(raster, &err);
    if (status == ZD_OK) {
        zd_raster_done(raster);
    }
    return status;
}

START_TEST(memory_is_known_and_may_fail)
{
    const struct zd_scale half = zd_scale_blocks(10, 2);
    const struct zd_scale whole = zd_scale_blocks(10, 1);
    const struct zd_scale huge = zd_scale_blocks(UINT64_C(1) << 40, 1);
    struct zd_raster raster = {.dtype = type_of("int8"), .y = half, .x = whole, .n_channels = 1};
    ck_assert_uint_eq(zd_raster_bytes(&whole, &whole, 1), 10 * 10 * sizeof(double));
    ck_assert_uint_eq(zd_raster_bytes(&half, &whole, 4), 4 * 5 * 10 * 2 * sizeof(double));
    ck_assert_uint_eq(zd_raster_bytes(&huge, &huge, 1), UINT64_MAX);
    zd_unit_with_failing_memory(init, &raster);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, cells_are_means_over_their_area);
    tcase_add_loop_test(tests, an_element_is_a_number, 0, ZD_COUNT_OF(numbers));
    tcase_add_test(tests, equal_numbers_have_exactly_their_mean);
    tcase_add_test(tests, an_infinity_is_that_of_its_cell_alone);
    tcase_add_test(tests, memory_is_known_and_may_fail);
}
