/* What is kept of a request line, for the log of requests that are refused. Thread: any. */
#ifndef ZD_HTTP_GUARD_LINE_H
#define ZD_HTTP_GUARD_LINE_H

#include <stddef.h>
#include <stdint.h>

#define ZD_GUARD_LINE_BYTES 96

/** Its beginning; zeroed at first. */
struct zd_guard_line {
    uint8_t n;
    char text[ZD_GUARD_LINE_BYTES]; /* n bytes: method, space and target */
};

/** What was seen of it; "-" where there is nothing. */
struct zd_guard_words {
    char method[ZD_GUARD_LINE_BYTES + 1];
    char target[ZD_GUARD_LINE_BYTES + 1];
};

/** The next bytes of the line; those for which there is no room are left out. */
void zd_guard_line_keep(struct zd_guard_line *line, const uint8_t *bytes, size_t len);

void zd_guard_line_split(const struct zd_guard_line *line, struct zd_guard_words *ret_words);

#endif
