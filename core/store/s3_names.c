/* Listings of a bucket: all names at once, in an order of our own.
 *
 *   ask for a page -> read it on a worker -> the next one ... -> sort, give out
 *
 * No engine's order is relied on: some have another one, and that of keys is not that of names. So
 * a listing reads all pages of its prefix, and its cursor keeps the names for the pages that
 * follow. Asked for one name, it takes one of the first that the engine says. */
#include "core/store/s3_names.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/store/page.h"
#include "core/store/s3_answer.h"
#include "core/store/s3_list.h"

#define PAGE_KEYS       1000
#define PAGE_BYTES_MAX  (32U << 20)
#define NAMES_BYTES_MAX (64U << 20) /* that a listing keeps */
#define FEW_KEYS        4           /* where one name is enough: one may be that of the prefix */
#define EMPTY_PAGES_MAX 16          /* one behind the other that do not end the listing */
#define FIRST_NAMES     256
#define NUMBER_CHARS    24

struct name {
    uint32_t at; /* in the text */
    bool is_prefix;
};

/* What the pages of a listing are given out of. */
struct names {
    struct zd_store_cursor cursor; /* first member */
    struct zd_text text;           /* each ended by NUL */
    struct name *name;             /* n of them */
    size_t n;
    size_t cap;
    size_t n_given;
};

struct listing {
    struct zd_s3_state state; /* first member */
    struct zd_s3_store *s3;
    struct zd_store_list *list;
    struct names *names;   /* owned until it is the cursor */
    struct zd_text prefix; /* of the keys */
    struct zd_text after;  /* a key, or "" */
    struct zd_text token;  /* of the page that is asked for */
    struct zd_hash last;   /* of the keys of the page before */
    struct zd_hash hash;   /* of those of this one */
    uint32_t n_empty;
    bool is_complete;
    bool has_key; /* one has the prefix */
    char n_keys[NUMBER_CHARS];
    struct zd_s3_call call;
    uv_work_t work;
    struct zd_buf *bytes;
    enum zd_status status;
    struct zd_error err;
};

static void names_free(struct zd_store_cursor *cursor)
{
    struct names *names = ZD_CONTAINER(cursor, struct names, cursor);
    zd_text_done(&names->text);
    zd_free(names->name);
    zd_free(names);
}

static struct names *names_new(void)
{
    struct names *names = zd_alloc_zero(1, sizeof *names);
    if (names != NULL) {
        names->cursor.free = names_free;
        zd_text_init(&names->text, NAMES_BYTES_MAX);
    }
    return names;
}

static enum zd_status add_name(
    struct names *names, const char *name, bool is_prefix, struct zd_error *err)
{
    const size_t at = names->text.len;
    if (names->n == names->cap) {
        const size_t cap = names->cap == 0 ? FIRST_NAMES : 2 * names->cap;
        struct name *grown = zd_realloc(names->name, cap * sizeof *grown);
        if (grown == NULL) {
            return zd_fail(err, ZD_NO_MEMORY, "no memory for a listing");
        }
        names->name = grown;
        names->cap = cap;
    }
    const enum zd_status status = zd_text_add_bytes(&names->text, name, strlen(name) + 1);
    if (status == ZD_TOO_LARGE) {
        return zd_fail_limit(err, NAMES_BYTES_MAX, at + strlen(name) + 1,
            "a listing has more than %u bytes of names", NAMES_BYTES_MAX);
    }
    if (status != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a listing");
    }
    names->name[names->n++] = (struct name){.at = (uint32_t)at, .is_prefix = is_prefix};
    return ZD_OK;
}

static int compare(const void *a, const void *b, void *text)
{
    const struct name *one = a;
    const struct name *other = b;
    const int order = strcmp((const char *)text + one->at, (const char *)text + other->at);
    return order != 0 ? order : (int)one->is_prefix - (int)other->is_prefix;
}

/* Sorted, none twice. */
static void settle(struct names *names)
{
    size_t n = 0;
    if (names->n == 0) {
        return;
    }
    qsort_r(names->name, names->n, sizeof *names->name, compare, names->text.at);
    for (size_t i = 1; i < names->n; i++) {
        if (compare(&names->name[n], &names->name[i], names->text.at) != 0) {
            names->name[++n] = names->name[i];
        }
    }
    names->n = n + 1;
}

/* ---- what a page says ---- */

/* A name of one level is cut at its first slash; one that no key of ours has is left out. */
static enum zd_status take_name(struct listing *listing, const char *name, struct zd_error *err)
{
    char cut[ZD_KEY_BYTES_MAX + 1];
    const size_t len = strlen(name);
    const char *slash = listing->list->deep ? NULL : memchr(name, '/', len);
    const size_t cut_len = slash == NULL ? len : (size_t)(slash - name);
    if (cut_len > ZD_KEY_BYTES_MAX) {
        return ZD_OK;
    }
    memcpy(cut, name, cut_len);
    cut[cut_len] = '\0';
    if (!zd_key_is_valid(cut)) {
        return ZD_OK;
    }
    listing->has_key = true;
    return add_name(listing->names, cut, slash != NULL, err);
}

