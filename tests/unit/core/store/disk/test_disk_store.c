/* The store over a remote store that keeps what was read on the disk: what is served without the
 * origin, what is asked again, and what damage, crashes and full disks make of it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/calls.h"
#include "tests/support/tier.h"
#include "tests/support/unit.h"

#define BYTES_MAX (UINT64_C(8) << 20)
#define HOUR_MS   UINT64_C(3600000)

static void reset(void)
{
    zd_test_tier_n_reads = 0;
    zd_test_tier_n_statuses = 0;
}

static enum zd_status read_range(struct zd_test_tier *tier, const char *key, struct zd_range range,
    struct zd_generation only, const char *text)
{
    struct zd_store_read read;
    zd_test_read_init(&read, key);
    read.range = range;
    read.only_generation = only;
    const enum zd_status status = zd_test_read(&tier->test, &read);
    ck_assert(status != ZD_OK || zd_span_is(zd_buf_span(read.bytes), text));
    zd_buf_unref(read.bytes);
    return status;
}

static struct zd_stat stat_of(struct zd_test_tier *tier, const char *key)
{
    struct zd_store_status status = {0};
    snprintf(status.key, sizeof status.key, "%s", key);
    ck_assert_int_eq(zd_test_status(&tier->test, &status), ZD_OK);
    return status.stat;
}

/* ---- what is served ---- */

