/* Records of an exchange: in the log, the metrics, traces and the audit file. Thread: loop. */
#ifndef ZD_FRONT_EXCHANGE_RECORD_H
#define ZD_FRONT_EXCHANGE_RECORD_H

#include "server/front/front.h"

/** Before the answer leaves: record the outcome of a change in the audit file
 * (server/request/access/audit.h). */
void zd_exchange_audit(struct zd_exchange *exchange);

/** The exchange has ended: count it, log it, and let its client pay for it.
 * @param was_sent the answer was sent whole */
void zd_exchange_record(struct zd_exchange *exchange, bool was_sent);

#endif
