/* libcurl's multi interface on a loop of libuv: transfers run while the loop turns. Thread: loop,
 * for all of it. */
#ifndef ZD_CORE_STORE_TRANSFER_MULTI_H
#define ZD_CORE_STORE_TRANSFER_MULTI_H

#include <curl/curl.h>
#include <uv.h>

#include "core/base/status.h"

struct zd_multi;

/** A transfer is over; its handle is no longer among those that run. Never called inside
 * zd_multi_add. */
typedef void zd_multi_over(void *context, CURL *easy, CURLcode code);

/**
 * Begin; libcurl is initialised when the process has no other one.
 *
 * @param context of over; borrowed until closed
 * @param ret_multi owned: zd_multi_close
 * @retval ZD_NO_MEMORY or there is no file descriptor; the loop must turn once more all the same
 */
ZD_RESULT zd_multi_open(uv_loop_t *loop, zd_multi_over *over, void *context,
    struct zd_multi **ret_multi, struct zd_error *err);

/** Close all connections. No transfer runs. The loop must turn once more before it is closed. May
 * be called by over. Accepts NULL. */
void zd_multi_close(struct zd_multi *multi);

/** Start a transfer. @param easy borrowed until it is over or removed @retval ZD_NO_MEMORY */
ZD_RESULT zd_multi_add(struct zd_multi *multi, CURL *easy);

/** Stop a transfer that is not over: its connection is closed. Not inside a callback of libcurl. */
void zd_multi_remove(struct zd_multi *multi, CURL *easy);

/** Whether libcurl is initialised, for tests. */
bool zd_multi_is_needed(void);

#endif
