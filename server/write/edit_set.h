/* Edits of many stored objects of one array: phase after phase, some objects at a time.
 *
 *     LOCK all -> STAGE all -> COMMIT all -> SETTLE all
 *                                  |
 *                                  +-> UNDO whatever has begun
 *
 * One object alone is only committed: its edit may be merged with edits of other writers. Thread:
 * loop. */
#ifndef ZD_WRITE_EDIT_SET_H
#define ZD_WRITE_EDIT_SET_H

#include "server/data/seen_objects.h"
#include "server/runtime/gather.h"
#include "server/write/edit.h"

/** A phase of all objects: n_begun have begun it, and the gather counts those under way. */
struct zd_edit_pass {
    uint64_t n_begun;
    struct zd_gather gather;
};

struct zd_edit_set;

/** One stored object. */
struct zd_edit_object {
    struct zd_edit_want want;
    struct zd_edit_set *set;
    bool frees_elements; /* in: the edit's elements are released once it is staged */
};

/** Zeroed, it may be released. */
struct zd_edit_set {
    /* in */
    struct zd_node *node;         /* borrowed */
    struct zd_seen_objects *seen; /* the same objects in the same order; borrowed */
    bool is_staged;               /* there are several objects, or they are held meanwhile */
    bool is_dry;                  /* do everything but the writes */
    uint64_t n_ready;             /* the first so many may be staged: they have their elements */
    /* its own */
    struct zd_edit_object *object; /* n of them, in the order of `seen`; owned */
    uint64_t n;
    struct zd_edit_pass pass[ZD_EDIT_PHASES];
    enum zd_status status; /* of what failed first */
    struct zd_error err;
};

/**
 * An edit for each object, to be filled in by the caller: node, seen, is_staged and is_dry are set.
 *
 * @param machine   goes on when an object has ended
 * @param n_at_once >= 1: objects under way at the same time
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_edit_set_init(
    struct zd_edit_set *set, struct zd_machine *machine, uint32_t n_at_once, struct zd_error *err);

/** Release the locks, and discard what is staged. Accepts a zeroed set. No object is being
 * committed, settled or undone. */
void zd_edit_set_release(struct zd_edit_set *set);

/**
 * Begin a phase of as many objects as there is room for. A machine's step calls this until it
 * returns ZD_NEXT: then all have ended, and set->status is that of the first failure, after which
 * no more were begun. SETTLE and UNDO begin all.
 *
 * Objects are locked in the order of the grid, whatever the order of the set, so that no two
 * writers wait for each other. The last one that was committed is undone first.
 */
enum zd_next zd_edit_set_go_on(struct zd_edit_set *set, enum zd_edit_phase phase);

/** What became of the chunks, when all are committed; `seen` then holds the objects as they are. */
struct zd_edit_counts zd_edit_set_count(struct zd_edit_set *set);

/** Send the events of all objects that have changed. An edit that is not staged sends its own. */
void zd_edit_set_report(const struct zd_edit_set *set);

/**
 * After the undo: the objects that still hold what was written.
 * @param ret_keys some of their keys
 * @param ret_why  the error of the first; set when there is one
 * @return how many
 */
uint64_t zd_edit_set_remains(
    const struct zd_edit_set *set, struct zd_text *ret_keys, const struct zd_error **ret_why);

/** The key of an object. @retval ZD_TOO_LARGE it is too long */
ZD_RESULT zd_edit_set_key(
    const struct zd_edit_set *set, uint64_t number, struct zd_text *key, struct zd_error *err);

#endif
