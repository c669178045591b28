/* /cities: hours of daylight in some cities, by month; names are strings, and a coordinate. */
#include <math.h>
#include <string.h>

#include "core/base/num.h"
#include "deploy/demo_write.h"

#define N_MONTHS   12
#define FIRST_DAY  14.0 /* the 15th of each month, from 0 */
#define TILT       23.439
#define LONGITUDE  280.46 /* of the sun at the begin of the year */
#define DAY_ANGLE  0.98565
#define HALF_A_DAY 12
#define DEGREE     (M_PI / 180)

static const struct {
    const char *name;
    double lat;
    double lon;
} cities[] = {
    {"Nairobi", -1.29, 36.82},
    {"Quito", -0.18, -78.47},
    {"Sydney", -33.87, 151.21},
    {"Tokyo", 35.68, 139.69},
    {"Vienna", 48.21, 16.37},
    {"Reykjavík", 64.15, -21.94},
    {"Tromsø", 69.65, 18.96},
    {"日本平", 34.97, 138.47},
};

static const uint16_t first_of_month[N_MONTHS] = {
    0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};

/* The element is a span; what it leads to stays. */
static void name_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    (void)context;
    const struct zd_span name = zd_span_of(cities[at[0]].name);
    memcpy(ret_bytes, &name, sizeof name);
}

static void lat_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    (void)context;
    memcpy(ret_bytes, &cities[at[0]].lat, sizeof cities[at[0]].lat);
}

static void lon_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    (void)context;
    memcpy(ret_bytes, &cities[at[0]].lon, sizeof cities[at[0]].lon);
}

static void month_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    (void)context;
    *(int8_t *)ret_bytes = (int8_t)(at[0] + 1);
}

/* From the sun's declination and the latitude, without refraction: all day or none near the poles.
 */
static void daylight_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    (void)context;
    const double day = first_of_month[at[1]] + FIRST_DAY;
    const double longitude = (LONGITUDE + DAY_ANGLE * day) * DEGREE;
    const double declination = asin(sin(TILT * DEGREE) * sin(longitude));
    const double cosine = -tan(cities[at[0]].lat * DEGREE) * tan(declination);
    const double half = acos(fmax(-1, fmin(1, cosine))) / M_PI * HALF_A_DAY;
    const float hours = (float)(2 * half);
    memcpy(ret_bytes, &hours, sizeof hours);
}

#define ARRAY(type, fill, shape, codecs, dimensions, more)                                         \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [" shape "],"                       \
    " \"data_type\": \"" type "\", \"fill_value\": " fill ","                                      \
    " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [" shape "]}}," \
    " \"chunk_key_encoding\": {\"name\": \"default\", \"configuration\": {\"separator\": \"/\"}}," \
    " \"codecs\": [" codecs "], \"dimension_names\": [" dimensions "], " more "}"

#define LITTLE "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}"

static const char city_document[] = ARRAY("string", "\"\"", "8", "{\"name\": \"vlen-utf8\"}",
    "\"city\"", "\"attributes\": {\"long_name\": \"name of the city\"}");
static const char lat_document[] = ARRAY("float64", "0", "8", LITTLE, "\"city\"",
    "\"attributes\": {\"standard_name\": \"latitude\", \"units\": \"degrees_north\"}");
static const char lon_document[] = ARRAY("float64", "0", "8", LITTLE, "\"city\"",
    "\"attributes\": {\"standard_name\": \"longitude\", \"units\": \"degrees_east\"}");
static const char month_document[] = ARRAY("int8", "0", "12", "{\"name\": \"bytes\"}", "\"month\"",
    "\"attributes\": {\"long_name\": \"month of the year\"}");

/* A member that nobody knows, and need not understand: it is reported as a warning. */
static const char daylight_document[] =
    ARRAY("float32", "\"NaN\"", "8, 12", LITTLE, "\"city\", \"month\"",
        "\"attributes\": {\"long_name\": \"daylight on the 15th\", \"units\": \"h\","
        " \"coordinates\": \"lat lon\"},"
        " \"example.legend\": {\"must_understand\": false, \"colours\": \"cividis\"}");

enum zd_status zd_demo_add_cities(struct zd_demo *demo, struct zd_error *err)
{
    static const struct zd_demo_array arrays[] = {
        {"cities/city", city_document, name_at, NULL},
        {"cities/lat", lat_document, lat_at, NULL},
        {"cities/lon", lon_document, lon_at, NULL},
        {"cities/month", month_document, month_at, NULL},
        {"cities/daylight", daylight_document, daylight_at, NULL},
    };
    static_assert(ZD_COUNT_OF(cities) == 8, "the documents say so");
    ZD_TRY(zd_demo_add_group(
        demo, "cities", "{\"title\": \"Hours of daylight in some cities\"}", err));
    for (size_t i = 0; i < ZD_COUNT_OF(arrays); i++) {
        ZD_TRY(zd_demo_add_array(demo, &arrays[i], err));
    }
    return ZD_OK;
}
