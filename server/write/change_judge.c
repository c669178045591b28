/* Changing documents: the new ones, judged and rendered; whether what is stored below allows them;
 * and the consolidated metadata of the nodes above. */
#include <string.h>

#include "server/write/change.h"
#include "server/data/path_order.h"
#include "server/http/problem.h"
#include "server/runtime/server.h"

/* Reading JSON and judging it, and writing it again: measured at 30 to 100 MB/s. */
#define JUDGE_NS_PER_BYTE 30

/* Writing a text again of which little changes, and measuring it. */
#define RELIST_NS_PER_BYTE 10

static enum zd_next step_judged(struct zd_change *change);
static enum zd_next step_levels_found(struct zd_change *change);
static enum zd_next step_looked(struct zd_change *change);

/* ---- the node's documents ---- */

static struct zd_documents documents_of(const struct zd_place *place)
{
    struct zd_documents documents = {0};
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        const struct zd_place_document *document = &place->document[i];
        const struct zd_buf *bytes = document->made != NULL ? document->made : document->stored;
        documents.present[i] = bytes != NULL;
        documents.text[i] = bytes == NULL ? (struct zd_span){0} : zd_buf_span(bytes);
    }
    return documents;
}

static size_t text_bytes_max(const struct zd_change *change)
{
    return change->dataset->server->config->settings.limits_consolidated_bytes;
}

/* Texts become what is to be stored. */
static enum zd_status keep_texts(
    struct zd_place *place, const struct zd_document_texts *texts, struct zd_error *err)
{
    const enum zd_status status = zd_document_texts_status(texts);
    if (status != ZD_OK) {
        const size_t len_max = texts->text[0].len_max;
        const enum zd_status told = zd_fail(
            err, status, "\"%.200s\": the document does not fit %zu bytes", place->path, len_max);
        zd_fact_limit(err, len_max, len_max);
        return told;
    }
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        struct zd_place_document *document = &place->document[i];
        if (texts->present[i]) {
            zd_buf_unref(ZD_TAKE(document->made));
            if (zd_text_buf(&texts->text[i], &document->made) != ZD_OK) {
                return zd_fail(err, ZD_NO_MEMORY, "no memory for a document");
            }
        }
    }
    return ZD_OK;
}

static struct zd_reading reading_of(const struct zd_change *change)
{
    struct zd_reading reading = zd_catalog_reading(change->dataset);
    reading.judgement = ZD_JUDGE_WRITE;
    return reading;
}

/* A patch is JSON, so that a bare NaN stood there before. */
static struct zd_reading patch_reading_of(const struct zd_change *change)
{
    struct zd_reading reading = reading_of(change);
    reading.limits.nonfinite = true;
    return reading;
}

/* Texts that must not be stored when nobody here would read them again. */
static enum zd_status keep_readable(
    struct zd_change *change, struct zd_place *place, const struct zd_document_texts *texts)
{
    const struct zd_reading reading = reading_of(change);
    const struct zd_dialect *dialect =
        place->node == NULL ? change->dialect : place->node->meta->dialect;
    ZD_TRY(keep_texts(place, texts, &change->err));
    const struct zd_documents documents = documents_of(place);
    return dialect->check(&documents, &reading, &change->err);
}

/* A group that stays one keeps its listing, unless another one comes with the document. */
static const struct zd_json *listing_for(const struct zd_change *change)
{
    const struct zd_meta *meta = change->meta;
    if (meta->type != ZD_NODE_GROUP || meta->consolidated != NULL || change->before == NULL) {
        return meta->consolidated;
    }
    return change->before->consolidated;
}

static enum zd_status render_as(
    struct zd_change *change, const struct zd_json *listing, bool is_dense)
{
    struct zd_document_texts texts;
    zd_document_texts_init(&texts, text_bytes_max(change));
    texts.is_dense = is_dense;
    change->dialect->render(change->meta->document, listing, &texts);
    const enum zd_status status = keep_readable(change, zd_change_target(change), &texts);
    zd_document_texts_done(&texts);
    return status;
}

