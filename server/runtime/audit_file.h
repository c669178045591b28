/* The audit file: lines that are in the kernel before what they tell of is acknowledged. Thread:
 * loop.
 *
 * A line is written by one write(2) to the end of the file: no other thread, and no sync. A crash
 * of the process loses none; a power cut may lose those of the last seconds. To wait for the disk
 * would make every change wait once more than for its own data, and block the loop or need a
 * second queue of changes. */
#ifndef ZD_RUNTIME_AUDIT_FILE_H
#define ZD_RUNTIME_AUDIT_FILE_H

#include "core/base/status.h"
#include "core/base/text.h"

struct zd_log;

struct zd_audit_file {
    const char *path;    /* borrowed; NULL: there is none */
    struct zd_log *log;  /* borrowed */
    int fd;              /* -1: it could not be opened again */
    bool is_torn;        /* the last write was cut short: the next one begins a new line */
    bool is_failing;     /* the last write failed, and the log has said so */
    struct zd_text owed; /* lines of what has happened, to be written before any other */
    /* of server/request/access/audit.c: credentials that were refused */
    uint64_t refused_s; /* a second of the loop's time */
    uint64_t n_refused; /* that have a line, in it */
    uint64_t n_omitted; /* that have none; the next line says how many */
};

/** Whether it could be opened, as far as can be known without making it; "" can.
 * @retval ZD_INVALID as zd_audit_file_open. Thread: any; blocks for some calls. */
ZD_RESULT zd_audit_file_judge(const char *path, struct zd_error *err);

/**
 * Open the file, which is made with mode 0600, for appending.
 *
 * @param file zeroed
 * @param path borrowed; "": there is none
 * @retval ZD_INVALID it cannot be opened, or is neither a file nor a device
 */
ZD_RESULT zd_audit_file_open(
    struct zd_audit_file *file, const char *path, struct zd_log *log, struct zd_error *err);

/** Open it anew under its name: the old one was moved away. A failure stays until the next time. */
void zd_audit_file_reopen(struct zd_audit_file *file);

/** Writes what is owed, or has the log say that it is lost. Accepts a zeroed one. */
void zd_audit_file_close(struct zd_audit_file *file);

static inline bool zd_audit_file_is_on(const struct zd_audit_file *file)
{
    return file->path != NULL;
}

/**
 * Write a line of what is about to happen, behind all that is owed.
 *
 * @param line with its line break
 * @retval ZD_STORE the disk is full, or the file was removed: what the line tells of must not
 * happen
 */
ZD_RESULT zd_audit_file_write(
    struct zd_audit_file *file, struct zd_span line, struct zd_error *err);

/** Write a line of what has happened; if that fails it is owed. */
void zd_audit_file_owe(struct zd_audit_file *file, struct zd_span line);

#endif
