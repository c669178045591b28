/* Entity tags (RFC 9110, 8.8.3) of stored objects and nodes, and of answers made from them. Pure.
 * Thread: any. */
#ifndef ZD_DATA_TAG_H
#define ZD_DATA_TAG_H

#include "core/dialect/meta.h"
#include "core/store/contract/store.h"
#include "server/http/compress.h"
#include "server/http/conditions.h"

#define ZD_TAG_BYTES 72

/** `"<16 hex>-<suffix>"`: never 32 hex digits, which clients take for the MD5 of the bytes. */
void zd_tag_format(char to[ZD_TAG_BYTES], uint64_t hash, const char *suffix);

/** The tag of a stored object, as it is stored. */
void zd_tag_object(char to[ZD_TAG_BYTES], const struct zd_stat *stat);

/** The tag of the same representation in a coding: `"<hash>-<suffix>-gzip"`; "" stays "". */
void zd_tag_code(char to[ZD_TAG_BYTES], const char *etag, enum zd_coding coding);

/**
 * Judge the conditions of a request that changes something (RFC 9110, 13). The tag of the
 * representation in any coding counts.
 *
 * @param etag quoted; NULL: nothing is there
 * @return ZD_OK go on; ZD_PRECONDITION
 */
enum zd_status zd_tag_judge_write(
    const struct zd_conditions *conditions, const char *etag, int64_t mtime_ms);

/** The number that stands for a node in tags: of its documents' generations, n of them in the
 * dialect's order. */
uint64_t zd_tag_documents(const struct zd_stat *stat, uint32_t n);

/** The tag of a node that is known by that number alone: of an array as GET answers it, of a group
 * as GET answers `?fields=metadata`, without its children. */
void zd_tag_node(char to[ZD_TAG_BYTES], enum zd_node_type type, uint64_t documents);

#endif
