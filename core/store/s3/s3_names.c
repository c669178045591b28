/* Listings of a bucket: all names at once, in an order of our own.
 *
 *   ask for a page -> read it on a worker -> the next one ... -> sort, give out
 *
 * No engine's order is relied on: some have another one, and that of keys is not that of names. So
 * a listing reads all pages of its prefix, and its cursor keeps the names for the pages that
 * follow. Asked for one name, it takes one of the first that the engine says. */
#include "core/store/s3/s3_names.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/store/contract/listing_pages.h"
#include "core/store/contract/store_impl.h"
#include "core/store/s3/s3_answer.h"
#include "core/store/s3/s3_list.h"

#define PAGE_KEYS       1000
#define PAGE_BYTES_MAX  (32U << 20)
#define FEW_KEYS        4  /* where one name is enough: one may be that of the prefix */
#define EMPTY_PAGES_MAX 16 /* one behind the other that do not end the listing */
#define NUMBER_CHARS    24

struct listing {
    struct zd_s3_state state; /* first member */
    struct zd_s3_store *s3;
    struct zd_store_list *list;
    struct zd_listing_pages *names; /* owned until they are the cursor */
    struct zd_text prefix;          /* of the keys */
    struct zd_text after;           /* a key, or "" */
    struct zd_text token;           /* of the page that is asked for */
    struct zd_hash last;            /* of the keys of the page before */
    struct zd_hash hash;            /* of those of this one */
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
    return zd_listing_pages_add(listing->names, cut, slash != NULL, err);
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
        return zd_fail(err, ZD_STORE, "the store listed keys that were not requested");
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
        return zd_fail(err, ZD_STORE, "the store's listing does not end");
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
    zd_listing_pages_free(listing->names);
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

static void give_out(struct listing *listing)
{
    struct zd_store_list *list = listing->list;
    const bool is_all = listing->is_complete || zd_store_list_is_cut(list);
    if (!listing->has_key && listing->is_complete && list->prefix[0] != '\0' &&
        listing->after.len == 0) {
        end(listing, ZD_NOT_FOUND);
        return;
    }
    const enum zd_status status = zd_listing_pages_give(listing->names, list);
    if (status == ZD_OK && !is_all) {
        list->has_more = true; /* one name was asked for: the next page is another listing */
    } else if (status == ZD_OK && list->has_more) {
        list->cursor = zd_listing_pages_cursor(ZD_TAKE(listing->names));
    }
    end(listing, status);
}

/* ---- pages ---- */

static void ask(struct listing *listing);

static bool is_enough(const struct listing *listing)
{
    const struct zd_store_list *list = listing->list;
    return listing->is_complete || zd_store_list_is_cut(list) ||
           (list->n_max == 1 && listing->after.len == 0 &&
               zd_listing_pages_has_any(listing->names));
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
    if (listing->status == ZD_OK && is_enough(listing)) {
        zd_listing_pages_sort(listing->names);
    }
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
    } else if ((listing->status = zd_listing_pages_count(listing->names, 0, &op->err)) != ZD_OK) {
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
    const char *name = listing->list->prefix[0] == '\0' ? "/" : listing->list->prefix;
    enum zd_status status = zd_s3_answer_judge(call, name, &op->err, &op->fault);
    if (status == ZD_NOT_FOUND || status == ZD_NOT_MODIFIED || status == ZD_PRECONDITION ||
        status == ZD_TOO_LARGE) {
        status = zd_s3_answer_fail(&op->err, &op->fault, name, "malformed ListObjectsV2 response");
    }
    if (status != ZD_OK) {
        end(listing, status);
        return;
    }
    listing->bytes = zd_s3_call_take_bytes(call);
    status = zd_listing_pages_count(listing->names, listing->bytes->len, &op->err);
    if (status != ZD_OK) {
        end(listing, status);
        return;
    }
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
    struct zd_listing_pages *names = zd_listing_pages_new(&s3->access.remote->listings);
    if (listing == NULL || names == NULL) {
        zd_free(listing);
        zd_listing_pages_free(names);
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
        list->op.status = zd_listing_pages_give(zd_listing_pages_of(list->cursor), list);
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
        zd_listing_pages_free(listing->names);
        zd_text_done(&listing->prefix);
        zd_text_done(&listing->after);
        zd_free(listing);
        zd_store_finish_later(&list->op);
        return;
    }
    ask(listing);
}
