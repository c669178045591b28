/* Nodes whose names are nearest to that of one that is not there. Thread: loop. */
#ifndef ZD_DATA_SUGGEST_NODES_H
#define ZD_DATA_SUGGEST_NODES_H

#include "server/data/catalog.h"
#include "server/data/key_list.h"
#include "server/http/suggest.h"

#define ZD_SUGGEST_NODES_MAX 4

/**
 * Suggestions for a missing node. The last existing group on its path is listed once, and its
 * children with the nearest names are looked up.
 */
struct zd_suggest_nodes {
    struct zd_wait wait;       /* status: ZD_OK, whatever failed */
    struct zd_suggest nearest; /* out: paths of nodes that are there; until the release */
    /* its own */
    struct zd_machine machine;
    enum zd_next (*step)(struct zd_suggest_nodes *near);
    struct zd_dataset *dataset; /* borrowed */
    const char *path;           /* borrowed */
    size_t len;                 /* of its beginning that is looked up */
    struct zd_node *group;      /* the last one found: a reference, or NULL */
    uint32_t n_groups;          /* found on the path */
    struct zd_node_want want;
    struct zd_key_list list;
    struct zd_suggest found;               /* names of the listing */
    uint32_t n_asked;                      /* of them */
    char *candidate[ZD_SUGGEST_NODES_MAX]; /* their paths; owned */
};

/**
 * Look for them. However many names are mistyped, some 20 times a second this does something; else
 * there are none.
 *
 * @param near    zeroed, with its wait
 * @param dataset    borrowed until the release, as is path
 */
enum zd_next zd_suggest_nodes_want(
    struct zd_suggest_nodes *near, struct zd_dataset *dataset, const char *path);

/** Stop, at any time. Accepts a zeroed one. */
void zd_suggest_nodes_release(struct zd_suggest_nodes *near);

#endif
