/* The cost of slices and decoded chunks without a server: each line is CPU microseconds a piece, of
 * this process.
 *
 *   zarrd-bench-codec slice  ARRAY CODEC A,B,C SECONDS   open, pread, decode, copy, for blocks of
 * that shape at random zarrd-bench-codec decode ARRAY CODEC ROUNDS SECONDS  the library's call and
 * zd_chunk_decode in turn: two numbers a line
 *
 * CODEC is what the array's chunks are stored with, as bare_codec.h names it. Values are checked
 * before anything is timed. */
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/array/chunk.h"
#include "core/base/scan.h"
#include "core/dialect/dialect.h"
#include "core/store/contract/store.h"
#include "tests/bench/bare_codec.h"
#include "tests/bench/field.h"

#define RANK               3
#define CHUNKS_MAX         32 /* decoded in turn, so that the library does not see one chunk only */
#define CHUNK_BYTES_MAX    (16U << 20)
#define DOCUMENT_BYTES_MAX (1U << 20)
#define SECONDS_MAX        60.0
#define REUSED_BYTES_MAX   (4 << 20)
#define KEPT_BYTES_MAX     (8 << 20)

struct array {
    const char *directory;
    const char *codec;
    struct zd_layout *layout;
    const uint64_t *shape; /* borrowed from the layout, as chunk */
    const uint64_t *chunk;
    size_t chunk_bytes;
    uint8_t *stored; /* CHUNK_BYTES_MAX */
    uint8_t *data;   /* chunk_bytes */
};

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, "zarrd-bench-codec: %s: %s\n", what, detail);
    exit(1);
}

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* All bytes of a file of the array; exits when it cannot be read. */
static size_t read_whole(const struct array *array, const char *key, uint8_t *ret, size_t cap)
{
    char path[4096];
    struct stat stat;
    snprintf(path, sizeof path, "%s/%s", array->directory, key);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat) != 0 || (size_t)stat.st_size > cap ||
        pread(fd, ret, (size_t)stat.st_size, 0) != stat.st_size) {
        fail("cannot read", path);
    }
    close(fd);
    return (size_t)stat.st_size;
}

static size_t read_chunk(const struct array *array, const uint64_t *index, uint8_t *ret)
{
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    if (array->layout->meta->dialect->chunk_key(array->layout->meta, "", index, &key) != ZD_OK) {
        fail("a key is too long", array->directory);
    }
    return read_whole(array, key.at, ret, CHUNK_BYTES_MAX);
}

static void array_open(struct array *array, const char *directory, const char *codec)
{
    struct zd_error err = {0};
    ZD_AUTO(zd_meta) meta = NULL;
    *array = (struct array){.directory = directory, .codec = codec};
    array->stored = zd_alloc(CHUNK_BYTES_MAX);
    if (array->stored == NULL) {
        fail("no memory", directory);
    }
    const size_t len = read_whole(array, "zarr.json", array->stored, DOCUMENT_BYTES_MAX);
    const struct zd_documents documents = {
        .text = {{.ptr = array->stored, .len = len}}, .present = {true}};
    const struct zd_reading reading = {
        .judgement = ZD_JUDGE_READ,
        .limits = {.bytes_max = DOCUMENT_BYTES_MAX, .nodes_max = 10000, .depth_max = 64},
        .consolidated_bytes_max = DOCUMENT_BYTES_MAX,
    };
    if (zd_dialect_find("v3")->parse(&documents, &reading, &meta, &err) != ZD_OK ||
        zd_layout_new(meta, CHUNK_BYTES_MAX, &array->layout, &err) != ZD_OK) {
        fail(directory, err.text);
    }
    array->shape = array->layout->level[0].grid.shape;
    array->chunk = array->layout->level[0].grid.chunk;
    array->chunk_bytes = (size_t)array->layout->level[0].chunk_bytes;
    array->data = zd_alloc(array->chunk_bytes);
    if (array->data == NULL || meta->grid.rank != RANK) {
        fail("no memory, or not an array of three dimensions", directory);
    }
}

static void array_close(struct array *array)
{
    zd_layout_free(array->layout);
    zd_free(array->stored);
    zd_free(array->data);
}

