/* A consolidated listing: rows chosen, sorted, compared and written. */
#include "server/describe/tree.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/aside.h"
#include "core/base/json_grammar.h"
#include "core/store/contract/path.h"
#include "core/store/contract/store.h"
#include "server/describe/tree_cursor.h"
#include "server/http/glob.h"
#include "server/http/problem.h"

#define FIRST_CAP        64
#define STORED_LOT_BYTES (1 << 20)

/* Levels below the start; the path is the start or below it. */
static uint64_t depth_below(const char *path, const char *start)
{
    const char *at = path + strlen(start);
    uint64_t depth = *at != '\0' && start[0] == '\0' ? 1 : 0;
    for (; *at != '\0'; at++) {
        depth += *at == '/' ? 1 : 0;
    }
    return depth;
}

/* Whatever the node is. */
static bool wants_path(const struct zd_tree_ask *ask, const char *path)
{
    return depth_below(path, ask->path) <= ask->depth_max &&
           (ask->match == NULL || zd_glob_matches(ask->match, path));
}

bool zd_tree_wants(const struct zd_tree_ask *ask, const char *path, enum zd_node_type type)
{
    return (ask->type == ZD_NODE_UNKNOWN || ask->type == type) && wants_path(ask, path);
}

static ZD_RESULT make_room(struct zd_tree_rows *rows)
{
    if (rows->n < rows->cap) {
        return ZD_OK;
    }
    const size_t cap = rows->cap == 0 ? FIRST_CAP : rows->cap * 2;
    struct zd_tree_row *grown = zd_realloc(rows->row, cap * sizeof *grown);
    if (grown == NULL) {
        return ZD_NO_MEMORY;
    }
    rows->row = grown;
    rows->cap = cap;
    return ZD_OK;
}

enum zd_status zd_tree_add(struct zd_tree_rows *rows, const char *path, struct zd_meta *meta,
    bool can_slice, const struct zd_error *err)
{
    ZD_TRY(make_room(rows));
    ZD_AUTO_TEXT copy = zd_strdup(path);
    ZD_AUTO_TEXT why = meta == NULL ? zd_strdup(err->text) : NULL;
    if (copy == NULL || (meta == NULL && why == NULL)) {
        return ZD_NO_MEMORY;
    }
    if (why != NULL) {
        zd_aside_drop(why);
    }
    rows->row[rows->n++] = (struct zd_tree_row){
        .path = ZD_TAKE(copy),
        .meta = meta == NULL ? NULL : zd_meta_ref(meta),
        .why = ZD_TAKE(why),
        .why_code = meta == NULL ? zd_problem_code_of(err->status) : NULL,
        .can_slice = can_slice,
    };
    return ZD_OK;
}

void zd_tree_release_rows(struct zd_tree *tree)
{
    struct zd_tree_rows *rows = &tree->live;
    for (size_t i = 0; i < rows->n; i++) {
        zd_free(rows->row[i].path);
        zd_meta_unref(rows->row[i].meta);
        zd_free(rows->row[i].why);
    }
    zd_free(rows->row);
    *rows = (struct zd_tree_rows){.n = 0};
}

void zd_tree_done(struct zd_tree *tree)
{
    zd_tree_release_rows(tree);
    zd_parent_groups_done(&tree->above);
    zd_meta_unref(tree->start);
    zd_stored_listing_unref(tree->listing);
    zd_tree_document_done(&tree->document);
    zd_free(tree->check.mark);
    zd_text_done(&tree->check.missing);
    zd_fields_done(&tree->ask.fields);
    zd_free(tree->ask.path);
    zd_free(tree->ask.match);
    zd_free(tree->ask.after);
    zd_free(tree->last);
    *tree = (struct zd_tree){.start = NULL};
}

