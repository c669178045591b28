/* /solar: irradiance at the top of the atmosphere, hourly over two days of each month of 2001. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/demo_write.h"

#define N_MONTHS       12
#define DAYS_OF_MONTH  2
#define HOURS_OF_DAY   24
#define FIRST_DAY      14 /* the 15th and 16th of each month */
#define N_TIMES        ((uint64_t)N_MONTHS * DAYS_OF_MONTH * HOURS_OF_DAY)
#define N_LATS         72
#define N_LONS         144
#define CELL_DEGREES   2.5
#define SOLAR_CONSTANT 1361.0 /* W m-2 */
#define DEGREE         (M_PI / 180)

/* Everything that depends on one or two coordinates only. */
struct sun {
    double flux[N_TIMES]; /* of a surface that faces the sun, W m-2 */
    double sin_declination[N_TIMES];
    double cos_declination[N_TIMES];
    double sin_lat[N_LATS];
    double cos_lat[N_LATS];
    double cos_hour_angle[N_TIMES][N_LONS];
};

static double lat_degrees(uint64_t i)
{
    return -90 + CELL_DEGREES * ((double)i + 0.5);
}

static double lon_degrees(uint64_t i)
{
    return CELL_DEGREES * ((double)i + 0.5);
}

/* Hours since 2001-01-01 of the i-th time. */
static int64_t hours_since(uint64_t i)
{
    static const int64_t first_of_month[N_MONTHS] = {
        0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    const uint64_t hours_of_month = N_TIMES / N_MONTHS;
    const int64_t day = first_of_month[i / hours_of_month] + FIRST_DAY;
    return day * HOURS_OF_DAY + (int64_t)(i % hours_of_month);
}

/* Where the sun stands at one time, to 0.01 degrees: the low-precision formulas of the Astronomical
 * Almanac, in days since 2000-01-01 12:00. */
static void place_sun(struct sun *sun, uint64_t i)
{
    const double days = (double)hours_since(i) / HOURS_OF_DAY + 365.5;
    const double anomaly = (357.528 + 0.9856003 * days) * DEGREE;
    const double longitude =
        (280.460 + 0.9856474 * days + 1.915 * sin(anomaly) + 0.020 * sin(2 * anomaly)) * DEGREE;
    const double distance = 1.00014 - 0.01671 * cos(anomaly) - 0.00014 * cos(2 * anomaly);
    const double tilt = 23.439 * DEGREE;
    const double ascension = atan2(cos(tilt) * sin(longitude), cos(longitude));
    const double sidereal = (280.46061837 + 360.98564736629 * days) * DEGREE;
    sun->flux[i] = SOLAR_CONSTANT / (distance * distance);
    sun->sin_declination[i] = sin(tilt) * sin(longitude);
    sun->cos_declination[i] = sqrt(1 - sun->sin_declination[i] * sun->sin_declination[i]);
    for (uint64_t lon = 0; lon < N_LONS; lon++) {
        sun->cos_hour_angle[i][lon] = cos(sidereal + lon_degrees(lon) * DEGREE - ascension);
    }
}

static void sun_init(struct sun *sun)
{
    for (uint64_t i = 0; i < N_TIMES; i++) {
        place_sun(sun, i);
    }
    for (uint64_t i = 0; i < N_LATS; i++) {
        sun->sin_lat[i] = sin(lat_degrees(i) * DEGREE);
        sun->cos_lat[i] = cos(lat_degrees(i) * DEGREE);
    }
}

static void irradiance_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    const struct sun *sun = context;
    const double height =
        sun->sin_lat[at[1]] * sun->sin_declination[at[0]] +
        sun->cos_lat[at[1]] * sun->cos_declination[at[0]] * sun->cos_hour_angle[at[0]][at[2]];
    const float value = height > 0 ? (float)(sun->flux[at[0]] * height) : 0;
    memcpy(ret_bytes, &value, sizeof value);
}