START_TEST(an_object_is_read_once_and_revalidated_by_its_generation)
{
    struct zd_test_tier tier;
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "a", "1");
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "1"), ZD_OK);
    const uint64_t n_bytes = tier.test.store->inner->n_read_bytes;
    reset();
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "1"), ZD_OK);
    ck_assert_int_eq(zd_test_tier_n_reads, 1); /* not modified */
    ck_assert_uint_eq(tier.test.store->inner->n_read_bytes, n_bytes);
    ck_assert_uint_eq(tier.test.store->n_read_bytes, n_bytes + 1);
    zd_test_tier_put(&tier, "a", "22");
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "22"), ZD_OK);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "22"), ZD_OK);
    const struct zd_disk_counts counts = zd_test_tier_count(&tier);
    ck_assert_uint_eq(counts.n_hits, 2);
    ck_assert_uint_eq(counts.n_revalidated, 2);
    ck_assert_uint_eq(counts.n_misses, 2);
    ck_assert_uint_eq(counts.n_kept, 2);
    ck_assert_uint_eq(counts.n_entries, 1);
    ck_assert_int_eq(zd_test_tier_files(&tier, NULL), 1);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(ranges_of_one_generation_need_no_question)
{
    const struct zd_range middle = {.kind = ZD_RANGE_FROM_TO, .first = 2, .len = 3};
    const struct zd_range tail = {.kind = ZD_RANGE_SUFFIX, .len = 2};
    struct zd_test_tier tier;
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "shard", "0123456789");
    const struct zd_generation only = stat_of(&tier, "shard").generation;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(read_range(&tier, "shard", middle, only, "234"), ZD_OK);
        ck_assert_int_eq(read_range(&tier, "shard", tail, only, "89"), ZD_OK);
        ck_assert_int_eq(zd_test_tier_n_reads, 2);
        zd_test_tier_restart(&tier);
    }
    zd_test_tier_put(&tier, "shard", "abcdefghij");
    ck_assert_int_eq(read_range(&tier, "shard", tail, only, "89"), ZD_OK); /* as was asked */
    const struct zd_generation next = stat_of(&tier, "shard").generation;
    ck_assert_int_eq(read_range(&tier, "shard", tail, next, "ij"), ZD_OK);
    ck_assert_int_eq(read_range(&tier, "shard", middle, next, "cde"), ZD_OK);
    ck_assert_int_eq(read_range(&tier, "shard", middle, only, "234"), ZD_PRECONDITION);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(a_large_object_of_earlier_times_is_not_sent_again)
{
    struct zd_test_tier tier;
    char large[(65 << 10) + 1];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "a", large);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, large), ZD_OK);
    zd_test_tier_restart(&tier);
    reset();
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, large), ZD_OK);
    ck_assert_int_eq(zd_test_tier_n_statuses, 1);
    ck_assert_int_eq(zd_test_tier_n_reads, 0);
    zd_test_tier_restart(&tier);
    large[0] = 'y';
    zd_test_tier_put(&tier, "a", large);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, large), ZD_OK);
    ck_assert_int_eq(zd_test_tier_n_statuses, 2);
    ck_assert_int_eq(zd_test_tier_n_reads, 1);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(young_objects_are_served_while_the_origin_is_gone)
{
    struct zd_test_tier tier;
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "a", "1");
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "1"), ZD_OK);
    for (int i = 0; i < 2; i++) {
        zd_test_tier_is_gone = true;
        zd_test_tier_now_ms += (int64_t)HOUR_MS / 2;
        reset();
        ck_assert_int_eq(zd_test_tier_read(&tier, "a", HOUR_MS, "1"), ZD_OK);
        ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "1"), ZD_OK);
        ck_assert_int_eq(zd_test_tier_n_reads, 0);
        ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "1"), ZD_STORE);
        ck_assert_int_eq(zd_test_tier_read(&tier, "a", HOUR_MS / 2, "1"), ZD_STORE);
        zd_test_tier_is_gone = false;
        zd_test_tier_now_ms += (int64_t)HOUR_MS / 2;
        zd_test_tier_is_gone = true;
        ck_assert_int_eq(zd_test_tier_read(&tier, "a", HOUR_MS, "1"), ZD_STORE);
        zd_test_tier_is_gone = false;
        ck_assert_int_eq(zd_test_tier_read(&tier, "a", HOUR_MS, "1"), ZD_OK); /* noted on disk */
        zd_test_tier_restart(&tier);
    }
    zd_test_tier_now_ms -= (int64_t)HOUR_MS; /* a clock that was set back says nothing */
    zd_test_tier_is_gone = true;
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 2 * HOUR_MS, "1"), ZD_STORE);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "1"), ZD_OK);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(the_status_of_what_is_kept_is_known_as_long)
{
    struct zd_store_status status = {.key = "shard", .age_max_ms = HOUR_MS};
    struct zd_test_tier tier;
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "shard", "0123456789");
    const struct zd_stat stat = stat_of(&tier, "shard");
    const struct zd_range tail = {.kind = ZD_RANGE_SUFFIX, .len = 2};
    ck_assert_int_eq(read_range(&tier, "shard", tail, stat.generation, "89"), ZD_OK);
    zd_test_tier_now_ms += 1000;
    for (int i = 0; i < 2; i++) {
        reset();
        ck_assert_int_eq(zd_test_status(&tier.test, &status), ZD_OK);
        ck_assert(zd_generation_equal(status.stat.generation, stat.generation));
        ck_assert_uint_eq(status.stat.size, 10);
        ck_assert_uint_eq(status.age_ms, 1000);
        ck_assert_int_eq(zd_test_tier_n_statuses, 0);
        zd_test_tier_restart(&tier);
        ck_assert_int_eq(uv_run(&tier.test.loop, UV_RUN_DEFAULT), 0);
    }
    zd_test_tier_now_ms += (int64_t)HOUR_MS;
    ck_assert_int_eq(zd_test_status(&tier.test, &status), ZD_OK);
    ck_assert_uint_eq(status.age_ms, 0);
    ck_assert_int_eq(zd_test_tier_n_statuses, 1);
    zd_test_tier_restart(&tier); /* it was noted in the file */
    ck_assert_int_eq(uv_run(&tier.test.loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(zd_test_status(&tier.test, &status), ZD_OK);
    ck_assert_int_eq(zd_test_tier_n_statuses, 1);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(absence_and_faults_pass_and_what_is_gone_is_dropped)
{
    struct zd_test_tier tier;
    zd_test_tier_open(&tier, BYTES_MAX);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, ""), ZD_NOT_FOUND);
    zd_test_tier_put(&tier, "a", "1");
    zd_test_tier_is_gone = true;
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, ""), ZD_STORE);
    zd_test_tier_is_gone = false;
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "1"), ZD_OK);
    zd_test_tier_put(&tier, "a", NULL);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, ""), ZD_NOT_FOUND);
    ck_assert_int_eq(zd_test_tier_files(&tier, NULL), 0);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(limits_of_a_read_hold_for_what_is_kept)
{
    struct zd_test_tier tier;
    struct zd_store_read read;
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "a", "12345");
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "12345"), ZD_OK);
    zd_test_read_init(&read, "a");
    read.age_max_ms = UINT64_MAX;
    read.bytes_max = 4;
    ck_assert_int_eq(zd_test_read(&tier.test, &read), ZD_TOO_LARGE);
    ck_assert_uint_eq(read.op.err.facts.limit, 4);
    read.bytes_max = 5;
    read.unless_generation = stat_of(&tier, "a").generation;
    reset();
    ck_assert_int_eq(zd_test_read(&tier.test, &read), ZD_NOT_MODIFIED);
    ck_assert_int_eq(zd_test_tier_n_reads, 0);
    read.age_max_ms = 0;
    ck_assert_int_eq(zd_test_read(&tier.test, &read), ZD_NOT_MODIFIED);
    ck_assert_int_eq(zd_test_tier_n_reads, 1);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(our_own_writes_and_erasures_drop_what_is_kept)
{
    struct zd_test_tier tier;
    struct zd_store_write write;
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_put(&tier.test, "a", "1");
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "1"), ZD_OK);
    zd_test_put(&tier.test, "a", "2");
    ck_assert_int_eq(zd_test_tier_files(&tier, NULL), 0);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "2"), ZD_OK);
    zd_test_stage(&tier.test, "a", "3", &write);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "2"), ZD_OK);
    write.phase = ZD_PHASE_COMMIT;
    ck_assert_int_eq(zd_test_write(&tier.test, &write), ZD_OK);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "3"), ZD_OK);
    zd_test_tier_restart(&tier); /* the search for what is there is under way */
    struct zd_store_write erase = {.key = "a"};
    ck_assert_int_eq(zd_test_erase(&tier.test, &erase), ZD_OK);
    ck_assert_int_eq(zd_test_tier_files(&tier, NULL), 0);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, ""), ZD_NOT_FOUND);
    zd_test_tier_close(&tier);
}
END_TEST

