/* Changing documents: the locks. */
#include <string.h>

#include "server/write/change.h"

/* Zarr v3, node names: where a node is made, its path must consist of them. */
static bool has_good_names(const char *path)
{
    for (const char *at = path; at[0] != '\0';) {
        const size_t len = strcspn(at, "/");
        if (!zd_dialect_node_name_is_valid((struct zd_span){(const uint8_t *)at, len})) {
            return false;
        }
        at += len + (at[len] == '/' ? 1 : 0);
    }
    return true;
}

/* An erasure concerns everything below. */
static enum zd_lock_mode first_mode(const struct zd_change *change)
{
    const bool is_large = change->ask.kind == ZD_METADATA_ERASE || change->ask.erases_chunks;
    return is_large ? ZD_LOCK_TREE : ZD_LOCK_NODE;
}

static enum zd_change_outcome lock_path(struct zd_change *change, enum zd_lock_mode mode)
{
    change->path_lock = (struct zd_lock_want){.wait = zd_gather_wait(&change->gather)};
    zd_gather_add(
        &change->gather, zd_lock_want(change->dataset, mode, change->path, &change->path_lock));
    return ZD_CHANGE_NEXT;
}

enum zd_change_outcome zd_change_lock_path(struct zd_change *change)
{
    if (zd_change_is_put(change) && !has_good_names(change->path)) {
        change->code = "bad_path";
        return zd_change_outcome_of(
            change, zd_fail(&change->err, ZD_INVALID, "\"%.200s\" is not a path of node names",
                        change->path));
    }
    return change->ask.has_lock ? ZD_CHANGE_NEXT : lock_path(change, first_mode(change));
}

enum zd_change_outcome zd_change_lock_tree(struct zd_change *change)
{
    zd_lock_release(&change->metadata_lock);
    zd_lock_release(&change->path_lock);
    zd_change_run_forget(change);
    return lock_path(change, ZD_LOCK_TREE);
}

/* What is below an erased node is read before the metadata is locked: other writers of the dataset
 * do not wait for the walk. */
enum zd_change_outcome zd_change_lock_path_end(struct zd_change *change)
{
    const enum zd_change_outcome outcome =
        zd_change_outcome_of_wait(change, &change->path_lock.wait);
    const bool reads_below = change->ask.kind == ZD_METADATA_ERASE && !change->ask.is_dry;
    return outcome == ZD_CHANGE_NEXT && reads_below ? ZD_CHANGE_TREE : outcome;
}

enum zd_change_outcome zd_change_lock_metadata(struct zd_change *change)
{
    change->metadata_lock = (struct zd_lock_want){.wait = zd_gather_wait(&change->gather)};
    zd_gather_add(&change->gather,
        zd_lock_want(change->dataset, ZD_LOCK_METADATA, "", &change->metadata_lock));
    return ZD_CHANGE_NEXT;
}

enum zd_change_outcome zd_change_lock_metadata_end(struct zd_change *change)
{
    return zd_change_outcome_of_wait(change, &change->metadata_lock.wait);
}