/* For people, unless that is more than is read. */
static enum zd_status render_with(struct zd_change *change, const struct zd_json *listing)
{
    const enum zd_status status = render_as(change, listing, false);
    return status == ZD_TOO_LARGE ? render_as(change, listing, true) : status;
}

/* The old listing goes when the document leaves it no room. */
static enum zd_status render(struct zd_change *change)
{
    const struct zd_json *listing = listing_for(change);
    const enum zd_status status = render_with(change, listing);
    const bool is_old = listing != change->meta->consolidated;
    return status == ZD_TOO_LARGE && is_old ? render_with(change, NULL) : status;
}

/* What is not known here may be stored, if the dataset says so. */
static bool is_accepted(const struct zd_change *change, const struct zd_meta *meta)
{
    const struct zd_faults *faults = &meta->faults;
    return !faults->out_of_memory && faults->n_invalid == 0 &&
           (faults->n_unsupported == 0 || change->dataset->config.accept_unknown);
}

static enum zd_status judge_put(struct zd_change *change)
{
    const struct zd_reading reading = reading_of(change);
    ZD_TRY(zd_dialect_judge(zd_buf_span(change->ask.bytes), &reading, &change->meta, &change->err));
    return is_accepted(change, change->meta) ? render(change) : ZD_OK;
}

/* The key's document is another one, those beside it are as they are. */
static enum zd_status judge_key(struct zd_change *change)
{
    const struct zd_reading reading = reading_of(change);
    struct zd_place *place = zd_change_target(change);
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    for (uint32_t i = 0; i < change->dialect->n_documents; i++) {
        zd_text_clear(&key);
        if (change->dialect->document_key(place->path, i, &key) != ZD_OK) {
            return zd_fail(&change->err, key.status, "no memory for a key");
        }
        if (strcmp(key.at, change->key) == 0) {
            place->document[i].made = zd_buf_ref(change->ask.bytes);
        }
    }
    const struct zd_documents documents = documents_of(place);
    return change->dialect->parse(&documents, &reading, &change->meta, &change->err);
}

