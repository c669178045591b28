/* The audit file: changes with their authors, and refused credentials. Thread: loop.
 *
 * A change has two lines: `begin` before anything of it happens, and `end` before it is
 * acknowledged. Without the first one it is refused; so one that was made is always recorded, and
 * an `end` that is missing, because the disk was full by then or the process died, shows by its
 * `begin`. A credential that was refused has one line, and so has a URL that is signed. */
#ifndef ZD_REQUEST_ACCESS_AUDIT_H
#define ZD_REQUEST_ACCESS_AUDIT_H

#include "core/base/status.h"
#include "server/runtime/wait.h"

struct zd_request;
struct zd_signed_url;

/** Record a change that is about to be made, once its identity is known and nothing has refused it:
 * the first step of one that cannot be recorded refuses it. */
void zd_audit_begin(struct zd_request *req);

/**
 * Record a URL before it is given out.
 *
 * @param until when it ends, as text; borrowed
 * @retval ZD_STORE     the line could not be written
 * @retval ZD_NO_MEMORY
 * With both the URL must not be given out.
 */
ZD_RESULT zd_audit_signed(struct zd_request *req, const struct zd_signed_url *url,
    const char *until, struct zd_error *err);

/** Answer 503: the file cannot record what was asked for. @return ZD_DONE */
enum zd_next zd_audit_refuse(struct zd_request *req);

/** Keep the tag of what a change is about to replace or erase. */
void zd_audit_before(struct zd_request *req, const char *etag);

/** Keep the tag of what it has stored, in case the answer does not say it. */
void zd_audit_after(struct zd_request *req, const char *etag);

/**
 * Record what has become of it, or that its credential was refused; once.
 *
 * @param http_status 0: nobody was answered
 * @param etag of what is there now, or NULL
 */
void zd_audit_end(struct zd_request *req, unsigned http_status, const char *etag);

#endif
