/* Facts about core/store/file/replace, over a store of files: every system call of a write fails
 * once.
 */
#include "core/store/file/replace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/calls.h"
#include "tests/support/store.h"
#include "tests/support/unit.h"

/* Operations done while calls fail. */
enum deed {
    DEED_REPLACE,
    DEED_MAKE,
    DEED_CREATE,
    DEED_COMMIT,
    DEED_EXTEND,
    DEED_KEEP,
    DEED_KEEP_NOTHING,
    DEED_ERASE,
    DEED_ASIDE,
    N_DEEDS
};

static const struct deed_fact {
    const char *key;
    const char *before; /* what the key holds; NULL = nothing */
    const char *after;
} deed_facts[N_DEEDS] = {
    [DEED_REPLACE] = {"a/key", "old", "new"},
    [DEED_MAKE] = {"x/y/z/key", NULL, "new"},
    [DEED_CREATE] = {"a/other", NULL, "new"},
    [DEED_COMMIT] = {"x/key", NULL, "new"},
    [DEED_EXTEND] = {"x/long", NULL, "newer"},
    [DEED_KEEP] = {"a/kept", "old", "new"},
    [DEED_KEEP_NOTHING] = {"x/kept", NULL, "new"},
    [DEED_ERASE] = {"e/f/key", "old", NULL},
    [DEED_ASIDE] = {"e/f/aside", "old", NULL},
};

static const struct fault_fact {
    int code;
    bool is_late;
    enum zd_status status;
} fault_facts[] = {
    {EIO, false, ZD_STORE},
    {EIO, true, ZD_STORE},
    {ENOSPC, false, ZD_NO_SPACE},
    {EDQUOT, false, ZD_NO_SPACE},
    {EACCES, false, ZD_STORE},
    {EROFS, false, ZD_STORE},
    {EMFILE, false, ZD_STORE},
};

#define UNDO_FAULTS 3 /* of them that an undo is tried with */

static enum zd_status put(
    struct zd_test_store *test, const char *key, enum zd_condition condition, struct zd_error *err)
{
    struct zd_store_write write = {.bytes = zd_buf_copy(zd_span_of("new")), .condition = condition};
    snprintf(write.key, sizeof write.key, "%s", key);
    const enum zd_status status = zd_test_write(test, &write);
    zd_buf_unref(write.bytes);
    *err = write.op.err;
    return status;
}

static enum zd_status stage(
    struct zd_test_store *test, const char *key, struct zd_store_write *write)
{
    *write =
        (struct zd_store_write){.phase = ZD_PHASE_STAGE, .bytes = zd_buf_copy(zd_span_of("new"))};
    snprintf(write->key, sizeof write->key, "%s", key);
    const enum zd_status status = zd_test_write(test, write);
    zd_buf_unref(write->bytes);
    write->bytes = NULL;
    ck_assert((status == ZD_OK) == (write->staged != NULL));
    return status;
}

/* Stage a change, or erase. */
static enum zd_status change_keeping(struct zd_test_store *test, struct zd_store_write *write)
{
    write->keeps_old = true;
    if (write->staged == NULL) {
        return zd_test_erase(test, write);
    }
    write->phase = ZD_PHASE_COMMIT;
    return zd_test_write(test, write);
}

static void discard(struct zd_test_store *test, struct zd_store_write *write)
{
    if (write->staged != NULL) {
        write->phase = ZD_PHASE_DISCARD;
        ck_assert_int_eq(zd_test_write(test, write), ZD_OK);
        ck_assert_ptr_null(write->staged);
    }
}

static enum zd_status stage_and_commit(
    struct zd_test_store *test, const char *key, bool keeps_old, struct zd_error *err)
{
    struct zd_store_write write;
    enum zd_status status = stage(test, key, &write);
    if (status == ZD_OK) {
        write.phase = ZD_PHASE_COMMIT;
        write.keeps_old = keeps_old;
        status = zd_test_write(test, &write);
    }
    *err = write.op.err;
    ck_assert(write.staged == NULL || (status == ZD_OK && keeps_old));
    discard(test, &write);
    return status;
}

