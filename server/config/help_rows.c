/* Rows of --help, wrapped to the width of a terminal. */
#include "server/config/help_rows.h"

#include <string.h>

#define MARGIN_CHARS 2
#define NAME_CHARS   28

/* The length of the words that fit in one line: at least one word. */
static size_t line_len(const char *words, size_t most)
{
    const size_t len = strlen(words);
    size_t fits = most;
    if (len <= most) {
        return len;
    }
    while (fits > 0 && words[fits] != ' ') {
        fits--;
    }
    return fits > 0 ? fits : strcspn(words, " ");
}

void zd_help_row_add(struct zd_text *text, const char *name, const char *meaning)
{
    const int indent = MARGIN_CHARS + NAME_CHARS;
    if (strlen(name) < NAME_CHARS) {
        zd_text_addf(text, "  %-*s", NAME_CHARS, name);
    } else {
        zd_text_addf(text, "  %s\n%*s", name, indent, "");
    }
    for (const char *at = meaning; *at != '\0';) {
        const size_t len = line_len(at, ZD_HELP_ROW_CHARS - (size_t)indent);
        zd_text_addf(text, "%.*s\n", (int)len, at);
        at += len + strspn(at + len, " ");
        zd_text_addf(text, "%*s", *at == '\0' ? 0 : indent, "");
    }
}
