/* Where the time of a request goes. */
#include "server/runtime/times.h"

#include "core/base/num.h"

const char *zd_times_name(enum zd_time time)
{
    static const char *const names[ZD_TIMES] = {
        [ZD_TIME_STORE] = "store",
        [ZD_TIME_QUEUE] = "queue",
        [ZD_TIME_DECODE] = "decode",
        [ZD_TIME_ENCODE] = "encode",
        [ZD_TIME_RECEIVE] = "receive",
        [ZD_TIME_SEND] = "send",
    };
    return names[time];
}

void zd_times_add_chunks(
    struct zd_times *times, uint64_t whole_ns, uint64_t read_ns, uint64_t decode_ns)
{
    const double both_ns = (double)read_ns + (double)decode_ns;
    if (both_ns <= 0) {
        return; /* all were at hand */
    }
    const uint64_t share_ns =
        zd_min_u64(whole_ns, (uint64_t)((double)whole_ns * ((double)decode_ns / both_ns)));
    times->ns[ZD_TIME_DECODE] += share_ns;
    times->ns[ZD_TIME_STORE] += whole_ns - share_ns;
}