static enum zd_status stage_and_extend(
    struct zd_test_store *test, const char *key, struct zd_error *err)
{
    struct zd_store_write write;
    enum zd_status status = stage(test, key, &write);
    if (status == ZD_OK) {
        write.phase = ZD_PHASE_EXTEND;
        write.bytes = zd_buf_copy(zd_span_of("er"));
        status = zd_test_write(test, &write);
        zd_buf_unref(ZD_TAKE(write.bytes));
        ck_assert((write.staged != NULL) == (status == ZD_OK));
    }
    if (status == ZD_OK) {
        write.phase = ZD_PHASE_COMMIT;
        status = zd_test_write(test, &write);
    }
    *err = write.op.err;
    ck_assert_ptr_null(write.staged);
    return status;
}

static enum zd_status erase(
    struct zd_test_store *test, const char *key, bool keeps_old, struct zd_error *err)
{
    struct zd_store_write write = {.keeps_old = keeps_old};
    snprintf(write.key, sizeof write.key, "%s", key);
    const enum zd_status status = zd_test_erase(test, &write);
    *err = write.op.err;
    ck_assert((write.staged != NULL) == (status == ZD_OK && keeps_old));
    discard(test, &write);
    return status;
}

static enum zd_status do_deed(struct zd_test_store *test, enum deed deed, struct zd_error *err)
{
    const char *const key = deed_facts[deed].key;
    switch (deed) {
    case DEED_REPLACE:
    case DEED_MAKE:
        return put(test, key, ZD_CONDITION_NONE, err);
    case DEED_CREATE:
        return put(test, key, ZD_CONDITION_ABSENT, err);
    case DEED_COMMIT:
        return stage_and_commit(test, key, false, err);
    case DEED_EXTEND:
        return stage_and_extend(test, key, err);
    case DEED_KEEP:
    case DEED_KEEP_NOTHING:
        return stage_and_commit(test, key, true, err);
    case DEED_ERASE:
    case DEED_ASIDE:
        return erase(test, key, deed == DEED_ASIDE, err);
    case N_DEEDS:
        break;
    }
    return ZD_INTERNAL;
}

static bool holds(struct zd_test_store *test, const char *key, const char *text)
{
    struct zd_store_read read;
    zd_test_read_init(&read, key);
    const enum zd_status status = zd_test_read(test, &read);
    ck_assert_msg(status == ZD_OK || status == ZD_NOT_FOUND, "%s", read.op.err.text);
    const bool is_so = text == NULL ? status == ZD_NOT_FOUND
                                    : status == ZD_OK && zd_span_is(zd_buf_span(read.bytes), text);
    zd_buf_unref(read.bytes);
    return is_so;
}

/* The directories of the deed's key are there if and only if its object is; an erasure is made
 * though one of them stays. */
static void check_directories(struct zd_test_store *test, enum deed deed)
{
    const struct deed_fact *fact = &deed_facts[deed];
    struct zd_store_list list = {.n_max = 1};
    snprintf(list.prefix, sizeof list.prefix, "%.2s", fact->key);
    const enum zd_status wanted =
        holds(test, fact->key, NULL) && fact->key[0] != 'a' ? ZD_NOT_FOUND : ZD_OK;
    ck_assert_int_eq(zd_test_list(test, &list), wanted);
    zd_store_list_done(&list);
}

