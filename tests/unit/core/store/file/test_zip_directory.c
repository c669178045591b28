/* Facts about core/store/file/zip_directory: what an archive's directory says, and what may be
 * wrong with it. */
#include "core/store/file/zip_directory.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "tests/support/unit.h"

#define ARCHIVE_BYTES_MAX 4096
#define CENTRAL_BYTES     46
#define END_BYTES         22

/* An archive of stored members under construction; sizes and checksums are the caller's. */
struct archive {
    uint8_t bytes[ARCHIVE_BYTES_MAX];
    size_t len;
    uint8_t central[ARCHIVE_BYTES_MAX];
    size_t central_len;
    uint16_t n;
};

static void put_u16(uint8_t *at, uint16_t value)
{
    memcpy(at, &value, sizeof value);
}

static void put(uint8_t *at, struct zd_span bytes)
{
    memcpy(at, bytes.ptr, bytes.len);
}

static void add(struct archive *archive, const char *name, const char *text)
{
    uint8_t *local = archive->bytes + archive->len;
    uint8_t *central = archive->central + archive->central_len;
    const uint16_t name_len = (uint16_t)strlen(name);
    const uint32_t len = (uint32_t)strlen(text);
    zd_store_u32(local, 0x04034b50U);
    zd_store_u32(local + 18, len);
    zd_store_u32(local + 22, len);
    put_u16(local + 26, name_len);
    put(local + 30, zd_span_of(name));
    put(local + 30 + name_len, zd_span_of(text));
    zd_store_u32(central, 0x02014b50U);
    zd_store_u32(central + 20, len);
    zd_store_u32(central + 24, len);
    put_u16(central + 28, name_len);
    zd_store_u32(central + 42, (uint32_t)archive->len);
    put(central + CENTRAL_BYTES, zd_span_of(name));
    archive->len += 30U + name_len + len;
    archive->central_len += CENTRAL_BYTES + (size_t)name_len;
    archive->n++;
}

static void finish(struct archive *archive)
{
    uint8_t *end = archive->bytes + archive->len + archive->central_len;
    memcpy(archive->bytes + archive->len, archive->central, archive->central_len);
    zd_store_u32(end, 0x06054b50U);
    put_u16(end + 8, archive->n);
    put_u16(end + 10, archive->n);
    zd_store_u32(end + 12, (uint32_t)archive->central_len);
    zd_store_u32(end + 16, (uint32_t)archive->len);
    archive->len += archive->central_len + END_BYTES;
}

static enum zd_status read_archive(
    struct zd_span bytes, struct zd_zip_directory *directory, struct zd_error *err)
{
    struct zd_zip_end end;
    ZD_TRY(zd_zip_end_find(bytes, bytes.len, &end, err));
    const struct zd_span central = {.ptr = bytes.ptr + end.first, .len = (size_t)end.bytes};
    return zd_zip_directory_read(&end, central, directory, err);
}

/* "a/b" of 3 bytes, "a" of none, "a/b" again, of 2, and names that are no keys. */
static struct archive sample(void)
{
    struct archive archive = {0};
    add(&archive, "a/b", "one");
    add(&archive, "a", "");
    add(&archive, "folder/", "");
    add(&archive, "../up", "x");
    add(&archive, "/root", "x");
    add(&archive, "a//b", "x");
    add(&archive, "a\\b", "x");
    add(&archive, "a/b", "22");
    finish(&archive);
    return archive;
}

START_TEST(members_are_sorted_and_the_last_of_a_name_counts)
{
    const struct archive archive = sample();
    const struct zd_span bytes = {.ptr = archive.bytes, .len = archive.len};
    struct zd_zip_directory directory = {0};
    struct zd_error err = {0};
    ck_assert_msg(read_archive(bytes, &directory, &err) == ZD_OK, "%s", err.text);
    ck_assert_uint_eq(directory.n, 2);
    ck_assert_str_eq(directory.member[0].key, "a");
    ck_assert_str_eq(directory.member[1].key, "a/b");
    const struct zd_zip_member *member = zd_zip_directory_find(&directory, "a/b");
    ck_assert_ptr_nonnull(member);
    ck_assert_uint_eq(member->size, 2);
    uint64_t packed = 0;
    const struct zd_span local = {.ptr = bytes.ptr + member->local, .len = ZD_ZIP_LOCAL_BYTES + 3};
    ck_assert_int_eq(zd_zip_member_begin(member, local, &packed, &err), ZD_OK);
    ck_assert_mem_eq(bytes.ptr + packed, "22", 2);
    ck_assert_ptr_null(zd_zip_directory_find(&directory, "folder"));
    ck_assert_ptr_null(zd_zip_directory_find(&directory, "../up"));
    zd_zip_directory_done(&directory);
}
END_TEST