/* Copy what the chunk at `index` (in array->data) has of the block at `from`. */
static void copy_part(const struct array *array, const uint64_t *index, const uint64_t *from,
    const uint64_t *extent, float *ret_block)
{
    uint64_t first[RANK];
    uint64_t end[RANK];
    for (unsigned dim = 0; dim < RANK; dim++) {
        const uint64_t chunk_first = index[dim] * array->chunk[dim];
        const uint64_t chunk_end = chunk_first + array->chunk[dim];
        first[dim] = from[dim] > chunk_first ? from[dim] : chunk_first;
        end[dim] = from[dim] + extent[dim] < chunk_end ? from[dim] + extent[dim] : chunk_end;
    }
    const float *data = (const float *)(const void *)array->data;
    for (uint64_t a = first[0]; a < end[0]; a++) {
        for (uint64_t b = first[1]; b < end[1]; b++) {
            const uint64_t row = (a % array->chunk[0]) * array->chunk[1] + b % array->chunk[1];
            const uint64_t to = (a - from[0]) * extent[1] + (b - from[1]);
            memcpy(ret_block + to * extent[2] + (first[2] - from[2]),
                data + row * array->chunk[2] + first[2] % array->chunk[2],
                (end[2] - first[2]) * sizeof *data);
        }
    }
}

static void read_block(
    const struct array *array, const uint64_t *from, const uint64_t *extent, float *ret_block)
{
    uint64_t first[RANK];
    uint64_t last[RANK];
    for (unsigned dim = 0; dim < RANK; dim++) {
        first[dim] = from[dim] / array->chunk[dim];
        last[dim] = (from[dim] + extent[dim] - 1) / array->chunk[dim];
    }
    for (uint64_t a = first[0]; a <= last[0]; a++) {
        for (uint64_t b = first[1]; b <= last[1]; b++) {
            for (uint64_t c = first[2]; c <= last[2]; c++) {
                const uint64_t index[RANK] = {a, b, c};
                const size_t len = read_chunk(array, index, array->stored);
                if (!zd_bare_decode(
                        array->codec, array->stored, len, array->data, array->chunk_bytes)) {
                    fail("a chunk does not decode", array->directory);
                }
                copy_part(array, index, from, extent, ret_block);
            }
        }
    }
}

static void check_block(
    const struct array *array, const uint64_t *from, const uint64_t *extent, const float *block)
{
    for (uint64_t i = 0; i < extent[0] * extent[1] * extent[2]; i++) {
        const uint64_t a = from[0] + i / (extent[1] * extent[2]);
        const uint64_t b = from[1] + i / extent[2] % extent[1];
        const uint64_t c = from[2] + i % extent[2];
        if (block[i] != zd_bench_field((uint32_t)a, (uint32_t)b, (uint32_t)c)) {
            fail("a value is wrong", array->directory);
        }
    }
}

/* Somewhere at a multiple of the block's shape. */
static void choose_place(const struct array *array, const uint64_t *extent, uint64_t *ret_from)
{
    for (unsigned dim = 0; dim < RANK; dim++) {
        ret_from[dim] = (uint64_t)random() % (array->shape[dim] / extent[dim]) * extent[dim];
    }
}

static void time_slices(const struct array *array, const uint64_t *extent, double seconds)
{
    uint64_t from[RANK];
    uint64_t n_slices = 0;
    float *block = zd_alloc_zero(extent[0] * extent[1] * extent[2], sizeof *block);
    if (block == NULL) {
        fail("no memory", array->directory);
    }
    choose_place(array, extent, from);
    read_block(array, from, extent, block);
    check_block(array, from, extent, block);
    const double began = cpu_us();
    double spent = 0;
    while (spent < seconds * 1e6) {
        choose_place(array, extent, from);
        read_block(array, from, extent, block);
        n_slices++;
        spent = cpu_us() - began;
    }
    printf("%.3f\n", spent / (double)n_slices);
    zd_free(block);
}

/* The first chunks along the first dimension that has several. */
static size_t load_chunks(const struct array *array, struct zd_buf **ret_chunk)
{
    size_t n = 0;
    uint64_t index[RANK] = {0};
    const unsigned dim = array->shape[0] > array->chunk[0] ? 0 : 1;
    for (; n < CHUNKS_MAX && index[dim] * array->chunk[dim] < array->shape[dim]; index[dim]++) {
        const struct zd_span bytes = {
            .ptr = array->stored, .len = read_chunk(array, index, array->stored)};
        ret_chunk[n] = zd_buf_copy(bytes);
        if (ret_chunk[n++] == NULL) {
            fail("no memory", array->directory);
        }
    }
    return n;
}

static void decode_bare(const struct array *array, const struct zd_buf *chunk)
{
    if (!zd_bare_decode(array->codec, chunk->data, chunk->len, array->data, array->chunk_bytes)) {
        fail("a chunk does not decode", array->directory);
    }
}

