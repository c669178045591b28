/* What libmicrohttpd calls for each request, as the manual of MHD_start_daemon describes them.
 * Thread: loop. */
#ifndef ZD_FRONT_CALLBACKS_H
#define ZD_FRONT_CALLBACKS_H

#include <microhttpd.h>

#include "server/front/front.h"

/** MHD_OPTION_URI_LOG_CALLBACK: the only one that sees the target as it was sent. @return the
 * exchange, or NULL without memory @param cls struct zd_listener */
void *zd_callbacks_target(void *cls, const char *target, struct MHD_Connection *connection);

/** The access handler: first the head, then pieces of the body, then its end; once more after a
 * sleep. */
enum MHD_Result zd_callbacks_request(void *cls, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *upload, size_t *upload_len,
    void **con_cls);

/** MHD_OPTION_NOTIFY_COMPLETED: answered in full, or the client is gone. */
void zd_callbacks_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
    enum MHD_RequestTerminationCode code);

/** MHD_OPTION_NOTIFY_CONNECTION. @param cls struct zd_listener */
void zd_callbacks_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
    enum MHD_ConnectionNotificationCode code);

#endif
