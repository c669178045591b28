/* Text of clients as logs may show it. */
#include "server/http/redact.h"

#include <ctype.h>
#include <string.h>

#include "core/base/num.h"
#include "server/http/escape.h"

#define NAME_BYTES     48 /* of a name without separators; a longer one is none */
#define SECRET_LEN_MIN 4
#define SHAPE_LEN_MIN  32 /* 16 bytes in hexadecimal */
#define JWT_LEN_MIN    16
#define PLAIN_LEN_MAX  7  /* of a segment below one that may be the name of an array */
#define DECODINGS_MAX  3  /* proxies may have encoded a target again */
#define INDEX_BYTES    16 /* of the brackets behind a name; longer ones are none */
#define HIDDEN_MAX     16 /* places of a text; behind them all is hidden: each costs a search */

/* How a byte ends what is before it. */
enum { ENDS_WORD = 1, ENDS_VALUE = 2 };

static const uint8_t ends[UINT8_MAX + 1] = {
    [' '] = ENDS_WORD | ENDS_VALUE,
    ['\t'] = ENDS_WORD | ENDS_VALUE,
    ['\r'] = ENDS_WORD | ENDS_VALUE,
    ['\n'] = ENDS_WORD | ENDS_VALUE,
    ['&'] = ENDS_WORD | ENDS_VALUE,
    [';'] = ENDS_WORD | ENDS_VALUE,
    ['#'] = ENDS_WORD | ENDS_VALUE,
    ['"'] = ENDS_WORD | ENDS_VALUE,
    ['\''] = ENDS_WORD | ENDS_VALUE,
    ['`'] = ENDS_WORD | ENDS_VALUE,
    ['<'] = ENDS_WORD | ENDS_VALUE,
    ['>'] = ENDS_WORD | ENDS_VALUE,
    ['/'] = ENDS_WORD,
    ['?'] = ENDS_WORD,
    ['='] = ENDS_WORD,
    ['@'] = ENDS_WORD,
    [','] = ENDS_WORD,
    [':'] = ENDS_WORD,
    ['('] = ENDS_WORD,
    [')'] = ENDS_WORD,
    ['['] = ENDS_WORD,
    [']'] = ENDS_WORD,
    ['{'] = ENDS_WORD,
    ['}'] = ENDS_WORD,
    ['|'] = ENDS_WORD,
    ['\\'] = ENDS_WORD,
};

/* A text on its way to the log. */
struct scan {
    struct zd_span text;
    struct zd_text *secrets; /* NULL: none is kept */
    struct zd_text *to;      /* NULL: whether there is a secret is all that is asked */
    size_t shown;            /* bytes of the text that were dealt with */
    size_t n_hidden;         /* places */
    size_t n_decodings;      /* of its words, at most */
    bool is_target;          /* its first word is the first segment of a path */
    bool hides;
};

static struct zd_span part(struct zd_span text, size_t from, size_t to)
{
    return (struct zd_span){.ptr = text.ptr + from, .len = to - from};
}

/* @param what ends it: ENDS_WORD or ENDS_VALUE */
static size_t end_of(struct zd_span text, size_t at, uint8_t what)
{
    while (at < text.len && (ends[text.ptr[at]] & what) == 0) {
        at++;
    }
    return at;
}

/* ---- shapes ---- */

enum kind { NEITHER, LOWER, UPPER, DIGIT };

static enum kind kind_of(uint8_t c)
{
    return islower(c) != 0 ? LOWER : isupper(c) != 0 ? UPPER : isdigit(c) != 0 ? DIGIT : NEITHER;
}

static bool is_of_run(uint8_t c)
{
    return isalnum(c) != 0 || c == '-' || c == '_' || c == '~' || c == '+';
}

/* 8-4-4-4-12 digits: the name of many a data set. */
static bool is_uuid(struct zd_span run)
{
    for (size_t i = 0; i < run.len; i++) {
        const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? run.ptr[i] != '-' : isxdigit(run.ptr[i]) == 0) {
            return false;
        }
    }
    return run.len == 36;
}