/* A read that began before a write brings old bytes after it. */
START_TEST(a_read_from_before_a_write_is_not_kept_after_it)
{
    struct zd_test_tier tier;
    struct zd_store_read read;
    struct zd_store_write write = {
        .key = "a", .op.done = zd_test_done, .bytes = zd_buf_copy(zd_span_of("2"))};
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "a", "1");
    zd_test_read_init(&read, "a");
    read.op.done = zd_test_done;
    zd_test_count = 0;
    zd_store_read(tier.test.store, &read);
    zd_store_write(tier.test.store, &write);
    zd_test_wait(&tier.test, 2);
    ck_assert_int_eq(uv_run(&tier.test.loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(zd_test_tier_files(&tier, NULL), 0);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "2"), ZD_OK);
    zd_buf_unref(read.bytes);
    zd_buf_unref(write.bytes);
    zd_test_tier_close(&tier);
}
END_TEST

/* The next start does not find a file that could not be removed. */
START_TEST(a_file_that_cannot_be_removed_is_void)
{
    struct zd_test_tier tier;
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_put(&tier.test, "a", "1");
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "1"), ZD_OK);
    zd_calls_watch((struct zd_calls_fault){.n = 1, .code = EIO});
    zd_test_put(&tier.test, "a", "2");
    ck_assert_str_eq(zd_calls_text(), "unlink");
    zd_calls_watch((struct zd_calls_fault){0});
    ck_assert_int_eq(tier.n_told, 1);
    zd_test_tier_restart(&tier);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "2"), ZD_OK);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(a_change_while_the_search_is_stopped_makes_all_void)
{
    struct zd_test_tier tier;
    struct zd_store_write erase = {.key = "a", .op.done = zd_test_done};
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_put(&tier.test, "a", "1");
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "1"), ZD_OK);
    zd_test_tier_restart(&tier); /* the search for what is there is under way */
    zd_test_count = 0;
    zd_store_erase(tier.test.store, &erase);
    zd_disk_tier_stop(tier.remote.disk);
    zd_test_wait(&tier.test, 1);
    ck_assert_int_eq(erase.op.status, ZD_OK);
    zd_test_tier_restart(&tier);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, ""), ZD_NOT_FOUND);
    zd_test_tier_close(&tier);
}
END_TEST

/* ---- damage ---- */

static void flip(const char *path, off_t byte, int bit)
{
    uint8_t value = 0;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &value, 1, byte), 1);
    value ^= (uint8_t)(1U << bit);
    ck_assert_int_eq(pwrite(fd, &value, 1, byte), 1);
    close(fd);
}

