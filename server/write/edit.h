/* The merged form of edits: concurrent edits of one object share one read, one rewrite and one
 * write, and n edits cost fewer than n writes. Thread: loop. */
#ifndef ZD_WRITE_EDIT_H
#define ZD_WRITE_EDIT_H

#include "server/write/edit_want.h"

struct zd_server;

void zd_edit_init(struct zd_server *server);
void zd_edit_done(struct zd_server *server); /* nothing is under way */

/**
 * Make one edit. Edits that wait for the same object are made together, in the order of arrival,
 * and each ends with its own status, once the store has acknowledged the write.
 * @return ZD_NEXT or ZD_WAIT
 */
enum zd_next zd_edit_want(struct zd_node *node, struct zd_edit_want *want);

/** Of both forms: stop waiting, and free the edit, now or when it is over. An edit that has not
 * begun is dropped, one that has is completed. Accepts a zeroed want, and one that has ended. */
void zd_edit_release(struct zd_edit_want *want);

/**
 * The client has hung up: an edit that has not begun is released. One that has still ends with
 * want->wait, so that the caller keeps the lock of the path until then.
 * @return whether nothing is under way (any more)
 */
bool zd_edit_give_up(struct zd_edit_want *want);

#endif
