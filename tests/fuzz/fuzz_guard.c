/* The bytes of a connection, whole and in pieces: the first byte gives the length of the pieces.
 * The verdict is the same, and the rest of whole requests is judged the same again. */
#include <stdlib.h>
#include <string.h>

#include "core/base/num.h"
#include "server/http/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct zd_guard_limits limits = {
    .target_bytes = 256,
    .head_bytes = 1024,
    .n_fields = 20,
    .memory_bytes = 1024 + 30 * ZD_GUARD_ENTRY_BYTES,
    .body_bytes = 4096,
};

static void require(bool fact)
{
    if (!fact) {
        abort();
    }
}

/* The outcome of a stream. */
struct verdict {
    struct zd_guard guard;
    uint8_t *kept; /* owned */
    size_t n_kept; /* until the fault */
    size_t n_whole;
};

static struct verdict judge(struct zd_span bytes, size_t piece_len)
{
    struct verdict verdict = {.kept = malloc(bytes.len + 1)};
    struct zd_guard *guard = &verdict.guard;
    require(verdict.kept != NULL);
    zd_guard_init(guard, &limits);
    for (size_t at = 0; at < bytes.len && guard->code == NULL;) {
        const size_t n = (size_t)zd_min_u64(piece_len, bytes.len - at);
        const uint64_t n_before = guard->n_requests;
        uint8_t *to = verdict.kept + verdict.n_kept;
        size_t len = n;
        size_t n_whole = 0;
        memcpy(to, bytes.ptr + at, n);
        const bool ok = zd_guard_take(guard, to, &len, &n_whole);
        require(len <= n && n_whole <= len && ok == (guard->code == NULL));
        require((n_whole > 0) == (guard->n_requests > n_before));
        require(ok == (zd_guard_place(guard) != ZD_GUARD_FAULT));
        verdict.n_whole = n_whole > 0 ? verdict.n_kept + n_whole : verdict.n_whole;
        verdict.n_kept += len;
        at += n;
    }
    return verdict;
}

/* The kept bytes are requests, and judging them again removes nothing. */
static void check_kept(const struct verdict *verdict)
{
    const struct zd_span whole = {.ptr = verdict->kept, .len = verdict->n_whole};
    struct verdict again = judge(whole, whole.len + 1);
    require(again.guard.code == NULL && again.guard.n_requests == verdict->guard.n_requests);
    require(again.n_kept == whole.len && memcmp(again.kept, whole.ptr, whole.len) == 0);
    require(zd_guard_place(&again.guard) == ZD_GUARD_BETWEEN);
    free(again.kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0) {
        return 0;
    }
    const struct zd_span bytes = {.ptr = data + 1, .len = len - 1};
    struct verdict whole = judge(bytes, len);
    struct verdict cut = judge(bytes, 1 + (size_t)data[0]);
    require(cut.guard.code == whole.guard.code && cut.guard.detail == whole.guard.detail);
    require(cut.guard.n_requests == whole.guard.n_requests);
    require(cut.n_whole == whole.n_whole && cut.n_kept == whole.n_kept);
    require(memcmp(cut.kept, whole.kept, whole.n_kept) == 0);
    require(zd_guard_place(&cut.guard) == zd_guard_place(&whole.guard));
    require(cut.guard.is_head == whole.guard.is_head);
    check_kept(&whole);
    free(whole.kept);
    free(cut.kept);
    return 0;
}