static bool has_fault(const struct zd_faults *faults, const struct zd_fault *fault)
{
    for (size_t i = 0; i < faults->n_items; i++) {
        const struct zd_fault *other = &faults->item[i];
        if (other->severity == fault->severity && strcmp(other->code, fault->code) == 0 &&
            strcmp(other->pointer, fault->pointer) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether it is a fault of what a client writes: of a member that its patch replaces. Objects are
 * merged (RFC 7396, 2), and what this server widens stands beside the parts of others. */
static bool is_written(const struct zd_change *change, const struct zd_fault *fault)
{
    const struct zd_json *members = change->ask.json;
    if (change->ask.has_lock || fault->pointer[0] != '/') {
        return false;
    }
    const char *member = fault->pointer + 1;
    const struct zd_span name = {.ptr = (const uint8_t *)member, .len = strcspn(member, "/")};
    void *iter = zd_json_next(members, NULL);
    for (; iter != NULL; iter = zd_json_next(members, iter)) {
        if (zd_span_is(name, zd_json_iter_name(iter))) {
            return !zd_json_is(zd_json_iter_value(iter), ZD_JSON_OBJECT);
        }
    }
    return false;
}

/* Whether all that refuses a document has refused the one before it, too, and stands as it did. */
static bool has_only_faults_of(const struct zd_change *change, const struct zd_faults *before)
{
    const struct zd_faults *faults = &change->meta->faults;
    for (size_t i = 0; i < faults->n_items; i++) {
        const struct zd_fault *fault = &faults->item[i];
        if (fault->severity != ZD_FAULT_WARNING &&
            (is_written(change, fault) || !has_fault(before, fault))) {
            return false;
        }
    }
    return faults->n_invalid <= before->n_invalid && faults->n_unsupported <= before->n_unsupported;
}

/* What a patch leaves as it stands is judged by those who read it: others have written it so, and
 * what reading tolerates is no fault of the client. */
static enum zd_status tolerate(struct zd_change *change, const struct zd_documents *stored)
{
    struct zd_reading reading = zd_catalog_reading(change->dataset);
    const struct zd_documents made = documents_of(zd_change_target(change));
    ZD_AUTO(zd_meta) meta = NULL;
    ZD_AUTO(zd_meta) before = NULL;
    reading.judgement = ZD_JUDGE_READ;
    ZD_TRY(change->dialect->parse(&made, &reading, &meta, &change->err));
    reading = patch_reading_of(change);
    ZD_TRY(change->dialect->parse(stored, &reading, &before, &change->err));
    if (is_accepted(change, meta) && has_only_faults_of(change, &before->faults)) {
        zd_meta_unref(change->meta);
        change->meta = ZD_TAKE(meta);
    }
    return ZD_OK;
}

static enum zd_status judge_patch(struct zd_change *change)
{
    const struct zd_reading reading = patch_reading_of(change);
    struct zd_place *place = zd_change_target(change);
    if (change->before->type == ZD_NODE_UNKNOWN) {
        change->meta = zd_meta_ref(change->before); /* not even a document that could be patched */
        return ZD_OK;
    }
    struct zd_document_texts texts;
    const struct zd_documents stored = documents_of(place);
    zd_document_texts_init(&texts, text_bytes_max(change));
    change->dialect->patch(&stored, change->ask.json, &texts);
    const enum zd_status status = keep_texts(place, &texts, &change->err);
    zd_document_texts_done(&texts);
    ZD_TRY(status);
    const struct zd_documents made = documents_of(place);
    ZD_TRY(change->dialect->parse(&made, &reading, &change->meta, &change->err));
    return is_accepted(change, change->meta) ? ZD_OK : tolerate(change, &stored);
}

static enum zd_status judge_listing(struct zd_change *change)
{
    struct zd_place *place = zd_change_target(change);
    struct zd_document_texts texts;
    const struct zd_documents stored = documents_of(place);
    zd_document_texts_init(&texts, text_bytes_max(change));
    change->dialect->set_listing(&stored, change->ask.json, &texts);
    const enum zd_status status = keep_readable(change, place, &texts);
    zd_document_texts_done(&texts);
    return status;
}

static enum zd_status make_parent(struct zd_change *change, struct zd_place *place)
{
    struct zd_document_texts texts;
    zd_document_texts_init(&texts, text_bytes_max(change));
    change->dialect->render(change->new_group, NULL, &texts);
    const enum zd_status status = keep_texts(place, &texts, &change->err);
    zd_document_texts_done(&texts);
    place->is_new = true;
    return status;
}

/* Missing parents become explicit groups (reference 1.10). */
static enum zd_status make_parents(struct zd_change *change)
{
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        if (change->place[i].node != NULL) {
            continue;
        }
        if (change->new_group == NULL) {
            change->new_group = zd_dialect_new_group();
        }
        if (change->new_group == NULL) {
            return zd_fail(&change->err, ZD_NO_MEMORY, "no memory for a group");
        }
        ZD_TRY(make_parent(change, &change->place[i]));
    }
    return ZD_OK;
}

static enum zd_status judge(struct zd_change *change)
{
    switch (change->ask.kind) {
    case ZD_METADATA_PUT:
        ZD_TRY(judge_put(change));
        return make_parents(change);
    case ZD_METADATA_PUT_KEY:
        return judge_key(change);
    case ZD_METADATA_PATCH:
        return judge_patch(change);
    case ZD_METADATA_CONSOLIDATE:
        return judge_listing(change);
    case ZD_METADATA_ERASE:
    case ZD_METADATA_ERASE_KEY:
        return ZD_OK;
    }
    return ZD_OK;
}

/* What a reader is going to find. */
static enum zd_status foresee(struct zd_change *change)
{
    if (change->made == NULL || !is_accepted(change, change->meta)) {
        return ZD_OK;
    }
    const struct zd_documents documents = documents_of(zd_change_target(change));
    return zd_node_parse(change->made, change->dialect, &documents, &change->err);
}

static void judge_on_worker(struct zd_job *job)
{
    struct zd_change *change = ZD_CONTAINER(job, struct zd_change, job);
    change->status = judge(change);
    if (change->status == ZD_OK) {
        change->status = foresee(change);
    }
}

/* A path that is longer than any key is refused by the store. */
static enum zd_status begin_node(struct zd_change *change)
{
    if (!change->ask.wants_node || change->ask.is_dry || strlen(change->path) > ZD_KEY_BYTES_MAX) {
        return ZD_OK;
    }
    change->made = zd_catalog_new_node(change->dataset, change->path);
    return change->made == NULL ? zd_fail(&change->err, ZD_NO_MEMORY, "no memory for a node")
                                : ZD_OK;
}

static uint64_t stored_bytes(const struct zd_place *place)
{
    uint64_t n = 0;
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        n += place->document[i].stored == NULL ? 0 : place->document[i].stored->len;
    }
    return n;
}

enum zd_next zd_change_judge(struct zd_change *change)
{
    const uint64_t n_bytes = stored_bytes(zd_change_target(change)) +
                             (change->ask.bytes == NULL ? 0 : change->ask.bytes->len);
    change->step = step_judged;
    change->status = begin_node(change);
    if (change->status != ZD_OK) {
        return ZD_NEXT;
    }
    return zd_change_work(change, judge_on_worker, n_bytes * JUDGE_NS_PER_BYTE);
}

/* ---- what is below ---- */

static bool is_chunk_of(const struct zd_meta *meta, const char *rest)
{
    uint64_t index[ZD_RANK_MAX];
    return meta != NULL && zd_meta_is_array(meta) &&
           meta->dialect->chunk_index(meta, rest, index) != ZD_NOT_FOUND;
}

static void look_at_key(struct zd_change *change, const char *key)
{
    const size_t len = strlen(change->path);
    const char *rest = key + len + (len == 0 ? 0 : 1);
    change->has_key = true;
    change->has_chunk =
        change->has_chunk || is_chunk_of(change->before, rest) || is_chunk_of(change->meta, rest);
}

/* A key below the node is of a document of a node there, or of no document; one beside it shows
 * what a missing parent has hidden. */
static enum zd_purge_answer look_at(void *context, const char *key, const char *rest)
{
    struct zd_change *change = context;
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    (void)rest;
    const enum zd_status status = zd_dialect_node_path(key, &path);
    if (status == ZD_NO_MEMORY) {
        return ZD_PURGE_NO_MEMORY;
    }
    const bool is_document = status == ZD_OK;
    const bool is_own = is_document && strcmp(path.at, change->path) == 0;
    if (zd_path_is_below(key, change->path)) {
        change->has_child = change->has_child || (is_document && !is_own);
        if (!is_document) {
            look_at_key(change, key);
        }
    } else if (is_document) {
        change->shows_orphans = true;
    }
    const bool has_all = change->has_child || (change->has_key && change->stops_at_key) ||
                         (change->has_chunk && change->stops_at_chunk);
    return has_all ? ZD_PURGE_STOP : ZD_PURGE_KEEP;
}

static void looked(void *context)
{
    zd_change_go_on(context);
}

static bool is_put(const struct zd_change *change)
{
    return change->ask.kind == ZD_METADATA_PUT || change->ask.kind == ZD_METADATA_PUT_KEY;
}

/* Whether a node above has stored consolidated metadata. */
static bool has_listing(const struct zd_change *change)
{
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        if (change->place[i].wants_bytes) {
            return true;
        }
    }
    return false;
}

