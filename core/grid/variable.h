/* Elements of variable length: in memory each is a span, and its bytes are somewhere else. */
#ifndef ZD_CORE_GRID_VARIABLE_H
#define ZD_CORE_GRID_VARIABLE_H

#include "core/base/buf.h"
#include "core/base/status.h"

#define ZD_VARIABLE_BYTES 16 /* of an element in memory */

/**
 * The most that the bytes of so many elements of one chunk have together. What is longer is not
 * read: how long a chunk of such elements is stands in no document, and memory is admitted before
 * anything is decoded.
 */
uint64_t zd_variable_bytes_max(uint64_t n_elements);

/** Element i; borrowed. The elements need not be aligned. Thread: any. */
struct zd_span zd_variable_at(const uint8_t *elements, uint64_t i);

/** Make that element i. Its bytes are borrowed for as long as the element is used. */
void zd_variable_put(uint8_t *elements, uint64_t i, struct zd_span bytes);

/**
 * A buffer of elements with their bytes behind them: nothing in it is borrowed. Neighbours that
 * share their bytes go on sharing them.
 *
 * @param bytes_max of the bytes
 * @param ret_packed owned
 * @retval ZD_TOO_LARGE facts limit, requested
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_variable_pack(const uint8_t *elements, uint64_t n_elements, uint64_t bytes_max,
    struct zd_buf **ret_packed, struct zd_error *err);

/**
 * A packed buffer of elements that have lengths only: their bytes follow one another.
 *
 * @param bytes     of all elements: as many as the lengths say together (asserted); copied
 * @param ret_packed owned
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_variable_join(const uint8_t *elements, uint64_t n_elements, struct zd_span bytes,
    struct zd_buf **ret_packed, struct zd_error *err);

/** How many of the elements have so many bytes together, each counted with `extra` more; at least
 * one, if there is any. Thread: any. */
uint64_t zd_variable_count(
    const uint8_t *elements, uint64_t n_elements, uint64_t extra, uint64_t bytes_max);

/** An element with its bytes behind it, owned; NULL without memory. Thread: any. */
uint8_t *zd_variable_new(struct zd_span bytes);

#endif
