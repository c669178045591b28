/* zarrd-bench-data DIRECTORY keys|slices|codecs|elements: writes what tests/bench measures with, by
 * the program's own codecs and store. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "deploy/demo_write.h"
#include "tests/bench/field.h"

#define DIRECTORY_MODE     0777 /* less the process's umask */
#define DOCUMENT_BYTES_MAX 8192

#define LITTLE "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}"
#define LZ4                                                                                        \
    "{\"name\": \"blosc\", \"configuration\": {\"cname\": \"lz4\", \"clevel\": 5,"                 \
    " \"shuffle\": \"shuffle\", \"typesize\": 4, \"blocksize\": 0}}"
#define ZSTD "{\"name\": \"zstd\", \"configuration\": {\"level\": 1, \"checksum\": false}}"
#define NUMCODECS(id, configuration)                                                               \
    LITTLE ", {\"name\": \"numcodecs." id "\", \"configuration\": {" configuration "}}"
#define SHARDS(shape, codecs)                                                                      \
    "{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [" shape                \
    "], \"codecs\": [" codecs "], \"index_codecs\": [" LITTLE ", {\"name\": \"crc32c\"}],"         \
    " \"index_location\": \"end\"}}"

/* An array: its name, shape, chunk shape and codecs, as JSON. */
struct plan {
    const char *path;
    const char *data_type;
    const char *shape;
    const char *chunk_shape;
    const char *codecs;
};

/* Raw chunks of 4 KiB to 1 MiB, and one shard of 256 inner chunks of 64 KiB. */
static const struct plan keys_plan[] = {
    {"k4", "uint64", "8192", "512", LITTLE},
    {"k64", "uint64", "131072", "8192", LITTLE},
    {"k256", "uint64", "8388608", "32768", LITTLE},
    {"k1024", "uint64", "524288", "131072", LITTLE},
    {"shard", "uint64", "2097152", "2097152", SHARDS("8192", LITTLE)},
};

/* Maps: one time a chunk. Series: all near times of a small square. */
static const struct plan slices_plan[] = {
    {"map_raw", "float32", "64, 512, 512", "1, 256, 256", LITTLE},
    {"map_lz4", "float32", "64, 512, 512", "1, 256, 256", LITTLE ", " LZ4},
    {"map_zstd", "float32", "64, 512, 512", "1, 256, 256", LITTLE ", " ZSTD},
    {"map_shard", "float32", "64, 512, 512", "64, 256, 256",
        SHARDS("1, 256, 256", LITTLE ", " LZ4)},
    {"ts_raw", "float32", "64, 512, 512", "64, 32, 32", LITTLE},
    {"ts_lz4", "float32", "64, 512, 512", "64, 32, 32", LITTLE ", " LZ4},
    {"ts_zstd", "float32", "64, 512, 512", "64, 32, 32", LITTLE ", " ZSTD},
    {"ts_shard", "float32", "64, 512, 512", "64, 256, 256", SHARDS("64, 32, 32", LITTLE ", " LZ4)},
};

/* A chunk of 1 MiB for each codec that a library decodes. */
#define CODEC_PLAN(name, codecs) {name, "float32", "8, 512, 512", "1, 512, 512", codecs}
static const struct plan codecs_plan[] = {
    CODEC_PLAN("blosc", LITTLE ", " LZ4),
    CODEC_PLAN("zstd", LITTLE ", " ZSTD),
    CODEC_PLAN("gzip", LITTLE ", {\"name\": \"gzip\", \"configuration\": {\"level\": 6}}"),
    CODEC_PLAN("zlib", NUMCODECS("zlib", "\"level\": 6")),
    CODEC_PLAN("lz4", NUMCODECS("lz4", "")),
    CODEC_PLAN("bz2", NUMCODECS("bz2", "\"level\": 9")),
    CODEC_PLAN("lzma", NUMCODECS("lzma", "\"preset\": 1")),
    CODEC_PLAN("crc32", NUMCODECS("crc32", "")),
    CODEC_PLAN("adler32", NUMCODECS("adler32", "")),
};

/* The same for codecs of elements: nothing is compressed. */
#define FIRST(id, configuration)                                                                   \
    "{\"name\": \"" id "\", \"configuration\": {" configuration "}}, " LITTLE
