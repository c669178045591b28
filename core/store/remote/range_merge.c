/* Which ranges of one object are read together. */
#include "core/store/remote/range_merge.h"

#include <stdlib.h>

#include "core/base/num.h"

struct gap {
    uint64_t bytes;
    size_t after; /* the range before it */
};

static int compare_gaps(const void *a, const void *b)
{
    const struct gap *x = a;
    const struct gap *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? -1 : 1;
    }
    return (x->after > y->after) - (x->after < y->after);
}

/* The gaps between ranges. @return how many are not empty; ret_wanted: bytes in any range */
static size_t find_gaps(
    const struct zd_byte_range *range, size_t n, struct gap *gap, bool *next, uint64_t *ret_wanted)
{
    size_t n_gaps = 0;
    uint64_t end = range[0].first;
    *ret_wanted = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t own_end = range[i].first + range[i].len;
        if (i > 0) {
            next[i - 1] = range[i].first <= end;
        }
        if (range[i].first > end) {
            gap[n_gaps++] = (struct gap){.bytes = range[i].first - end, .after = i - 1};
        }
        *ret_wanted += own_end > end ? own_end - zd_max_u64(end, range[i].first) : 0;
        end = zd_max_u64(end, own_end);
    }
    next[n - 1] = false;
    return n_gaps;
}

/* A read that becomes too long ends before the range with which it does. */
static void cut(const struct zd_byte_range *range, size_t n, uint64_t bytes_max, bool *next)
{
    uint64_t first = range[0].first;
    uint64_t end = first;
    for (size_t i = 0; i + 1 < n; i++) {
        end = zd_max_u64(end, range[i].first + range[i].len);
        const uint64_t next_end = zd_max_u64(end, range[i + 1].first + range[i + 1].len);
        next[i] = next[i] && next_end - first <= bytes_max;
        if (!next[i]) {
            first = range[i + 1].first;
            end = first;
        }
    }
}

enum zd_status zd_range_merge(const struct zd_byte_range *range, size_t n,
    const struct zd_range_merge_limits *limits, bool *ret_next)
{
    uint64_t wanted;
    struct gap *gap = zd_alloc(n * sizeof *gap);
    if (gap == NULL) {
        return ZD_NO_MEMORY;
    }
    const size_t n_gaps = find_gaps(range, n, gap, ret_next, &wanted);
    uint64_t left = wanted / 100 * limits->percent + wanted % 100 * limits->percent / 100;
    qsort(gap, n_gaps, sizeof *gap, compare_gaps);
    for (size_t i = 0; i < n_gaps && gap[i].bytes <= zd_min_u64(left, limits->gap_max); i++) {
        left -= gap[i].bytes;
        ret_next[gap[i].after] = true;
    }
    cut(range, n, limits->bytes_max, ret_next);
    zd_free(gap);
    return ZD_OK;
}
