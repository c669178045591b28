/* All that the first dataset of a test's server holds, past its caches. */
#ifndef ZD_TESTS_SUPPORT_HIERARCHY_H
#define ZD_TESTS_SUPPORT_HIERARCHY_H

#include "tests/support/serve.h"

#define ZD_HIERARCHY_TEXT_BYTES 4096

/** A key, and what it holds. */
struct zd_test_pair {
    const char *key;
    const char *bytes;
};

/** The store of the dataset, which tests have fail (tests/support/store_fault.h). */
struct zd_store *zd_test_hierarchy_store(struct zd_test_serve *serve);

/** Assert that a key holds exactly that. */
void zd_test_hierarchy_expect(struct zd_test_serve *serve, const struct zd_test_pair *pair);

/** Nothing fails any more, the store holds these and nothing else, and all caches are empty. */
void zd_test_hierarchy_reset(
    struct zd_test_serve *serve, const struct zd_test_pair *pair, size_t n_pairs);

/** Nothing fails any more. Keys and bytes, one a line, spaces for the line breaks in them; of the
 * document of the root that it is there: a listing in it may be another each time. */
void zd_test_hierarchy_text(struct zd_test_serve *serve, char to[ZD_HIERARCHY_TEXT_BYTES]);

/** Nothing fails any more. What a key holds, owned; NULL: it is not there. */
struct zd_buf *zd_test_hierarchy_read(struct zd_test_serve *serve, const char *key);

/** The n-th store operation ends in that status, or with ZD_OK the n-th allocation fails. */
struct zd_test_fault {
    uint64_t n;
    enum zd_status status;
    bool is_slow; /* the store answers in a later turn of the loop */
};

/** Ask while that is so, and settle. @return whether the fault was met */
bool zd_test_hierarchy_ask(struct zd_test_serve *serve, const char *request,
    const struct zd_test_fault *fault, struct zd_test_answer *ret_answer);

/** Turn the loop so often that a change which nobody waits for is over. */
void zd_test_hierarchy_settle(struct zd_test_serve *serve);

#endif
