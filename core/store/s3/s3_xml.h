/* XML as stores answer it: its elements one after the other, within bounds. Thread: any. */
#ifndef ZD_CORE_STORE_S3_S3_XML_H
#define ZD_CORE_STORE_S3_S3_XML_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/text.h"

#define ZD_S3_XML_DEPTH_MAX      8
#define ZD_S3_XML_PATH_BYTES_MAX 256
#define ZD_S3_XML_TEXT_BYTES_MAX 16384 /* of one element; a session token may be long */
#define ZD_S3_CODE_BYTES_MAX     64    /* of the code of an error */

/* A dot would let a host pass. */
#define ZD_S3_CODE_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/**
 * An element has ended.
 *
 * @param path "ListBucketResult/Contents/Key"
 * @param text what stands in it behind its last child; borrowed
 * @return not ZD_OK: reading ends with that status
 */
typedef ZD_RESULT (*zd_s3_xml_element)(
    void *context, const char *path, struct zd_span text, struct zd_error *err);

/**
 * Read a whole document. Refused: a DOCTYPE and so all entities but the predefined ones, more than
 * ZD_S3_XML_DEPTH_MAX levels, texts and paths beyond their bounds.
 *
 * @param bytes borrowed; their number is bounded by the caller
 * @retval ZD_STORE it is no such document: what a store says is broken
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_s3_xml_read(
    struct zd_span bytes, zd_s3_xml_element element, void *context, struct zd_error *err);

/**
 * The code of an answer that tells an error: "NoSuchKey". Nothing else of it is used: the rest may
 * repeat keys and signatures.
 *
 * @param bytes    borrowed
 * @param ret_code "" where it tells none, or none that is a word
 */
void zd_s3_xml_error(struct zd_span bytes, char ret_code[ZD_S3_CODE_BYTES_MAX + 1]);

/** Add the text of an element. */
void zd_s3_xml_add_escaped(struct zd_text *text, const char *bytes);

#endif
