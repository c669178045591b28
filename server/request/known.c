/* Credentials that were found good lately. */
#include "server/request/known.h"

#include <string.h>

#include "core/base/digest.h"
#include "core/base/hash.h"
#include "core/base/own.h"
#include "server/request/identity.h"

#define SLOTS_N          512
#define CREDENTIAL_BYTES 2048 /* a longer one is judged each time */

struct slot {
    uint8_t *credential; /* owned; NULL: the slot is empty */
    size_t len;
    uint64_t n_changes;
    struct zd_identity *identity; /* a reference */
};

struct zd_known {
    uint64_t seed;
    struct slot slot[SLOTS_N];
};

static size_t place_of(const struct zd_known *known, struct zd_span credential)
{
    return zd_hash_of(credential, known->seed) % SLOTS_N;
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

struct zd_identity *zd_known_find(
    const struct zd_known *known, struct zd_span credential, uint64_t n_changes)
{
    if (known == NULL || credential.len == 0) {
        return NULL;
    }
    const struct slot *slot = &known->slot[place_of(known, credential)];
    const struct zd_span kept = {.ptr = slot->credential, .len = slot->len};
    const bool is_it = slot->n_changes == n_changes && zd_digest_is_same_secret(kept, credential);
    return is_it && !zd_identity_is_over(slot->identity) ? zd_identity_ref(slot->identity) : NULL;
}

static struct zd_known *known_new(void)
{
    struct zd_known *known = zd_alloc_zero(1, sizeof *known);
    if (known != NULL) {
        known->seed = zd_hash_random_seed();
    }
    return known;
}

void zd_known_put(struct zd_known **place, struct zd_span credential, uint64_t n_changes,
    struct zd_identity *identity)
{
    if (credential.len == 0 || credential.len > CREDENTIAL_BYTES) {
        return;
    }
    if (*place == NULL && (*place = known_new()) == NULL) {
        return;
    }
    struct slot *slot = &(*place)->slot[place_of(*place, credential)];
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

void zd_known_free(struct zd_known *known)
{
    for (size_t i = 0; known != NULL && i < SLOTS_N; i++) {
        empty(&known->slot[i]);
    }
    zd_free(known);
}
