/* The meaning of a stored key, and the lock of its path. */
#include <string.h>

#include "core/base/own.h"
#include "core/base/text.h"
#include "core/dialect/dialect.h"
#include "server/write/lock.h"

/* ---- what a stored key means ---- */

static enum zd_next end_with(
    struct zd_key_lock *lock, enum zd_status status, const struct zd_error *err)
{
    zd_wait_answer(&lock->wait, status, err);
    return ZD_DONE;
}

static enum zd_next fail_without_memory(struct zd_key_lock *lock)
{
    struct zd_error err = {0};
    return end_with(lock, zd_fail(&err, ZD_NO_MEMORY, "no memory for a key"), &err);
}

static enum zd_next lock_path(struct zd_key_lock *lock);

static enum zd_next mean(struct zd_key_lock *lock, enum zd_key_meaning meaning)
{
    lock->meaning = meaning;
    return lock->wants_lock ? lock_path(lock) : end_with(lock, ZD_OK, NULL);
}

static enum zd_next judge_array(struct zd_key_lock *lock, const char *rest)
{
    const struct zd_node *node = lock->ancestor.node;
    lock->node = ZD_TAKE(lock->ancestor.node);
    lock->rest = rest;
    if (!zd_dialect_is_writable(node->meta->dialect)) {
        return mean(lock, ZD_KEY_PLAIN); /* nobody judges what a client stores there */
    }
    if (node->layout == NULL) {
        return mean(lock, ZD_KEY_UNKNOWN);
    }
    switch (node->meta->dialect->chunk_index(node->meta, rest, lock->index)) {
    case ZD_OK:
        return mean(lock, ZD_KEY_CHUNK);
    case ZD_OUT_OF_BOUNDS:
        return mean(lock, ZD_KEY_OUTSIDE);
    default:
        return mean(lock, ZD_KEY_PLAIN);
    }
}

static enum zd_next step_look(struct zd_key_lock *lock);

static enum zd_next step_ancestor(struct zd_key_lock *lock)
{
    const struct zd_wait *wait = &lock->ancestor.wait;
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return end_with(lock, wait->status, &wait->err);
    }
    const char *rest = lock->key + lock->at_bytes + (lock->at_bytes > 0 ? 1 : 0);
    if (wait->status == ZD_OK && zd_meta_is_array(lock->ancestor.node->meta)) {
        return judge_array(lock, rest);
    }
    zd_node_unref(ZD_TAKE(lock->ancestor.node));
    const char *slash = strchr(rest, '/');
    if (slash == NULL) {
        return mean(lock, ZD_KEY_PLAIN);
    }
    lock->at_bytes = (size_t)(slash - lock->key);
    return step_look(lock);
}

/* From the root on: groups are in the cache, and below an array there are no nodes. */
static enum zd_next step_look(struct zd_key_lock *lock)
{
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (zd_text_add_bytes(&path, lock->key, lock->at_bytes) != ZD_OK) {
        return fail_without_memory(lock);
    }
    const bool is_locked = lock->locked != NULL && strcmp(lock->locked, path.at) == 0;
    lock->ancestor = (struct zd_node_want){.wait = zd_machine_wait(&lock->machine)};
    lock->step = step_ancestor;
    return is_locked ? zd_catalog_want_fresh(lock->dataset, path.at, &lock->ancestor)
                     : zd_catalog_want(lock->dataset, path.at, &lock->ancestor);
}

static enum zd_next step_find(struct zd_key_lock *lock)
{
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    zd_node_unref(ZD_TAKE(lock->node));
    const enum zd_status status = zd_dialect_written_node_path(lock->key, &path, NULL);
    if (status == ZD_NO_MEMORY) {
        return fail_without_memory(lock); /* a document is judged before it is stored */
    }
    if (status == ZD_OK) {
        return mean(lock, ZD_KEY_DOCUMENT);
    }
    lock->at_bytes = 0;
    return step_look(lock);
}

/* ---- the lock of its path ---- */

static char *path_to_lock(const struct zd_key_lock *lock)
{
    const char *slash = strrchr(lock->key, '/');
    return lock->meaning == ZD_KEY_CHUNK
               ? zd_strdup(lock->node->path)
               : zd_strndup(lock->key, slash == NULL ? 0 : (size_t)(slash - lock->key));
}

static enum zd_next step_key_locked(struct zd_key_lock *lock)
{
    const struct zd_wait *wait = &lock->lock.wait;
    return wait->status == ZD_OK ? step_find(lock) : end_with(lock, wait->status, &wait->err);
}

static enum zd_next lock_path(struct zd_key_lock *lock)
{
    char *path = path_to_lock(lock);
    if (path == NULL) {
        return fail_without_memory(lock);
    }
    if (lock->locked != NULL && strcmp(lock->locked, path) == 0) {
        zd_free(path);
        return end_with(lock, ZD_OK, NULL);
    }
    zd_lock_release(&lock->lock);
    zd_free(lock->locked);
    lock->locked = path;
    if (++lock->n_tries == ZD_TRIES_MAX) {
        struct zd_error err = {0};
        return end_with(lock,
            zd_fail(&err, ZD_STORE,
                "%.200s: gave up after %d attempts: the array above it kept being created and "
                "deleted",
                lock->key, ZD_TRIES_MAX),
            &err);
    }
    lock->lock.wait = zd_machine_wait(&lock->machine);
    lock->lock.client = lock->client;
    lock->step = step_key_locked;
    return zd_lock_want(lock->dataset, ZD_LOCK_CHUNKS, path, &lock->lock);
}

static enum zd_next step_key(struct zd_machine *machine)
{
    struct zd_key_lock *lock = ZD_CONTAINER(machine, struct zd_key_lock, machine);
    return lock->step(lock);
}

static enum zd_next begin(struct zd_key_lock *lock, enum zd_next (*first)(struct zd_key_lock *lock))
{
    lock->machine = (struct zd_machine){.step = step_key, .wait = &lock->wait};
    lock->step = first;
    return zd_machine_call(&lock->machine);
}

enum zd_next zd_lock_find_key(struct zd_key_lock *lock)
{
    lock->wants_lock = false;
    return begin(lock, step_find);
}

enum zd_next zd_lock_want_key(struct zd_key_lock *lock)
{
    lock->wants_lock = true;
    return begin(lock, lock_path);
}

void zd_lock_release_key(struct zd_key_lock *lock)
{
    zd_catalog_release(&lock->ancestor);
    zd_node_unref(ZD_TAKE(lock->node));
    zd_lock_release(&lock->lock);
    zd_free(ZD_TAKE(lock->locked));
}