/* The possible states after the n-th call failed. @return whether there was such a call */
static bool check_after_fault(
    struct zd_test_store *test, enum deed deed, const struct fault_fact *fault, uint64_t n)
{
    const struct deed_fact *fact = &deed_facts[deed];
    struct zd_error err;
    zd_calls_watch((struct zd_calls_fault){.n = n, .code = fault->code, .is_late = fault->is_late});
    const enum zd_status status = do_deed(test, deed, &err);
    const bool was_hit = zd_calls_count() >= n;
    char where[4300];
    snprintf(where, sizeof where, "deed %d, errno %d, call %d (%s): %s: %s", (int)deed, fault->code,
        (int)n, zd_calls_text(), zd_status_name(status), err.text);
    zd_calls_watch((struct zd_calls_fault){0});
    const bool is_new = holds(test, fact->key, fact->after);
    ck_assert_msg(is_new || holds(test, fact->key, fact->before), "torn: %s", where);
    ck_assert_msg(status != ZD_OK || is_new, "not done: %s", where);
    ck_assert_msg(status == ZD_OK || status == fault->status, "%s", where);
    /* The next start removes a discarded file that could not be removed. */
    const bool may_litter =
        status == ZD_OK && fact->before != NULL && (deed == DEED_KEEP || deed == DEED_ASIDE);
    ck_assert_msg(zd_test_count_temps(test) <= (may_litter ? 1 : 0), "litter: %s", where);
    const bool is_erasure = deed == DEED_ERASE || deed == DEED_ASIDE;
    if (test->store->failure[0] == '\0' && !fault->is_late && !is_erasure) {
        check_directories(test, deed);
    }
    if (status != ZD_OK && !fault->is_late && test->store->failure[0] == '\0') {
        ck_assert_msg(!is_new, "done: %s", where);
    }
    if (test->store->failure[0] != '\0') {
        ck_assert_msg(
            strstr(err.text, "sync") != NULL || strstr(err.text, "close") != NULL, "%s", where);
        ck_assert_int_eq(put(test, "later", ZD_CONDITION_NONE, &err), ZD_READ_ONLY);
    } else {
        ck_assert_int_eq(put(test, "later", ZD_CONDITION_NONE, &err), ZD_OK);
    }
    return was_hit;
}

START_TEST(replace_leaves_the_old_or_the_new_whatever_call_fails)
{
    const enum deed deed = _i % N_DEEDS;
    const struct fault_fact *fault = &fault_facts[_i / N_DEEDS];
    bool was_hit = true;
    uint64_t n = 0;
    while (was_hit) {
        struct zd_test_store test;
        zd_test_store_open(&test, "file");
        zd_test_put(&test, "a/stays", "1");
        if (deed_facts[deed].before != NULL) {
            zd_test_put(&test, deed_facts[deed].key, deed_facts[deed].before);
        }
        was_hit = check_after_fault(&test, deed, fault, ++n);
        zd_test_expect(&test, "a/stays", "1");
        zd_test_store_close(&test);
    }
    ck_assert_uint_gt(n, 3);
}
END_TEST

/* The first write of a store makes what locks need: those calls fail too. */
START_TEST(replace_fails_whole_when_a_writer_cannot_enter)
{
    bool was_hit = true;
    uint64_t n = 0;
    while (was_hit) {
        struct zd_test_store test;
        zd_test_store_open(&test, "file");
        was_hit = check_after_fault(&test, DEED_MAKE, &fault_facts[_i], ++n);
        zd_test_store_close(&test);
    }
    ck_assert_uint_gt(n, 15);
}
END_TEST

/* Ways to keep an object and put it back. */
static const struct undo_fact {
    const char *key;
    const char *before;
    bool is_erasure;
    uint64_t n_refused; /* calls that this file system does not have: exchange, link */
    const char *calls;  /* but for those of staging */
} undo_facts[] = {
    {"a/key", "old", false, 0, "lock stat rename stat sync"},
    {"a/key", "old", false, 1, "lock stat rename link rename stat sync"},
    {"a/key", "old", false, 2,
        "lock stat rename link open set_mtime sync_data close rename stat sync"},
    {"x/y/key", NULL, false, 0,
        "make_directory sync make_directory sync lock stat rename stat sync"},
    {"e/f/key", "old", true, 0, "lock rename sync"},
};

static void open_for_undo(struct zd_test_store *test, const struct undo_fact *fact)
{
    zd_test_store_open(test, "file");
    zd_test_put(test, "a/stays", "1");
    if (fact->before != NULL) {
        zd_test_put(test, fact->key, fact->before);
    }
}

/* Undo like a change of many objects does. */
static enum zd_status undo(
    struct zd_test_store *test, struct zd_store_write *write, bool was_erased)
{
    write->keeps_old = false;
    write->condition = was_erased ? ZD_CONDITION_ABSENT : ZD_CONDITION_GENERATION;
    write->generation = write->stat.generation;
    if (write->staged != NULL) {
        write->phase = ZD_PHASE_COMMIT;
        return zd_test_write(test, write);
    }
    write->phase = ZD_PHASE_WHOLE;
    return zd_test_erase(test, write);
}

