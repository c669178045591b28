/* Memory for one kind of work. */
#include "server/runtime/allowance.h"

#include "core/base/own.h"

void zd_allowance_init(struct zd_allowance *allowance, uint64_t bytes_max)
{
    *allowance = (struct zd_allowance){.bytes_max = bytes_max};
    zd_list_init(&allowance->waiting);
}

static bool has_room(const struct zd_allowance *allowance, uint64_t bytes)
{
    return bytes <= allowance->bytes_max - allowance->bytes;
}

enum zd_next zd_allowance_want(struct zd_allowance *allowance, uint64_t bytes, const char *what,
    struct zd_allowance_want *want)
{
    want->allowance = NULL;
    if (bytes > allowance->bytes_max) {
        want->wait.status = zd_fail_limit(&want->wait.err, allowance->bytes_max, bytes,
            "%s needs %llu bytes of memory; the limit is %llu", what, (unsigned long long)bytes,
            (unsigned long long)allowance->bytes_max);
        return ZD_NEXT;
    }
    want->bytes = bytes;
    want->allowance = allowance;
    if (!zd_list_is_empty(&allowance->waiting) || !has_room(allowance, bytes)) {
        zd_list_push_back(&allowance->waiting, &want->wait.link);
        return ZD_WAIT;
    }
    allowance->bytes += bytes;
    zd_wait_answer(&want->wait, ZD_OK, NULL);
    return ZD_NEXT;
}

/* The next ones in line. A done may release others. */
static void serve(struct zd_allowance *allowance)
{
    while (!zd_list_is_empty(&allowance->waiting)) {
        struct zd_wait *wait = ZD_CONTAINER(allowance->waiting.next, struct zd_wait, link);
        const struct zd_allowance_want *want = ZD_CONTAINER(wait, struct zd_allowance_want, wait);
        if (!has_room(allowance, want->bytes)) {
            return;
        }
        allowance->bytes += want->bytes;
        zd_list_remove(&wait->link);
        zd_wait_end(wait, ZD_OK, NULL);
    }
}

void zd_allowance_release(struct zd_allowance_want *want)
{
    struct zd_allowance *allowance = ZD_TAKE(want->allowance);
    if (allowance == NULL) {
        return;
    }
    if (zd_list_is_linked(&want->wait.link)) {
        zd_wait_cancel(&want->wait);
    } else {
        allowance->bytes -= want->bytes;
    }
    serve(allowance);
}