static void emit_unreadable(const struct zd_tree_row *row, struct zd_emit *emit)
{
    zd_emit_member_string(emit, "path", row->path);
    zd_emit_member_json(emit, "node_type", NULL);
    zd_emit_member_json(emit, "dialect", NULL);
    zd_emit_member_json(emit, "metadata", NULL);
    zd_emit_member_object(emit, "refused");
    zd_emit_member_string(emit, "code", row->why_code);
    zd_emit_member_array(emit, "names");
    zd_emit_array_end(emit);
    zd_emit_member_json(emit, "pointer", NULL);
    zd_emit_member_string(emit, "detail", row->why);
    zd_emit_object_end(emit);
}

static void emit_row(
    const struct zd_tree *tree, const struct zd_tree_row *row, struct zd_emit *emit)
{
    zd_emit_object(emit);
    if (row->meta == NULL) {
        emit_unreadable(row, emit);
    } else {
        const struct zd_node_view view = {
            .path = row->path,
            .meta = row->meta,
            .fields = &tree->ask.fields,
            .tier = zd_parent_groups_listing(&tree->above, row->path).tier,
            .can_slice = row->can_slice,
            .is_writable = tree->is_writable,
        };
        zd_node_json_emit(&view, emit);
    }
    zd_emit_object_end(emit);
}

static bool is_full(const struct zd_tree *tree, uint64_t n_bytes)
{
    return tree->ask.bytes_max != 0 && n_bytes >= tree->ask.bytes_max;
}

/* Whether a listing of the start may have it: nodes of its own dialect. The start itself is in
 * none.
 */
static bool may_be_listed(const struct zd_tree *tree, const struct zd_tree_row *row)
{
    return strcmp(row->path, tree->ask.path) != 0 &&
           (row->meta == NULL || row->meta->dialect == tree->start->dialect);
}

/* Whether a listing lacks it: not a group that no document need name, and that says nothing. */
static bool must_be_listed(const struct zd_tree *tree, const struct zd_tree_row *row)
{
    const struct zd_meta *meta = row->meta;
    const bool needs_none = meta != NULL && meta->dialect->has_entry &&
                            meta->type == ZD_NODE_GROUP &&
                            zd_json_count(zd_json_member(meta->document, "attributes")) == 0;
    return may_be_listed(tree, row) && !needs_none;
}

static size_t prefix_len(const struct zd_tree *tree)
{
    return tree->ask.path[0] == '\0' ? 0 : strlen(tree->ask.path) + 1;
}

/* An entry of a document: paths are relative to the group that holds it. */
static ZD_RESULT show_entry(
    struct zd_tree *tree, const struct zd_tree_row *row, struct zd_error *err)
{
    const struct zd_tree_ask *ask = &tree->ask;
    if (tree->n_shown++ == ask->limit) {
        return zd_fail_limit(err, ask->limit, tree->n_shown,
            "format=%s has no pages, and the listing exceeds the limit of nodes",
            zd_tree_document_name(ask->format));
    }
    if (strcmp(row->path, ask->path) == 0) {
        return ZD_OK;
    }
    return zd_tree_document_add(
        &tree->document, row->path + prefix_len(tree), row->meta, row->why, err);
}

static ZD_RESULT show_node(
    struct zd_tree *tree, const struct zd_tree_row *row, struct zd_error *err)
{
    const size_t len = tree->emit.text->len;
    tree->has_more = tree->n_shown == tree->ask.limit ||
                     (tree->n_shown > 0 && is_full(tree, tree->n_bytes + len - tree->len_before));
    if (tree->has_more) {
        return ZD_OK;
    }
    char *last = zd_strdup(row->path);
    if (last == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a path");
    }
    zd_free(tree->last);
    tree->last = last;
    emit_row(tree, row, &tree->emit);
    tree->n_shown++;
    return ZD_OK;
}

