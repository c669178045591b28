/* Facts about server/glob. */
#include "server/http/glob.h"

#include <string.h>

#include "tests/support/unit.h"

static const struct glob_fact {
    const char *pattern;
    const char *path;
    bool matches;
} glob_facts[] = {
    {"", "", true},
    {"", "a", false},
    {"a", "a", true},
    {"a", "", false},
    {"a", "ab", false},
    {"ab", "a", false},
    {"*", "", true},
    {"*", "abc", true},
    {"*", "a/b", false}, /* not over a slash */
    {"a*", "a", true},
    {"a*c", "abbc", true},
    {"a*c", "abcd", false},
    {"*a*b", "xxaxxbxxb", true},
    {"*/b", "a/b", true},
    {"*/b", "a/x/b", false},
    {"a/*", "a/b", true},
    {"a/*", "a", false},
    {"?", "a", true},
    {"?", "", false},
    {"?", "/", false},
    {"a?c", "abc", true},
    {"?", "\xc3\xa9", true}, /* one character of two bytes */
    {"??", "\xc3\xa9", false},
    {"**", "", true},
    {"**", "a/b/c", true},
    {"**/x", "x", true}, /* no segment at all */
    {"**/x", "a/x", true},
    {"**/x", "a/b/x", true},
    {"**/x", "a/bx", false}, /* whole segments only */
    {"a/**/x", "a/x", true},
    {"a/**/x", "a/b/c/x", true},
    {"a/**/x", "b/x", false},
    {"a/**", "a/b/c", true},
    {"a/**", "a", false},
    {"a**c", "ab/bc", true},
    {"**/air*", "level1/air_temp", true},
    {"**/*b/c", "x/ab/c", true},
    {"**/*b/c", "x/ab/d/bb/c", true},
    {"**/*b/c", "x/ab/d", false},
    {"**/a/**/b", "x/a/y/a/b", true},
    {"[a]", "a", false}, /* brackets mean themselves */
    {"\\*", "*", false},
};

START_TEST(glob_matches_whole_paths)
{
    const struct glob_fact *fact = &glob_facts[_i];
    ck_assert_msg(zd_glob_matches(fact->pattern, fact->path) == fact->matches, "%s on %s",
        fact->pattern, fact->path);
}
END_TEST

/* The obvious definition, to compare with. `?` and bytes are the same here. */
static bool slow_matches(const char *pattern, const char *path)
{
    if (pattern[0] == '\0') {
        return path[0] == '\0';
    }
    if (pattern[0] == '*' && pattern[1] == '*') {
        for (const char *at = path;; at++) {
            if (slow_matches(pattern + 2, at)) {
                return true;
            }
            if (*at == '\0') {
                return false;
            }
        }
    }
    if (pattern[0] == '*') {
        for (const char *at = path;; at++) {
            if (slow_matches(pattern + 1, at)) {
                return true;
            }
            if (*at == '\0' || *at == '/') {
                return false;
            }
        }
    }
    const bool is_one = pattern[0] == '?' ? path[0] != '/' : pattern[0] == path[0];
    return path[0] != '\0' && is_one && slow_matches(pattern + 1, path + 1);
}

static void random_text(const char *alphabet, size_t len_max, char *to)
{
    const size_t len = zd_unit_random() % (len_max + 1);
    for (size_t i = 0; i < len; i++) {
        to[i] = alphabet[zd_unit_random() % strlen(alphabet)];
    }
    to[len] = '\0';
}

START_TEST(glob_agrees_with_its_definition)
{
    for (int i = 0; i < 200000; i++) {
        char pattern[9];
        char path[11];
        random_text("ab/*?", 8, pattern);
        random_text("ab/", 10, path);
        /* A segment "**" may also stand for nothing, which the slow one does not know; three
         * stars are two. */
        if (strstr(pattern, "**/") != NULL || strstr(pattern, "***") != NULL) {
            continue;
        }
        ck_assert_msg(zd_glob_matches(pattern, path) == slow_matches(pattern, path), "%s on %s",
            pattern, path);
    }
}
END_TEST

START_TEST(glob_of_many_stars_ends)
{
    char pattern[1001];
    char path[1001];
    for (int i = 0; i < 1000; i++) {
        pattern[i] = i % 2 == 0 ? '*' : 'a';
        path[i] = 'a';
    }
    pattern[999] = 'b';
    pattern[1000] = '\0';
    path[1000] = '\0';
    ck_assert(!zd_glob_matches(pattern, path));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, glob_matches_whole_paths, 0, ZD_COUNT_OF(glob_facts));
    tcase_add_test(tests, glob_agrees_with_its_definition);
    tcase_add_test(tests, glob_of_many_stars_ends);
}
