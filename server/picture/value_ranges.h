/* The ranges of whole arrays, which all their tiles share: each is found by one request, for all
 * who want it. Thread: loop.
 *
 *     want --> known: NEXT
 *         \--> nobody finds it: NEXT, and the request leads --> tell, or leave
 *         \--> somebody else leads: WAIT; then it is wanted again
 *
 * A range is trusted as what the store says is, and for some times as long as it took to find;
 * then, or when keys of the dataset were written through this server, whoever leads looks whether
 * the objects of the array are as they were. */
#ifndef ZD_PICTURE_VALUE_RANGES_H
#define ZD_PICTURE_VALUE_RANGES_H

#include "server/data/node.h"

struct zd_value_ranges_entry;

/** The found range. */
struct zd_value_ranges_found {
    double min; /* finite */
    double max; /* >= min */
    bool has_hash;
    uint64_t hash; /* of the generations of all objects of the array */
};

/** Which range of an array. */
struct zd_value_ranges_of {
    bool is_of_stored; /* with the elements before its origin */
    bool is_decoded;   /* of what its attributes make of the elements */
};

/** Starts zeroed. */
struct zd_value_ranges_want {
    struct zd_wait wait;                 /* its end says nothing: want it again */
    bool leads;                          /* out: the request finds it */
    struct zd_value_ranges_found found;  /* out: the range; or, of one that leads, what was found
                                      before,  where has_hash is set */
    struct zd_value_ranges_entry *range; /* its own */
};

/** Begin, and end, with the server. */
void zd_value_ranges_init(struct zd_server *server);
void zd_value_ranges_done(struct zd_server *server);

/**
 * Want the range of an array.
 * @param node borrowed during the call
 * @param want its wait is set; wait.status: ZD_OK, ZD_NO_MEMORY
 */
enum zd_next zd_value_ranges_want(
    const struct zd_node *node, struct zd_value_ranges_of of, struct zd_value_ranges_want *want);

/** The range is found by the one who leads: it does not lead any more, and others go on. */
void zd_value_ranges_tell(struct zd_server *server, struct zd_value_ranges_want *want,
    const struct zd_value_ranges_found *found);

/** Stop waiting, or leading: another one leads then. Accepts a zeroed want. */
void zd_value_ranges_leave(struct zd_server *server, struct zd_value_ranges_want *want);

#endif