/* With nothing of it left, directories included. */
static void expect_before(struct zd_test_store *test, const struct undo_fact *fact)
{
    struct zd_store_list list = {.n_max = 2};
    ck_assert_int_eq(zd_test_count_temps(test), 0);
    zd_test_expect(test, fact->key, fact->before);
    snprintf(list.prefix, sizeof list.prefix, "%.2s", fact->key);
    ck_assert_int_eq(zd_test_list(test, &list), fact->before == NULL ? ZD_NOT_FOUND : ZD_OK);
    zd_store_list_done(&list);
}

START_TEST(replace_undoes_what_it_kept)
{
    const struct undo_fact *fact = &undo_facts[_i];
    const uint64_t first = fact->n_refused == 0 ? 0 : 3;
    struct zd_test_store test;
    struct zd_store_write write = {0};
    open_for_undo(&test, fact);
    snprintf(write.key, sizeof write.key, "%s", fact->key);
    ck_assert_int_eq(fact->is_erasure ? ZD_OK : stage(&test, fact->key, &write), ZD_OK);
    zd_calls_watch((struct zd_calls_fault){
        .n = first, .n_more = fact->n_refused == 2 ? 1 : 0, .code = EINVAL});
    ck_assert_int_eq(change_keeping(&test, &write), ZD_OK);
    ck_assert_str_eq(zd_calls_text(), fact->calls);
    zd_test_expect(&test, fact->key, fact->is_erasure ? NULL : "new");
    ck_assert_int_eq(zd_test_count_temps(&test), fact->before == NULL ? 0 : 1);
    ck_assert_uint_eq(write.staged == NULL ? 0 : write.staged->size, fact->before == NULL ? 0 : 3);
    ck_assert_int_eq(undo(&test, &write, fact->is_erasure), ZD_OK);
    ck_assert_ptr_null(write.staged);
    expect_before(&test, fact);
    zd_test_store_close(&test);
}
END_TEST

/* An undo does not lose another writer's later object. */
START_TEST(replace_undoes_nothing_that_is_not_its_own)
{
    const struct undo_fact *fact = &undo_facts[_i];
    struct zd_test_store test;
    struct zd_store_write write = {0};
    open_for_undo(&test, fact);
    snprintf(write.key, sizeof write.key, "%s", fact->key);
    ck_assert_int_eq(fact->is_erasure ? ZD_OK : stage(&test, fact->key, &write), ZD_OK);
    ck_assert_int_eq(change_keeping(&test, &write), ZD_OK);
    zd_test_put(&test, fact->key, "newer");
    ck_assert_int_eq(undo(&test, &write, fact->is_erasure), ZD_PRECONDITION);
    zd_test_expect(&test, fact->key, "newer");
    ck_assert_int_eq(zd_test_count_temps(&test), 0);
    zd_test_store_close(&test);
}
END_TEST

/* The n-th call of a change that keeps fails. @return whether there was such a call */
static bool check_undo(const struct undo_fact *fact, const struct fault_fact *fault, uint64_t n)
{
    struct zd_test_store test;
    struct zd_store_write write = {0};
    open_for_undo(&test, fact);
    snprintf(write.key, sizeof write.key, "%s", fact->key);
    ck_assert_int_eq(fact->is_erasure ? ZD_OK : stage(&test, fact->key, &write), ZD_OK);
    zd_calls_watch((struct zd_calls_fault){.n = n, .code = fault->code, .is_late = fault->is_late});
    const enum zd_status status = change_keeping(&test, &write);
    const bool was_hit = zd_calls_count() >= n;
    zd_calls_watch((struct zd_calls_fault){0});
    ck_assert(status == ZD_OK || write.staged == NULL);
    if (test.store->failure[0] == '\0') {
        ck_assert(status != ZD_OK || undo(&test, &write, fact->is_erasure) == ZD_OK);
        /* A name that was made, by a call that says it was not: nobody knows whose it is. */
        if (fact->before != NULL || !fault->is_late) {
            expect_before(&test, fact);
        }
    }
    ck_assert_int_eq(zd_test_count_temps(&test), 0);
    zd_test_store_close(&test);
    return was_hit;
}

