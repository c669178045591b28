/* The tokens of access.tokens_file.
 *
 *     slot[] --> entry[]: digest, identity <-- by_name[]
 *
 * A place is chosen by the first bytes of the digest, and by those that follow when it is taken.
 * Every look-up compares as many entries as the longest way to one has, in constant time. */
#include "server/request/access/tokens.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/json_grammar.h"
#include "core/base/num.h"
#include "core/base/own.h"
#include "core/base/text.h"
#include "core/base/secret_file.h"
#include "server/request/identity.h"
#include "server/request/access/token_entry.h"

#define OPTION          "access.tokens_file"
#define FILE_BYTES_MAX  (UINT64_C(128) << 20)
#define FILE_DEPTH_MAX  8
#define ENTRY_BYTES_MIN (ZD_DIGEST_CHARS + 2) /* of an entry: the digest and its quotes */
#define ENTRY_BYTES_MAX (UINT64_C(4) << 20)
#define ENTRY_NODES_MAX 8192
#define SLOTS_EACH      4 /* places of an entry: few are taken */

struct zd_tokens {
    struct zd_token_entry *entry; /* n_entries + 1 of them; the first is none, without an
                                     identity; owned */
    size_t n_entries;
    uint32_t *slot; /* n_slots, a power of two, of numbers of entries; 0: free; owned */
    size_t n_slots;
    size_t n_probes;                       /* of the longest way to an entry, at least 1 */
    const struct zd_token_entry **by_name; /* n_entries, in the order of their names; owned */
};

/* ---- the table ---- */

static uint64_t place_of(const struct zd_tokens *tokens, const uint8_t *digest, size_t probe)
{
    return (zd_load_u64(digest) + probe) & (tokens->n_slots - 1);
}

static size_t slots_for(size_t n_entries)
{
    size_t n = 1;
    while (n < n_entries * SLOTS_EACH) {
        n *= 2;
    }
    return n;
}

/* @return false: another entry has the same digest */
static bool put(struct zd_tokens *tokens, uint32_t number)
{
    const uint8_t *digest = tokens->entry[number].digest;
    size_t probe = 0;
    uint32_t *slot = &tokens->slot[place_of(tokens, digest, probe)];
    while (*slot != 0) {
        if (zd_digest_is_same(tokens->entry[*slot].digest, digest)) {
            return false;
        }
        slot = &tokens->slot[place_of(tokens, digest, ++probe)];
    }
    *slot = number;
    tokens->n_probes = (size_t)zd_max_u64(tokens->n_probes, probe + 1);
    return true;
}

static struct zd_identity *find(const struct zd_tokens *tokens, const uint8_t *digest)
{
    struct zd_identity *found = NULL;
    for (size_t probe = 0; probe < tokens->n_probes; probe++) {
        const uint32_t number = tokens->slot[place_of(tokens, digest, probe)];
        const struct zd_token_entry *entry = &tokens->entry[number];
        found = zd_digest_is_same(entry->digest, digest) ? entry->identity : found;
    }
    return found;
}

struct zd_identity *zd_tokens_find(const struct zd_tokens *tokens, struct zd_span token)
{
    uint8_t digest[ZD_DIGEST_BYTES];
    if (zd_digest_of(token, digest) != ZD_OK || tokens == NULL) {
        return NULL;
    }
    return find(tokens, digest);
}

size_t zd_tokens_count(const struct zd_tokens *tokens)
{
    return tokens == NULL ? 0 : tokens->n_entries;
}

size_t zd_tokens_probes(const struct zd_tokens *tokens)
{
    return tokens->n_probes;
}

void zd_tokens_free(struct zd_tokens *tokens)
{
    if (tokens == NULL) {
        return;
    }
    for (size_t i = 0; tokens->entry != NULL && i <= tokens->n_entries; i++) {
        zd_identity_unref(tokens->entry[i].identity);
    }
    zd_free(tokens->entry);
    zd_free(tokens->slot);
    zd_free(tokens->by_name);
    zd_free(tokens);
}

/* ---- names ---- */

static int compare_names(const void *a, const void *b)
{
    const struct zd_token_entry *const *first = a;
    const struct zd_token_entry *const *second = b;
    return strcmp((*first)->identity->name, (*second)->identity->name);
}

