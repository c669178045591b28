/* The start of a request line, kept for the log of refused requests. Thread: any. */
#ifndef ZD_HTTP_GUARD_LINE_H
#define ZD_HTTP_GUARD_LINE_H

#include <stddef.h>
#include <stdint.h>

#define ZD_GUARD_LINE_BYTES 96

/** The start of a line; zeroed: empty. */
struct zd_guard_line {
    uint8_t n;
    char text[ZD_GUARD_LINE_BYTES]; /* n bytes: method, space and target */
};

/** Its words; "-" for a missing one. */
struct zd_guard_words {
    char method[ZD_GUARD_LINE_BYTES + 1];
    char target[ZD_GUARD_LINE_BYTES + 1];
};

/** Append the next bytes; drop those beyond the room. */
void zd_guard_line_keep(struct zd_guard_line *line, const uint8_t *bytes, size_t len);

void zd_guard_line_split(const struct zd_guard_line *line, struct zd_guard_words *ret_words);

#endif
