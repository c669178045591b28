/* /pyramid: the Mandelbrot set as an image in four levels, each half as wide as the one before. */
#include <math.h>
#include <stdio.h>

#include "deploy/demo_write.h"

#define WIDTH          2048 /* of level 0, and its height */
#define N_LEVELS       4
#define CHUNK_WIDTH    256
#define ITERATIONS_MAX 300
#define ESCAPE_RADIUS2 256.0 /* large, for smooth brightness */
#define LEFT           (-2.25)
#define TOP            (-1.5)
#define SPAN           3.0

struct level {
    uint64_t width;
    uint8_t *pixel; /* width * width */
};

/* The main cardioid and the disc beside it: most of the points that never escape. */
static bool is_surely_inside(double x, double y)
{
    const double q = (x - 0.25) * (x - 0.25) + y * y;
    return q * (q + (x - 0.25)) <= 0.25 * y * y || (x + 1) * (x + 1) + y * y <= 1.0 / 16;
}

/* 0 within the set; outside the brighter the longer a point stays near it. */
static uint8_t brightness(double x, double y)
{
    double a = 0;
    double b = 0;
    int n = 0;
    if (is_surely_inside(x, y)) {
        return 0;
    }
    while (n < ITERATIONS_MAX && a * a + b * b < ESCAPE_RADIUS2) {
        const double next = a * a - b * b + x;
        b = 2 * a * b + y;
        a = next;
        n++;
    }
    if (n == ITERATIONS_MAX) {
        return 0;
    }
    const double smooth = n + 1 - log2(log2(a * a + b * b) / 2);
    return (uint8_t)fmin(255, 20 + 235 * log(fmax(smooth, 1)) / log(ITERATIONS_MAX));
}

static void draw(const struct level *level)
{
    const double step = SPAN / (double)level->width;
    for (uint64_t row = 0; row < level->width; row++) {
        for (uint64_t column = 0; column < level->width; column++) {
            level->pixel[row * level->width + column] =
                brightness(LEFT + step * ((double)column + 0.5), TOP + step * ((double)row + 0.5));
        }
    }
}

/* Each pixel is the mean of four, rounded. */
static void shrink(const struct level *from, const struct level *to)
{
    for (uint64_t row = 0; row < to->width; row++) {
        const uint8_t *upper = from->pixel + 2 * row * from->width;
        const uint8_t *lower = upper + from->width;
        for (uint64_t i = 0; i < to->width; i++) {
            const unsigned sum =
                upper[2 * i] + upper[2 * i + 1] + lower[2 * i] + lower[2 * i + 1] + 2U;
            to->pixel[row * to->width + i] = (uint8_t)(sum / 4);
        }
    }
}

static void pixel_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    const struct level *level = context;
    *(uint8_t *)ret_bytes = level->pixel[at[0] * level->width + at[1]];
}

static const char group_attributes[] =
    "{\"title\": \"The Mandelbrot set\", \"ome\": {\"version\": \"0.5\", \"multiscales\": [{"
    "  \"name\": \"mandelbrot\", \"type\": \"mean\","
    "  \"axes\": [{\"name\": \"y\", \"type\": \"space\"}, {\"name\": \"x\", \"type\": \"space\"}],"
    "  \"datasets\": ["
    "    {\"path\": \"0\", \"coordinateTransformations\": [{\"type\": \"scale\", \"scale\": [1, "
    "1]}]},"
    "    {\"path\": \"1\", \"coordinateTransformations\": [{\"type\": \"scale\", \"scale\": [2, "
    "2]},"
    "      {\"type\": \"translation\", \"translation\": [0.5, 0.5]}]},"
    "    {\"path\": \"2\", \"coordinateTransformations\": [{\"type\": \"scale\", \"scale\": [4, "
    "4]},"
    "      {\"type\": \"translation\", \"translation\": [1.5, 1.5]}]},"
    "    {\"path\": \"3\", \"coordinateTransformations\": [{\"type\": \"scale\", \"scale\": [8, "
    "8]},"
    "      {\"type\": \"translation\", \"translation\": [3.5, 3.5]}]}"
    "  ]}]}}";

static enum zd_status add_level(
    struct zd_demo *demo, unsigned i, const struct level *level, struct zd_error *err)
{
    char path[16];
    ZD_SCOPED_TEXT(document, 4096);
    snprintf(path, sizeof path, "pyramid/%u", i);
    ZD_TRY(zd_text_addf(&document,
        "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [%u, %u],"
        " \"data_type\": \"uint8\", \"fill_value\": 0,"
        " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [%u, %u]}},"
        " \"chunk_key_encoding\": {\"name\": \"default\","
        "   \"configuration\": {\"separator\": \"/\"}},"
        " \"codecs\": [{\"name\": \"bytes\"}, {\"name\": \"blosc\", \"configuration\": {"
        "   \"cname\": \"lz4\", \"clevel\": 9, \"shuffle\": \"noshuffle\", \"blocksize\": 0}}],"
        " \"dimension_names\": [\"y\", \"x\"], \"attributes\": {}}",
        (unsigned)level->width, (unsigned)level->width, CHUNK_WIDTH, CHUNK_WIDTH));
    const struct zd_demo_array array = {path, document.at, pixel_at, level};
    return zd_demo_add_array(demo, &array, err);
}

/* All levels lie one after the other in the pixels of a single buffer. */
static void draw_levels(struct level *level, uint8_t *pixels)
{
    for (unsigned i = 0; i < N_LEVELS; i++) {
        level[i] = (struct level){.width = WIDTH >> i, .pixel = pixels};
        pixels += level[i].width * level[i].width;
        if (i == 0) {
            draw(&level[0]);
        } else {
            shrink(&level[i - 1], &level[i]);
        }
    }
}

enum zd_status zd_demo_add_pyramid(struct zd_demo *demo, struct zd_error *err)
{
    struct level level[N_LEVELS];
    ZD_AUTO(zd_buf) pixels = zd_buf_new((size_t)2 * WIDTH * WIDTH);
    if (pixels == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the image");
    }
    draw_levels(level, pixels->data);
    ZD_TRY(zd_demo_add_group(demo, "pyramid", group_attributes, err));
    for (unsigned i = 0; i < N_LEVELS; i++) {
        ZD_TRY(add_level(demo, i, &level[i], err));
    }
    return ZD_OK;
}
