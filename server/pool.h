/* Work for the worker threads: pure functions over immutable inputs. Thread: loop, but for `work`.
 */
#ifndef ZD_SERVER_POOL_H
#define ZD_SERVER_POOL_H

#include <uv.h>

#include "core/base/status.h"

struct zd_server;

/** One piece of work: the caller's memory, from submit to done. */
struct zd_job {
    void (*work)(struct zd_job *job); /* worker thread; owns nothing but its inputs and outputs */
    void (*done)(struct zd_job *job,
        bool cancelled); /* loop thread, exactly once, never inside zd_pool_submit */
    uv_work_t uv;
    struct zd_server *server;
};

/** Whether work of that estimated cost is to be done on the loop thread, at once (setting
 * workers.inline_us). */
bool zd_pool_is_cheap(const struct zd_server *server, uint64_t cost_ns);

/** Give work to a worker. */
void zd_pool_submit(struct zd_server *server, struct zd_job *job);

/** Ask that work which has not begun is dropped; done still runs. */
void zd_pool_cancel(struct zd_job *job);

#endif
