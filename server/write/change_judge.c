/* Changing documents: the new ones, judged and rendered. */
#include <string.h>

#include "core/base/num.h"
#include "core/dialect/roundtrip.h"
#include "server/http/problem.h"
#include "server/runtime/server.h"
#include "server/write/change.h"

/* Reading JSON and judging it, and writing it again: measured at 30 to 100 MB/s. */
#define JUDGE_NS_PER_BYTE 30

#define INDENTED_TIMES 16 /* as long as it came, a document may be when it is written */

struct zd_documents zd_change_judge_documents(const struct zd_change_place *place)
{
    struct zd_documents documents = {0};
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        const struct zd_change_document *document = &place->document[i];
        struct zd_buf *bytes = document->is_dropped     ? NULL
                               : document->made != NULL ? document->made
                                                        : document->stored;
        documents.present[i] = bytes != NULL;
        documents.bytes[i] = bytes;
        documents.text[i] = bytes == NULL ? (struct zd_span){0} : zd_buf_span(bytes);
    }
    return documents;
}

struct zd_document_texts zd_change_judge_begin(const struct zd_change *change)
{
    struct zd_document_texts texts;
    zd_document_texts_init(
        &texts, change->dataset->server->config->settings.limits_consolidated_bytes);
    return texts;
}

static enum zd_status keep(struct zd_change_place *place, struct zd_document_texts *texts)
{
    struct zd_error *err = &place->change->err;
    enum zd_status status = zd_document_texts_status(texts);
    if (status != ZD_OK) {
        const size_t len_max = texts->text[0].len_max;
        status = zd_fail(err, status, "\"%.200s\": the document exceeds the limit of %zu bytes",
            place->path, len_max);
        zd_fact_limit(err, len_max, len_max);
        return status;
    }
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        struct zd_change_document *document = &place->document[i];
        document->is_dropped = texts->dropped[i];
        if (texts->present[i]) {
            zd_buf_unref(ZD_TAKE(document->made));
            if (zd_text_take_buf(&texts->text[i], &document->made) != ZD_OK) {
                return zd_fail(err, ZD_NO_MEMORY, "no memory for a document");
            }
        }
    }
    return ZD_OK;
}

enum zd_status zd_change_judge_keep(struct zd_change_place *place, struct zd_document_texts *texts)
{
    const enum zd_status status = keep(place, texts);
    zd_document_texts_done(texts);
    return status;
}

struct zd_reading zd_change_judge_reading(const struct zd_change *change)
{
    struct zd_reading reading = zd_dataset_reading(change->dataset);
    reading.judgement = ZD_JUDGE_WRITE;
    return reading;
}

/* A patch is strict JSON: a bare NaN in the result was stored before. */
static struct zd_reading patch_reading_of(const struct zd_change *change)
{
    struct zd_reading reading = zd_change_judge_reading(change);
    reading.limits.nonfinite = true;
    return reading;
}

enum zd_status zd_change_judge_keep_readable(
    struct zd_change_place *place, struct zd_document_texts *texts)
{
    struct zd_change *change = place->change;
    const struct zd_reading reading = zd_change_judge_reading(change);
    const bool is_new = place->node == NULL || place == zd_change_target(change);
    const struct zd_dialect *dialect = is_new ? change->dialect : place->node->meta->dialect;
    ZD_TRY(zd_change_judge_keep(place, texts));
    const struct zd_documents documents = zd_change_judge_documents(place);
    return dialect->check(&documents, &reading, &change->err);
}

enum zd_status zd_change_judge_listing(
    struct zd_change_place *place, struct zd_stored_listing **ret_listing)
{
    struct zd_change *change = place->change;
    struct zd_reading reading = zd_dataset_reading(change->dataset);
    const struct zd_documents stored = zd_change_judge_documents(place);
    ZD_AUTO(zd_meta) meta = NULL;
    reading.judgement = ZD_JUDGE_READ;
    ZD_TRY(place->node->meta->dialect->parse(&stored, &reading, &meta, &change->err));
    *ret_listing = meta->listing == NULL ? NULL : zd_stored_listing_ref(meta->listing);
    return ZD_OK;
}