START_TEST(replace_keeps_or_changes_nothing_whatever_call_fails)
{
    const struct undo_fact *fact = &undo_facts[_i % ZD_COUNT_OF(undo_facts)];
    const struct fault_fact *fault = &fault_facts[_i / ZD_COUNT_OF(undo_facts)];
    uint64_t n = 1;
    while (fact->n_refused == 0 && check_undo(fact, fault, n)) {
        n++;
    }
}
END_TEST

static const struct count_fact {
    enum deed deed;
    bool durable;
    const char *calls;
} count_facts[] = {
    {DEED_REPLACE, true, "open write set_mtime sync_data close lock stat rename stat sync"},
    {DEED_REPLACE, false, "open write set_mtime close lock stat rename stat"},
    {DEED_CREATE, true, "open write set_mtime sync_data close lock stat rename stat sync"},
    {DEED_COMMIT, false, "open write set_mtime close make_directory lock stat rename stat"},
    {DEED_KEEP, true, "open write set_mtime sync_data close lock stat rename stat sync unlink"},
    {DEED_KEEP_NOTHING, false, "open write set_mtime close make_directory lock stat rename stat"},
    {DEED_ERASE, true, "lock unlink sync unlink unlink"},
    {DEED_ASIDE, true, "lock rename sync unlink unlink unlink"},
    {DEED_MAKE, true,
        "open write set_mtime sync_data close make_directory sync make_directory sync "
        "make_directory sync lock stat rename stat sync"},
};

START_TEST(replace_makes_no_more_calls_than_it_needs)
{
    const struct count_fact *fact = &count_facts[_i];
    struct zd_test_store first;
    struct zd_test_store test;
    struct zd_error err;
    zd_test_store_open(&first, "file");
    zd_test_store_join(&test, &first, fact->durable);
    zd_test_put(&test, "a/stays", "1");
    if (deed_facts[fact->deed].before != NULL) {
        zd_test_put(&test, deed_facts[fact->deed].key, "old");
    }
    zd_calls_watch((struct zd_calls_fault){0});
    ck_assert_int_eq(do_deed(&test, fact->deed, &err), ZD_OK);
    ck_assert_str_eq(zd_calls_text(), fact->calls);
    zd_test_store_close(&test);
    zd_test_store_close(&first);
}
END_TEST

/* Erasing makes room: a store that has written before has all that is needed. */
START_TEST(replace_erases_on_a_full_disk)
{
    struct zd_test_store first;
    struct zd_test_store test;
    struct zd_error err;
    zd_test_store_open(&first, "file");
    zd_test_put(&first, "e/f/key", "old");
    zd_test_store_join(&test, &first, true);
    zd_calls_watch((struct zd_calls_fault){.n = 4, .code = ENOSPC}); /* the marker of a writer */
    ck_assert_int_eq(put(&test, "e/f/key", ZD_CONDITION_NONE, &err), ZD_NO_SPACE);
    ck_assert_str_eq(zd_calls_text(), "make_directory open lock open");
    zd_calls_watch((struct zd_calls_fault){0});
    ck_assert_int_eq(do_deed(&test, DEED_ERASE, &err), ZD_OK);
    ck_assert_str_eq(zd_calls_text(), "lock unlink sync unlink unlink");
    zd_test_expect(&first, "e/f/key", NULL);
    zd_test_store_close(&test);
    zd_test_store_close(&first);
}
END_TEST

/* File systems without RENAME_NOREPLACE: a second name is made, which fails when there is one. */
START_TEST(replace_creates_by_link_where_rename_cannot)
{
    struct zd_test_store test;
    struct zd_error err;
    zd_test_store_open(&test, "file");
    zd_test_put(&test, "a/stays", "1");
    zd_calls_watch((struct zd_calls_fault){.n = 8, .code = EINVAL});
    ck_assert_int_eq(put(&test, "a/other", ZD_CONDITION_ABSENT, &err), ZD_OK);
    ck_assert_str_eq(zd_calls_text(),
        "open write set_mtime sync_data close lock stat rename link unlink stat sync");
    zd_test_expect(&test, "a/other", "new");
    ck_assert_int_eq(zd_test_count_temps(&test), 0);
    zd_test_store_close(&test);
}
END_TEST

