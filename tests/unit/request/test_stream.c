/* Facts about server/request/stream: the window itself. */
#include "server/request/stream.h"

#include "core/base/text.h"
#include "tests/support/unit.h"

/* A buffer of cap bytes that is full of one letter. */
static struct zd_buf *full(size_t cap, char letter)
{
    struct zd_buf *buf = zd_buf_new(cap);
    ck_assert_ptr_nonnull(buf);
    memset(buf->data, letter, cap);
    buf->len = cap;
    return buf;
}

START_TEST(stream_gives_the_pieces_in_order_whatever_is_taken_at_once)
{
    for (size_t len_max = 1; len_max <= 12; len_max++) {
        struct zd_stream stream;
        ZD_SCOPED_TEXT(text, 100);
        char got[16];
        zd_stream_init(&stream, 100);
        zd_stream_push(&stream, full(4, 'a'), 1, 2);
        zd_stream_push(&stream, full(5, 'b'), 0, 5);
        zd_stream_push(&stream, full(3, 'c'), 3, 0);
        zd_stream_push(&stream, full(3, 'd'), 2, 1);
        for (size_t n; (n = zd_stream_take(&stream, got, len_max)) > 0;) {
            zd_text_add_bytes(&text, got, n);
        }
        ck_assert_str_eq(text.at, "aabbbbbd");
        ck_assert_uint_eq(stream.taken_bytes, 8);
        ck_assert_uint_eq(stream.held_bytes, 0);
        zd_stream_done(&stream);
    }
}
END_TEST

START_TEST(stream_has_room_for_what_fits_the_window_and_for_one_buffer_always)
{
    struct zd_stream stream;
    zd_stream_init(&stream, 10);
    ck_assert(zd_stream_has_room(&stream, UINT64_MAX));
    zd_stream_push(&stream, full(4, 'a'), 0, 1);
    ck_assert(zd_stream_has_room(&stream, 6));
    ck_assert(!zd_stream_has_room(&stream, 7)); /* memory counts, not the bytes to send */
    ck_assert(!zd_stream_has_room(&stream, UINT64_MAX));
    zd_stream_push(&stream, full(6, 'b'), 0, 1);
    ck_assert(!zd_stream_has_room(&stream, 0));
    zd_stream_done(&stream);
}
END_TEST

START_TEST(stream_holds_no_more_pieces_than_its_ring)
{
    struct zd_stream stream;
    char got[ZD_STREAM_PIECES];
    zd_stream_init(&stream, 1000);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < ZD_STREAM_PIECES; i++) {
            ck_assert(zd_stream_has_room(&stream, 1));
            zd_stream_push(&stream, full(1, (char)('a' + i)), 0, 1);
        }
        ck_assert(!zd_stream_has_room(&stream, 1));
        ck_assert_uint_eq(zd_stream_take(&stream, got, sizeof got), sizeof got);
        ck_assert_int_eq(got[ZD_STREAM_PIECES - 1], 'a' + ZD_STREAM_PIECES - 1);
    }
    zd_stream_done(&stream);
}
END_TEST

START_TEST(stream_fills_a_drained_buffer_again_unless_others_read_it)
{
    struct zd_stream stream;
    char got[8];
    zd_stream_init(&stream, 100);
    struct zd_buf *own = full(8, 'a');
    zd_stream_push(&stream, own, 0, 8);
    ck_assert_uint_eq(zd_stream_take(&stream, got, sizeof got), 8);
    struct zd_buf *again = zd_stream_buf(&stream, 7);
    ck_assert_ptr_eq(again, own);
    ck_assert_uint_eq(again->len, 0);
    zd_buf_unref(again);
    struct zd_buf *shared = zd_buf_ref(full(8, 'b'));
    zd_stream_push(&stream, shared, 0, 8);
    ck_assert_uint_eq(zd_stream_take(&stream, got, sizeof got), 8);
    struct zd_buf *other = zd_stream_buf(&stream, 8);
    ck_assert_ptr_ne(other, shared);
    zd_buf_unref(other);
    zd_buf_unref(shared);
    zd_stream_done(&stream);
}
END_TEST

START_TEST(stream_that_is_cut_holds_nothing)
{
    struct zd_stream stream;
    char got[8];
    zd_stream_init(&stream, 100);
    zd_stream_push(&stream, full(8, 'a'), 0, 8);
    zd_stream_cut(&stream);
    ck_assert(zd_stream_is_open(&stream));
    ck_assert_uint_eq(stream.held_bytes, 0);
    ck_assert_uint_eq(zd_stream_take(&stream, got, sizeof got), 0);
    zd_stream_done(&stream);
    ck_assert(!zd_stream_is_open(&stream));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, stream_gives_the_pieces_in_order_whatever_is_taken_at_once);
    tcase_add_test(tests, stream_has_room_for_what_fits_the_window_and_for_one_buffer_always);
    tcase_add_test(tests, stream_holds_no_more_pieces_than_its_ring);
    tcase_add_test(tests, stream_fills_a_drained_buffer_again_unless_others_read_it);
    tcase_add_test(tests, stream_that_is_cut_holds_nothing);
}