/* A node that stays a group keeps its listing, unless the document has one. */
static enum zd_status listing_for(struct zd_change *change, struct zd_stored_listing **ret_listing)
{
    const struct zd_meta *meta = change->meta;
    struct zd_change_place *place = zd_change_target(change);
    if (meta->listing != NULL) {
        *ret_listing = zd_stored_listing_ref(meta->listing);
    } else if (meta->type == ZD_NODE_GROUP && change->before != NULL &&
               change->before->has_listing && place->node != NULL) {
        return zd_change_judge_listing(place, ret_listing);
    }
    return ZD_OK;
}

/* With a listing that stays no more than was counted for it (server/write/change_room.c), beside
 * the new document. */
static void keep_in_room(struct zd_change *change, struct zd_document_texts *texts)
{
    const uint64_t own = INDENTED_TIMES * change->input.bytes->len;
    const uint64_t stored = zd_change_judge_stored_bytes(zd_change_target(change));
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        struct zd_text *text = &texts->text[i];
        text->len_max = (size_t)zd_min_u64(text->len_max, stored + own);
    }
}

static enum zd_status render_as(
    struct zd_change *change, const struct zd_stored_listing *listing, bool is_dense)
{
    struct zd_document_texts texts = zd_change_judge_begin(change);
    struct zd_faults *faults = &change->meta->faults;
    texts.is_dense = is_dense;
    if (listing != NULL && listing != change->meta->listing) {
        keep_in_room(change, &texts);
    }
    change->dialect->render(change->meta->document, listing, &texts, faults);
    if (faults->n_invalid > 0) {
        zd_document_texts_done(&texts);
        return ZD_OK; /* the dialect cannot say it */
    }
    return zd_change_judge_keep_readable(zd_change_target(change), &texts);
}

/* Indented, unless that is larger than the limit. */
static enum zd_status render_with(struct zd_change *change, const struct zd_stored_listing *listing)
{
    const enum zd_status status = render_as(change, listing, false);
    return status == ZD_TOO_LARGE ? render_as(change, listing, true) : status;
}

/* The old listing is dropped when it does not fit beside the document. */
static enum zd_status render(struct zd_change *change)
{
    ZD_AUTO(zd_stored_listing) listing = NULL;
    ZD_TRY(listing_for(change, &listing));
    const enum zd_status status = render_with(change, listing);
    const bool is_old = listing != change->meta->listing;
    return status == ZD_TOO_LARGE && is_old ? render_with(change, NULL) : status;
}

/* Whether an extension unknown to this server may be stored: the dataset decides. */
bool zd_change_judge_accepts(const struct zd_change *change, const struct zd_meta *meta)
{
    const struct zd_faults *faults = &meta->faults;
    return !faults->out_of_memory && faults->n_invalid == 0 &&
           (faults->n_unsupported == 0 || change->dataset->config.accept_unknown);
}

static enum zd_status read_made(struct zd_change *change, struct zd_meta **ret_meta)
{
    const struct zd_reading reading = zd_change_judge_reading(change);
    const struct zd_documents made = zd_change_judge_documents(zd_change_target(change));
    return change->dialect->parse(&made, &reading, ret_meta, &change->err);
}

/* In another dialect: what is made is read again, and is the node if it says all that was asked. */
static enum zd_status translate(struct zd_change *change)
{
    const struct zd_pointer document = {.text = ""};
    struct zd_faults *faults = &change->meta->faults;
    ZD_AUTO(zd_meta) made = NULL;
    if (zd_meta_is_refused(change->meta)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "not_in_dialect", NULL, &document, NULL, NULL,
            "the dialect %s cannot express members that this server does not know",
            change->dialect->name);
        return ZD_OK;
    }
    ZD_TRY(render(change));
    if (faults->n_invalid > 0) {
        return ZD_OK;
    }
    ZD_TRY(read_made(change, &made));
    zd_roundtrip_judge(change->meta, made, faults);
    if (faults->n_invalid == 0) {
        zd_meta_unref(change->meta);
        change->meta = ZD_TAKE(made);
    }
    return ZD_OK;
}

