/* The start of a request line, kept for the log of refused requests. */
#include "server/http/guard_line.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"

void zd_guard_line_keep(struct zd_guard_line *line, const uint8_t *bytes, size_t len)
{
    const size_t n = zd_min_u64(len, sizeof line->text - line->n);
    memcpy(line->text + line->n, bytes, n);
    line->n = (uint8_t)(line->n + n);
}

static void copy_word(char to[ZD_GUARD_LINE_BYTES + 1], const char *word, size_t len)
{
    (void)snprintf(
        to, ZD_GUARD_LINE_BYTES + 1, "%.*s", len == 0 ? 1 : (int)len, len == 0 ? "-" : word);
}

void zd_guard_line_split(const struct zd_guard_line *line, struct zd_guard_words *ret_words)
{
    const size_t n = line->n;
    const char *space = memchr(line->text, ' ', n);
    const size_t method_len = space == NULL ? n : (size_t)(space - line->text);
    const size_t target_at = space == NULL ? n : method_len + 1;
    const char *end = memchr(line->text + target_at, ' ', n - target_at);
    const size_t target_len = (end == NULL ? n : (size_t)(end - line->text)) - target_at;
    copy_word(ret_words->method, line->text, method_len);
    copy_word(ret_words->target, line->text + target_at, target_len);
}
