/* The failure of a remote store, for the decision whether to try again. */
#ifndef ZD_CORE_STORE_CONTRACT_REMOTE_FAULT_H
#define ZD_CORE_STORE_CONTRACT_REMOTE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/** The status of the operation says what the caller is told: ZD_STORE, or ZD_TIMEOUT for
 * ZD_REMOTE_FAULT_TIMEOUT. */
enum zd_remote_fault_kind {
    ZD_REMOTE_FAULT_NONE,      /* no failure, or one that asking again does not mend */
    ZD_REMOTE_FAULT_RETRYABLE, /* it may pass: no connection, a reset, 5xx, a body cut short */
    ZD_REMOTE_FAULT_TIMEOUT,   /* no connection, or no byte, for too long */
    ZD_REMOTE_FAULT_THROTTLED, /* the store asks for fewer requests: 429, 503 that says so */
    ZD_REMOTE_FAULT_REFUSED,   /* no permission: 401, 403 */
    ZD_REMOTE_FAULT_BROKEN,    /* an answer that breaks the rules: a wrong Content-Range or length,
                                  HTML where bytes are due, a redirection elsewhere */
};

/** In zd_store_op, where it is 8 bytes, and not in the error, which every wait has. Zeroed when an
 * operation is started; set by the store with the status. */
struct zd_remote_fault {
    uint8_t kind;            /* enum zd_remote_fault_kind */
    bool was_begun;          /* of a write or an erasure: the store may have done it */
    uint32_t retry_after_ms; /* as the store asks (Retry-After); 0 = it does not */
};

#endif