static ZD_RESULT show(struct zd_tree *tree, const struct zd_tree_row *row, struct zd_error *err)
{
    const enum zd_node_type type = row->meta == NULL ? ZD_NODE_UNKNOWN : row->meta->type;
    const struct zd_tree_ask *ask = &tree->ask;
    if (tree->has_more || !zd_tree_wants(ask, row->path, type) ||
        (ask->after != NULL && zd_path_compare(row->path, ask->after) <= 0)) {
        return ZD_OK;
    }
    return ask->format == ZD_TREE_JSON ? show_node(tree, row, err) : show_entry(tree, row, err);
}

/* ---- the stored nodes ---- */

/* Whether it may say something about the nodes below it; only then it is looked at unseen. */
static bool may_speak(const struct zd_stored_entry *entry)
{
    struct zd_span extensions;
    return entry->is_group && zd_json_grammar_find(entry->document, "extensions", &extensions);
}

static ZD_RESULT add_path(
    const struct zd_tree *tree, const struct zd_stored_entry *entry, struct zd_text *path)
{
    zd_text_addf(
        path, "%s%s", tree->ask.path, tree->ask.path[0] == '\0' || entry->path.len == 0 ? "" : "/");
    return zd_text_add_bytes(path, entry->path.ptr, entry->path.len);
}

/* Show an entry as a row. It is parsed for that, and forgotten. */
static ZD_RESULT show_stored(
    struct zd_tree *tree, const struct zd_stored_entry *entry, struct zd_error *err)
{
    ZD_AUTO(zd_meta) meta = NULL;
    ZD_SCOPED_TEXT(path, SIZE_MAX);
    ZD_TRY(add_path(tree, entry, &path));
    if (!wants_path(&tree->ask, path.at) && !may_speak(entry)) {
        return ZD_OK;
    }
    ZD_TRY(tree->start->dialect->parse_entry(entry, &tree->reading, &meta, err));
    ZD_TRY(zd_parent_groups_add(&tree->above, path.at, meta));
    const struct zd_tree_row row = {
        .path = path.at, .meta = meta, .can_slice = zd_meta_is_array(meta)};
    return show(tree, &row, err);
}

static ZD_RESULT show_stored_lot(struct zd_tree *tree, size_t n, struct zd_error *err)
{
    const size_t n_all = zd_stored_listing_count(tree->listing);
    const uint64_t n_before = tree->n_shown;
    enum zd_status status = ZD_OK;
    while (status == ZD_OK && tree->n_entries < n_all && !tree->has_more &&
           tree->n_shown - n_before < n &&
           tree->emit.text->len - tree->len_before < STORED_LOT_BYTES) {
        const struct zd_stored_entry entry =
            zd_stored_listing_entry(tree->listing, tree->n_entries++);
        status = show_stored(tree, &entry, err);
    }
    tree->has_entries = tree->n_entries < n_all && !tree->has_more;
    if (tree->last != NULL) {
        zd_parent_groups_keep(&tree->above, tree->last);
    }
    return status;
}

/* Read the entries above the first one of the page for their statements about it. */
static ZD_RESULT look_above(struct zd_tree *tree, const char *after, struct zd_error *err)
{
    for (const char *slash = strchr(after, '/');; slash = strchr(slash + 1, '/')) {
        const size_t len = slash == NULL ? strlen(after) : (size_t)(slash - after);
        const struct zd_span path = {.ptr = (const uint8_t *)after, .len = len};
        struct zd_stored_entry entry;
        if (zd_stored_listing_find(tree->listing, path, &entry) && may_speak(&entry)) {
            ZD_TRY(show_stored(tree, &entry, err)); /* not shown: it is not after the cursor */
        }
        if (slash == NULL) {
            return ZD_OK;
        }
    }
}

/* Skip the entry of the group that holds the listing: the group itself is there. */
static size_t first_entry(const struct zd_tree *tree)
{
    bool is_there = false;
    const size_t place = zd_stored_listing_place(tree->listing, zd_span_of(""), &is_there);
    return place + (is_there ? 1 : 0);
}