static enum zd_status sort_names(struct zd_tokens *tokens)
{
    tokens->by_name = zd_alloc_zero(tokens->n_entries + 1, sizeof *tokens->by_name);
    if (tokens->by_name == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = 0; i < tokens->n_entries; i++) {
        tokens->by_name[i] = &tokens->entry[i + 1];
    }
    qsort(tokens->by_name, tokens->n_entries, sizeof *tokens->by_name, compare_names);
    return ZD_OK;
}

static bool has_name(const struct zd_tokens *tokens, size_t i, struct zd_span name)
{
    return i < tokens->n_entries && zd_span_is(name, tokens->by_name[i]->identity->name);
}

const struct zd_token_entry *zd_tokens_find_name(
    const struct zd_tokens *tokens, struct zd_span name)
{
    size_t from = 0; /* entries before it have lesser names */
    size_t to = zd_tokens_count(tokens);
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const char *held = tokens->by_name[middle]->identity->name;
        const size_t len = strlen(held);
        const size_t both = (size_t)zd_min_u64(len, name.len);
        const int order = memcmp(held, name.ptr, both);
        if (order < 0 || (order == 0 && len < name.len)) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    const bool is_one =
        tokens != NULL && has_name(tokens, from, name) && !has_name(tokens, from + 1, name);
    return is_one ? tokens->by_name[from] : NULL;
}

void zd_tokens_replace(struct zd_tokens **place, struct zd_tokens *newer)
{
    struct zd_tokens *older = *place;
    for (size_t i = 1; older != NULL && i <= older->n_entries; i++) {
        struct zd_token_entry *entry = &older->entry[i];
        struct zd_identity *now = find(newer, entry->digest);
        if (now == NULL || !zd_identity_is_same(now, entry->identity)) {
            entry->identity->is_revoked = true;
            continue;
        }
        for (size_t probe = 0; probe < newer->n_probes; probe++) {
            struct zd_token_entry *next =
                &newer->entry[newer->slot[place_of(newer, entry->digest, probe)]];
            if (next->identity == now) {
                next->identity = zd_identity_ref(entry->identity);
                zd_identity_unref(now);
                break;
            }
        }
    }
    zd_tokens_free(older);
    *place = newer;
}

/* ---- the file ----
 *
 * Its text is judged without a tree. Each entry is then read by itself, so that its tree is gone
 * before the next one's is made. */

static enum zd_status no_memory(struct zd_error *err)
{
    return zd_fail(err, ZD_NO_MEMORY, OPTION ": no memory for the tokens");
}

/* The tokens being read, and the place in the file. */
struct reading {
    const char *where;
    struct zd_tokens *tokens;
    struct zd_identity *last; /* of the entry before; borrowed */
};

static enum zd_status read_entry(struct reading *reading, struct zd_span text, struct zd_error *err)
{
    static const struct zd_json_limits limits = {
        .bytes_max = ENTRY_BYTES_MAX, .nodes_max = ENTRY_NODES_MAX, .depth_max = FILE_DEPTH_MAX};
    struct zd_tokens *tokens = reading->tokens;
    const struct zd_pointer list_at = {.text = "/tokens"};
    const struct zd_pointer at = zd_pointer_element(&list_at, tokens->n_entries);
    struct zd_token_entry *entry = &tokens->entry[tokens->n_entries + 1];
    struct zd_error cause = {0};
    struct zd_json *parsed = NULL;
    const enum zd_status status = zd_json_parse(text, &limits, &parsed, &cause);
    if (status != ZD_OK) {
        return zd_fail(err, status == ZD_NO_MEMORY ? status : ZD_INVALID,
            "%.200s: entry %s: %.200s", reading->where, at.text, cause.text);
    }
    ZD_AUTO(zd_json) json = parsed;
    ZD_TRY(zd_token_entry_read(reading->where, json, &at, reading->last, entry, err));
    reading->last = entry->identity;
    tokens->n_entries++;
    return ZD_OK;
}

static enum zd_status read_entries(
    struct reading *reading, struct zd_span list, struct zd_error *err)
{
    size_t end = 1; /* past the bracket */
    for (;;) {
        size_t at = end;
        const enum zd_json_token type = zd_json_next_token(list, &at, &end);
        if (type == ZD_JSON_TOKEN_CLOSE) {
            return ZD_OK;
        }
        end = zd_json_value_end(list, at);
        const struct zd_span text = {.ptr = list.ptr + at, .len = end - at};
        ZD_TRY(read_entry(reading, text, err));
    }
}