/*
 * An array has nothing below it but its chunks, and those are of its making: so what is there
 * already is looked for when a node becomes an array, or another array, or is one no more. A new
 * group shows nodes that no listing above has.
 */
static bool has_to_look(const struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    if (change->ask.kind == ZD_METADATA_ERASE) {
        return change->subtree == NULL && (change->ask.keeps_children || before == NULL);
    }
    if (!is_put(change) || change->meta == NULL) {
        return false;
    }
    if (change->meta->type == ZD_NODE_GROUP && before == NULL) {
        return has_listing(change);
    }
    return before == NULL || before->type != ZD_NODE_GROUP || change->meta->type != ZD_NODE_GROUP;
}

/* Of raw keys: whether chunks that are there would be read as others, or by nobody any more. What
 * was not read itself, or is not there yet, had none that can be spoilt: copies come in any order.
 */
static bool spoils_chunks(const struct zd_change *change)
{
    return change->ask.kind == ZD_METADATA_PUT_KEY && change->before != NULL &&
           zd_meta_is_array(change->before) &&
           !zd_meta_has_same_encoding(change->before, change->meta);
}

/* The first key says enough where each is a fault. */
static bool stops_at_key(const struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    if (spoils_chunks(change)) {
        return false;
    }
    if (change->ask.kind == ZD_METADATA_ERASE) {
        return !change->ask.keeps_children;
    }
    if (before != NULL && before->type != ZD_NODE_GROUP) {
        return true; /* there can be no nodes below */
    }
    return change->ask.kind == ZD_METADATA_PUT && !change->ask.erases_chunks &&
           change->meta != NULL && change->meta->type == ZD_NODE_ARRAY;
}

