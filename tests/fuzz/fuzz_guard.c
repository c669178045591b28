/* What a connection brings, whole and in pieces: the first byte says how long the pieces are. The
 * verdict is the same, and what was whole ends where it says. */
#include <stdlib.h>

#include "core/base/num.h"
#include "server/guard.h"

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

static size_t judge(struct zd_guard *guard, struct zd_span bytes, size_t piece_len)
{
    size_t whole = 0;
    zd_guard_init(guard, &limits);
    for (size_t at = 0; at < bytes.len && guard->code == NULL;) {
        const size_t n = (size_t)zd_min_u64(piece_len, bytes.len - at);
        size_t n_whole = 0;
        const uint64_t n_before = guard->n_requests;
        const bool ok =
            zd_guard_take(guard, (struct zd_span){.ptr = bytes.ptr + at, .len = n}, &n_whole);
        require(n_whole <= n && ok == (guard->code == NULL));
        require((n_whole > 0) == (guard->n_requests > n_before));
        require(ok == (zd_guard_place(guard) != ZD_GUARD_FAULT));
        whole = n_whole > 0 ? at + n_whole : whole;
        at += n;
    }
    return whole;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0) {
        return 0;
    }
    const struct zd_span bytes = {.ptr = data + 1, .len = len - 1};
    struct zd_guard whole;
    struct zd_guard cut;
    const size_t n_whole = judge(&whole, bytes, bytes.len);
    require(judge(&cut, bytes, 1 + data[0]) == n_whole);
    require(cut.code == whole.code && cut.detail == whole.detail);
    require(cut.n_requests == whole.n_requests);
    require(zd_guard_place(&cut) == zd_guard_place(&whole));
    require(zd_guard_is_head(&cut) == zd_guard_is_head(&whole));
    struct zd_guard prefix;
    require(
        judge(&prefix, (struct zd_span){.ptr = bytes.ptr, .len = n_whole}, n_whole + 1) == n_whole);
    require(prefix.code == NULL && zd_guard_place(&prefix) == ZD_GUARD_BETWEEN);
    require(prefix.n_requests == whole.n_requests);
    return 0;
}
