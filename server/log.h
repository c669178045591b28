/* The log: one line an event on standard error, for people or as JSON. Thread: loop. */
#ifndef ZD_SERVER_LOG_H
#define ZD_SERVER_LOG_H

#include "core/base/status.h"

enum zd_log_level {
    ZD_LOG_ERROR,
    ZD_LOG_WARNING,
    ZD_LOG_INFO,
    ZD_LOG_DEBUG,
};

struct zd_log {
    enum zd_log_level level;
    bool json;
    bool requests;
    uint64_t n_dropped; /* lines lost to a full pipe: the log never blocks */
};

void zd_log(struct zd_log *log, enum zd_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct zd_request;

/** The line of one finished request. */
void zd_log_request(struct zd_log *log, const struct zd_request *req);

#endif
