/* libcurl's multi interface on a loop of libuv: transfers run while the loop turns. Thread: loop,
 * for all of it. */
#ifndef ZD_CORE_STORE_TRANSFER_CURL_LOOP_H
#define ZD_CORE_STORE_TRANSFER_CURL_LOOP_H

#include <curl/curl.h>
#include <uv.h>

#include "core/base/status.h"

struct zd_curl_loop;

/** A transfer is over; its handle is no longer among those that run. Never called inside
 * zd_curl_loop_add. */
typedef void zd_curl_loop_over(void *context, CURL *easy, CURLcode code);

/**
 * Begin; libcurl is initialised when the process has no other one.
 *
 * @param context of over; borrowed until closed
 * @param ret_multi owned: zd_curl_loop_close
 * @retval ZD_NO_MEMORY or there is no file descriptor; the loop must turn once more all the same
 */
ZD_RESULT zd_curl_loop_open(uv_loop_t *loop, zd_curl_loop_over *over, void *context,
    struct zd_curl_loop **ret_multi, struct zd_error *err);

/** Close all connections. No transfer runs. The loop must turn once more before it is closed. May
 * be called by over. Accepts NULL. */
void zd_curl_loop_close(struct zd_curl_loop *multi);

/** Start a transfer. @param easy borrowed until it is over or removed @retval ZD_NO_MEMORY */
ZD_RESULT zd_curl_loop_add(struct zd_curl_loop *multi, CURL *easy);

/** Stop a transfer that is not over: its connection is closed. Not inside a callback of libcurl. */
void zd_curl_loop_remove(struct zd_curl_loop *multi, CURL *easy);

/** Whether libcurl is initialised, for tests. */
bool zd_curl_loop_is_needed(void);

#endif