/* From where: new parents show what is below them, too. */
static const char *look_path(const struct zd_change *change)
{
    for (size_t i = 0; has_listing(change) && i + 1 < change->n_places; i++) {
        if (change->place[i].is_new) {
            return change->place[i].path;
        }
    }
    return change->path;
}

static enum zd_next look(struct zd_change *change)
{
    const struct zd_purge_config config = {
        .dataset = change->dataset,
        .path = look_path(change),
        .visit = look_at,
        .done = looked,
        .context = change,
    };
    struct zd_error err = {0};
    change->has_child = false;
    change->has_key = false;
    change->has_chunk = false;
    change->shows_orphans = false;
    change->stops_at_key = stops_at_key(change);
    change->stops_at_chunk = change->meta != NULL && spoils_chunks(change);
    change->step = step_looked;
    const enum zd_status status = zd_purge_start(&config, &change->purge, &err);
    return status == ZD_OK ? ZD_WAIT : zd_change_fail(change, status, NULL, &err);
}

static enum zd_next refuse_document(struct zd_change *change)
{
    const struct zd_meta *meta = change->meta;
    struct zd_error err = {0};
    const enum zd_status status = zd_faults_status(&meta->faults, &err);
    if (status == ZD_NO_MEMORY || meta->document != NULL || meta == change->before) {
        /* Who changes a document to write elements has sent none that could be told of. */
        const char *code = change->ask.has_lock ? zd_problem_code_of_faults(&meta->faults) : NULL;
        return zd_change_fail(change, status, code, &err);
    }
    /* It is not JSON at all, or larger than any document may be. */
    const bool is_large = strcmp(meta->faults.item[0].code, "too_large") == 0;
    zd_meta_unref(ZD_TAKE(change->meta));
    err.status = is_large ? ZD_TOO_LARGE : ZD_INVALID;
    return zd_change_fail(change, err.status, is_large ? NULL : "bad_body", &err);
}

static bool makes_array(const struct zd_change *change)
{
    const bool was_array = change->before != NULL && zd_meta_is_array(change->before);
    return change->ask.kind == ZD_METADATA_PUT && change->meta != NULL &&
           zd_meta_is_array(change->meta) && !was_array;
}

static enum zd_next step_judged(struct zd_change *change)
{
    if (change->status != ZD_OK) {
        return zd_change_fail(change, change->status, NULL, &change->err);
    }
    if (change->meta != NULL && !is_accepted(change, change->meta)) {
        return refuse_document(change);
    }
    if (makes_array(change) && change->path_lock.mode != ZD_LOCK_TREE) {
        return zd_change_lock_tree(change);
    }
    change->step = step_levels_found;
    return zd_change_find_levels(change);
}

static enum zd_next refuse_place(struct zd_change *change, const char *code, const char *why)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_INVALID, "\"%.200s\" %s", change->path, why);
    return zd_change_fail(change, ZD_INVALID, code, &err);
}

/* Whether chunks that are there would be read as others, or by nobody any more. */
static bool orphans_chunks(const struct zd_change *change)
{
    const struct zd_meta *before = change->before;
    if (spoils_chunks(change)) {
        return change->has_chunk;
    }
    if (!change->has_key || change->ask.kind != ZD_METADATA_PUT || change->ask.erases_chunks) {
        return false;
    }
    if (before == NULL || before->type == ZD_NODE_GROUP) {
        return change->meta->type == ZD_NODE_ARRAY;
    }
    return !zd_meta_has_same_chunks(before, change->meta);
}