/* The start, and the place of the first entry after it. */
static ZD_RESULT begin_stored(struct zd_tree *tree, struct zd_error *err)
{
    const struct zd_tree_ask *ask = &tree->ask;
    const struct zd_tree_row start = {.path = ask->path, .meta = tree->start};
    ZD_TRY(zd_parent_groups_add(&tree->above, ask->path, tree->start));
    tree->n_entries = first_entry(tree);
    if (ask->after != NULL && strlen(ask->after) > prefix_len(tree)) {
        const char *after = ask->after + prefix_len(tree);
        bool is_there = false;
        ZD_TRY(look_above(tree, after, err));
        tree->n_entries = zd_stored_listing_place(tree->listing, zd_span_of(after), &is_there);
        tree->n_entries += is_there ? 1 : 0;
    }
    tree->has_entries = tree->n_entries < zd_stored_listing_count(tree->listing);
    return show(tree, &start, err);
}

/* The cursor of the next page. */
static void emit_next(const struct zd_tree *tree, struct zd_emit *emit)
{
    zd_emit_key(emit, "next");
    if (!tree->has_more) {
        zd_emit_null(emit);
        return;
    }
    ZD_SCOPED_TEXT(cursor, SIZE_MAX);
    cursor.status = tree->last == NULL ? ZD_NO_MEMORY : zd_tree_cursor_add(tree->last, &cursor);
    zd_emit_text(emit, &cursor);
}

/* ---- stored and live nodes side by side ---- */

static ZD_RESULT begin_check(struct zd_tree *tree)
{
    const size_t n = zd_stored_listing_count(tree->listing);
    zd_free(tree->check.mark);
    tree->check.mark = zd_alloc_zero(n, sizeof *tree->check.mark);
    tree->check.next = 0;
    zd_text_done(&tree->check.missing);
    zd_text_init(&tree->check.missing, ZD_TREE_MISSING_BYTES);
    return tree->check.mark == NULL ? ZD_NO_MEMORY : ZD_OK;
}

static ZD_RESULT is_different(struct zd_tree *tree, const struct zd_tree_row *row,
    const struct zd_stored_entry *entry, bool *ret_is_different, struct zd_error *err)
{
    ZD_AUTO(zd_meta) stored = NULL;
    ZD_TRY(tree->start->dialect->parse_entry(entry, &tree->reading, &stored, err));
    const struct zd_json *left = row->meta == NULL ? NULL : row->meta->document;
    const struct zd_json *right = stored->document;
    *ret_is_different = left == NULL || right == NULL ? left != right : !zd_json_equal(left, right);
    return ZD_OK;
}

static ZD_RESULT compare(struct zd_tree *tree, const struct zd_tree_row *row, struct zd_error *err)
{
    struct zd_tree_check *check = &tree->check;
    const bool is_start = strcmp(row->path, tree->ask.path) == 0;
    const char *path = is_start ? "" : row->path + prefix_len(tree);
    bool is_there = false;
    bool differs = false;
    const size_t place = zd_stored_listing_place(tree->listing, zd_span_of(path), &is_there);
    for (; check->next < place; check->next++) {
        check->mark[check->next] = ZD_TREE_SURPLUS;
    }
    if (!is_there) {
        return must_be_listed(tree, row)
                   ? zd_text_add_bytes(&check->missing, row->path, strlen(row->path) + 1)
                   : ZD_OK;
    }
    const struct zd_stored_entry entry = zd_stored_listing_entry(tree->listing, place);
    if (is_start || may_be_listed(tree, row)) {
        ZD_TRY(is_different(tree, row, &entry, &differs, err));
    }
    check->mark[place] = differs ? ZD_TREE_DIFFERING : ZD_TREE_EQUAL;
    check->next = place + 1;
    return ZD_OK;
}

/* No live row follows. */
static void end_check(struct zd_tree *tree)
{
    struct zd_tree_check *check = &tree->check;
    for (; check->next < zd_stored_listing_count(tree->listing); check->next++) {
        check->mark[check->next] = ZD_TREE_SURPLUS;
    }
}

