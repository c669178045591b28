/* The state of a change: made from the request, reset before each new attempt, and freed. */
#include "server/write/change.h"

#include <assert.h>
#include <string.h>

#include "core/base/json.h"
#include "server/data/dataset.h"

#define LOAD_BYTES (8 << 10) /* of a node on the way, while it is read */

static void forget_place(struct zd_change_place *place)
{
    zd_node_unref(ZD_TAKE(place->node));
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        struct zd_change_document *document = &place->document[i];
        zd_store_write_release(&document->write);
        zd_store_write_release(&document->old);
        zd_buf_unref(ZD_TAKE(document->stored));
        zd_buf_unref(ZD_TAKE(document->made));
        document->is_stored = false;
        document->is_dropped = false;
        document->goes = false;
    }
}

static void forget_meta(struct zd_change *change)
{
    zd_node_unref(ZD_TAKE(change->made));
    zd_meta_unref(ZD_TAKE(change->meta));
    zd_meta_unref(ZD_TAKE(change->before));
}

void zd_change_forget(struct zd_change *change)
{
    const bool is_open = change->phase == ZD_CHANGE_DOCUMENTS;
    for (size_t i = 0; i < change->n_places; i++) {
        struct zd_change_place *place = &change->place[i];
        forget_place(place);
        /* Parents that were stored are missing in the listings, too. */
        place->is_new = place->is_new && (!is_open || place->is_made);
    }
    zd_free(ZD_TAKE(change->item));
    change->n_items = 0;
    zd_multiscale_release(&change->multiscale);
    change->clearing = (struct zd_change_clearing){0};
    if (is_open) {
        forget_meta(change);
    }
}

void zd_change_free(struct zd_change *change)
{
    zd_change_forget(change);
    forget_meta(change);
    zd_change_undo_forget(change);
    zd_store_list_done(&change->undo.below);
    zd_kept_done(&change->kept);
    zd_allowance_release(&change->room);
    for (size_t i = 0; i < change->n_places; i++) {
        zd_free(change->place[i].path);
    }
    zd_free(change->place);
    zd_json_unref(change->new_group);
    zd_meta_unref(change->now);
    zd_free(change->erased_index);
    zd_change_subtree_free(change->subtree);
    zd_buf_unref(change->input.bytes);
    zd_json_unref((struct zd_json *)(uintptr_t)change->input.json);
    zd_stored_listing_unref(change->input.listing);
    zd_node_unref(change->input.expected);
    zd_free(change->written);
    zd_free(change->key);
    zd_free(change->path);
    zd_dataset_unref(change->dataset);
    zd_free(change);
}

/* The root, and every path down to the node. */
static size_t count_places(const char *path)
{
    size_t n = path[0] == '\0' ? 1 : 2;
    for (const char *at = path; *at != '\0'; at++) {
        n += *at == '/' ? 1 : 0;
    }
    return n;
}

uint64_t zd_metadata_bytes(const char *path)
{
    const uint64_t n = strlen(path) > ZD_KEY_BYTES_MAX ? 0 : count_places(path);
    return sizeof(struct zd_change) + n * (sizeof(struct zd_change_place) + LOAD_BYTES);
}

static enum zd_status make_places(struct zd_change *change)
{
    const size_t n = count_places(change->path);
    change->place = zd_alloc_zero(n, sizeof *change->place);
    if (change->place == NULL) {
        return ZD_NO_MEMORY;
    }
    size_t len = 0;
    for (change->n_places = 0; change->n_places < n; change->n_places++) {
        struct zd_change_place *place = &change->place[change->n_places];
        if (change->n_places > 0) {
            len += len == 0 ? 0 : 1;
            len += strcspn(change->path + len, "/");
        }
        place->change = change;
        place->path = zd_strndup(change->path, len);
        if (place->path == NULL) {
            return ZD_NO_MEMORY;
        }
        for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
            place->document[i].place = place;
            place->document[i].number = i;
        }
    }
    return ZD_OK;
}

/* The path asked for, or the path of the node whose document the key is. */
static enum zd_status take_place(struct zd_change *change, const char *place)
{
    const enum zd_metadata_kind kind = change->input.kind;
    if (kind != ZD_METADATA_PUT_KEY && kind != ZD_METADATA_ERASE_KEY) {
        change->path = zd_strdup(place);
        return change->path == NULL ? ZD_NO_MEMORY : make_places(change);
    }
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    const enum zd_status status = zd_dialect_written_node_path(place, &path, &change->dialect);
    assert(status != ZD_NOT_FOUND);
    ZD_TRY(status);
    change->key = zd_strdup(place);
    change->path = zd_strdup(path.at);
    return change->key == NULL || change->path == NULL ? ZD_NO_MEMORY : make_places(change);
}

static enum zd_status take_written(struct zd_change *change, const struct zd_written *written)
{
    if (written == NULL) {
        return ZD_OK;
    }
    change->written = zd_alloc(sizeof *written);
    change->input.written = change->written;
    if (change->written == NULL) {
        return ZD_NO_MEMORY;
    }
    *change->written = *written;
    return ZD_OK;
}

struct zd_change *zd_change_new(struct zd_dataset *dataset, const struct zd_metadata_input *input)
{
    struct zd_change *change = zd_alloc_zero(1, sizeof *change);
    if (change == NULL) {
        return NULL;
    }
    change->dataset = zd_dataset_ref(dataset);
    zd_kept_init(&change->kept, dataset);
    change->kept.needs_all = input->kind == ZD_METADATA_PUT;
    zd_list_init(&change->undo.old);
    change->input = *input;
    change->input.place = NULL;
    change->input.bytes = input->bytes == NULL ? NULL : zd_buf_ref(input->bytes);
    change->input.json = input->json == NULL ? NULL : zd_json_ref(input->json);
    change->input.listing = input->listing == NULL ? NULL : zd_stored_listing_ref(input->listing);
    change->input.expected = input->expected == NULL ? NULL : zd_node_ref(input->expected);
    if (take_place(change, input->place) != ZD_OK ||
        take_written(change, input->written) != ZD_OK) {
        zd_change_free(change);
        return NULL;
    }
    return change;
}