static enum zd_next judge_erasure(struct zd_change *change)
{
    if (change->before == NULL && !change->has_child && !change->has_key) {
        struct zd_error err = {0};
        err.status = zd_fail(&err, ZD_NOT_FOUND, "there is no node at \"%.200s\"", change->path);
        return zd_change_fail(change, ZD_NOT_FOUND, NULL, &err);
    }
    if (change->ask.keeps_children && change->has_child) {
        return refuse_place(change, "not_empty", "has children; without recursive=0 they go too");
    }
    change->step = zd_change_relist;
    return ZD_NEXT;
}

/* By what is known of the keys below. */
static enum zd_next judge_place(struct zd_change *change)
{
    if (change->ask.kind == ZD_METADATA_ERASE) {
        return judge_erasure(change);
    }
    change->step = zd_change_relist;
    if (!is_put(change) || change->meta == NULL) {
        return ZD_NEXT;
    }
    if (change->meta->type == ZD_NODE_ARRAY && change->has_child) {
        return refuse_place(change, "not_empty", "has nodes below it: an array can have none");
    }
    if (orphans_chunks(change)) {
        return refuse_place(change, "chunks_exist",
            change->key == NULL
                ? "has chunks that the document would orphan; erase_chunks=1 erases them"
                : "has chunks that the document would spoil: they are to be erased before");
    }
    return ZD_NEXT;
}

static enum zd_next step_levels_found(struct zd_change *change)
{
    const enum zd_status status = zd_change_judge_levels(change);
    if (status != ZD_OK) {
        return zd_change_fail(change, status, NULL, &change->err);
    }
    if (change->meta != NULL && !is_accepted(change, change->meta)) {
        return refuse_document(change);
    }
    if (has_to_look(change)) {
        return look(change);
    }
    return judge_place(change);
}

static enum zd_next step_looked(struct zd_change *change)
{
    struct zd_error err = {0};
    const enum zd_status status = zd_purge_status(change->purge, NULL, &err);
    zd_purge_free(ZD_TAKE(change->purge));
    return status == ZD_OK ? judge_place(change) : zd_change_fail(change, status, NULL, &err);
}

/* ---- the listings above ---- */

/* The path below an ancestor, whose listing holds relative ones. */
static const char *below(const struct zd_place *ancestor, const char *path)
{
    const size_t len = strlen(ancestor->path);
    return len == 0 ? path : path + len + 1;
}

/* What is to be listed of the node: as it is going to be, or as somebody has left it since it was
 * stored; NULL: nothing. */
static const struct zd_meta *listed_meta(struct zd_change *change)
{
    const struct zd_node *node = zd_change_target(change)->node;
    return !change->has_stored ? change->meta : node == NULL ? NULL : node->meta;
}

/* Whether somebody has made a group of it meanwhile: what is below is known to him only. */
static bool is_other_group(struct zd_change *change)
{
    const struct zd_meta *meta = listed_meta(change);
    return change->has_stored && meta != NULL && meta->type != ZD_NODE_ARRAY &&
           (change->meta == NULL || change->meta->type != meta->type);
}

/* Whether a node can be reached from above: every group on the way is there, or is made. */
static bool is_reached(const struct zd_change *change, size_t from)
{
    for (size_t i = from + 1; i + 1 < change->n_places; i++) {
        const bool is_made = change->place[i].is_new && !change->has_stored;
        if (change->place[i].node == NULL && !is_made) {
            return false;
        }
    }
    return true;
}

/* A parent that somebody has made, who has not listed it yet, and may never do. */
static bool is_unlisted(const struct zd_change *change, size_t holder, const char *rest, size_t i)
{
    const struct zd_json *listing = change->place[holder].node->meta->consolidated;
    return change->has_made && change->place[i].node != NULL &&
           zd_json_member(listing, rest) == NULL;
}

/* What becomes of an ancestor's listing: new parents, and the node. Borrowed from the change.
 * @param ret_change room for n_places + 1 */
