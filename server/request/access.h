/* Who may be answered, judged by the head of a request: before prepared answers, bodies and the
 * store. Thread: loop. */
#ifndef ZD_REQUEST_ACCESS_H
#define ZD_REQUEST_ACCESS_H

struct zd_request;

/** Judge a request whose first step is not known: that of one that must not be answered refuses
 * it. */
void zd_access_judge(struct zd_request *req);

#endif
