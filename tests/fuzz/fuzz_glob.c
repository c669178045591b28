/* Patterns: a line of pattern, a line of path. The quick matcher and the definition agree. */
#include <string.h>

#include "server/http/glob.h"
#include "tests/fuzz/input.h"

#define LEN_MAX 40

/* Which rests of the path each rest of the pattern matches. */
struct table {
    const char *pattern;
    const char *path;
    size_t pattern_len;
    size_t path_len;
    bool matches[LEN_MAX + 1][LEN_MAX + 1];
};

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* '*' takes nothing or a byte more, not a slash. */
static bool star_matches(const struct table *table, size_t i, size_t j)
{
    const bool can_grow = j < table->path_len && table->path[j] != '/';
    return table->matches[i + 1][j] || (can_grow && table->matches[i][j + 1]);
}

/* '**' takes anything; as a segment of its own only whole segments, or none. */
static bool any_matches(const struct table *table, size_t i, size_t j)
{
    size_t after = i;
    while (table->pattern[after] == '*') {
        after++;
    }
    const bool is_segment =
        (i == 0 || table->pattern[i - 1] == '/') && table->pattern[after] == '/';
    if (!is_segment) {
        for (size_t k = j; k <= table->path_len; k++) {
            if (table->matches[after][k]) {
                return true;
            }
        }
        return false;
    }
    for (size_t k = j; k <= table->path_len; k++) {
        if ((k == j || table->path[k - 1] == '/') && table->matches[after + 1][k]) {
            return true;
        }
    }
    return false;
}

static bool cell(const struct table *table, size_t i, size_t j)
{
    const char *pattern = table->pattern + i;
    if (pattern[0] == '\0') {
        return j == table->path_len;
    }
    if (pattern[0] == '*' && pattern[1] == '*') {
        return any_matches(table, i, j);
    }
    if (pattern[0] == '*') {
        return star_matches(table, i, j);
    }
    if (j == table->path_len) {
        return false;
    }
    if (pattern[0] == '?' && table->path[j] != '/') {
        size_t next = j + 1;
        while (next < table->path_len && is_continuation(table->path[next])) {
            next++;
        }
        return table->matches[i + 1][next];
    }
    return pattern[0] == table->path[j] && table->matches[i + 1][j + 1];
}

static bool slow_matches(const char *pattern, const char *path)
{
    struct table table = {
        .pattern = pattern, .path = path, .pattern_len = strlen(pattern), .path_len = strlen(path)};
    for (size_t i = table.pattern_len + 1; i-- > 0;) {
        for (size_t j = table.path_len + 1; j-- > 0;) {
            table.matches[i][j] = cell(&table, i, j);
        }
    }
    return table.matches[0][0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    ZD_AUTO_TEXT pattern = zd_fuzz_line(&input);
    ZD_AUTO_TEXT path = zd_fuzz_line(&input);
    const bool matches = zd_glob_matches(pattern, path);
    if (strlen(pattern) <= LEN_MAX && strlen(path) <= LEN_MAX) {
        zd_fuzz_insist(matches == slow_matches(pattern, path));
    }
    return 0;
}
