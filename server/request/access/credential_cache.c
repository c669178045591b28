/* Credentials that were found good lately. */
#include "server/request/access/credential_cache.h"

#include <string.h>

#include "core/base/digest.h"
#include "core/base/hash.h"
#include "core/base/own.h"
#include "server/request/identity.h"

#define SETS_N           64
#define WAYS_N           8 /* of a set: so many credentials do not take each other's places */
#define CREDENTIAL_BYTES (16U << 10) /* a longer one is judged each time */

struct slot {
    uint8_t *credential; /* owned; NULL: the slot is empty */
    size_t len;
    uint64_t n_changes;
    struct zd_identity *identity; /* a reference */
};

struct set {
    struct slot slot[WAYS_N];
    uint32_t next; /* whose place is taken next */
};

struct zd_credential_cache {
    uint64_t seed;
    struct set set[SETS_N];
};

static size_t place_of(const struct zd_credential_cache *known, struct zd_span credential)
{
    return zd_hash_of(credential, known->seed) % SETS_N;
}

static void empty(struct slot *slot)
{
    if (slot->credential != NULL) {
        zd_digest_erase(slot->credential, slot->len);
    }
    zd_free(slot->credential);
    zd_identity_unref(slot->identity);
    *slot = (struct slot){0};
}

static bool is_good(const struct slot *slot, uint64_t n_changes)
{
    return slot->credential != NULL && slot->n_changes == n_changes &&
           !zd_identity_is_over(slot->identity);
}

static bool is_of(const struct slot *slot, struct zd_span credential)
{
    const struct zd_span kept = {.ptr = slot->credential, .len = slot->len};
    return zd_digest_is_same_secret(kept, credential);
}

/* A slot that is not in use, or the next one. */
static struct slot *free_slot(struct set *set, uint64_t n_changes)
{
    for (size_t i = 0; i < WAYS_N; i++) {
        if (!is_good(&set->slot[i], n_changes)) {
            return &set->slot[i];
        }
    }
    return &set->slot[set->next++ % WAYS_N];
}

struct zd_identity *zd_credential_cache_find(
    const struct zd_credential_cache *known, struct zd_span credential, uint64_t n_changes)
{
    if (known == NULL || credential.len == 0) {
        return NULL;
    }
    const struct set *set = &known->set[place_of(known, credential)];
    for (size_t i = 0; i < WAYS_N; i++) {
        const struct slot *slot = &set->slot[i];
        if (is_good(slot, n_changes) && is_of(slot, credential)) {
            return zd_identity_ref(slot->identity);
        }
    }
    return NULL;
}

static struct zd_credential_cache *known_new(void)
{
    struct zd_credential_cache *known = zd_alloc_zero(1, sizeof *known);
    if (known != NULL) {
        known->seed = zd_hash_random_seed();
    }
    return known;
}

void zd_credential_cache_put(struct zd_credential_cache **place, struct zd_span credential,
    uint64_t n_changes, struct zd_identity *identity)
{
    if (credential.len == 0 || credential.len > CREDENTIAL_BYTES) {
        return;
    }
    if (*place == NULL && (*place = known_new()) == NULL) {
        return;
    }
    struct slot *slot = free_slot(&(*place)->set[place_of(*place, credential)], n_changes);
    empty(slot);
    slot->credential = zd_alloc(credential.len);
    if (slot->credential == NULL) {
        return;
    }
    memcpy(slot->credential, credential.ptr, credential.len);
    slot->len = credential.len;
    slot->n_changes = n_changes;
    slot->identity = zd_identity_ref(identity);
}

void zd_credential_cache_free(struct zd_credential_cache *known)
{
    for (size_t i = 0; known != NULL && i < (size_t)SETS_N * WAYS_N; i++) {
        empty(&known->set[i / WAYS_N].slot[i % WAYS_N]);
    }
    zd_free(known);
}