static const struct blocked_fact {
    const char *key;
    enum zd_condition condition;
    const char *text;
} blocked_facts[] = {
    {"a", ZD_CONDITION_NONE, "a: cannot store: a directory has that name"},
    {"a", ZD_CONDITION_ABSENT, "a: cannot store: a directory has that name"},
    {"a/stays/below", ZD_CONDITION_NONE,
        "a/stays/below: cannot open its directory: an object is stored under the "
        "name of a parent directory"},
    {"a/stays/below/it", ZD_CONDITION_ABSENT,
        "a/stays/below/it: cannot open its directory: an object is stored under the "
        "name of a parent directory"},
};

START_TEST(replace_says_what_is_in_the_way)
{
    struct zd_test_store test;
    struct zd_error err;
    zd_test_store_open(&test, "file");
    zd_test_put(&test, "a/stays", "1");
    ck_assert_int_eq(
        put(&test, blocked_facts[_i].key, blocked_facts[_i].condition, &err), ZD_STORE);
    ck_assert_str_eq(err.text, blocked_facts[_i].text);
    ck_assert_int_eq(zd_test_count_temps(&test), 0);
    ck_assert_str_eq(test.store->failure, "");
    zd_test_expect(&test, "a/stays", "1");
    zd_test_store_close(&test);
}
END_TEST

START_TEST(replace_stops_all_writes_after_a_failed_sync_but_not_for_want_of_space)
{
    struct zd_test_store test;
    struct zd_error err;
    zd_test_store_open(&test, "file");
    zd_test_put(&test, "a/stays", "1");
    zd_calls_watch((struct zd_calls_fault){.n = 4, .code = ENOSPC}); /* the sync of new bytes */
    ck_assert_int_eq(put(&test, "a/new", ZD_CONDITION_NONE, &err), ZD_NO_SPACE);
    ck_assert_str_eq(test.store->failure, "");
    zd_calls_watch((struct zd_calls_fault){.n = 10, .code = ENOSPC}); /* the sync of the name */
    ck_assert_int_eq(put(&test, "a/new", ZD_CONDITION_NONE, &err), ZD_NO_SPACE);
    ck_assert_str_eq(test.store->failure, "a/new: cannot sync its directory: the store is full");
    zd_calls_watch((struct zd_calls_fault){0});
    ck_assert_int_eq(put(&test, "a/new", ZD_CONDITION_NONE, &err), ZD_READ_ONLY);
    ck_assert_uint_eq(zd_calls_count(), 0);
    zd_test_store_close(&test);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, replace_leaves_the_old_or_the_new_whatever_call_fails, 0,
        (int)(N_DEEDS * ZD_COUNT_OF(fault_facts)));
    tcase_add_loop_test(
        tests, replace_fails_whole_when_a_writer_cannot_enter, 0, ZD_COUNT_OF(fault_facts));
    tcase_add_loop_test(
        tests, replace_makes_no_more_calls_than_it_needs, 0, ZD_COUNT_OF(count_facts));
    tcase_add_loop_test(tests, replace_undoes_what_it_kept, 0, ZD_COUNT_OF(undo_facts));
    tcase_add_loop_test(
        tests, replace_undoes_nothing_that_is_not_its_own, 0, ZD_COUNT_OF(undo_facts));
    tcase_add_loop_test(tests, replace_keeps_or_changes_nothing_whatever_call_fails, 0,
        (int)(ZD_COUNT_OF(undo_facts) * UNDO_FAULTS));
    tcase_add_test(tests, replace_erases_on_a_full_disk);
    tcase_add_test(tests, replace_creates_by_link_where_rename_cannot);
    tcase_add_loop_test(tests, replace_says_what_is_in_the_way, 0, ZD_COUNT_OF(blocked_facts));
    tcase_add_test(tests, replace_stops_all_writes_after_a_failed_sync_but_not_for_want_of_space);
}