START_TEST(bytes_before_an_archive_are_passed_over)
{
    const struct archive archive = sample();
    uint8_t bytes[ARCHIVE_BYTES_MAX + 100] = {0};
    struct zd_zip_directory directory = {0};
    memcpy(bytes + 100, archive.bytes, archive.len);
    const struct zd_span span = {.ptr = bytes, .len = archive.len + 100};
    ck_assert_int_eq(read_archive(span, &directory, NULL), ZD_OK);
    ck_assert_mem_eq(bytes + zd_zip_directory_find(&directory, "a/b")->local, "PK\3\4", 4);
    zd_zip_directory_done(&directory);
}
END_TEST

/* A change of the sample: four bytes, counted from the end of the file when `at` is negative. */
static const struct {
    int at;
    uint32_t value;
    const char *fault;
} faults[] = {
    {-22, 0, "not a ZIP archive"}, {-6, 0xffffff, "does not fit"}, /* where the directory is */
    {-10, 0xffffff, "does not fit"},                               /* its length */
    {-10, 8 * CENTRAL_BYTES - 1, "does not fit"},                  /* too short for its members */
    {-10, 8 * CENTRAL_BYTES, "truncated"},                         /* too short for their names */
    {-18, 1U << 16, "a part of"},                                  /* another disk */
    {-12, 0x10007,
        "has more entries than it states"}, /* 7 members: the low half of the next field */
};

START_TEST(a_damaged_end_is_refused)
{
    struct archive archive = sample();
    struct zd_zip_directory directory = {0};
    struct zd_error err = {0};
    uint8_t *at = archive.bytes + archive.len + faults[_i].at;
    uint32_t value = faults[_i].value;
    if (faults[_i].at == -12) {
        put_u16(at, 7);
    } else {
        zd_store_u32(at, value);
    }
    const enum zd_status status =
        read_archive((struct zd_span){.ptr = archive.bytes, .len = archive.len}, &directory, &err);
    ck_assert_int_ne(status, ZD_OK);
    ck_assert_msg(strstr(err.text, faults[_i].fault) != NULL, "%s", err.text);
}
END_TEST

#define SIZE   1U /* which numbers of the second member are in its ZIP64 field */
#define PACKED 2U
#define LOCAL  4U
#define ALL    (SIZE | PACKED | LOCAL)

#define MEMBER_LOCAL 35 /* behind "first" of no bytes */
#define MEMBER_BYTES 4

/* The ZIP64 field of a member (APPNOTE 4.5.3): what is in it, how many bytes it says it has, and
 * whether another field comes first. */
static const struct zip64_fact {
    uint32_t has;
    uint64_t value[3];
    int claimed; /* 0: as many as it has */
    bool comes_late;
    const char *fault; /* NULL: none */
} zip64_facts[] = {
    {ALL, {MEMBER_BYTES, MEMBER_BYTES, MEMBER_LOCAL}, 0, false, NULL},
    {ALL, {MEMBER_BYTES, MEMBER_BYTES, MEMBER_LOCAL}, 0, true, NULL},
    {SIZE, {MEMBER_BYTES}, 0, false, NULL}, {PACKED, {MEMBER_BYTES}, 0, false, NULL},
    {LOCAL, {MEMBER_LOCAL}, 0, true, NULL},
    {SIZE | LOCAL, {MEMBER_BYTES, MEMBER_LOCAL}, 0, false, NULL},
    /* longer than its extra field, too short for its numbers */
    {ALL, {MEMBER_BYTES, MEMBER_BYTES, MEMBER_LOCAL}, 25, false, "ZIP64"},
    {ALL, {MEMBER_BYTES, MEMBER_BYTES, MEMBER_LOCAL}, 0xffff, true, "ZIP64"},
    {ALL, {MEMBER_BYTES, MEMBER_BYTES, MEMBER_LOCAL}, 23, false, "ZIP64"},
    {ALL, {MEMBER_BYTES, MEMBER_BYTES, MEMBER_LOCAL}, 16, false, "ZIP64"},
    {SIZE, {MEMBER_BYTES}, 7, true, "ZIP64"},
    /* what no file of that length has */
    {PACKED, {UINT64_MAX}, 0, false, "overlap"}, {PACKED, {1U << 30}, 0, false, "overlap"},
    {LOCAL, {UINT64_MAX}, 0, false, "overlap"}, {LOCAL, {UINT64_C(1) << 63}, 0, false, "overlap"},
    {LOCAL, {0}, 0, false, "overlap"}, /* the place of the first one */
};

