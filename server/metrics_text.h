/* The text of /metrics, in Prometheus' format 0.0.4. Thread: loop. */
#ifndef ZD_METRICS_TEXT_H
#define ZD_METRICS_TEXT_H

#include "core/base/text.h"

struct zd_server;

/** Add every metric: requests, admission, caches, stores, memory, process. */
void zd_metrics_text_add(const struct zd_server *server, struct zd_text *text);

#endif