static void time_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    (void)context;
    const int64_t value = hours_since(at[0]);
    memcpy(ret_bytes, &value, sizeof value);
}

static void lat_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    (void)context;
    const double value = lat_degrees(at[0]);
    memcpy(ret_bytes, &value, sizeof value);
}

static void lon_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    (void)context;
    const double value = lon_degrees(at[0]);
    memcpy(ret_bytes, &value, sizeof value);
}

static const char group_attributes[] =
    "{\"Conventions\": \"CF-1.11\","
    " \"title\": \"Solar irradiance at the top of the atmosphere\","
    " \"source\": \"computed: the sun's place by the Astronomical Almanac, solar constant 1361 W "
    "m-2\"}";

/* A shard is two months, an inner chunk a day of a part of the globe. */
static const char irradiance_document[] =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [576, 72, 144],"
    " \"data_type\": \"float32\", \"fill_value\": 0.0,"
    " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [96, 72, 144]}},"
    " \"chunk_key_encoding\": {\"name\": \"default\", \"configuration\": {\"separator\": \"/\"}},"
    " \"codecs\": [{\"name\": \"sharding_indexed\", \"configuration\": {"
    "   \"chunk_shape\": [24, 24, 48],"
    "   \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}},"
    "     {\"name\": \"zstd\", \"configuration\": {\"level\": 3, \"checksum\": false}}],"
    "   \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}},"
    "     {\"name\": \"crc32c\"}],"
    "   \"index_location\": \"end\"}}],"
    " \"dimension_names\": [\"time\", \"lat\", \"lon\"],"
    " \"attributes\": {\"standard_name\": \"toa_incoming_shortwave_flux\","
    "   \"long_name\": \"solar irradiance at the top of the atmosphere\","
    "   \"units\": \"W m-2\", \"valid_min\": 0.0, \"valid_max\": 1410.0}}";

#define COORDINATE(type, n, name, attributes)                                                      \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [" n "],"                           \
    " \"data_type\": \"" type "\", \"fill_value\": 0,"                                             \
    " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [" n "]}},"     \
    " \"chunk_key_encoding\": {\"name\": \"default\", \"configuration\": {\"separator\": \"/\"}}," \
    " \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}],"           \
    " \"dimension_names\": [\"" name "\"], \"attributes\": {" attributes "}}"

static const char time_document[] = COORDINATE("int64", "576", "time",
    "\"standard_name\": \"time\", \"long_name\": \"time\", \"axis\": \"T\","
    "\"units\": \"hours since 2001-01-01\", \"calendar\": \"standard\"");
static const char lat_document[] = COORDINATE("float64", "72", "lat",
    "\"standard_name\": \"latitude\", \"long_name\": \"latitude\", \"axis\": \"Y\","
    "\"units\": \"degrees_north\"");
static const char lon_document[] = COORDINATE("float64", "144", "lon",
    "\"standard_name\": \"longitude\", \"long_name\": \"longitude\", \"axis\": \"X\","
    "\"units\": \"degrees_east\"");

static enum zd_status add_arrays(struct zd_demo *demo, const struct sun *sun, struct zd_error *err)
{
    const struct zd_demo_array arrays[] = {
        {"solar/irradiance", irradiance_document, irradiance_at, sun},
        {"solar/time", time_document, time_at, NULL},
        {"solar/lat", lat_document, lat_at, NULL},
        {"solar/lon", lon_document, lon_at, NULL},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        ZD_TRY(zd_demo_add_array(demo, &arrays[i], err));
    }
    return ZD_OK;
}

enum zd_status zd_demo_add_solar(struct zd_demo *demo, struct zd_error *err)
{
    ZD_TRY(zd_demo_add_group(demo, "solar", group_attributes, err));
    struct sun *sun = zd_alloc(sizeof *sun);
    if (sun == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the positions of the sun");
    }
    sun_init(sun);
    const enum zd_status status = add_arrays(demo, sun, err);
    zd_free(sun);
    return status;
}