/* With zarrd's core; the same bytes must come out as of decode_bare when asked to compare. */
static void decode_zarrd(const struct array *array, struct zd_buf *chunk, bool compares)
{
    struct zd_error err = {0};
    ZD_AUTO(zd_buf) data = NULL;
    if (zd_chunk_decode(&array->layout->level[0], chunk, &data, &err) != ZD_OK) {
        fail("a chunk does not decode", err.text);
    }
    if (compares && (data->len != array->chunk_bytes ||
                        memcmp(data->data, array->data, array->chunk_bytes) != 0)) {
        fail("both decode a chunk, to different bytes", array->directory);
    }
}

/* Run a round: all chunks by the library, all by zarrd, until the time is over. */
static void time_round(
    const struct array *array, struct zd_buf **chunk, size_t n_chunks, double seconds)
{
    double spent[2] = {0, 0};
    uint64_t n_passes = 0;
    while (spent[0] + spent[1] < seconds * 1e6) {
        const double began = cpu_us();
        for (size_t i = 0; i < n_chunks; i++) {
            decode_bare(array, chunk[i]);
        }
        const double turned = cpu_us();
        for (size_t i = 0; i < n_chunks; i++) {
            decode_zarrd(array, chunk[i], false);
        }
        spent[0] += turned - began;
        spent[1] += cpu_us() - turned;
        n_passes++;
    }
    const double n = (double)(n_passes * n_chunks);
    printf("%.3f %.3f\n", spent[0] / n, spent[1] / n);
}

static void time_decodes(const struct array *array, uint64_t n_rounds, double seconds)
{
    struct zd_buf *chunk[CHUNKS_MAX];
    const size_t n_chunks = load_chunks(array, chunk);
    const bool is_decoded = strcmp(array->codec, "copy") != 0;
    for (size_t i = 0; i < n_chunks; i++) {
        decode_bare(array, chunk[i]);
        decode_zarrd(array, chunk[i], is_decoded);
    }
    for (uint64_t round = 0; round < n_rounds; round++) {
        time_round(array, chunk, n_chunks, seconds);
    }
    for (size_t i = 0; i < n_chunks; i++) {
        zd_buf_unref(chunk[i]);
    }
}

/* "1,256,256": the shape of a block; each side divides the array's. */
static bool scan_extent(const char *text, const uint64_t *shape, uint64_t *ret_extent)
{
    struct zd_scan scan = zd_scan_of(zd_span_of(text));
    for (unsigned dim = 0; dim < RANK; dim++) {
        if ((dim > 0 && !zd_scan_char(&scan, ',')) ||
            zd_scan_u64(&scan, shape[dim], &ret_extent[dim]) != ZD_OK || ret_extent[dim] == 0 ||
            shape[dim] % ret_extent[dim] != 0) {
            return false;
        }
    }
    return zd_scan_at_end(&scan);
}

static bool scan_seconds(const char *text, double *ret_seconds)
{
    char *end = NULL;
    *ret_seconds = strtod(text, &end);
    return end != text && *end == '\0' && *ret_seconds >= 0 && *ret_seconds <= SECONDS_MAX;
}

/* False when the arguments are not understood. */
static bool run(const struct array *array, char **argument)
{
    uint64_t extent[RANK];
    uint64_t n_rounds = 0;
    double seconds = 0;
    if (!scan_seconds(argument[5], &seconds)) {
        return false;
    }
    if (strcmp(argument[1], "slice") == 0 && scan_extent(argument[4], array->shape, extent)) {
        time_slices(array, extent, seconds);
        return true;
    }
    if (strcmp(argument[1], "decode") == 0 &&
        zd_scan_whole_u64(zd_span_of(argument[4]), 1000, &n_rounds) == ZD_OK) {
        time_decodes(array, n_rounds, seconds);
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    /* Like the server (server/runtime/memory): else each chunk pays for pages of its own. */
    (void)mallopt(M_MMAP_THRESHOLD, REUSED_BYTES_MAX);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES_MAX);
    struct array array = {0};
    bool is_understood = false;
    if (argc == 6) {
        array_open(&array, argv[2], argv[3]);
        is_understood = run(&array, argv);
        array_close(&array);
    }
    if (!is_understood) {
        fprintf(stderr, "usage: zarrd-bench-codec slice ARRAY CODEC A,B,C SECONDS\n"
                        "       zarrd-bench-codec decode ARRAY CODEC ROUNDS SECONDS\n");
        return 2;
    }
    return 0;
}
