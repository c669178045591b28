/* A stored consolidated listing: its text, and an index of its entries sorted by their paths. */
#include "core/dialect/stored_listing.h"

#include <assert.h>
#include <string.h>

#include "core/base/json_grammar.h"
#include "core/base/num.h"
#include "core/dialect/node_name.h"

#define ESCAPED      (UINT32_C(1) << 31) /* in path_len: the path is in the names */
#define GROUP        (UINT32_C(1) << 31) /* in document_len */
#define LISTED_SHIFT 30                  /* in document: enum zd_listed */
#define OFFSET_MAX   (UINT32_MAX >> 2)   /* of a text */
#define ENTRIES_MIN  1024                /* so many may be of any length */
#define ENTRY_BYTES  24                  /* further ones have as many, on average: documents do */

/** A document in the index. In front of its path there is a quote, or a slash. */
struct place {
    uint32_t path;
    uint32_t path_len;     /* perhaps with ESCAPED */
    uint32_t document;     /* with what it is of its node */
    uint32_t document_len; /* perhaps with GROUP */
};

struct zd_stored_listing {
    _Atomic uint32_t refs;
    struct zd_buf *bytes;
    struct zd_span map; /* in bytes */
    zd_stored_listing_tell *tell;
    struct place *places; /* n nodes in pre-order, then the attributes of some of them; owned */
    size_t n;
    size_t n_places; /* that have memory; n of them are listed */
    size_t n_attributes;
    struct zd_text names; /* of keys that are written with escapes: a quote and the key, each */
};

void zd_stored_listing_unref(struct zd_stored_listing *listing)
{
    if (listing != NULL &&
        atomic_fetch_sub_explicit(&listing->refs, 1, memory_order_acq_rel) == 1) {
        zd_text_done(&listing->names);
        zd_free(listing->places);
        zd_buf_unref(listing->bytes);
        zd_free(listing);
    }
}