START_TEST(no_flipped_bit_is_ever_served)
{
    struct zd_test_tier tier;
    char path[256];
    struct stat file;
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "a", "some bytes");
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "some bytes"), ZD_OK);
    zd_test_tier_entry(&tier, path);
    ck_assert_int_eq(stat(path, &file), 0);
    for (off_t byte = 0; byte < file.st_size; byte++) {
        flip(path, byte, (int)(byte % 8));
        if (byte % 2 == 0) {
            zd_test_tier_restart(&tier);
        }
        reset();
        ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "some bytes"), ZD_OK);
        ck_assert_int_eq(zd_test_tier_n_reads, 1); /* read again, and kept again */
        zd_test_tier_entry(&tier, path);
    }
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(torn_foreign_and_linked_files_are_dropped)
{
    static const char *const damages[] = {"truncate -s -1 %s", "truncate -s +1 %s",
        "truncate -s 0 %s", "truncate -s 100 %s", "rm %s", "rm %s && mkdir %s",
        "mv %s %s.away && ln -s %s.away %s"};
    struct zd_test_tier tier;
    char path[256];
    char command[1200];
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "a", "some bytes");
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "some bytes"), ZD_OK);
    zd_test_tier_entry(&tier, path);
    ZD_SCOPED_TEXT(text, sizeof command);
    for (const char *at = damages[_i / 2]; *at != '\0'; at++) {
        if (at[0] == '%' && at[1] == 's') {
            zd_text_add(&text, path);
            at++;
        } else {
            zd_text_add_char(&text, *at);
        }
    }
    ck_assert_int_eq(system(text.at), 0);
    if (_i % 2 == 1) {
        zd_test_tier_restart(&tier);
    }
    reset();
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "some bytes"), ZD_OK);
    ck_assert_int_eq(zd_test_tier_n_reads, 1);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "some bytes"), ZD_OK);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(an_entry_under_the_name_of_another_one_is_dropped)
{
    struct zd_test_tier tier;
    char first[256];
    char second[256];
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "a", "1");
    zd_test_tier_put(&tier, "b", "2");
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "1"), ZD_OK);
    zd_test_tier_entry(&tier, first);
    ck_assert_int_eq(unlink(first), 0);
    ck_assert_int_eq(zd_test_tier_read(&tier, "b", 0, "2"), ZD_OK);
    zd_test_tier_entry(&tier, second);
    ck_assert_int_eq(rename(second, first), 0);
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "1"), ZD_OK);
    ck_assert_int_eq(zd_test_tier_read(&tier, "b", UINT64_MAX, "2"), ZD_OK);
    ck_assert_uint_eq(zd_test_tier_count(&tier).n_dropped, 2);
    zd_test_tier_close(&tier);
}
END_TEST

/* ---- the disk ---- */

START_TEST(every_call_may_fail_and_reads_go_on)
{
    static const int codes[] = {ENOSPC, EROFS, EIO};
    bool is_over = false;
    for (uint64_t n = 1; !is_over; n++) {
        struct zd_test_tier tier;
        zd_test_tier_open(&tier, BYTES_MAX);
        zd_test_tier_put(&tier, "a", "1");
        zd_test_tier_put(&tier, "b", "2");
        zd_calls_watch((struct zd_calls_fault){.n = n, .code = codes[_i]});
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "1"), ZD_OK);
            ck_assert_int_eq(zd_test_tier_read(&tier, "b", UINT64_MAX, "2"), ZD_OK);
        }
        is_over = zd_calls_count() < n;
        ck_assert_int_eq(tier.n_told, is_over ? 0 : 1);
        ck_assert_msg(
            is_over || strstr(tier.told, "off until the next start") != NULL, "%s", tier.told);
        ck_assert_uint_eq(zd_test_tier_count(&tier).is_on, is_over);
        zd_calls_watch((struct zd_calls_fault){0});
        zd_test_tier_restart(&tier);
        ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "1"), ZD_OK);
        ck_assert_uint_eq(zd_test_tier_count(&tier).is_on, 1);
        zd_test_tier_close(&tier);
    }
}
END_TEST

