/* Documents of other dialects beside a node: nothing reads them, and people are told. Thread: loop.
 */
#ifndef ZD_DATA_SHADOWED_H
#define ZD_DATA_SHADOWED_H

#include "server/data/node.h"
#include "server/data/object_cache.h"
#include "server/runtime/gather.h"

/** The keys asked for, and the documents found. */
struct zd_shadowed {
    const struct zd_dialect *own; /* of the node */
    struct zd_object_want *want;  /* of each document of other dialects; owned */
    uint32_t n;
};

/**
 * Ask for the documents of the dialects that the node hides; none for a node that hides none.
 * @param gather counts the waits; between its begin and end
 * @retval ZD_NO_MEMORY nothing is asked
 */
ZD_RESULT zd_shadowed_ask(
    struct zd_shadowed *shadowed, const struct zd_node *node, struct zd_gather *gather);

/**
 * Add a warning for each dialect that has a node there.
 * @param ret_checked_ms made less where the store was asked earlier
 * @return false: the store could not tell
 */
bool zd_shadowed_judge(
    const struct zd_shadowed *shadowed, struct zd_faults *faults, uint64_t *ret_checked_ms);

/** Add the warning that documents of another dialect are there. */
void zd_shadowed_warn(const struct zd_dialect *dialect, struct zd_faults *faults);

/** Stop waiting. Accepts a zeroed one. */
void zd_shadowed_release(struct zd_shadowed *shadowed);

#endif