/* Paths of what is missing, from tree->part_at on; false when that is not all of them. */
static bool emit_missing(struct zd_tree *tree, size_t len_max)
{
    const struct zd_text *missing = &tree->check.missing;
    while (tree->part_at < missing->len && tree->emit.text->len < len_max) {
        const char *path = missing->at + tree->part_at;
        zd_emit_string(&tree->emit, path);
        tree->part_at += strlen(path) + 1;
    }
    return tree->part_at == missing->len;
}

/* The same of the entries with a mark. */
static bool emit_marked(struct zd_tree *tree, enum zd_tree_mark mark, size_t len_max)
{
    const size_t n = zd_stored_listing_count(tree->listing);
    for (; tree->part_at < n && tree->emit.text->len < len_max; tree->part_at++) {
        if (tree->check.mark[tree->part_at] != (uint8_t)mark) {
            continue;
        }
        const struct zd_stored_entry entry = zd_stored_listing_entry(tree->listing, tree->part_at);
        ZD_SCOPED_TEXT(path, SIZE_MAX);
        path.status = add_path(tree, &entry, &path);
        zd_emit_text(&tree->emit, &path);
    }
    return tree->part_at == n;
}

/* ---- the whole ---- */

/* The text's failure, or the whole's; what was added since tree->len_before is counted. */
static ZD_RESULT count(struct zd_tree *tree, struct zd_error *err)
{
    const struct zd_text *text = tree->emit.text;
    const bool is_document = tree->ask.format != ZD_TREE_JSON;
    tree->n_bytes += text->len - tree->len_before;
    const bool is_long = is_document && is_full(tree, tree->n_bytes);
    const uint64_t most = is_long ? tree->ask.bytes_max : text->len_max;
    if (text->status == ZD_OK && !is_long) {
        return ZD_OK;
    }
    const enum zd_status status = zd_fail(err, is_long ? ZD_TOO_LARGE : text->status,
        "the listing exceeds %llu bytes; request %s", (unsigned long long)most,
        is_document ? "a group below this one" : "pages with limit=");
    zd_fact_limit(err, most, most);
    return status;
}

static ZD_RESULT begin(struct zd_tree *tree, struct zd_text *text)
{
    tree->n_shown = 0;
    tree->n_bytes = 0;
    tree->has_more = false;
    tree->part = 0;
    tree->part_at = 0;
    tree->has_ended = false;
    zd_emit_init(&tree->emit, text, tree->ask.pretty);
    zd_emit_object(&tree->emit);
    if (tree->ask.format != ZD_TREE_JSON) {
        zd_tree_document_done(&tree->document);
        tree->document.format = tree->ask.format;
        tree->document.view = tree->ask.view;
        tree->document.emit = &tree->emit;
        return zd_tree_document_begin(&tree->document, tree->start);
    }
    zd_emit_member_string(&tree->emit, "path", tree->ask.path);
    zd_emit_member_array(&tree->emit, "nodes");
    return ZD_OK;
}

enum zd_status zd_tree_begin(struct zd_tree *tree, struct zd_text *text, struct zd_error *err)
{
    tree->len_before = text->len;
    if (begin(tree, text) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a listing");
    }
    if (tree->ask.is_stored) {
        ZD_TRY(begin_stored(tree, err));
    }
    if (tree->ask.check && begin_check(tree) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory to compare listings");
    }
    return count(tree, err);
}

static ZD_RESULT take_live(struct zd_tree *tree, struct zd_error *err)
{
    for (size_t i = 0; i < tree->live.n; i++) {
        const struct zd_tree_row *row = &tree->live.row[i];
        if (!tree->ask.is_stored) {
            ZD_TRY(show(tree, row, err));
        }
        if (tree->ask.check) {
            ZD_TRY(compare(tree, row, err));
        }
    }
    return ZD_OK;
}

