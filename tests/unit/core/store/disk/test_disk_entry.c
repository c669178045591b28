/* Heads of files of the disk tier: what is written is read again, and nothing else is. */
#include "core/store/disk/disk_entry.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

static const struct {
    const char *key;
    struct zd_range range;
    const char *body;
} entries[] = {
    {"zarr.json", {.kind = ZD_RANGE_WHOLE}, "{}"},
    {"c/0/0", {.kind = ZD_RANGE_WHOLE}, ""},
    {"c/0/1", {.kind = ZD_RANGE_FROM_TO, .first = 0, .len = 4}, "abcd"},
    {"c/0/1", {.kind = ZD_RANGE_FROM_TO, .first = UINT64_MAX, .len = UINT64_MAX}, ""},
    {"c/0/1", {.kind = ZD_RANGE_SUFFIX, .first = 0, .len = 3}, "bcd"},
};

static struct zd_disk_entry entry_of(int i)
{
    const struct zd_span body = zd_span_of(entries[i].body);
    return (struct zd_disk_entry){
        .name = {.owner = {{1, 2}}, .key = zd_span_of(entries[i].key), .range = entries[i].range},
        .stat = {.generation = {{3, 4}}, .size = 4, .mtime_ms = -5},
        .checked_ms = 1700000000000,
        .body_bytes = body.len,
        .body_hash = zd_disk_entry_hash(body),
    };
}

START_TEST(a_head_is_read_as_it_was_written)
{
    const struct zd_disk_entry entry = entry_of(_i);
    uint8_t head[ZD_DISK_ENTRY_HEAD_BYTES];
    struct zd_disk_entry found;
    const size_t len = zd_disk_entry_write(&entry, head);
    const struct zd_span bytes = {.ptr = head, .len = len};
    ck_assert_int_eq(zd_disk_entry_read(bytes, len + entry.body_bytes, &found, NULL), ZD_OK);
    ck_assert(zd_disk_entry_is_of(&found, &entry.name));
    ck_assert(zd_generation_equal(found.stat.generation, entry.stat.generation));
    ck_assert_uint_eq(found.stat.size, 4);
    ck_assert_int_eq(found.stat.mtime_ms, -5);
    ck_assert_int_eq(found.checked_ms, entry.checked_ms);
    ck_assert_uint_eq(found.body_bytes, entry.body_bytes);
    ck_assert_uint_eq(found.body_hash, entry.body_hash);
    ck_assert_uint_eq(found.n_head_bytes, len);
}
END_TEST

START_TEST(no_bit_of_a_head_can_change_and_no_byte_be_missing)
{
    const struct zd_disk_entry entry = entry_of(_i);
    uint8_t head[ZD_DISK_ENTRY_HEAD_BYTES];
    struct zd_disk_entry found;
    const size_t len = zd_disk_entry_write(&entry, head);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        head[bit / 8] ^= (uint8_t)(1U << bit % 8);
        const struct zd_span bytes = {.ptr = head, .len = len};
        ck_assert_int_eq(
            zd_disk_entry_read(bytes, len + entry.body_bytes, &found, NULL), ZD_CORRUPT);
        head[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    for (size_t n = 0; n < len; n++) {
        const struct zd_span bytes = {.ptr = head, .len = n};
        ck_assert_int_eq(zd_disk_entry_read(bytes, n + entry.body_bytes, &found, NULL), ZD_CORRUPT);
    }
    const struct zd_span bytes = {.ptr = head, .len = len};
    ck_assert_int_eq(
        zd_disk_entry_read(bytes, len + entry.body_bytes + 1, &found, NULL), ZD_CORRUPT);
}
END_TEST

START_TEST(names_differ_in_owner_key_and_range)
{
    const struct zd_disk_entry entry = entry_of(2);
    struct zd_disk_name name = entry.name;
    name.owner.word[1]++;
    ck_assert(!zd_disk_entry_is_of(&entry, &name));
    name = entry.name;
    name.key = zd_span_of("c/0/2");
    ck_assert(!zd_disk_entry_is_of(&entry, &name));
    name = entry.name;
    name.range.len++;
    ck_assert(!zd_disk_entry_is_of(&entry, &name));
    name.range.kind = ZD_RANGE_WHOLE;
    ck_assert(!zd_disk_entry_is_of(&entry, &name));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_head_is_read_as_it_was_written, 0, ZD_COUNT_OF(entries));
    tcase_add_loop_test(
        tests, no_bit_of_a_head_can_change_and_no_byte_be_missing, 0, ZD_COUNT_OF(entries));
    tcase_add_test(tests, names_differ_in_owner_key_and_range);
}
