/* Facts about server/multipart. */
#include "server/http/multipart.h"

#include "tests/support/unit.h"

START_TEST(multipart_names_each_part_by_its_index)
{
    const uint64_t index[] = {0, 18446744073709551615U};
    ZD_SCOPED_TEXT(text, 4096);
    zd_multipart_add(&text, "B", index, 2, zd_span_of("abc"), false);
    zd_multipart_add(&text, "B", index, 0, (struct zd_span){0}, true);
    zd_multipart_end(&text, "B");
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_str_eq(text.at,
        "--B\r\nContent-Type: application/octet-stream\r\nContent-ID: <0,18446744073709551615>\r\n"
        "Content-Length: 3\r\n\r\nabc\r\n"
        "--B\r\nContent-Type: application/octet-stream\r\nContent-ID: <>\r\n"
        "Content-Length: 0\r\nZarr-Chunk: absent\r\n\r\n\r\n"
        "--B--\r\n");
}
END_TEST

START_TEST(frames_carry_position_length_and_bytes)
{
    ZD_AUTO(zd_buf)
    expected = zd_unit_hex("01000000 0300000000000000 616263 02000000 ffffffffffffffff");
    ZD_SCOPED_TEXT(text, 4096);
    zd_multipart_frame_add(&text, 1, zd_span_of("abc"), false);
    zd_multipart_frame_add(&text, 2, (struct zd_span){0}, true);
    ck_assert(zd_span_equal(zd_text_span(&text), zd_buf_span(expected)));
}
END_TEST

START_TEST(boundaries_differ_from_request_to_request)
{
    char a[ZD_BOUNDARY_BYTES];
    char b[ZD_BOUNDARY_BYTES];
    zd_multipart_boundary(a, zd_span_of("one"));
    zd_multipart_boundary(b, zd_span_of("two"));
    ck_assert_str_ne(a, b);
    ck_assert_uint_le(strlen(a), 70); /* RFC 2046, 5.1.1 */
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, multipart_names_each_part_by_its_index);
    tcase_add_test(tests, frames_carry_position_length_and_bytes);
    tcase_add_test(tests, boundaries_differ_from_request_to_request);
}
