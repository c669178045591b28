/* Patterns for paths, matched without recursion: only the last wildcard of each kind is tried
 * again, since an earlier one could not match more. */
#include "server/http/glob.h"

#include <stddef.h>

/** A wildcard that can be made to match more. */
struct retry {
    const char *pattern; /* what follows the wildcard; NULL = there is none */
    const char *path;    /* where the rest was tried last */
};

/** Where the match stands. */
struct match {
    const char *pattern;
    const char *path;
    struct retry star;       /* '*': grows by a byte, not over a slash */
    struct retry any;        /* '**': grows by a byte */
    bool any_is_of_segments; /* a segment of its own: grows by whole segments */
};

static const char *next_character(const char *at)
{
    at++;
    while (((unsigned char)*at & 0xc0) == 0x80) {
        at++;
    }
    return at;
}

/* Takes in a wildcard of the pattern. */
static void begin_wildcard(struct match *match, bool at_segment_start)
{
    if (match->pattern[1] != '*') {
        match->pattern++;
        match->star = (struct retry){.pattern = match->pattern, .path = match->path};
        return;
    }
    while (*match->pattern == '*') {
        match->pattern++;
    }
    match->any_is_of_segments = at_segment_start && *match->pattern == '/';
    if (match->any_is_of_segments) {
        match->pattern++;
    }
    match->any = (struct retry){.pattern = match->pattern, .path = match->path};
    match->star.pattern = NULL;
}

/* Makes the last wildcard match more; false when none can. */
static bool retry(struct match *match)
{
    if (match->star.pattern != NULL && *match->star.path != '\0' && *match->star.path != '/') {
        match->star.path++;
        match->pattern = match->star.pattern;
        match->path = match->star.path;
        return true;
    }
    if (match->any.pattern == NULL || *match->any.path == '\0') {
        return false;
    }
    match->any.path++;
    while (match->any_is_of_segments && match->any.path[-1] != '/') {
        if (*match->any.path == '\0') {
            return false;
        }
        match->any.path++;
    }
    match->pattern = match->any.pattern;
    match->path = match->any.path;
    match->star.pattern = NULL;
    return true;
}

bool zd_glob_matches(const char *pattern, const char *path)
{
    struct match match = {.pattern = pattern, .path = path};
    while (true) {
        if (*match.pattern == '*') {
            begin_wildcard(&match, match.pattern == pattern || match.pattern[-1] == '/');
        } else if (*match.pattern == '\0' && *match.path == '\0') {
            return true;
        } else if (*match.pattern == '?' && *match.path != '\0' && *match.path != '/') {
            match.pattern++;
            match.path = next_character(match.path);
        } else if (*match.pattern != '\0' && *match.pattern == *match.path) {
            match.pattern++;
            match.path++;
        } else if (!retry(&match)) {
            return false;
        }
    }
}