/* Names change between letters and digits now and then, random characters all the time. */
static bool is_random(struct zd_span run)
{
    enum kind last = NEITHER;
    size_t n_changes = 0;
    uint32_t kinds = 0;
    for (size_t i = 0; i < run.len; i++) {
        const enum kind kind = kind_of(run.ptr[i]);
        n_changes += kind != NEITHER && last != NEITHER && kind != last;
        last = kind == NEITHER ? last : kind;
        kinds |= 1U << kind;
    }
    const bool is_mixed = (kinds & 1U << LOWER) != 0 && (kinds & 1U << UPPER) != 0;
    const bool is_one_case = (kinds & 1U << NEITHER) == 0 && !is_mixed;
    return n_changes >= run.len / (is_one_case ? 8 : 4) && !is_uuid(run);
}

static bool has_shape(struct zd_span word)
{
    /* RFC 7519: the head of a JWT is a JSON object, and {" is eyJ. */
    if (word.len >= JWT_LEN_MIN && memcmp(word.ptr, "eyJ", 3) == 0) {
        return true;
    }
    for (size_t begin = 0, at = 0; at <= word.len; at++) {
        if (at < word.len && is_of_run(word.ptr[at])) {
            continue;
        }
        if (at - begin >= SHAPE_LEN_MIN && is_random(part(word, begin, at))) {
            return true;
        }
        begin = at + 1;
    }
    return false;
}

/* ---- names ---- */

/* Decoded once; false: nothing was encoded. Whatever is no escape stays. */
static bool decode(struct zd_span text, struct zd_text *to)
{
    bool was_encoded = false;
    zd_text_clear(to);
    for (size_t at = 0; at < text.len;) {
        const size_t before = at;
        const int byte = zd_escape_percent_next(text.ptr, text.len, &at);
        at = byte < 0 ? before + 1 : at;
        was_encoded = was_encoded || (byte >= 0 && text.ptr[before] == '%');
        zd_text_add_char(to, (char)(byte < 0 ? '%' : byte));
    }
    return was_encoded;
}

static bool is_encoded(struct zd_span word)
{
    return word.len > 0 && memchr(word.ptr, '%', word.len) != NULL;
}

/* In lower case, without what separates words. @return false: it is too long for a name */
static bool read_plain_name(struct zd_span word, char to[NAME_BYTES])
{
    size_t len = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (isalnum(word.ptr[i]) != 0) {
            if (len + 1 >= NAME_BYTES) {
                return false;
            }
            to[len++] = (char)tolower(word.ptr[i]);
        }
    }
    to[len] = '\0';
    return true;
}

/* The same of one that may be encoded, again and again. */
static bool read_name(struct zd_span word, char to[NAME_BYTES])
{
    if (!is_encoded(word)) {
        return read_plain_name(word, to);
    }
    ZD_SCOPED_TEXT(now, word.len);
    ZD_SCOPED_TEXT(next, word.len);
    zd_text_add_bytes(&now, word.ptr, word.len);
    for (size_t i = 0; i < DECODINGS_MAX && decode(zd_text_span(&now), &next); i++) {
        const struct zd_text other = now;
        now = next;
        next = other;
    }
    return read_plain_name(zd_text_span(&now), to);
}