START_TEST(the_disk_never_holds_more_than_it_may_and_what_is_used_stays)
{
    struct zd_test_tier tier;
    char key[32];
    uint64_t bytes = 0;
    zd_test_tier_open(&tier, ZD_DISK_TIER_BYTES_MIN);
    zd_test_tier_put(&tier, "hot", "hot");
    for (int i = 0; i < 600; i++) {
        snprintf(key, sizeof key, "c/%d", i);
        zd_test_tier_put(&tier, key, key);
        ck_assert_int_eq(zd_test_tier_read(&tier, key, UINT64_MAX, key), ZD_OK);
        ck_assert_int_eq(zd_test_tier_read(&tier, "hot", UINT64_MAX, "hot"), ZD_OK);
        if (i % 50 == 0) {
            (void)zd_test_tier_files(&tier, &bytes);
            ck_assert_uint_le(bytes, ZD_DISK_TIER_BYTES_MIN);
        }
    }
    const struct zd_disk_counts counts = zd_test_tier_count(&tier);
    ck_assert_uint_gt(counts.n_evicted, 300);
    ck_assert_uint_le(counts.bytes, counts.bytes_max);
    ck_assert_uint_eq((uint64_t)zd_test_tier_files(&tier, NULL), counts.n_entries);
    zd_test_tier_restart(&tier);
    ck_assert_int_eq(uv_run(&tier.test.loop, UV_RUN_DEFAULT), 0);
    ck_assert_uint_eq(zd_test_tier_count(&tier).n_entries, counts.n_entries);
    reset();
    ck_assert_int_eq(zd_test_tier_read(&tier, "hot", UINT64_MAX, "hot"), ZD_OK);
    ck_assert_int_eq(zd_test_tier_n_reads, 0);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(a_large_object_is_not_kept)
{
    struct zd_test_tier tier;
    char large[(64 << 10) + 1];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    zd_test_tier_open(&tier, ZD_DISK_TIER_BYTES_MIN);
    zd_test_tier_put(&tier, "large", large);
    ck_assert_int_eq(zd_test_tier_read(&tier, "large", 0, large), ZD_OK);
    ck_assert_int_eq(zd_test_tier_files(&tier, NULL), 0);
    ck_assert_uint_eq(zd_test_tier_count(&tier).n_skipped, 1);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(a_smaller_tier_keeps_what_came_last)
{
    struct zd_test_tier tier;
    char key[32];
    zd_test_tier_open(&tier, BYTES_MAX);
    for (int i = 0; i < 400; i++) {
        snprintf(key, sizeof key, "c/%d", i);
        zd_test_tier_put(&tier, key, key);
        ck_assert_int_eq(zd_test_tier_read(&tier, key, 0, key), ZD_OK);
    }
    tier.bytes_max = ZD_DISK_TIER_BYTES_MIN;
    zd_test_tier_restart(&tier);
    ck_assert_int_eq(uv_run(&tier.test.loop, UV_RUN_DEFAULT), 0);
    uint64_t bytes = 0;
    const int n = zd_test_tier_files(&tier, &bytes);
    ck_assert_uint_le(bytes, ZD_DISK_TIER_BYTES_MIN);
    ck_assert_int_gt(n, 200);
    ck_assert_int_lt(n, 400);
    reset();
    ck_assert_int_eq(zd_test_tier_read(&tier, "c/399", UINT64_MAX, "c/399"), ZD_OK);
    ck_assert_int_eq(zd_test_tier_n_reads, 0);
    zd_test_tier_close(&tier);
}
END_TEST

/* ---- processes ---- */

START_TEST(a_second_process_runs_without_the_tier)
{
    struct zd_test_tier tier;
    struct zd_test_tier second = {.bytes_max = BYTES_MAX};
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "a", "1");
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", 0, "1"), ZD_OK);
    zd_test_store_open(&second.test, "mem");
    memcpy(second.path, tier.path, sizeof second.path);
    zd_test_tier_start(&second);
    ck_assert_int_eq(second.n_told, 1);
    ck_assert_msg(strstr(second.told, "another process uses it") != NULL, "%s", second.told);
    zd_test_put(&second.test, "a", "2");
    zd_test_expect(&second.test, "a", "2");
    zd_test_tier_stop(&second);
    zd_test_store_close(&second.test);
    reset();
    ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "1"), ZD_OK);
    ck_assert_int_eq(zd_test_tier_n_reads, 0);
    zd_test_tier_close(&tier);
}
END_TEST

/* Keeps entries for ever, until it is killed at some moment. */
static void keep_for_ever(const char *path, int told_fd)
{
    struct zd_test_tier tier;
    char key[32];
    zd_test_tier_open_at(&tier, path, BYTES_MAX);
    for (int i = 0;; i = (i + 1) % 100) {
        snprintf(key, sizeof key, "c/%d", i);
        zd_test_tier_put(&tier, key, key);
        if (zd_test_tier_read(&tier, key, 0, key) != ZD_OK || write(told_fd, "k", 1) != 1) {
            _exit(1);
        }
    }
}