static size_t changes_for(
    struct zd_change *change, size_t holder, struct zd_listing_change *ret_change)
{
    const char *rest = below(&change->place[holder], change->path);
    const struct zd_meta *meta = listed_meta(change);
    size_t n = 0;
    for (size_t i = holder + 1; i + 1 < change->n_places; i++) {
        const struct zd_place *place = &change->place[i];
        const char *parent = below(&change->place[holder], place->path);
        if (place->node == NULL && place->is_new) {
            ret_change[n++] =
                (struct zd_listing_change){.path = parent, .document = change->new_group};
        } else if (place->is_new || is_unlisted(change, holder, parent, i)) {
            ret_change[n++] =
                (struct zd_listing_change){.path = parent, .document = place->node->meta->document};
        }
    }
    if (meta == NULL || meta->type == ZD_NODE_ARRAY) {
        ret_change[n++] = (struct zd_listing_change){.path = rest}; /* and what is below it */
    }
    if (meta != NULL) {
        ret_change[n++] = (struct zd_listing_change){.path = rest, .document = meta->document};
    }
    return n;
}

static enum zd_status refresh_listing(struct zd_change *change, size_t holder)
{
    struct zd_place *place = &change->place[holder];
    const struct zd_documents stored = documents_of(place);
    struct zd_document_texts texts;
    struct zd_listing_change *changes = zd_alloc_zero(change->n_places + 1, sizeof *changes);
    if (changes == NULL) {
        return zd_fail(&change->err, ZD_NO_MEMORY, "no memory for consolidated metadata");
    }
    const size_t n = changes_for(change, holder, changes);
    zd_document_texts_init(&texts, text_bytes_max(change));
    place->node->meta->dialect->change_listing(&stored, changes, n, &texts);
    zd_free(changes);
    const enum zd_status status = keep_readable(change, place, &texts);
    zd_document_texts_done(&texts);
    return status;
}

static enum zd_status drop_listing(struct zd_change *change, struct zd_place *place)
{
    struct zd_document_texts texts;
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        zd_buf_unref(ZD_TAKE(place->document[i].made));
    }
    const struct zd_documents stored = documents_of(place);
    zd_document_texts_init(&texts, text_bytes_max(change));
    place->node->meta->dialect->set_listing(&stored, NULL, &texts);
    const enum zd_status status = keep_texts(place, &texts, &change->err);
    zd_document_texts_done(&texts);
    return status;
}

/* Refreshed, or dropped when that cannot be, or nobody could read it: both are valid (reference
 * 4.5). */
static enum zd_status relist_one(struct zd_change *change, size_t holder)
{
    struct zd_place *place = &change->place[holder];
    if (change->drops_listings || change->shows_orphans || is_other_group(change) ||
        (change->has_made && change->has_child) || place->node->meta->has_unread_listing) {
        return drop_listing(change, place);
    }
    const enum zd_status status = refresh_listing(change, holder);
    return status == ZD_TOO_LARGE ? drop_listing(change, place) : status;
}

static enum zd_status relist(struct zd_change *change)
{
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        /* Of parents that were made for nothing some may be missing. */
        if (change->place[i].wants_bytes && (change->drops_listings || is_reached(change, i))) {
            ZD_TRY(relist_one(change, i));
        }
    }
    return ZD_OK;
}

static void relist_on_worker(struct zd_job *job)
{
    struct zd_change *change = ZD_CONTAINER(job, struct zd_change, job);
    change->status = relist(change);
}

static enum zd_next step_relisted(struct zd_change *change)
{
    if (change->status != ZD_OK) {
        return zd_change_fail(change, change->status, NULL, &change->err);
    }
    change->step = change->ask.is_dry ? zd_change_end : zd_change_store;
    return ZD_NEXT;
}

enum zd_next zd_change_relist(struct zd_change *change)
{
    uint64_t n_bytes = 0;
    for (size_t i = 0; i + 1 < change->n_places; i++) {
        n_bytes += stored_bytes(&change->place[i]);
    }
    change->step = step_relisted;
    return zd_change_work(change, relist_on_worker, n_bytes * RELIST_NS_PER_BYTE);
}