enum zd_status zd_tree_go_on(struct zd_tree *tree, size_t n, struct zd_error *err)
{
    tree->len_before = tree->emit.text->len;
    if (tree->has_entries) {
        ZD_TRY(show_stored_lot(tree, n, err));
    }
    ZD_TRY(take_live(tree, err));
    return count(tree, err);
}

/** The members after the nodes. */
enum part {
    PART_NEXT, /* and the source */
    PART_MISSING,
    PART_SURPLUS,
    PART_DIFFERING,
    PART_STORED,
};

static void begin_part(struct zd_tree *tree)
{
    static const char *const names[] = {
        [PART_MISSING] = "missing", [PART_SURPLUS] = "surplus", [PART_DIFFERING] = "differing"};
    if (tree->part_at == 0) {
        zd_emit_member_array(&tree->emit, names[tree->part]);
    }
}

/* Some of one list of paths. */
static void emit_paths(struct zd_tree *tree, size_t len_max)
{
    begin_part(tree);
    const bool is_all =
        tree->part == PART_MISSING
            ? emit_missing(tree, len_max)
            : emit_marked(
                  tree, tree->part == PART_SURPLUS ? ZD_TREE_SURPLUS : ZD_TREE_DIFFERING, len_max);
    if (is_all) {
        zd_emit_array_end(&tree->emit);
        tree->part++;
        tree->part_at = 0;
    }
}

static void end_nodes(struct zd_tree *tree)
{
    struct zd_emit *emit = &tree->emit;
    zd_emit_array_end(emit);
    emit_next(tree, emit);
    zd_emit_member_string(emit, "source", tree->ask.is_stored ? "stored" : "live");
    if (tree->is_incomplete) {
        zd_emit_member_bool(emit, "complete", false);
    }
    tree->part = PART_MISSING;
    if (tree->ask.check) {
        end_check(tree);
        zd_emit_member_object(emit, "check");
    } else {
        tree->has_ended = true;
    }
}

static void end_check_part(struct zd_tree *tree, size_t len_max)
{
    if (tree->part < PART_STORED) {
        emit_paths(tree, len_max);
        return;
    }
    zd_emit_member_bool(&tree->emit, "stored", tree->listing != NULL);
    zd_emit_object_end(&tree->emit);
    tree->has_ended = true;
}

enum zd_status zd_tree_end(struct zd_tree *tree, size_t len, struct zd_error *err)
{
    const struct zd_text *text = tree->emit.text;
    const size_t len_max = SIZE_MAX - text->len < len ? SIZE_MAX : text->len + len;
    tree->len_before = text->len;
    do {
        if (tree->ask.format != ZD_TREE_JSON) {
            zd_tree_document_end(&tree->document);
            tree->has_ended = true;
        } else if (tree->part == PART_NEXT) {
            end_nodes(tree);
        } else {
            end_check_part(tree, len_max);
        }
    } while (!tree->has_ended && text->status == ZD_OK && text->len < len_max);
    if (tree->has_ended) {
        zd_emit_object_end(&tree->emit);
    }
    return count(tree, err);
}

enum zd_status zd_tree_render(struct zd_tree *tree, struct zd_text *text, struct zd_error *err)
{
    ZD_TRY(zd_tree_begin(tree, text, err));
    do {
        ZD_TRY(zd_tree_go_on(tree, SIZE_MAX, err));
    } while (tree->has_entries);
    return zd_tree_end(tree, SIZE_MAX, err);
}

void zd_tree_add_listing(const struct zd_tree *tree, struct zd_text *text)
{
    struct zd_emit emit;
    zd_emit_init(&emit, text, false);
    zd_emit_object(&emit);
    for (size_t i = 0; i < tree->live.n; i++) {
        const struct zd_tree_row *row = &tree->live.row[i];
        if (may_be_listed(tree, row) && zd_tree_document_may_have(row->meta)) {
            row->meta->dialect->list(row->path + prefix_len(tree), row->meta, &emit);
        }
    }
    zd_emit_object_end(&emit);
}