/* A document of the dialect itself; the first root, of any. ZD_NOT_FOUND: it is none. */
static enum zd_status take_own(struct zd_change *change)
{
    const struct zd_span body = zd_buf_span(change->input.bytes);
    const struct zd_json_limits limits = patch_reading_of(change).limits;
    const bool is_open = change->n_places == 1 && change->place[0].node == NULL;
    for (size_t i = 0; zd_dialects[i] != NULL; i++) {
        const struct zd_dialect *dialect = zd_dialects[i];
        if (dialect->take == NULL || (!is_open && dialect != change->dialect)) {
            continue;
        }
        struct zd_document_texts texts = zd_change_judge_begin(change);
        const enum zd_status status = dialect->take(body, &limits, &texts);
        if (status == ZD_OK) {
            change->dialect = dialect;
            ZD_TRY(zd_change_judge_keep_readable(zd_change_target(change), &texts));
            return read_made(change, &change->meta);
        }
        zd_document_texts_done(&texts);
        if (status != ZD_NOT_FOUND) {
            return zd_fail(&change->err, status, "no memory for a document");
        }
    }
    return ZD_NOT_FOUND;
}

static enum zd_status judge_put(struct zd_change *change)
{
    const struct zd_reading reading = zd_change_judge_reading(change);
    const enum zd_status taken = take_own(change);
    if (taken != ZD_NOT_FOUND) {
        return taken;
    }
    ZD_TRY(
        zd_dialect_judge(zd_buf_span(change->input.bytes), &reading, &change->meta, &change->err));
    if (!zd_change_judge_accepts(change, change->meta)) {
        return ZD_OK;
    }
    return change->dialect->is_first ? render(change) : translate(change);
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

/* Whether the fault lies in a member that the client's patch replaces. Objects are merged (RFC
 * 7396, 2), and the bounds that this server widens stand beside members of others. */
static bool is_written(const struct zd_change *change, const struct zd_fault *fault)
{
    const struct zd_json *members = change->input.json;
    if (change->input.has_lock || fault->pointer[0] != '/') {
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

/* Whether every fault that refuses the document was in the one before, too, and is unchanged. */
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

/* Members that a patch leaves alone are judged as for reading: others have written them so, and
 * what reading tolerates is no fault of the client. */
static enum zd_status tolerate(struct zd_change *change, const struct zd_documents *stored)
{
    struct zd_reading reading = zd_dataset_reading(change->dataset);
    const struct zd_documents made = zd_change_judge_documents(zd_change_target(change));
    ZD_AUTO(zd_meta) meta = NULL;
    ZD_AUTO(zd_meta) before = NULL;
    reading.judgement = ZD_JUDGE_READ;
    zd_meta_leave_listing(change->meta);
    ZD_TRY(change->dialect->parse(&made, &reading, &meta, &change->err));
    zd_meta_leave_listing(meta);
    reading = patch_reading_of(change);
    ZD_TRY(change->dialect->parse(stored, &reading, &before, &change->err));
    if (zd_change_judge_accepts(change, meta) && has_only_faults_of(change, &before->faults)) {
        zd_meta_unref(change->meta);
        change->meta = ZD_TAKE(meta);
    }
    return ZD_OK;
}

/* The stored documents, with what the dialect cannot say of the patch. Takes over the faults. */
static enum zd_status refuse_patch(struct zd_change *change, struct zd_faults *faults)
{
    enum zd_status status = read_made(change, &change->meta);
    if (status == ZD_OK) {
        zd_faults_done(&change->meta->faults);
        change->meta->faults = *faults;
        *faults = (struct zd_faults){0};
    }
    zd_faults_done(faults);
    return status;
}

static enum zd_status judge_patch(struct zd_change *change)
{
    const struct zd_reading reading = patch_reading_of(change);
    struct zd_change_place *place = zd_change_target(change);
    change->tells_stored = true;
    if (change->before->type == ZD_NODE_UNKNOWN || change->before->document == NULL) {
        change->meta = zd_meta_ref(change->before); /* it has no document to patch */
        return ZD_OK;
    }
    struct zd_document_texts texts = zd_change_judge_begin(change);
    const struct zd_documents stored = zd_change_judge_documents(place);
    struct zd_faults faults = {0};
    change->dialect->patch(&stored, change->input.json, &texts, &faults);
    if (zd_faults_refuse(&faults)) {
        zd_document_texts_done(&texts);
        return refuse_patch(change, &faults);
    }
    ZD_TRY(zd_change_judge_keep(place, &texts));
    const struct zd_documents made = zd_change_judge_documents(place);
    ZD_TRY(change->dialect->parse(&made, &reading, &change->meta, &change->err));
    return zd_change_judge_accepts(change, change->meta) ? ZD_OK : tolerate(change, &stored);
}

static enum zd_status judge_listing(struct zd_change *change)
{
    struct zd_change_place *place = zd_change_target(change);
    struct zd_document_texts texts = zd_change_judge_begin(change);
    const struct zd_documents stored = zd_change_judge_documents(place);
    change->dialect->set_listing(&stored, change->input.listing, &texts);
    return zd_change_judge_keep_readable(place, &texts);
}

static enum zd_status make_parent(struct zd_change *change, struct zd_change_place *place)
{
    struct zd_document_texts texts = zd_change_judge_begin(change);
    struct zd_faults none = {0};
    change->dialect->render(change->new_group, NULL, &texts, &none);
    zd_faults_done(&none);
    place->is_new = true;
    return zd_change_judge_keep(place, &texts);
}

/* Zarr v3, implicit groups: missing parents are made explicit. */
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
    switch (change->input.kind) {
    case ZD_METADATA_PUT:
        ZD_TRY(judge_put(change));
        return make_parents(change);
    case ZD_METADATA_PUT_KEY:
        return zd_change_key_judge(change);
    case ZD_METADATA_PATCH:
        return judge_patch(change);
    case ZD_METADATA_CONSOLIDATE:
        return judge_listing(change);
    case ZD_METADATA_ERASE_KEY:
        return zd_change_key_judge_erasure(change);
    case ZD_METADATA_ERASE:
        return ZD_OK;
    }
    return ZD_OK;
}

/* The node as readers will find it. */
static enum zd_status foresee(struct zd_change *change)
{
    if (change->made == NULL || change->meta == NULL ||
        !zd_change_judge_accepts(change, change->meta)) {
        return ZD_OK;
    }
    const struct zd_documents documents = zd_change_judge_documents(zd_change_target(change));
    zd_node_measure(change->made, change->dialect, &documents);
    return zd_node_parse(change->made, change->dialect, &documents, &change->err);
}

static void judge_on_worker(struct zd_job *job)
{
    struct zd_change *change = ZD_CONTAINER(job, struct zd_change, job);
    change->err.status = judge(change);
    if (change->meta != NULL && change->meta != change->before) {
        zd_meta_leave_listing(change->meta);
    }
    if (change->err.status == ZD_OK) {
        change->err.status = foresee(change);
    }
}

/* A path longer than any key is left to the store to refuse. */
static enum zd_status begin_node(struct zd_change *change)
{
    if (!change->input.wants_node || change->input.is_dry ||
        strlen(change->path) > ZD_KEY_BYTES_MAX) {
        return ZD_OK;
    }
    change->made = zd_node_new(change->dataset, zd_span_of(change->path));
    return change->made == NULL ? zd_fail(&change->err, ZD_NO_MEMORY, "no memory for a node")
                                : ZD_OK;
}

uint64_t zd_change_judge_stored_bytes(const struct zd_change_place *place)
{
    uint64_t n = 0;
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        n += place->document[i].stored == NULL ? 0 : place->document[i].stored->len;
    }
    return n;
}

enum zd_change_outcome zd_change_judge(struct zd_change *change)
{
    const uint64_t n_bytes = zd_change_judge_stored_bytes(zd_change_target(change)) +
                             (change->input.bytes == NULL ? 0 : change->input.bytes->len);
    const enum zd_change_outcome outcome = zd_change_outcome_of(change, begin_node(change));
    return outcome == ZD_CHANGE_NEXT
               ? zd_change_run_work(change, judge_on_worker, n_bytes * JUDGE_NS_PER_BYTE)
               : outcome;
}

static enum zd_change_outcome refuse_document(struct zd_change *change)
{
    const struct zd_meta *meta = change->meta;
    const enum zd_status status = zd_faults_status(&meta->faults, &change->err);
    change->blames_input = !change->tells_stored;
    if (status == ZD_NO_MEMORY || meta->document != NULL || meta == change->before) {
        /* A client that writes elements has sent no document whose faults could be listed. */
        change->code = change->input.has_lock ? zd_problem_code_of_faults(&meta->faults) : NULL;
        return zd_change_outcome_of(change, status);
    }
    /* It is not JSON at all, or larger than any document may be. */
    const bool is_large = strcmp(meta->faults.item[0].code, "too_large") == 0;
    zd_meta_unref(ZD_TAKE(change->meta));
    change->code = is_large ? NULL : "bad_body";
    return zd_change_outcome_of(change, is_large ? ZD_TOO_LARGE : ZD_INVALID);
}

static bool is_refused(const struct zd_change *change)
{
    return change->meta != NULL && !change->is_judged &&
           !zd_change_judge_accepts(change, change->meta);
}

/* A node that becomes an array. */
static bool makes_array(const struct zd_change *change)
{
    const bool was_array = change->before != NULL && zd_meta_is_array(change->before);
    return change->input.kind == ZD_METADATA_PUT && change->meta != NULL &&
           zd_meta_is_array(change->meta) && !was_array;
}

enum zd_change_outcome zd_change_judge_end(struct zd_change *change)
{
    if (change->err.status != ZD_OK) {
        return ZD_CHANGE_FAILED;
    }
    if (is_refused(change)) {
        return refuse_document(change);
    }
    return makes_array(change) && change->path_lock.claim.mode != ZD_LOCK_TREE ? ZD_CHANGE_TREE
                                                                               : ZD_CHANGE_NEXT;
}

/* ---- bounds that an array declares, before elements are stored ---- */

static bool is_array_of(const struct zd_meta *meta, const struct zd_dtype *dtype)
{
    return zd_meta_is_array(meta) && zd_dtype_equal(&meta->dtype, dtype);
}

/* The members that change. @param ret_members owned; NULL: the document is right */
static enum zd_status widen(struct zd_change *change, struct zd_json **ret_members)
{
    struct zd_error *err = &change->err;
    ZD_AUTO(zd_json) extensions = NULL;
    *ret_members = NULL;
    if (!is_array_of(change->before, &change->written->summary.dtype)) {
        return zd_fail(err, ZD_NOT_FOUND,
            "'%.256s' is no longer an array, or has another data type", change->path);
    }
    ZD_TRY(zd_written_before(change->written, change->before, &extensions, err));
    if (extensions == NULL) {
        return ZD_OK;
    }
    ZD_AUTO(zd_json) members = zd_json_new_object();
    if (members == NULL || zd_json_set(members, "extensions", zd_json_ref(extensions)) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the extensions of an array");
    }
    *ret_members = ZD_TAKE(members);
    return ZD_OK;
}

enum zd_change_outcome zd_change_judge_bounds(struct zd_change *change)
{
    struct zd_json *members = NULL;
    if (change->written == NULL) {
        return ZD_CHANGE_NEXT;
    }
    const enum zd_change_outcome outcome = zd_change_outcome_of(change, widen(change, &members));
    zd_json_unref((struct zd_json *)(uintptr_t)change->input.json); /* of the last try */
    change->input.json = members;
    return outcome == ZD_CHANGE_NEXT && members == NULL ? ZD_CHANGE_DONE : outcome;
}

/* ---- the levels that a group lists (example.multiscale-arrays) ---- */

/* Levels that the change does not touch are not judged: an array may have been erased since. */
static bool is_listed_anew(const struct zd_change *change)
{
    return zd_change_is_put(change) ||
           (change->input.kind == ZD_METADATA_PATCH &&
               zd_json_member(change->input.json, "extensions") != NULL);
}

/* A caller that has left cannot be asked: its change is withdrawn. */
static bool may_read(const void *client, const char *path)
{
    const struct zd_change *change = client;
    return change->want != NULL && zd_reader_may(&change->input.reader, path);
}

enum zd_change_outcome zd_change_judge_levels(struct zd_change *change)
{
    if (change->meta != NULL && zd_multiscale_has(change->meta) &&
        change->meta->view.needs_levels && is_listed_anew(change)) {
        change->multiscale.wait = zd_gather_wait(&change->gather);
        change->multiscale.reader = (struct zd_reader){.may_read = may_read, .client = change};
        zd_gather_add(&change->gather, zd_multiscale_want_fresh(&change->multiscale,
                                           change->dataset, change->path, change->meta));
    }
    return ZD_CHANGE_NEXT;
}

/* A level that is no array is a fault of the document. */
enum zd_change_outcome zd_change_judge_levels_end(struct zd_change *change)
{
    const struct zd_multiscale *multiscale = &change->multiscale;
    if (multiscale->wait.status != ZD_OK) {
        return zd_change_outcome_of_wait(change, &multiscale->wait);
    }
    if (multiscale->n > 0) {
        zd_multiscale_judge(multiscale, ZD_FAULT_INVALID, &change->meta->faults);
        change->tells_stored = true;
    }
    zd_multiscale_release(&change->multiscale);
    return is_refused(change) ? refuse_document(change) : ZD_CHANGE_NEXT;
}
