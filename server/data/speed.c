/* How long chunks of a dataset took lately. */
#include "server/data/speed.h"

#define CHUNKS_MAX 1024 /* that count; then all before them count half */

/* Convert to whole nanoseconds, within 64 bits. */
static uint64_t whole_of(double ns)
{
    return ns < (double)INT64_MAX ? (uint64_t)ns : INT64_MAX;
}

void zd_speed_add(struct zd_speed *speed, uint64_t n_chunks, uint64_t whole_ns, uint64_t read_ns,
    uint64_t decode_ns, uint64_t foreseen_ns)
{
    const double both_ns = (double)read_ns + (double)decode_ns;
    if (n_chunks == 0 || both_ns <= 0) {
        return; /* all were at hand */
    }
    if (speed->n_chunks >= CHUNKS_MAX) {
        speed->n_chunks /= 2;
        speed->store_ns /= 2;
        speed->decode_ns /= 2;
        speed->foreseen_ns /= 2;
    }
    const double decode_share = (double)decode_ns / both_ns;
    speed->n_chunks += (double)n_chunks;
    speed->store_ns += (double)whole_ns * (1 - decode_share);
    speed->decode_ns += (double)whole_ns * decode_share;
    speed->foreseen_ns += (double)foreseen_ns;
}

struct zd_speed_times zd_speed_expect(
    const struct zd_speed *speed, uint64_t n_chunks, uint64_t foreseen_ns)
{
    struct zd_speed_times times = {.decode_ns = foreseen_ns, .is_measured = speed->n_chunks > 0};
    if (times.is_measured) {
        times.store_ns = whole_of(speed->store_ns / speed->n_chunks * (double)n_chunks);
    }
    if (speed->foreseen_ns > 0) {
        times.decode_ns = whole_of(speed->decode_ns / speed->foreseen_ns * (double)foreseen_ns);
    }
    return times;
}
