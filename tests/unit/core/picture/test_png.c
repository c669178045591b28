/* Facts about core/picture/png: whole files, whatever memory does; readers are those of the live
 * tests. */
#include "core/picture/png.h"

#include <string.h>

#include "tests/support/unit.h"

#define HEAD_AT    8 /* behind the signature */
#define CHUNK_HEAD 8 /* length, name */
#define CHUNK_REST 12
#define END_BYTES  12
#define N_RANDOM   40

ZD_OWN(zd_png, zd_png_free);

struct file {
    struct zd_png_head head;
    bool is_random;
    struct zd_buf *buf; /* owned */
};

static uint32_t number_at(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* How long a chunk is; UINT32_MAX: there is none of that name. */
static uint32_t chunk_bytes(const struct zd_buf *buf, const char *name)
{
    for (size_t at = HEAD_AT; at + CHUNK_REST <= buf->len;) {
        if (memcmp(buf->data + at + 4, name, 4) == 0) {
            return number_at(buf->data + at);
        }
        at += CHUNK_REST + number_at(buf->data + at);
    }
    return UINT32_MAX;
}

static enum zd_status write(void *context)
{
    struct file *file = context;
    const struct zd_png_head *head = &file->head;
    const size_t row_bytes = (size_t)head->width * head->n_channels;
    const size_t n_values =
        head->n_channels == 1 ? head->n_colors : 256; /* libpng checks indices */
    struct zd_error err = {0};
    ZD_AUTO(zd_png) png = NULL;
    ZD_AUTO(zd_buf) row = zd_buf_new(row_bytes);
    zd_buf_unref(file->buf);
    file->buf = zd_buf_new(zd_png_bytes_max(head->width, head->height, head->n_channels));
    if (file->buf == NULL || row == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_png_new(head, file->buf, &png, &err));
    for (uint32_t y = 0; y < head->height; y++) {
        for (size_t i = 0; i < row_bytes; i++) {
            row->data[i] = (uint8_t)((file->is_random ? zd_unit_random() : y + i) % n_values);
        }
        ZD_TRY(zd_png_add_row(png, row->data, &err));
    }
    return zd_png_end(png, &err);
}

static void check_file(const struct file *file)
{
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    const uint8_t *head = file->buf->data + HEAD_AT + CHUNK_HEAD;
    ck_assert_mem_eq(file->buf->data, signature, sizeof signature);
    ck_assert_uint_eq(number_at(head), file->head.width);
    ck_assert_uint_eq(number_at(head + 4), file->head.height);
    ck_assert_uint_eq(head[8], 8);
    ck_assert_uint_eq(head[9], file->head.n_channels == 1 ? 3 : file->head.n_channels == 3 ? 2 : 6);
    ck_assert_uint_eq(chunk_bytes(file->buf, "PLTE"),
        file->head.n_channels == 1 ? 3 * file->head.n_colors : UINT32_MAX);
    ck_assert_uint_eq(chunk_bytes(file->buf, "tRNS"),
        file->head.is_last_clear ? file->head.n_colors : UINT32_MAX);
    ck_assert_mem_eq(file->buf->data + file->buf->len - END_BYTES + 4, "IEND", 4);
}

static const struct zd_png_head heads[] = {
    {.width = 1, .height = 1, .n_channels = 1, .n_colors = 255},
    {.width = 256, .height = 256, .n_channels = 1, .n_colors = 255},
    {.width = 300, .height = 7, .n_channels = 1, .n_colors = 256, .is_last_clear = true},
    {.width = 300, .height = 7, .n_channels = 1, .n_colors = 256},
    {.width = 7, .height = 300, .n_channels = 3},
    {.width = 64, .height = 64, .n_channels = 4},
};

START_TEST(a_file_is_whole)
{
    struct file file = {.head = heads[_i]};
    ck_assert_int_eq(write(&file), ZD_OK);
    check_file(&file);
    zd_buf_unref(file.buf);
}
END_TEST

START_TEST(memory_may_fail_at_any_time)
{
    struct file file = {.head = heads[_i]};
    zd_unit_with_failing_memory(write, &file);
    check_file(&file);
    zd_buf_unref(file.buf);
}
END_TEST

/* Bytes without any order cannot be compressed: the room is enough all the same. */
START_TEST(a_file_is_never_longer_than_its_room)
{
    for (int i = 0; i < N_RANDOM; i++) {
        const uint32_t channels[] = {1, 3, 4};
        struct file file = {
            .head = {.width = 1 + (uint32_t)(zd_unit_random() % 700),
                .height = 1 + (uint32_t)(zd_unit_random() % 300),
                .n_channels = channels[i % 3],
                .n_colors = i % 3 == 0 ? 256 : 0},
            .is_random = true,
        };
        ck_assert_int_eq(write(&file), ZD_OK);
        check_file(&file);
        zd_buf_unref(file.buf);
    }
}
END_TEST

static const struct {
    uint64_t width;
    uint64_t height;
    uint32_t n_channels;
    bool fits;
} rooms[] = {
    {1, 1, 1, true},
    {UINT32_MAX, UINT32_MAX / 8, 4, true},
    {UINT64_MAX, 1, 1, false},
    {1, UINT64_MAX, 1, false},
    {UINT64_MAX / 4, 1, 4, false},
    {UINT64_C(1) << 32, UINT64_C(1) << 32, 1, false},
};

START_TEST(the_room_of_a_file_is_known)
{
    const uint64_t bytes =
        zd_png_bytes_max(rooms[_i].width, rooms[_i].height, rooms[_i].n_channels);
    ck_assert_int_eq(bytes < UINT64_MAX, rooms[_i].fits);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_file_is_whole, 0, ZD_COUNT_OF(heads));
    tcase_add_loop_test(tests, memory_may_fail_at_any_time, 0, ZD_COUNT_OF(heads));
    tcase_add_test(tests, a_file_is_never_longer_than_its_room);
    tcase_add_loop_test(tests, the_room_of_a_file_is_known, 0, ZD_COUNT_OF(rooms));
}