static struct archive zip64_archive(const struct zip64_fact *fact)
{
    static const uint8_t other[] = {0x55, 0x54, 2, 0, 1, 0};
    static const size_t places[] = {24, 20, 42};
    struct archive archive = {0};
    uint8_t extra[64] = {0};
    size_t len = fact->comes_late ? sizeof other : 0;
    memcpy(extra, other, sizeof other);
    add(&archive, "first", "");
    uint8_t *central = archive.central + archive.central_len;
    add(&archive, "a", "data");
    uint8_t *head = extra + len;
    len += 4;
    for (size_t i = 0, n = 0; i < ZD_COUNT_OF(places); i++) {
        if ((fact->has & 1U << i) != 0) {
            zd_store_u32(central + places[i], UINT32_MAX);
            zd_store_u64(extra + len, fact->value[n++]);
            len += sizeof fact->value[0];
        }
    }
    put_u16(head, 1);
    put_u16(head + 2, (uint16_t)(fact->claimed == 0 ? extra + len - head - 4 : fact->claimed));
    put_u16(central + 30, (uint16_t)len);
    memcpy(archive.central + archive.central_len, extra, len);
    archive.central_len += len;
    finish(&archive);
    return archive;
}

START_TEST(sizes_and_places_may_be_in_a_zip64_field)
{
    const struct zip64_fact *fact = &zip64_facts[_i];
    const struct archive archive = zip64_archive(fact);
    const struct zd_span bytes = {.ptr = archive.bytes, .len = archive.len};
    struct zd_zip_directory directory = {0};
    struct zd_error err = {0};
    const enum zd_status status = read_archive(bytes, &directory, &err);
    if (fact->fault != NULL) {
        ck_assert_int_eq(status, ZD_CORRUPT);
        ck_assert_msg(strstr(err.text, fact->fault) != NULL, "%s", err.text);
        return;
    }
    ck_assert_msg(status == ZD_OK, "%s", err.text);
    const struct zd_zip_member *member = zd_zip_directory_find(&directory, "a");
    ck_assert_ptr_nonnull(member);
    ck_assert_uint_eq(member->size, MEMBER_BYTES);
    ck_assert_uint_eq(member->packed_bytes, MEMBER_BYTES);
    ck_assert_uint_eq(member->local, MEMBER_LOCAL);
    zd_zip_directory_done(&directory);
}
END_TEST

/* Nothing is added to a place that is near 2^64. */
START_TEST(place_beyond_all_files_is_refused)
{
    static const struct zip64_fact fact = {LOCAL, {UINT64_MAX}, 0, false, NULL};
    const struct archive archive = zip64_archive(&fact);
    uint8_t bytes[ARCHIVE_BYTES_MAX + 1] = {0};
    struct zd_zip_directory directory = {0};
    struct zd_error err = {0};
    memcpy(bytes + 1, archive.bytes, archive.len);
    const struct zd_span span = {.ptr = bytes, .len = archive.len + 1};
    ck_assert_int_eq(read_archive(span, &directory, &err), ZD_CORRUPT);
    ck_assert_msg(strstr(err.text, "ZIP64") != NULL, "%s", err.text);
}
END_TEST

