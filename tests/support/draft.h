/* Shared by tests of the drafts of 2019 to January 2023: nodes from a few lines of JSON. */
#ifndef ZD_TESTS_SUPPORT_DRAFT_H
#define ZD_TESTS_SUPPORT_DRAFT_H

#include "core/dialect/dialect.h"
#include "tests/support/codec.h"

/** The stored documents of a node, with ' for "; NULL: that one is not there. */
struct zd_unit_draft {
    const char *dialect; /* its name */
    const char *array;
    const char *group;
    const char *aside; /* of draft-2020 alone */
    const char *entry;
};

/** The dialect's bid for them. */
int zd_unit_draft_bid(const struct zd_unit_draft *draft);

/** The node that they make. @param ret_meta owned */
ZD_RESULT zd_unit_draft_parse(const struct zd_unit_draft *draft, struct zd_meta **ret_meta);

/** Fails the test unless the findings are these (zd_unit_faults), and, where the node is not
 * refused, its document is one of final v3 that could be written. @return owned */
struct zd_meta *zd_unit_draft_check(const struct zd_unit_draft *draft, const char *faults);

#endif