struct zd_stored_listing *zd_stored_listing_ref(struct zd_stored_listing *listing)
{
    const uint32_t before = atomic_fetch_add_explicit(&listing->refs, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
    return listing;
}

/* ---- keys ---- */

struct zd_span zd_stored_listing_path_of(struct zd_span key, bool *ret_has_slash)
{
    *ret_has_slash = key.len > 0 && key.ptr[0] == '/';
    return (struct zd_span){
        .ptr = *ret_has_slash ? key.ptr + 1 : key.ptr,
        .len = *ret_has_slash ? key.len - 1 : key.len,
    };
}

bool zd_stored_listing_is_path(struct zd_span path, bool (*is_name)(struct zd_span name))
{
    for (size_t at = 0;;) {
        const struct zd_span rest = {.ptr = path.ptr + at, .len = path.len - at};
        const uint8_t *slash = rest.len == 0 ? NULL : memchr(rest.ptr, '/', rest.len);
        const size_t len = slash == NULL ? rest.len : (size_t)(slash - rest.ptr);
        const struct zd_span name = {.ptr = rest.ptr, .len = len};
        if (!is_name(name)) {
            return false;
        }
        if (slash == NULL) {
            return true;
        }
        at += len + 1;
    }
}

static bool is_group(struct zd_span document)
{
    struct zd_span type;
    return zd_json_grammar_find(document, "node_type", &type) &&
           zd_json_grammar_says(type, "group");
}

struct zd_listed_key zd_stored_listing_tell_path(struct zd_span key, struct zd_span document)
{
    const bool is_path = zd_stored_listing_is_path(key, zd_node_name_is_valid);
    return (struct zd_listed_key){
        .path = key,
        .listed = is_path ? ZD_LISTED_NODE : ZD_LISTED_NOTHING,
        .is_group = is_group(document),
    };
}

/* The rank of a byte in pre-order: the end comes first, then children, then names that continue. */
static int rank_at(struct zd_span path, size_t at)
{
    if (at == path.len) {
        return 0;
    }
    return path.ptr[at] == '/' ? 1 : 2 + path.ptr[at];
}

static int compare_paths(struct zd_span a, struct zd_span b)
{
    const size_t len = (size_t)zd_min_u64(a.len, b.len);
    size_t at = 0;
    while (at < len && a.ptr[at] == b.ptr[at]) {
        at++;
    }
    return rank_at(a, at) - rank_at(b, at);
}

static struct zd_span path_at(const struct zd_stored_listing *listing, const struct place *place)
{
    const bool is_escaped = (place->path_len & ESCAPED) != 0;
    const uint8_t *base = is_escaped ? (const uint8_t *)listing->names.at : listing->map.ptr;
    return (struct zd_span){.ptr = base + place->path, .len = place->path_len & ~ESCAPED};
}

static bool has_slash(const struct zd_stored_listing *listing, const struct place *place)
{
    return path_at(listing, place).ptr[-1] == '/';
}

static enum zd_listed listed_of(const struct place *place)
{
    return (enum zd_listed)(place->document >> LISTED_SHIFT);
}

static struct zd_span document_at(
    const struct zd_stored_listing *listing, const struct place *place)
{
    return (struct zd_span){.ptr = listing->map.ptr + (place->document & OFFSET_MAX),
        .len = place->document_len & ~GROUP};
}

/* ---- the index ---- */

/* First the documents that make nodes. */
static int section_of(const struct place *place)
{
    const enum zd_listed listed = listed_of(place);
    return listed <= ZD_LISTED_SECOND ? 0 : (int)listed;
}

/* By path; that with a leading slash is the later one of two spellings. */
static int compare_places(
    const struct zd_stored_listing *listing, const struct place *a, const struct place *b)
{
    if (section_of(a) != section_of(b)) {
        return section_of(a) - section_of(b);
    }
    const int order = compare_paths(path_at(listing, a), path_at(listing, b));
    if (order != 0) {
        return order;
    }
    const int slashes = (int)has_slash(listing, a) - (int)has_slash(listing, b);
    return slashes != 0 ? slashes : (int)listed_of(a) - (int)listed_of(b);
}

static void sink(struct zd_stored_listing *listing, size_t at, size_t n)
{
    struct place *places = listing->places;
    for (size_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && compare_places(listing, &places[child], &places[child + 1]) < 0;
        if (compare_places(listing, &places[at], &places[child]) >= 0) {
            return;
        }
        const struct place moved = places[at];
        places[at] = places[child];
        places[child] = moved;
        at = child;
    }
}

static bool is_sorted(const struct zd_stored_listing *listing)
{
    for (size_t i = 1; i < listing->n; i++) {
        if (compare_places(listing, &listing->places[i - 1], &listing->places[i]) > 0) {
            return false;
        }
    }
    return true;
}

/* In place: qsort takes as much memory again. Most writers sort their listings. */
static void sort(struct zd_stored_listing *listing)
{
    const size_t n = listing->n;
    if (is_sorted(listing)) {
        return;
    }
    for (size_t i = n / 2; i-- > 0;) {
        sink(listing, i, n);
    }
    for (size_t end = n; end-- > 1;) {
        const struct place largest = listing->places[0];
        listing->places[0] = listing->places[end];
        listing->places[end] = largest;
        sink(listing, 0, end);
    }
}

/* Report the second of two equal keys. */
static ZD_RESULT fail_twice(
    const struct zd_stored_listing *listing, const struct place *place, struct zd_error *err)
{
    const struct zd_span text = zd_buf_span(listing->bytes);
    const uint8_t *document = document_at(listing, place).ptr;
    return zd_json_fail_at(
        err, text, (size_t)(document - text.ptr), ZD_INVALID, "duplicate object key");
}

/* A key must be there once, whatever it is. */
static ZD_RESULT judge_keys(const struct zd_stored_listing *listing, struct zd_error *err)
{
    const struct place *places = listing->places;
    for (size_t i = 1; i < listing->n; i++) {
        if (compare_places(listing, &places[i - 1], &places[i]) == 0) {
            const bool is_later = places[i - 1].document < places[i].document;
            return fail_twice(listing, &places[is_later ? i : i - 1], err);
        }
    }
    return ZD_OK;
}

/* Whether its path is that of the last of those that were kept from `first` on. */
static bool is_kept(
    const struct zd_stored_listing *listing, const struct place *place, size_t first, size_t n_kept)
{
    return n_kept > first &&
           zd_span_equal(path_at(listing, &listing->places[n_kept - 1]), path_at(listing, place));
}

/* Only one document of each kind stays for a node. */
static void sift(struct zd_stored_listing *listing)
{
    struct place *places = listing->places;
    const size_t n_all = listing->n;
    size_t n = 0;
    size_t i = 0;
    for (; i < n_all && listed_of(&places[i]) <= ZD_LISTED_SECOND; i++) {
        if (!is_kept(listing, &places[i], 0, n)) {
            places[n++] = places[i];
        }
    }
    listing->n = n;
    for (; i < n_all && listed_of(&places[i]) == ZD_LISTED_ATTRIBUTES; i++) {
        bool is_there = false;
        (void)zd_stored_listing_place(listing, path_at(listing, &places[i]), &is_there);
        if (is_there && !is_kept(listing, &places[i], listing->n, n)) {
            places[n++] = places[i];
        }
    }
    listing->n_attributes = n - listing->n;
}

/* A key with escapes is kept as it reads. */
static ZD_RESULT add_name(
    struct zd_stored_listing *listing, struct zd_span written, struct zd_span *ret_key)
{
    struct zd_text *names = &listing->names;
    zd_text_add_char(names, '"');
    const size_t from = names->len;
    zd_json_grammar_unescape(written, names);
    ZD_TRY(names->status);
    *ret_key = (struct zd_span){.ptr = (const uint8_t *)names->at + from, .len = names->len - from};
    return ZD_OK;
}

static ZD_RESULT add_place(struct zd_stored_listing *listing, const struct zd_json_extent *member)
{
    struct place *place = &listing->places[listing->n++];
    const bool is_escaped = memchr(member->name.ptr, '\\', member->name.len) != NULL;
    struct zd_span key = member->name;
    bool is_slashed = false;
    if (is_escaped) {
        ZD_TRY(add_name(listing, member->name, &key));
    }
    const struct zd_listed_key told =
        listing->tell(zd_stored_listing_path_of(key, &is_slashed), member->value);
    const uint8_t *base = is_escaped ? (const uint8_t *)listing->names.at : listing->map.ptr;
    place->path = (uint32_t)(told.path.ptr - base);
    place->path_len = (uint32_t)told.path.len | (is_escaped ? ESCAPED : 0);
    place->document = (uint32_t)(member->value.ptr - listing->map.ptr) | (uint32_t)told.listed
                                                                             << LISTED_SHIFT;
    place->document_len = (uint32_t)member->value.len | (told.is_group ? GROUP : 0);
    return ZD_OK;
}

static ZD_RESULT fill(struct zd_stored_listing *listing, size_t n, struct zd_error *err)
{
    struct zd_json_extent member;
    listing->places = zd_alloc_zero(n, sizeof *listing->places);
    listing->n_places = n;
    enum zd_status status = listing->places == NULL ? ZD_NO_MEMORY : ZD_OK;
    for (size_t at = 0; status == ZD_OK && zd_json_grammar_next(listing->map, &at, &member);) {
        status = add_place(listing, &member);
    }
    if (status != ZD_OK) {
        return zd_fail(err, status, "no room for the index of a stored listing");
    }
    sort(listing);
    ZD_TRY(judge_keys(listing, err));
    sift(listing);
    return ZD_OK;
}

/* Names beyond the first few of them may take as much as the index: half of the text each. */
static uint64_t names_max(uint64_t len)
{
    return ENTRIES_MIN * sizeof(struct place) + len / 2;
}

uint64_t zd_stored_listing_bytes_max(uint64_t len)
{
    return len + names_max(len) + ENTRIES_MIN * sizeof(struct place) +
           len / ENTRY_BYTES * sizeof(struct place);
}

/* How many entries the text has. */
static ZD_RESULT count(struct zd_span map, size_t *ret_n, struct zd_error *err)
{
    const size_t n_max = ENTRIES_MIN + map.len / ENTRY_BYTES;
    struct zd_json_extent member;
    size_t n = 0;
    for (size_t at = 0; zd_json_grammar_next(map, &at, &member);) {
        n++;
    }
    if (n <= n_max && map.len <= OFFSET_MAX) {
        *ret_n = n;
        return ZD_OK;
    }
    const enum zd_status failed = zd_fail(err, ZD_TOO_LARGE,
        "a listing of %zu bytes has %zu entries; the limit is %zu", map.len, n, n_max);
    zd_fact_limit(err, n_max, n);
    return failed;
}

enum zd_status zd_stored_listing_new(struct zd_buf *bytes, struct zd_span map,
    zd_stored_listing_tell *tell, struct zd_stored_listing **ret_listing, struct zd_error *err)
{
    size_t n = 0;
    ZD_TRY(count(map, &n, err));
    ZD_AUTO(zd_stored_listing) listing = zd_alloc_zero(1, sizeof *listing);
    if (listing == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a stored listing");
    }
    atomic_init(&listing->refs, 1);
    listing->bytes = zd_buf_ref(bytes);
    listing->map = map;
    listing->tell = tell;
    zd_text_init(&listing->names, names_max(map.len));
    ZD_TRY(fill(listing, n, err));
    *ret_listing = ZD_TAKE(listing);
    return ZD_OK;
}

/* ---- reading ---- */

bool zd_stored_listing_is_told_by(
    const struct zd_stored_listing *listing, zd_stored_listing_tell *tell)
{
    return listing->tell == tell;
}

size_t zd_stored_listing_count(const struct zd_stored_listing *listing)
{
    return listing == NULL ? 0 : listing->n;
}

uint64_t zd_stored_listing_index_bytes(const struct zd_stored_listing *listing)
{
    return sizeof *listing + listing->n_places * sizeof *listing->places + listing->names.cap;
}

struct zd_span zd_stored_listing_text(const struct zd_stored_listing *listing)
{
    return listing->map;
}

/* The first of some places, in pre-order, whose path is not before that one. */
static size_t find_place(
    const struct zd_stored_listing *listing, struct zd_span path, size_t first, size_t end)
{
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (compare_paths(path_at(listing, &listing->places[middle]), path) < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static struct zd_span attributes_of(const struct zd_stored_listing *listing, struct zd_span path)
{
    const size_t end = listing->n + listing->n_attributes;
    const size_t place = find_place(listing, path, listing->n, end);
    const bool is_there =
        place < end && zd_span_equal(path_at(listing, &listing->places[place]), path);
    return is_there ? document_at(listing, &listing->places[place]) : (struct zd_span){0};
}

struct zd_stored_entry zd_stored_listing_entry(const struct zd_stored_listing *listing, size_t i)
{
    const struct place *place = &listing->places[i];
    const struct zd_span path = path_at(listing, place);
    return (struct zd_stored_entry){
        .path = path,
        .document = document_at(listing, place),
        .attributes = attributes_of(listing, path),
        .is_group = (place->document_len & GROUP) != 0,
    };
}

size_t zd_stored_listing_place(
    const struct zd_stored_listing *listing, struct zd_span path, bool *ret_is_there)
{
    const size_t n = zd_stored_listing_count(listing);
    const size_t place = find_place(listing, path, 0, n);
    *ret_is_there = place < n && zd_span_equal(path_at(listing, &listing->places[place]), path);
    return place;
}

bool zd_stored_listing_find(
    const struct zd_stored_listing *listing, struct zd_span path, struct zd_stored_entry *ret_entry)
{
    bool is_there = false;
    const size_t place = zd_stored_listing_place(listing, path, &is_there);
    if (is_there) {
        *ret_entry = zd_stored_listing_entry(listing, place);
    }
    return is_there;
}
