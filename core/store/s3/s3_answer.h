/* The meaning of S3 answers. Thread: any. */
#ifndef ZD_CORE_STORE_S3_S3_ANSWER_H
#define ZD_CORE_STORE_S3_S3_ANSWER_H

#include "core/store/s3/s3_access.h"

/**
 * Judge the end of a call for an object. Only the code NoSuchKey is absence: 404 is also what
 * some stores answer to a bucket or a key of access that they do not know.
 *
 * @param name of the object, for the text
 * @retval ZD_OK           it was a success
 * @retval ZD_NOT_FOUND    there is no such object
 * @retval ZD_NOT_MODIFIED, ZD_PRECONDITION the condition of the request does not hold
 * @retval ZD_NO_SPACE, ZD_STORE, ZD_TIMEOUT, ...  err and fault are set
 */
ZD_RESULT zd_s3_answer_judge(const struct zd_s3_call *call, const char *name, struct zd_error *err,
    struct zd_remote_fault *fault);

/**
 * The same of an error that an answer 200 tells of one of many objects.
 *
 * @param code "" = it has none
 * @retval ZD_NOT_FOUND, ZD_PRECONDITION, ZD_STORE
 */
ZD_RESULT zd_s3_answer_judge_code(
    const char *code, const char *name, struct zd_error *err, struct zd_remote_fault *fault);

/** An answer breaks the rules: ZD_STORE. */
ZD_RESULT zd_s3_answer_fail(
    struct zd_error *err, struct zd_remote_fault *fault, const char *name, const char *what);

#endif