static enum zd_status take_key(
    void *context, struct zd_span key, bool is_prefix, struct zd_error *err)
{
    struct listing *listing = context;
    const struct zd_text *prefix = &listing->prefix;
    char name[2 * ZD_KEY_BYTES_MAX];
    (void)is_prefix;
    zd_hash_add(&listing->hash, key);
    listing->list->n_visited++;
    if (key.len < prefix->len || memcmp(key.ptr, prefix->at, prefix->len) != 0) {
        return zd_fail(err, ZD_STORE, "the store lists keys that were not asked for");
    }
    const size_t len = key.len - prefix->len;
    if (len >= sizeof name || memchr(key.ptr, '\0', key.len) != NULL) {
        return ZD_OK;
    }
    memcpy(name, key.ptr + prefix->len, len);
    name[len] = '\0';
    return take_name(listing, name, err);
}

static enum zd_status judge_page(
    struct listing *listing, const struct zd_s3_list_page *page, struct zd_error *err)
{
    const bool is_repeated = page->n_keys > 0 && listing->hash.value == listing->last.value;
    listing->is_complete = !page->is_truncated;
    listing->n_empty = page->n_keys == 0 ? listing->n_empty + 1 : 0;
    if (listing->is_complete) {
        return ZD_OK;
    }
    if (page->next_token.len == 0 || is_repeated || listing->n_empty > EMPTY_PAGES_MAX ||
        strcmp(page->next_token.at, listing->token.at) == 0) {
        return zd_fail(err, ZD_STORE, "the store's listing does not come to an end");
    }
    zd_text_clear(&listing->token);
    return zd_text_add(&listing->token, page->next_token.at) == ZD_OK
               ? ZD_OK
               : zd_fail(err, ZD_NO_MEMORY, "no memory for a listing");
}

/* ---- the end ---- */

static void end(struct listing *listing, enum zd_status status)
{
    struct zd_store_list *list = listing->list;
    if (listing->names != NULL) {
        names_free(&listing->names->cursor);
    }
    zd_text_done(&listing->prefix);
    zd_text_done(&listing->after);
    zd_text_done(&listing->token);
    zd_buf_unref(listing->bytes);
    zd_s3_call_done(&listing->call);
    zd_free(listing);
    list->op.status = status;
    zd_store_count_visited(list);
    zd_s3_store_end(&list->op);
}

/* The next page of names that are there. */
static enum zd_status give(struct names *names, struct zd_store_list *list)
{
    struct zd_page page;
    enum zd_status status = ZD_OK;
    zd_page_init(&page, list->after, list->n_max);
    for (; status == ZD_OK && names->n_given < names->n && page.n_entries < list->n_max;
        names->n_given++) {
        const struct name *name = &names->name[names->n_given];
        status = zd_page_offer(&page, names->text.at + name->at, name->is_prefix);
    }
    page.has_more = names->n_given < names->n;
    if (status == ZD_OK) {
        zd_page_finish(&page, list);
    }
    zd_page_done(&page);
    return status == ZD_OK ? ZD_OK : zd_fail(&list->op.err, status, "no memory for a listing");
}

static void give_out(struct listing *listing)
{
    struct zd_store_list *list = listing->list;
    const bool is_all = listing->is_complete || zd_store_list_is_cut(list);
    if (!listing->has_key && listing->is_complete && list->prefix[0] != '\0' &&
        listing->after.len == 0) {
        end(listing, ZD_NOT_FOUND);
        return;
    }
    settle(listing->names);
    const enum zd_status status = give(listing->names, list);
    if (status == ZD_OK && !is_all) {
        list->has_more = true; /* one name was asked for: the next page is another listing */
    } else if (status == ZD_OK && list->has_more) {
        list->cursor = &ZD_TAKE(listing->names)->cursor;
    }
    end(listing, status);
}

/* ---- pages ---- */

static void ask(struct listing *listing);

static bool is_enough(const struct listing *listing)
{
    const struct zd_store_list *list = listing->list;
    return listing->is_complete || zd_store_list_is_cut(list) ||
           (list->n_max == 1 && listing->after.len == 0 && listing->names->n > 0);
}

static void work_page(uv_work_t *work)
{
    struct listing *listing = ZD_CONTAINER(work, struct listing, work);
    struct zd_s3_list_page page;
    listing->last = listing->hash;
    listing->hash = (struct zd_hash){0};
    listing->status =
        zd_s3_list_read(zd_buf_span(listing->bytes), take_key, listing, &page, &listing->err);
    if (listing->status == ZD_OK) {
        listing->status = judge_page(listing, &page, &listing->err);
    }
    zd_s3_list_done(&page);
}

