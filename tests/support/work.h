/* Work for libuv's pool, done by the thread of the loop in a later turn: what a test asks for then
 * happens in the same order each time, and no time goes into waking threads. Programs that call
 * this have uv_queue_work and uv_cancel of work.c. */
#ifndef ZD_TESTS_SUPPORT_WORK_H
#define ZD_TESTS_SUPPORT_WORK_H

#include <stddef.h>

/** Jobs that are not done yet. Thread: loop. */
size_t zd_test_work_count(void);

#endif