static bool is_listed(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* Before a slash: `/t/TOKEN`. */
static bool names_segment(struct zd_span word)
{
    static const char *const names[] = {"t", "token", "tokens", "accesstoken", "authtoken",
        "bearer", "auth", "authorization", "apikey", "jwt", "password", "secret", "signature",
        "sig", NULL};
    char name[NAME_BYTES];
    if (isalnum(word.ptr[0]) != 0 && strchr("tabjps", tolower(word.ptr[0])) == NULL) {
        return false; /* most segments end here */
    }
    return read_name(word, name) && is_listed(name, names);
}

/* Before an equals sign: `?access_token=TOKEN`. */
static bool names_value(struct zd_span word, bool is_parameter)
{
    static const char *const names[] = {
        "t", "sig", "key", "pass", "pwd", "sid", "session", "sessionid", "code", NULL};
    static const char *const parts[] = {"tok", "secret", "passw", "signature", "credential",
        "apikey", "accesskey", "jwt", "bearer", "auth", NULL};
    char name[NAME_BYTES];
    if (!read_name(word, name)) {
        return true; /* no parameter has such a name */
    }
    for (const char *const *at = parts; *at != NULL; at++) {
        if (strstr(name, *at) != NULL) {
            return true;
        }
    }
    return is_parameter && is_listed(name, names);
}

/* The scheme of a credential (RFC 6750, 2.1); a form may have a plus for the space. */
static bool is_scheme(struct zd_span word)
{
    static const char name[] = "bearer";
    const size_t len = sizeof name - 1;
    return word.len >= len && strncasecmp((const char *)word.ptr, name, len) == 0 &&
           (word.len == len || word.ptr[len] == '+');
}

/* A word that may well follow an array that is called like a credential: `/era/t/c/0/0`. */
static bool is_plain(struct zd_span word)
{
    size_t n = 0;
    while (n < word.len && word.ptr[n] != '\0' && strchr("0123456789.-c", word.ptr[n]) != NULL) {
        n++;
    }
    return word.len <= PLAIN_LEN_MAX || n == word.len || word.ptr[0] == '.' ||
           zd_span_is(word, "zarr.json");
}

/* ---- what is hidden ---- */

static bool has_secrets(struct zd_span text, size_t n_decodings);

/* Whether a word is a secret once it is decoded, or holds a target that has one. Words of that
 * target are decoded less often: a client that encodes without end gets no deeper.
 * @param n_decodings at most */
static bool is_secret(struct zd_span word, size_t n_decodings)
{
    if (has_shape(word) || (is_scheme(word) && memchr(word.ptr, '+', word.len) != NULL)) {
        return true;
    }
    if (!is_encoded(word)) {
        return false;
    }
    ZD_SCOPED_TEXT(now, word.len);
    ZD_SCOPED_TEXT(next, word.len);
    bool goes_on = decode(word, &now);
    for (size_t left = n_decodings; left > 0 && goes_on; left--) {
        if (now.status != ZD_OK || has_secrets(zd_text_span(&now), left - 1)) {
            return true;
        }
        goes_on = decode(zd_text_span(&now), &next);
        const struct zd_text other = now;
        now = next;
        next = other;
    }
    return goes_on; /* nobody encodes so often without a reason */
}

/* Keeps a secret as it was sent, and decoded. */
static void know(struct zd_text *secrets, struct zd_span secret)
{
    ZD_SCOPED_TEXT(decoded, secret.len);
    if (decode(secret, &decoded)) {
        zd_redact_know(secrets, zd_text_span(&decoded));
    }
    zd_redact_know(secrets, secret);
}

static void hide(struct scan *scan, size_t from, size_t to)
{
    scan->hides = true;
    if (scan->to == NULL || from < scan->shown) {
        return;
    }
    if (scan->n_hidden++ == HIDDEN_MAX) {
        to = scan->text.len;
    } else if (scan->secrets != NULL) {
        know(scan->secrets, part(scan->text, from, to));
    }
    zd_text_add_bytes(scan->to, scan->text.ptr + scan->shown, from - scan->shown);
    zd_text_add(scan->to, ZD_REDACT_MARK);
    scan->shown = to;
}

/* The user of an absolute target, or of one that looks like it. @return where the path begins */
static size_t scan_authority(struct scan *scan)
{
    const struct zd_span text = scan->text;
    size_t begin = 0;
    while (begin < text.len && isalpha(text.ptr[begin]) != 0) {
        begin++;
    }
    begin += begin < text.len && text.ptr[begin] == ':' ? 1 : 0;
    if (text.len < begin + 2 || memcmp(text.ptr + begin, "//", 2) != 0) {
        return 0;
    }
    size_t end = begin + 2;
    while (end < text.len && strchr("/?#", text.ptr[end]) == NULL) {
        end++;
    }
    const uint8_t *user = memrchr(text.ptr + begin + 2, '@', end - begin - 2);
    if (user != NULL) {
        const size_t host = (size_t)(user - text.ptr) + 1;
        hide(scan, begin + 2, host - 1);
        if (is_secret(part(text, host, end), scan->n_decodings)) {
            hide(scan, host, end);
        }
        return end;
    }
    if (begin > 0 && end == text.len && end > begin + 2) {
        hide(scan, begin + 2, end); /* the target may be cut off before its '@' */
        return end;
    }
    return begin == 0 ? 0 : begin + 2;
}

/* Whether the word behind a name is a secret. */
enum next { NOTHING, MAY_BE_SECRET, IS_SECRET };

static enum next judge_name(const struct scan *scan, size_t from, size_t to, bool is_first)
{
    const struct zd_span word = part(scan->text, from, to);
    if (to < scan->text.len && scan->text.ptr[to] == ' ' && is_scheme(word)) {
        return IS_SECRET;
    }
    if (to == scan->text.len || scan->text.ptr[to] != '/' || !names_segment(word)) {
        return NOTHING;
    }
    return is_first && scan->is_target ? IS_SECRET : MAY_BE_SECRET;
}

/* Behind the brackets that a name may have: `token[0]=`. */
static size_t skip_brackets(struct zd_span text, size_t at)
{
    const size_t end = zd_min_u64(text.len, at + INDEX_BYTES);
    while (at < end && text.ptr[at] != '\0' && strchr("[](){}\\0123456789", text.ptr[at]) != NULL) {
        at++;
    }
    return at;
}

/* A value has all up to the next parameter, and up to the next space behind a scheme. */
static size_t end_of_value(struct zd_span text, size_t from)
{
    const size_t end = end_of(text, from, ENDS_VALUE);
    return end < text.len && text.ptr[end] == ' ' && is_scheme(part(text, from, end))
               ? end_of(text, end + 1, ENDS_VALUE)
               : end;
}

/* @return where the value ends, or `to` */
static size_t scan_value(struct scan *scan, size_t from, size_t to)
{
    const struct zd_span text = scan->text;
    const struct zd_span name = part(text, from, to);
    const size_t at = skip_brackets(text, to);
    const bool has_value = at < text.len && (text.ptr[at] == '=' || text.ptr[at] == ':');
    const bool is_parameter =
        from > 0 && ((ends[text.ptr[from - 1]] & ENDS_VALUE) != 0 || text.ptr[from - 1] == '?');
    if (!has_value || !names_value(name, is_parameter && text.ptr[at] == '=')) {
        return to;
    }
    const size_t end = end_of_value(text, at + 1);
    if (end > at + 1) {
        hide(scan, at + 1, end);
    }
    return end;
}

/* An excerpt of a body, which a parser cuts anywhere: no shape shows in it. @return where it ends,
 * or `to` */
static size_t scan_excerpt(struct scan *scan, size_t from, size_t to)
{
    const struct zd_span text = scan->text;
    const size_t begin = to + 2; /* behind the quote */
    if (scan->is_target || !zd_span_is(part(text, from, to), "near") || begin >= text.len ||
        text.ptr[to + 1] != '\'') {
        return to;
    }
    const uint8_t *quote = memrchr(text.ptr + begin, '\'', text.len - begin);
    const size_t end = quote == NULL ? text.len : (size_t)(quote - text.ptr);
    hide(scan, begin, end);
    return end;
}

static void scan_words(struct scan *scan)
{
    const struct zd_span text = scan->text;
    enum next next = NOTHING;
    bool is_first = true;
    size_t at = scan->is_target ? scan_authority(scan) : 0;
    while (at < text.len && scan->shown < text.len && (scan->to != NULL || !scan->hides)) {
        const size_t from = at;
        const size_t to = end_of(text, from, ENDS_WORD);
        if (to == from) {
            at++;
            continue;
        }
        const struct zd_span word = part(text, from, to);
        if (next == IS_SECRET || (next == MAY_BE_SECRET && !is_plain(word)) ||
            is_secret(word, scan->n_decodings)) {
            hide(scan, from, to);
        }
        next = judge_name(scan, from, to, is_first);
        is_first = false;
        at = scan_excerpt(scan, from, scan_value(scan, from, to));
    }
}

static bool has_secrets(struct zd_span text, size_t n_decodings)
{
    struct scan scan = {.text = text, .n_decodings = n_decodings, .is_target = true};
    scan_words(&scan);
    return scan.hides;
}

/* ---- what is known ---- */

void zd_redact_know(struct zd_text *secrets, struct zd_span secret)
{
    if (secret.len >= SECRET_LEN_MIN && memchr(secret.ptr, '\0', secret.len) == NULL) {
        zd_text_add_bytes(secrets, secret.ptr, secret.len);
        zd_text_add_char(secrets, '\0');
    }
}

static struct zd_span next_secret(const struct zd_text *secrets, size_t *at)
{
    const char *from = secrets->at + *at;
    const size_t len = *at < secrets->len ? strlen(from) : 0;
    *at += len + 1;
    return (struct zd_span){.ptr = (const uint8_t *)from, .len = len};
}

/* The longest secret that stands at a place; 0: none does. */
static size_t known_len(const struct zd_text *secrets, struct zd_span text)
{
    size_t longest = 0;
    for (size_t at = 0; at < secrets->len;) {
        const struct zd_span secret = next_secret(secrets, &at);
        if (secret.len > longest && secret.len <= text.len &&
            memcmp(secret.ptr, text.ptr, secret.len) == 0) {
            longest = secret.len;
        }
    }
    return longest;
}

static bool has_known(const struct zd_text *secrets, struct zd_span text)
{
    for (size_t at = 0; at < secrets->len;) {
        const struct zd_span secret = next_secret(secrets, &at);
        if (text.len > 0 && memmem(text.ptr, text.len, secret.ptr, secret.len) != NULL) {
            return true;
        }
    }
    return false;
}

static void hide_known(const struct zd_text *secrets, struct zd_span text, struct zd_text *to)
{
    for (size_t at = 0; at < text.len;) {
        const size_t len = known_len(secrets, part(text, at, text.len));
        if (len > 0) {
            zd_text_add(to, ZD_REDACT_MARK);
            at += len;
        } else {
            zd_text_add_char(to, (char)text.ptr[at++]);
        }
    }
}

static bool redact(struct scan *scan, struct zd_text *to)
{
    zd_text_clear(to);
    scan_words(scan);
    if (scan->hides) {
        zd_text_add_bytes(to, scan->text.ptr + scan->shown, scan->text.len - scan->shown);
    }
    const struct zd_span left = scan->hides ? zd_text_span(to) : scan->text;
    if (scan->secrets->status != ZD_OK) {
        scan->hides = true; /* secrets that are not known may stand in it */
    } else if (has_known(scan->secrets, left)) {
        ZD_SCOPED_TEXT(rest, to->len_max);
        hide_known(scan->secrets, left, &rest);
        zd_text_clear(to);
        zd_text_add_bytes(to, rest.at, rest.len);
        to->status = rest.status == ZD_OK ? to->status : rest.status;
        scan->hides = true;
    }
    if (scan->hides && (to->status != ZD_OK || scan->secrets->status != ZD_OK)) {
        zd_text_clear(to); /* rather nothing than half of it */
    }
    return scan->hides;
}

bool zd_redact_target(const char *target, struct zd_text *secrets, struct zd_text *to)
{
    struct scan scan = {.text = zd_span_of(target),
        .secrets = secrets,
        .to = to,
        .n_decodings = DECODINGS_MAX,
        .is_target = true};
    return redact(&scan, to);
}

bool zd_redact_text(const char *text, struct zd_text *secrets, struct zd_text *to)
{
    struct scan scan = {
        .text = zd_span_of(text), .secrets = secrets, .to = to, .n_decodings = DECODINGS_MAX};
    return redact(&scan, to);
}

const char *zd_redact_word(const char *word)
{
    return has_shape(zd_span_of(word)) ? ZD_REDACT_MARK : word;
}
