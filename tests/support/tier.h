/* Shared by tests of the disk tier: a store in memory as the origin, which counts and can be gone,
 * and the tier over it in a directory of its own. */
#ifndef ZD_TESTS_SUPPORT_TIER_H
#define ZD_TESTS_SUPPORT_TIER_H

#include "core/store/disk/disk_tier.h"
#include "core/store/remote/remote.h"
#include "tests/support/store.h"

struct zd_test_tier {
    struct zd_test_store test; /* test.store: over the tier */
    struct zd_remote remote;
    char path[64];      /* cache.disk_path; temporary */
    uint64_t bytes_max; /* of the next start */
    char told[ZD_ERROR_TEXT_BYTES + 64];
    int n_told;
};

/** Questions that reached the origin since the test set it to 0; a test has one origin. */
extern int zd_test_tier_n_reads;
extern int zd_test_tier_n_statuses;

/** The origin answers nothing but ZD_STORE. */
extern bool zd_test_tier_is_gone;

/** The wall clock of the tier. */
extern int64_t zd_test_tier_now_ms;

/** Open all of it, with an empty tier that has been searched. */
void zd_test_tier_open(struct zd_test_tier *tier, uint64_t bytes_max);

/** The same on what another one has left. Closing removes it. */
void zd_test_tier_open_at(struct zd_test_tier *tier, const char *path, uint64_t bytes_max);

/** Close the store and the tier, and open them again on what is there. */
void zd_test_tier_stop(struct zd_test_tier *tier);
void zd_test_tier_start(struct zd_test_tier *tier);
void zd_test_tier_restart(struct zd_test_tier *tier);

void zd_test_tier_close(struct zd_test_tier *tier);

struct zd_disk_counts zd_test_tier_count(const struct zd_test_tier *tier);

/** Put an object into the origin, or with NULL erase it, behind the tier's back. */
void zd_test_tier_put(struct zd_test_tier *tier, const char *key, const char *text);

/** Read a whole object, not older than that. With ZD_OK it must be the text. @return the status */
enum zd_status zd_test_tier_read(
    struct zd_test_tier *tier, const char *key, uint64_t age_max_ms, const char *text);

/** The path of the only entry in the tier; fails the test when there are none, or several. */
void zd_test_tier_entry(const struct zd_test_tier *tier, char path[static 256]);

/** How many entries there are, and the blocks of the disk that all files of the tier take. */
int zd_test_tier_files(const struct zd_test_tier *tier, uint64_t *ret_bytes);

#endif