static const struct plan elements_plan[] = {
    CODEC_PLAN("shuffle", NUMCODECS("shuffle", "\"elementsize\": 4")),
    CODEC_PLAN("delta", FIRST("numcodecs.delta", "\"dtype\": \"<f4\"")),
    CODEC_PLAN("swap", "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"big\"}}"),
    CODEC_PLAN("transpose", FIRST("transpose", "\"order\": [2, 1, 0]")),
    CODEC_PLAN("fixedscaleoffset",
        FIRST("numcodecs.fixedscaleoffset", "\"offset\": 1000, \"scale\": 4, \"dtype\": \"<f4\"")),
};

/* Numbers without order: they do not compress, and no chunk is the fill value. */
static void scattered_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    (void)context;
    uint64_t h = (at[0] + 1) * UINT64_C(0x9E3779B97F4A7C15);
    h ^= h >> 32;
    h *= UINT64_C(0xD6E8FEB86659FD93);
    h ^= h >> 32;
    memcpy(ret_bytes, &h, sizeof h);
}

static void field_at(const void *context, const uint64_t *at, void *ret_bytes)
{
    (void)context;
    const float value = zd_bench_field((uint32_t)at[0], (uint32_t)at[1], (uint32_t)at[2]);
    memcpy(ret_bytes, &value, sizeof value);
}

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* The data sets that the second argument names. */
static const struct set {
    const char *name;
    const struct plan *plan;
    size_t n_plans;
    void (*element)(const void *context, const uint64_t *at, void *ret_bytes);
} sets[] = {
    {"keys", keys_plan, COUNT(keys_plan), scattered_at},
    {"slices", slices_plan, COUNT(slices_plan), field_at},
    {"codecs", codecs_plan, COUNT(codecs_plan), field_at},
    {"elements", elements_plan, COUNT(elements_plan), field_at},
};

static const struct set *set_find(const char *name)
{
    for (size_t i = 0; i < COUNT(sets); i++) {
        if (strcmp(sets[i].name, name) == 0) {
            return &sets[i];
        }
    }
    return NULL;
}

static enum zd_status add_array(
    struct zd_demo *demo, const struct set *set, const struct plan *plan, struct zd_error *err)
{
    ZD_SCOPED_TEXT(document, DOCUMENT_BYTES_MAX);
    ZD_TRY(zd_text_addf(&document,
        "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [%s], \"data_type\": \"%s\","
        " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [%s]}},"
        " \"chunk_key_encoding\": {\"name\": \"default\","
        "   \"configuration\": {\"separator\": \"/\"}},"
        " \"codecs\": [%s], \"fill_value\": 0, \"attributes\": {\"units\": \"K\"}}",
        plan->shape, plan->data_type, plan->chunk_shape, plan->codecs));
    const struct zd_demo_array array = {plan->path, document.at, set->element, NULL};
    return zd_demo_add_array(demo, &array, err);
}

static enum zd_status make_data(
    struct zd_demo *demo, const char *directory, const struct set *set, struct zd_error *err)
{
    ZD_TRY(zd_demo_open(demo, directory, err));
    ZD_TRY(zd_demo_add_group(demo, "", "{\"title\": \"what tests/bench measures with\"}", err));
    for (size_t i = 0; i < set->n_plans; i++) {
        ZD_TRY(add_array(demo, set, &set->plan[i], err));
    }
    return zd_demo_finish(demo, err);
}

int main(int argc, char **argv)
{
    struct zd_demo demo = {0};
    struct zd_error err = {0};
    const struct set *set = argc == 3 ? set_find(argv[2]) : NULL;
    if (set == NULL) {
        fprintf(stderr, "usage: zarrd-bench-data DIRECTORY keys|slices|codecs|elements\n");
        return 2;
    }
    if (mkdir(argv[1], DIRECTORY_MODE) != 0) {
        fprintf(stderr, "zarrd-bench-data: cannot make %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    const enum zd_status status = make_data(&demo, argv[1], set, &err);
    zd_demo_close(&demo);
    if (status != ZD_OK) {
        fprintf(stderr, "zarrd-bench-data: %s: %s\n", zd_status_name(status), err.text);
        return 1;
    }
    printf("%s: %" PRIu64 " objects, %" PRIu64 " bytes\n", argv[1], demo.n_objects, demo.n_bytes);
    return 0;
}