static enum zd_status put_all(struct reading *reading, struct zd_error *err)
{
    struct zd_tokens *tokens = reading->tokens;
    const struct zd_pointer list_at = {.text = "/tokens"};
    tokens->n_slots = slots_for(tokens->n_entries);
    tokens->n_probes = 1;
    tokens->slot = zd_alloc_zero(tokens->n_slots, sizeof *tokens->slot);
    if (tokens->slot == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < tokens->n_entries; i++) {
        if (!put(tokens, (uint32_t)(i + 1))) {
            const struct zd_pointer at = zd_pointer_element(&list_at, i);
            const struct zd_pointer digest_at = zd_pointer_member(&at, "sha256");
            return zd_token_entry_refuse(
                reading->where, &digest_at, "a token that no earlier entry has", err);
        }
    }
    return sort_names(tokens) == ZD_OK ? ZD_OK : no_memory(err);
}

/* No entry that is read is shorter than its digest. */
static enum zd_status read_list(struct reading *reading, struct zd_span list, struct zd_error *err)
{
    struct zd_tokens *tokens = reading->tokens;
    const struct zd_pointer at = {.text = "/tokens"};
    if (list.ptr == NULL || list.ptr[0] != '[') {
        return zd_token_entry_refuse(reading->where, &at, "a list", err);
    }
    const size_t n_max = list.len / ENTRY_BYTES_MIN + 1;
    tokens->entry = zd_alloc_zero(n_max + 1, sizeof *tokens->entry);
    if (tokens->entry == NULL) {
        return no_memory(err);
    }
    ZD_TRY(read_entries(reading, list, err));
    struct zd_token_entry *entry =
        zd_realloc(tokens->entry, (tokens->n_entries + 1) * sizeof *entry);
    tokens->entry = entry == NULL ? tokens->entry : entry;
    return put_all(reading, err);
}

static enum zd_status read_root(struct reading *reading, struct zd_span text, struct zd_error *err)
{
    const struct zd_pointer root = {.text = "the document"};
    struct zd_json_extent member;
    struct zd_span list = {.len = 0};
    for (size_t at = 0;
        zd_json_grammar_is_object(text) && zd_json_grammar_next(text, &at, &member);) {
        const bool is_comment = member.name.len >= 2 && memcmp(member.name.ptr, "//", 2) == 0;
        const bool is_list = list.ptr == NULL && zd_span_is(member.name, "tokens");
        if (!is_comment && !is_list) {
            return zd_token_entry_refuse(
                reading->where, &root, "only the member \"tokens\", once", err);
        }
        list = is_list ? member.value : list;
    }
    return read_list(reading, list, err);
}

enum zd_status zd_tokens_parse(
    const char *where, struct zd_span text, struct zd_tokens **ret_tokens, struct zd_error *err)
{
    const struct zd_json_limits limits = {.depth_max = FILE_DEPTH_MAX};
    struct zd_error cause = {0};
    bool has_nonfinite = false;
    if (zd_json_grammar_check(text, &limits, &has_nonfinite, &cause) != ZD_OK) {
        return zd_fail(err, ZD_INVALID, "%.200s: %.200s", where, cause.text);
    }
    ZD_AUTO(zd_tokens) tokens = zd_alloc_zero(1, sizeof *tokens);
    if (tokens == NULL) {
        return no_memory(err);
    }
    struct reading reading = {.where = where, .tokens = tokens};
    ZD_TRY(read_root(&reading, text, err));
    *ret_tokens = ZD_TAKE(tokens);
    return ZD_OK;
}

enum zd_status zd_tokens_read(const char *path, struct zd_tokens **ret_tokens, struct zd_error *err)
{
    ZD_AUTO(zd_buf) bytes = NULL;
    if (path[0] == '\0') {
        *ret_tokens = NULL;
        return ZD_OK;
    }
    ZD_TRY(zd_secret_file_read(OPTION, path, FILE_BYTES_MAX, &bytes, err));
    ZD_SCOPED_TEXT(where, 256);
    zd_text_addf(&where, OPTION " %.200s", path);
    return zd_tokens_parse(where.at, zd_buf_span(bytes), ret_tokens, err);
}
