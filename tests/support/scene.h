/* A server over a hierarchy, and a request for a change, each step of which fails in turn. */
#ifndef ZD_TESTS_SUPPORT_SCENE_H
#define ZD_TESTS_SUPPORT_SCENE_H

#include "tests/support/hierarchy.h"

struct zd_test_scene;

/** The test's check after each request that met a fault; it may assert. `now` is the hierarchy.
 * @return whether the request may leave that, which is neither the old hierarchy nor the new one */
typedef bool zd_test_judge(
    struct zd_test_scene *scene, const struct zd_test_answer *answer, const char *now);

/** The test fills the first five members, which stay. */
struct zd_test_scene {
    const struct zd_test_pair *initial; /* what is stored before each request; borrowed */
    size_t n_initial;
    zd_test_judge *judge;  /* NULL: a request leaves the old hierarchy or the new one */
    enum zd_status status; /* with which a store operation fails; ZD_OK: an allocation fails */
    bool is_slow;          /* the store answers in a later turn of the loop */
    uint64_t n;            /* which one fails, from 1; after all: how many there are, plus 1 */
    struct zd_test_serve serve;
    char request[4096];
    char before[ZD_HIERARCHY_TEXT_BYTES];
    char after[ZD_HIERARCHY_TEXT_BYTES]; /* when nothing fails */
};

/** A request that changes something. */
struct zd_test_change {
    const char *method;
    const char *type; /* of the content: application/... */
    const char *target;
    const char *header; /* further lines, each with its end; NULL: none */
    const char *body;
};

/** Open a writable dataset `w` in memory. */
void zd_test_scene_open(struct zd_test_scene *scene);
void zd_test_scene_close(struct zd_test_scene *scene);

/** Ask, without a fault. @param ret_answer owned */
void zd_test_scene_ask(struct zd_test_scene *scene, const struct zd_test_change *change,
    struct zd_test_answer *ret_answer);

/** The change succeeds; then it is asked for again and again from the beginning, with one fault
 * each, until none is met. Assert that it leaves all as it was or as it is to be, or what the judge
 * allows, and that the answer agrees. */
void zd_test_scene_fail_each(struct zd_test_scene *scene, const struct zd_test_change *change);

#endif