static void after_page(uv_work_t *work, int uv_status)
{
    struct listing *listing = ZD_CONTAINER(work, struct listing, work);
    struct zd_store_op *op = &listing->list->op;
    zd_buf_unref(ZD_TAKE(listing->bytes));
    if (uv_status == UV_ECANCELED || op->cancelled) {
        end(listing, zd_fail(&op->err, ZD_CANCELLED, "cancelled"));
    } else if (listing->status != ZD_OK) {
        op->err = listing->err;
        op->fault.kind =
            (uint8_t)(listing->status == ZD_STORE ? ZD_REMOTE_FAULT_BROKEN : ZD_REMOTE_FAULT_NONE);
        end(listing, listing->status);
    } else if (is_enough(listing)) {
        give_out(listing);
    } else {
        ask(listing);
    }
}

static void answered(struct zd_s3_call *call)
{
    struct listing *listing = call->context;
    struct zd_store_op *op = &listing->list->op;
    const char *name = listing->prefix.len == 0 ? "/" : listing->prefix.at;
    enum zd_status status = zd_s3_answer_judge(call, name, &op->err, &op->fault);
    if (status == ZD_NOT_FOUND || status == ZD_NOT_MODIFIED || status == ZD_PRECONDITION ||
        status == ZD_TOO_LARGE) {
        status = zd_s3_answer_fail(
            &op->err, &op->fault, name, "the store's answer to a listing is none");
    }
    if (status != ZD_OK) {
        end(listing, status);
        return;
    }
    listing->bytes = zd_s3_call_take_bytes(call);
    const int uv_status =
        uv_queue_work(listing->s3->store.loop, &listing->work, work_page, after_page);
    assert(uv_status == 0);
    (void)uv_status;
}

static void add_parameter(struct zd_s3_call *call, const char *name, const char *value)
{
    call->query[call->n_query++] = (struct zd_s3_pair){name, value};
}

static void ask(struct listing *listing)
{
    const struct zd_store_list *list = listing->list;
    struct zd_s3_call *call = &listing->call;
    const uint64_t few = list->n_max == 1 && listing->after.len == 0 ? FEW_KEYS : PAGE_KEYS;
    const uint64_t n_keys =
        list->visits_max == 0 ? few : zd_min_u64(few, list->visits_max - list->n_visited);
    zd_s3_call_done(call);
    *call = (struct zd_s3_call){
        .method = ZD_TRANSFER_GET,
        .bytes_max = PAGE_BYTES_MAX,
        .done = answered,
        .context = listing,
    };
    (void)snprintf(listing->n_keys, sizeof listing->n_keys, "%" PRIu64, n_keys);
    add_parameter(call, "list-type", "2");
    add_parameter(call, "encoding-type", "url");
    add_parameter(call, "max-keys", listing->n_keys);
    add_parameter(call, "prefix", listing->prefix.at);
    if (!list->deep) {
        add_parameter(call, "delimiter", "/");
    }
    if (listing->after.len > 0) {
        add_parameter(call, "start-after", listing->after.at);
    }
    if (listing->token.len > 0) {
        add_parameter(call, "continuation-token", listing->token.at);
    }
    zd_s3_call_start(&listing->s3->access, call);
}

/* ---- operations ---- */

static void cancel(struct zd_store_op *op)
{
    zd_s3_call_cancel(&((struct listing *)op->private_state)->call);
}

static struct listing *listing_new(struct zd_s3_store *s3, struct zd_store_list *list)
{
    struct listing *listing = zd_alloc_zero(1, sizeof *listing);
    struct names *names = names_new();
    if (listing == NULL || names == NULL) {
        zd_free(listing);
        zd_free(names);
        return NULL;
    }
    listing->state.cancel = cancel;
    listing->s3 = s3;
    listing->list = list;
    listing->names = names;
    zd_text_init(&listing->prefix, 2 * ZD_KEY_BYTES_MAX + 2);
    zd_text_init(&listing->after, 3 * ZD_KEY_BYTES_MAX + 4);
    zd_text_init(&listing->token, ZD_S3_TOKEN_BYTES_MAX);
    zd_text_addf(&listing->prefix, "%s%s", s3->access.bucket.prefix, list->prefix);
    if (list->after != NULL && list->after[0] != '\0') {
        zd_text_addf(&listing->after, "%s%s", listing->prefix.at, list->after);
    }
    return listing;
}

void zd_s3_names_list(struct zd_s3_store *s3, struct zd_store_list *list)
{
    if (list->cursor != NULL) {
        struct names *names = ZD_CONTAINER(list->cursor, struct names, cursor);
        list->op.status = give(names, list);
        zd_store_finish_later(&list->op);
        return;
    }
    struct listing *listing = listing_new(s3, list);
    if (listing == NULL) {
        list->op.status = zd_fail(&list->op.err, ZD_NO_MEMORY, "no memory for a listing");
        zd_store_finish_later(&list->op);
        return;
    }
    list->op.private_state = listing;
    if (listing->prefix.status != ZD_OK || listing->after.status != ZD_OK) {
        list->op.private_state = NULL;
        list->op.status = zd_fail(&list->op.err, ZD_NO_MEMORY, "no memory for a listing");
        names_free(&listing->names->cursor);
        zd_text_done(&listing->prefix);
        zd_text_done(&listing->after);
        zd_free(listing);
        zd_store_finish_later(&list->op);
        return;
    }
    ask(listing);
}
