/* The permissions of a request: its identity, or the rules for anonymous clients, against its route
 * and dataset. Thread: loop. */
#ifndef ZD_REQUEST_PERMISSION_H
#define ZD_REQUEST_PERMISSION_H

#include "server/data/reader.h"
#include "server/request/request.h"

/** Whether a dataset exists for the client: what it must not see is as if it were not there. */
bool zd_permission_sees(const struct zd_request *req, const struct zd_dataset *dataset);

/** Whether the client learns its name from metrics: who administers the service, of all datasets.
 */
bool zd_permission_names(const struct zd_request *req, const struct zd_dataset *dataset);

/**
 * Judge a request whose route is known.
 *
 * @param dataset that it names; NULL: it names none, or there is none of that name
 * @return the step that refuses it with 401 or 403; NULL: it may go on. Where zd_permission_sees
 *         does not hold, it then finds no dataset
 */
zd_step *zd_permission_judge(const struct zd_request *req, const struct zd_dataset *dataset);

/** Whether the request may reach a path of its dataset and all that is below it, where its route
 * does not say so. If not, zd_permission_refuse_scope is its step. */
bool zd_permission_reaches(const struct zd_request *req, const char *path);

/** Whether the request may read a path of its dataset, where an answer tells of others than its
 * own.
 */
bool zd_permission_reads(const struct zd_request *req, const char *path);

/** The same of the root of a dataset that it sees. */
bool zd_permission_reads_root(const struct zd_request *req, const struct zd_dataset *dataset);

/** zd_permission_reads for look-ups of other nodes. @return valid as long as the request */
struct zd_reader zd_permission_reader(const struct zd_request *req);

/**
 * A node's part of entity tags. The generation of a group's documents tells of changes below it,
 * where it has consolidated metadata. If not all of that may be read, the number is of what the
 * group's document says of itself.
 */
uint64_t zd_permission_tag(const struct zd_request *req, const struct zd_node *node);

/** When its documents were changed; 0: unknown, or they may have been for nodes that may not be
 * read. */
int64_t zd_permission_mtime(const struct zd_request *req, const struct zd_node *node);

/** Whether not all of the dataset may be read: an answer leaves out what zd_permission_reads does
 * not allow, below the request's path or above it, and is the identity's own. */
bool zd_permission_is_limited(const struct zd_request *req, const struct zd_dataset *dataset);

/**
 * Whether the answer to a change may not tell what is stored: the credential may write there and
 * not read. Its client gets no document, value or count, and no fact in a problem. Whether the
 * change is accepted still tells what it has to fit: which nodes exist, and rank, shape, chunks and
 * data type of an array.
 */
bool zd_permission_is_blind(const struct zd_request *req);

/** Whether the answer to a change may not have the facts of a problem: they may be of what is
 * stored, and the request is blind or its node may not be read. */
bool zd_permission_hides_facts(const struct zd_request *req);

/** Whether the request may make the group at a path of its dataset, on the way to its own. */
bool zd_permission_makes(const struct zd_request *req, const char *path);

/** The step of a request whose credential does not allow it: 403, with the scope that would. */
zd_step zd_permission_refuse_scope;

/** Refuse a request that must read a path of its dataset, and may not: 403, with the scope. */
enum zd_next zd_permission_refuse_reading(struct zd_request *req, const char *path);

/** The step of a change that its client could only ask for to learn what is stored: 403, with the
 * scope that reads it. */
zd_step zd_permission_refuse_blind;

/** A change makes a group that the credential does not allow: 403, with the scope that would.
 * @param len of the group's path, which is the first bytes of the request's */
enum zd_next zd_permission_refuse_parent(struct zd_request *req, size_t len);

/** The step of one with several credentials: 400. */
zd_step zd_permission_refuse_several;

/** The step of a request whose credential is not valid, whatever is wrong with it: 401. */
zd_step zd_permission_refuse_credential;

#endif