START_TEST(names_are_read_without_the_rest)
{
    const struct archive archive = sample();
    struct zd_span piece = {.ptr = archive.central, .len = archive.central_len};
    struct zd_span name;
    size_t n = 0;
    for (; zd_zip_directory_next(&piece, &name); n++) {
        ck_assert(n > 0 || zd_span_is(name, "a/b"));
    }
    ck_assert_uint_eq(n, archive.n);
    ck_assert_uint_eq(piece.len, 0);
    piece = (struct zd_span){.ptr = archive.central, .len = CENTRAL_BYTES + 2};
    ck_assert(!zd_zip_directory_next(&piece, &name)); /* its name is cut off */
    ck_assert_uint_eq(piece.len, CENTRAL_BYTES + 2);
}
END_TEST

START_TEST(members_may_not_overlap)
{
    struct archive archive = {0};
    struct zd_zip_directory directory = {0};
    struct zd_error err = {0};
    add(&archive, "a", "aaaa");
    add(&archive, "b", "bbbb");
    zd_store_u32(archive.central + 20, 5); /* one byte of what follows */
    finish(&archive);
    const struct zd_span bytes = {.ptr = archive.bytes, .len = archive.len};
    /* The name is not in the directory's count: only the member's own header shows it. */
    ck_assert_int_eq(read_archive(bytes, &directory, &err), ZD_OK);
    uint64_t packed = 0;
    const struct zd_zip_member *member = zd_zip_directory_find(&directory, "a");
    const struct zd_span local = {.ptr = bytes.ptr + member->local, .len = ZD_ZIP_LOCAL_BYTES + 1};
    ck_assert_int_eq(zd_zip_member_begin(member, local, &packed, &err), ZD_CORRUPT);
    ck_assert_msg(strstr(err.text, "overlap") != NULL, "%s", err.text);
    zd_zip_directory_done(&directory);
    zd_store_u32(archive.bytes + archive.len - END_BYTES - archive.central_len + 20, 6);
    ck_assert_int_eq(read_archive(bytes, &directory, &err), ZD_CORRUPT);
    ck_assert_msg(strstr(err.text, "overlap") != NULL, "%s", err.text);
}
END_TEST

static enum zd_status read_with_failing_memory(void *context)
{
    const struct archive *archive = context;
    struct zd_zip_directory directory = {0};
    ZD_TRY(read_archive(
        (struct zd_span){.ptr = archive->bytes, .len = archive->len}, &directory, NULL));
    zd_zip_directory_done(&directory);
    return ZD_OK;
}

START_TEST(without_memory_nothing_is_left_behind)
{
    struct archive archive = sample();
    zd_unit_with_failing_memory(read_with_failing_memory, &archive);
}
END_TEST

START_TEST(seeking_finds_the_first_key_that_is_not_less)
{
    struct archive archive = {0};
    struct zd_zip_directory directory = {0};
    char names[40][8];
    for (int i = 0; i < 40; i++) {
        (void)snprintf(names[i], sizeof names[i], "%u", (unsigned)(zd_unit_random() % 1000));
        add(&archive, names[i], "x");
    }
    finish(&archive);
    ck_assert_int_eq(
        read_archive((struct zd_span){.ptr = archive.bytes, .len = archive.len}, &directory, NULL),
        ZD_OK);
    for (int i = 0; i < 1000; i++) {
        char key[8];
        size_t n_less = 0;
        (void)snprintf(key, sizeof key, "%d", i);
        while (n_less < directory.n && strcmp(directory.member[n_less].key, key) < 0) {
            n_less++;
        }
        ck_assert_uint_eq(zd_zip_directory_seek(&directory, key), n_less);
    }
    zd_zip_directory_done(&directory);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, members_are_sorted_and_the_last_of_a_name_counts);
    tcase_add_test(tests, bytes_before_an_archive_are_passed_over);
    tcase_add_loop_test(tests, a_damaged_end_is_refused, 0, ZD_COUNT_OF(faults));
    tcase_add_loop_test(
        tests, sizes_and_places_may_be_in_a_zip64_field, 0, ZD_COUNT_OF(zip64_facts));
    tcase_add_test(tests, place_beyond_all_files_is_refused);
    tcase_add_test(tests, names_are_read_without_the_rest);
    tcase_add_test(tests, members_may_not_overlap);
    tcase_add_test(tests, without_memory_nothing_is_left_behind);
    tcase_add_test(tests, seeking_finds_the_first_key_that_is_not_less);
}
