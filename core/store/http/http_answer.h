/* The facts of an object in the head of an answer. Pure. Thread: any. */
#ifndef ZD_CORE_STORE_HTTP_HTTP_ANSWER_H
#define ZD_CORE_STORE_HTTP_HTTP_ANSWER_H

#include "core/base/buf.h"
#include "core/store/contract/store.h"
#include "core/store/transfer/transfer_head.h"

#define ZD_HTTP_ANSWER_CODE_BYTES 64 /* of a store's own error code */

/**
 * The facts of the object. Its generation comes from a strong ETag, else from Last-Modified, the
 * length and a weak ETag. Without these, only another length is another generation.
 *
 * @param size bytes
 */
struct zd_stat zd_http_answer_stat(const struct zd_transfer_head *head, uint64_t size);

/**
 * Check what no answer with bytes of an object may be: encoded, a page for people, or a part that
 * is called the whole.
 * @param key pages have keys that end in .html or .htm
 * @retval ZD_STORE
 */
ZD_RESULT zd_http_answer_judge_kind(
    const struct zd_transfer_head *head, const char *key, struct zd_error *err);

/**
 * Check a 206: it has the bytes that were asked for, all of them that there are, and says the
 * length of the object.
 * @param asked a range with len >= 1; of a suffix, its bytes and those behind it were asked for
 * @retval ZD_STORE
 */
ZD_RESULT zd_http_answer_judge_part(
    const struct zd_transfer_head *head, const struct zd_range *asked, struct zd_error *err);

/**
 * The error code in the words of a store: <Code>X</Code> of XML, or "code": "X" of JSON, of
 * letters, digits, '.', '_' and '-'; anything else is not repeated, since it may have secrets of
 * the request.
 * @param ret_code "" = there is none
 */
void zd_http_answer_find_code(struct zd_span words, char ret_code[ZD_HTTP_ANSWER_CODE_BYTES + 1]);

#endif
