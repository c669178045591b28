/* Shared by tests of stores: a loop, a fresh store, and operations that wait. */
#ifndef ZD_TESTS_SUPPORT_STORE_H
#define ZD_TESTS_SUPPORT_STORE_H

#include "core/store/contract/store.h"

/** A loop with one store on it. */
struct zd_test_store {
    uv_loop_t loop;
    struct zd_store *store;
    char directory[64]; /* temporary; "" when the store is in none */
    bool is_joined;     /* another one removes the directory */
};

#define ZD_TEST_STORES_MAX 16 /* a loop test has a row for each; rows past the last are empty */

/** How many schemes the build has, and one more: a store over a store. */
int zd_test_n_stores(void);
const char *zd_test_scheme(int i);

/** A test body over one store: `_i` counts zd_test_n_stores. */
#define ZD_FOR_STORE(test)                                                                         \
    struct zd_test_store test;                                                                     \
    if (_i >= zd_test_n_stores()) {                                                                \
        return;                                                                                    \
    }                                                                                              \
    zd_test_store_open(&(test), zd_test_scheme(_i))

/** Open a fresh, empty, writable store of a scheme; fails the test when it does not open. */
void zd_test_store_open(struct zd_test_store *test, const char *scheme);

/** Open a store of files in a directory that another one made; it does not remove it. */
void zd_test_store_join(
    struct zd_test_store *test, const struct zd_test_store *other, bool durable);

/** Temporary files below the store's directory. */
int zd_test_count_temps(const struct zd_test_store *test);

/** Close it, and remove its directory. */
void zd_test_store_close(struct zd_test_store *test);

/** Set the inputs of a whole read without a limit worth naming. */
void zd_test_read_init(struct zd_store_read *read, const char *key);

/** Start an operation, wait until it is done, and return its status. `done` is set here. */
enum zd_status zd_test_read(struct zd_test_store *test, struct zd_store_read *read);
enum zd_status zd_test_status(struct zd_test_store *test, struct zd_store_status *status);
enum zd_status zd_test_list(struct zd_test_store *test, struct zd_store_list *list);
enum zd_status zd_test_list_next(struct zd_test_store *test, struct zd_store_list *list);
enum zd_status zd_test_write(struct zd_test_store *test, struct zd_store_write *write);
enum zd_status zd_test_erase(struct zd_test_store *test, struct zd_store_write *erase);

/** Run the loop until so many operations are done, counted since zd_test_count was last reset. */
extern int zd_test_count;
void zd_test_done(struct zd_store_op *op); /* a `done` that counts */
void zd_test_wait(struct zd_test_store *test, int count);

/** Store text under a key, unconditionally; fails the test when that fails. */
struct zd_stat zd_test_put(struct zd_test_store *test, const char *key, const char *text);

/** Stage text for a key, and say who commits or discards it: the phase and condition of `write` are
 * the caller's to set next. Fails the test when that fails. */
void zd_test_stage(
    struct zd_test_store *test, const char *key, const char *text, struct zd_store_write *write);

/** Assert that a key holds that text, or with NULL, that it is not there. */
void zd_test_expect(struct zd_test_store *test, const char *key, const char *text);

/** The listing as text: names joined by spaces, prefixes with a slash, " +" when there are more. */
void zd_test_list_text(const struct zd_store_list *list, struct zd_text *text);

#endif