/* The child begins before this process has threads. */
static void kill_after(const char *path, int n_kept)
{
    int told[2];
    char byte;
    ck_assert_int_eq(pipe(told), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(told[0]);
        keep_for_ever(path, told[1]);
    }
    close(told[1]);
    for (int i = 0; i < n_kept; i++) {
        ck_assert_int_eq(read(told[0], &byte, 1), 1);
    }
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    close(told[0]);
}

START_TEST(a_process_that_is_killed_leaves_only_whole_entries)
{
    struct zd_test_tier tier;
    char key[32];
    char path[] = "/tmp/zarrd-tier-XXXXXX";
    int n = 0;
    ck_assert_ptr_nonnull(mkdtemp(path));
    for (int i = 0; i < 3; i++) {
        kill_after(path, 1 + 7 * _i + 13 * i);
    }
    zd_test_tier_open_at(&tier, path, BYTES_MAX);
    ck_assert_int_eq(tier.n_told, 0);
    zd_test_tier_is_gone = true;
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "c/%d", i);
        n += zd_test_tier_read(&tier, key, UINT64_MAX, key) == ZD_OK;
    }
    ck_assert_int_gt(n, 0);
    ck_assert_uint_eq(zd_test_tier_count(&tier).n_dropped, 0);
    zd_test_tier_close(&tier);
}
END_TEST

static enum zd_status read_with_failing_memory(void *context)
{
    struct zd_test_tier *tier = context;
    return zd_test_tier_read(tier, "a", UINT64_MAX, "1");
}

START_TEST(without_memory_the_origin_answers_or_nobody_does)
{
    struct zd_test_tier tier;
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "a", "1");
    zd_unit_with_failing_memory(read_with_failing_memory, &tier);
    zd_unit_with_failing_memory(read_with_failing_memory, &tier);
    zd_test_tier_close(&tier);
}
END_TEST

START_TEST(a_cancelled_read_still_ends)
{
    struct zd_test_tier tier;
    struct zd_store_read read;
    zd_test_tier_open(&tier, BYTES_MAX);
    zd_test_tier_put(&tier, "a", "1");
    for (int i = 0; i < 2; i++) {
        zd_test_read_init(&read, "a");
        read.op.done = zd_test_done;
        read.age_max_ms = UINT64_MAX;
        zd_test_count = 0;
        zd_store_read(tier.test.store, &read);
        zd_store_cancel(&read.op);
        zd_test_wait(&tier.test, 1);
        ck_assert(read.op.status == ZD_OK || read.op.status == ZD_CANCELLED);
        zd_buf_unref(read.bytes);
        ck_assert_int_eq(zd_test_tier_read(&tier, "a", UINT64_MAX, "1"), ZD_OK);
    }
    zd_test_tier_close(&tier);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, an_object_is_read_once_and_revalidated_by_its_generation);
    tcase_add_test(tests, ranges_of_one_generation_need_no_question);
    tcase_add_test(tests, a_large_object_of_earlier_times_is_not_sent_again);
    tcase_add_test(tests, young_objects_are_served_while_the_origin_is_gone);
    tcase_add_test(tests, the_status_of_what_is_kept_is_known_as_long);
    tcase_add_test(tests, absence_and_faults_pass_and_what_is_gone_is_dropped);
    tcase_add_test(tests, limits_of_a_read_hold_for_what_is_kept);
    tcase_add_test(tests, our_own_writes_and_erasures_drop_what_is_kept);
    tcase_add_test(tests, a_read_from_before_a_write_is_not_kept_after_it);
    tcase_add_test(tests, a_file_that_cannot_be_removed_is_void);
    tcase_add_test(tests, a_change_while_the_search_is_stopped_makes_all_void);
    tcase_add_test(tests, no_flipped_bit_is_ever_served);
    tcase_add_loop_test(tests, torn_foreign_and_linked_files_are_dropped, 0, 14);
    tcase_add_test(tests, an_entry_under_the_name_of_another_one_is_dropped);
    tcase_add_loop_test(tests, every_call_may_fail_and_reads_go_on, 0, 3);
    tcase_add_test(tests, the_disk_never_holds_more_than_it_may_and_what_is_used_stays);
    tcase_add_test(tests, a_large_object_is_not_kept);
    tcase_add_test(tests, a_smaller_tier_keeps_what_came_last);
    tcase_add_test(tests, a_second_process_runs_without_the_tier);
    tcase_add_loop_test(tests, a_process_that_is_killed_leaves_only_whole_entries, 0, 5);
    tcase_add_test(tests, without_memory_the_origin_answers_or_nobody_does);
    tcase_add_test(tests, a_cancelled_read_still_ends);
}
