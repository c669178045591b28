/* A consolidated listing: rows chosen, sorted, compared and written. */
#include "server/describe/tree.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/scan.h"
#include "core/store/path.h"
#include "core/store/store.h"
#include "server/http/glob.h"
#include "server/http/problem.h"

#define FIRST_CAP   64
#define CURSOR_MARK 'p' /* so that the root's cursor is not empty */

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

bool zd_tree_wants(const struct zd_tree_ask *ask, const char *path, enum zd_node_type type)
{
    return (ask->type == ZD_NODE_UNKNOWN || ask->type == type) &&
           depth_below(path, ask->path) <= ask->depth_max &&
           (ask->match == NULL || zd_glob_matches(ask->match, path));
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
    rows->row[rows->n++] = (struct zd_tree_row){
        .path = ZD_TAKE(copy),
        .meta = meta == NULL ? NULL : zd_meta_ref(meta),
        .why = ZD_TAKE(why),
        .why_code = meta == NULL ? zd_problem_code_of(err->status) : NULL,
        .can_slice = can_slice,
    };
    return ZD_OK;
}

static void rows_done(struct zd_tree_rows *rows)
{
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
    zd_fields_done(&tree->ask.fields);
    zd_free(tree->ask.path);
    zd_free(tree->ask.match);
    zd_free(tree->ask.after);
    zd_free(tree->last);
    *tree = (struct zd_tree){.start = NULL};
}

void zd_tree_release_rows(struct zd_tree *tree)
{
    rows_done(&tree->live);
    rows_done(&tree->stored);
}

static int compare_rows(const void *a, const void *b)
{
    return zd_path_compare(
        ((const struct zd_tree_row *)a)->path, ((const struct zd_tree_row *)b)->path);
}

/* One entry of the stored block as a row. */
static ZD_RESULT add_stored(
    struct zd_tree *tree, const struct zd_stored_node *node, struct zd_error *err)
{
    ZD_SCOPED_TEXT(path, SIZE_MAX);
    if (tree->ask.path[0] != '\0') {
        zd_text_addf(&path, "%s/", tree->ask.path);
    }
    ZD_TRY(zd_text_add(&path, node->path));
    ZD_AUTO(zd_meta) meta = NULL;
    ZD_TRY(tree->start->dialect->parse_json(node->document, &tree->reading, &meta, err));
    return zd_tree_add(&tree->stored, path.at, meta, zd_meta_is_array(meta), err);
}

/* The start and every entry of its block, in pre-order. */
static ZD_RESULT take_stored(struct zd_tree *tree, struct zd_error *err)
{
    size_t iter = 0;
    struct zd_stored_node node;
    ZD_TRY(zd_tree_add(&tree->stored, tree->ask.path, tree->start, false, err));
    while (tree->start->dialect->stored_node(tree->start, &iter, &node) == ZD_OK) {
        ZD_TRY(add_stored(tree, &node, err));
    }
    qsort(tree->stored.row, tree->stored.n, sizeof *tree->stored.row, compare_rows);
    for (size_t i = 0; tree->ask.is_stored && i < tree->stored.n; i++) {
        const struct zd_tree_row *row = &tree->stored.row[i];
        ZD_TRY(
            row->meta == NULL ? ZD_OK : zd_parent_groups_add(&tree->above, row->path, row->meta));
    }
    return ZD_OK;
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

static bool is_shown(const struct zd_tree *tree, const struct zd_tree_rows *rows, size_t i)
{
    const struct zd_tree_row *row = &rows->row[i];
    const struct zd_tree_ask *ask = &tree->ask;
    const bool is_again = i > 0 && strcmp(rows->row[i - 1].path, row->path) == 0;
    const bool is_after = ask->after == NULL || zd_path_compare(row->path, ask->after) > 0;
    return is_after && !is_again &&
           zd_tree_wants(ask, row->path, row->meta == NULL ? ZD_NODE_UNKNOWN : row->meta->type);
}

static const struct zd_tree_rows *rows_to_show(const struct zd_tree *tree)
{
    return tree->ask.is_stored ? &tree->stored : &tree->live;
}

static bool is_full(const struct zd_tree *tree, uint64_t n_bytes)
{
    return tree->ask.bytes_max != 0 && n_bytes >= tree->ask.bytes_max;
}

static void emit_nodes(struct zd_tree *tree)
{
    const struct zd_tree_rows *rows = rows_to_show(tree);
    const struct zd_text *text = tree->emit.text;
    const size_t len_before = text->len;
    const struct zd_tree_row *last = NULL;
    for (size_t i = 0; i < rows->n && !tree->has_more; i++) {
        if (!is_shown(tree, rows, i)) {
            continue;
        }
        tree->has_more =
            tree->n_shown == tree->ask.limit ||
            (tree->n_shown > 0 && is_full(tree, tree->n_bytes + text->len - len_before));
        if (!tree->has_more) {
            last = &rows->row[i];
            emit_row(tree, last, &tree->emit);
            tree->n_shown++;
        }
    }
    if (last != NULL) {
        zd_free(tree->last);
        tree->last = zd_strdup(last->path);
    }
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

static const struct zd_tree_row *find_row(const struct zd_tree_rows *rows, const char *path)
{
    const struct zd_tree_row key = {.path = (char *)(uintptr_t)path};
    return rows->n == 0 ? NULL : bsearch(&key, rows->row, rows->n, sizeof key, compare_rows);
}

enum difference {
    MISSING,   /* live but not stored */
    SURPLUS,   /* stored but not live */
    DIFFERING, /* both, and not equal */
};

/* @param other of the same path among the others; or NULL */
static bool is_different(
    const struct zd_tree_row *row, const struct zd_tree_row *other, enum difference what)
{
    if (other == NULL || what != DIFFERING) {
        return other == NULL && what != DIFFERING;
    }
    const struct zd_json *left = row->meta == NULL ? NULL : row->meta->document;
    const struct zd_json *right = other->meta == NULL ? NULL : other->meta->document;
    return left == NULL || right == NULL ? left != right : !zd_json_equal(left, right);
}

/* The paths of one kind of difference; the start itself is in no listing. */
static void emit_difference(
    const struct zd_tree *tree, const char *name, enum difference what, struct zd_emit *emit)
{
    const struct zd_tree_rows *rows = what == SURPLUS ? &tree->stored : &tree->live;
    const struct zd_tree_rows *others = what == SURPLUS ? &tree->live : &tree->stored;
    zd_emit_member_array(emit, name);
    for (size_t i = 0; i < rows->n; i++) {
        const struct zd_tree_row *row = &rows->row[i];
        const bool is_start = strcmp(row->path, tree->ask.path) == 0;
        if (!is_start && is_different(row, find_row(others, row->path), what)) {
            zd_emit_string(emit, row->path);
        }
    }
    zd_emit_array_end(emit);
}

static void emit_check(const struct zd_tree *tree, struct zd_emit *emit)
{
    zd_emit_member_object(emit, "check");
    emit_difference(tree, "missing", MISSING, emit);
    emit_difference(tree, "surplus", SURPLUS, emit);
    emit_difference(tree, "differing", DIFFERING, emit);
    zd_emit_member_bool(emit, "stored", tree->start->consolidated != NULL);
    zd_emit_object_end(emit);
}

/* What a document for others holds: all that is valid, whether it is supported here or not. */
static bool is_entry(const struct zd_tree *tree, const struct zd_tree_row *row)
{
    return strcmp(row->path, tree->ask.path) != 0 && row->meta != NULL &&
           row->meta->document != NULL && !zd_faults_have(&row->meta->faults, ZD_FAULT_INVALID);
}

enum zd_status zd_tree_listing(
    const struct zd_tree *tree, struct zd_json **ret_listing, struct zd_error *err)
{
    const size_t prefix_len = tree->ask.path[0] == '\0' ? 0 : strlen(tree->ask.path) + 1;
    ZD_AUTO(zd_json) listing = zd_json_new_object();
    enum zd_status status = listing == NULL ? ZD_NO_MEMORY : ZD_OK;
    for (size_t i = 0; status == ZD_OK && i < tree->live.n; i++) {
        const struct zd_tree_row *row = &tree->live.row[i];
        if (is_entry(tree, row)) {
            status = zd_json_set(listing, row->path + prefix_len, zd_json_ref(row->meta->document));
        }
    }
    if (status != ZD_OK) {
        return zd_fail(err, status, "no memory for consolidated metadata");
    }
    *ret_listing = ZD_TAKE(listing);
    return ZD_OK;
}

/* Entries of the block: paths relative to the group that holds it (Zarr v3, consolidated
 * metadata). */
static ZD_RESULT emit_entries(struct zd_tree *tree, struct zd_error *err)
{
    const struct zd_tree_rows *rows = rows_to_show(tree);
    const size_t prefix_len = tree->ask.path[0] == '\0' ? 0 : strlen(tree->ask.path) + 1;
    for (size_t i = 0; i < rows->n; i++) {
        if (!is_shown(tree, rows, i)) {
            continue;
        }
        if (tree->n_shown++ == tree->ask.limit) {
            return zd_fail_limit(err, tree->ask.limit, tree->n_shown,
                "format=zarr is not paged, and the nodes are more than the limit");
        }
        if (is_entry(tree, &rows->row[i])) {
            const struct zd_tree_row *row = &rows->row[i];
            zd_emit_member_json(&tree->emit, row->path + prefix_len, row->meta->document);
        }
    }
    return ZD_OK;
}

/* The start's document with a consolidated block (Zarr v3, consolidated_metadata). */
static void begin_document(const struct zd_tree *tree, struct zd_emit *emit)
{
    for (void *iter = zd_json_next(tree->start->document, NULL); iter != NULL;
        iter = zd_json_next(tree->start->document, iter)) {
        zd_emit_member_json(emit, zd_json_iter_name(iter), zd_json_iter_value(iter));
    }
    zd_emit_member_object(emit, "consolidated_metadata");
    zd_emit_member_string(emit, "kind", "inline");
    zd_emit_member_bool(emit, "must_understand", false);
    zd_emit_member_object(emit, "metadata");
}

/* The text's failure, or the whole's: len_before bytes of this text were counted. */
static ZD_RESULT count(struct zd_tree *tree, size_t len_before, struct zd_error *err)
{
    const struct zd_text *text = tree->emit.text;
    const bool is_document = tree->ask.format == ZD_TREE_ZARR;
    tree->n_bytes += text->len - len_before;
    const bool is_long = is_document && is_full(tree, tree->n_bytes);
    const uint64_t most = is_long ? tree->ask.bytes_max : text->len_max;
    if (text->status == ZD_OK && !is_long) {
        return ZD_OK;
    }
    const enum zd_status status = zd_fail(err, is_long ? ZD_TOO_LARGE : text->status,
        "the listing exceeds %llu bytes; request %s", (unsigned long long)most,
        is_document ? "groups below this one" : "pages with limit=");
    zd_fact_limit(err, most, most);
    return status;
}

enum zd_status zd_tree_begin(struct zd_tree *tree, struct zd_text *text, struct zd_error *err)
{
    const size_t len_before = text->len;
    if (tree->ask.is_stored || (tree->ask.check && tree->start->consolidated != NULL)) {
        const enum zd_status status = take_stored(tree, err);
        if (status != ZD_OK) {
            return zd_fail(err, status, "cannot parse the stored consolidated metadata");
        }
    }
    tree->n_shown = 0;
    tree->n_bytes = 0;
    tree->has_more = false;
    zd_emit_init(&tree->emit, text, tree->ask.pretty);
    zd_emit_object(&tree->emit);
    if (tree->ask.format == ZD_TREE_ZARR) {
        begin_document(tree, &tree->emit);
    } else {
        zd_emit_member_string(&tree->emit, "path", tree->ask.path);
        zd_emit_member_array(&tree->emit, "nodes");
    }
    return count(tree, len_before, err);
}

enum zd_status zd_tree_go_on(struct zd_tree *tree, struct zd_error *err)
{
    const size_t len_before = tree->emit.text->len;
    if (tree->ask.format == ZD_TREE_ZARR) {
        ZD_TRY(emit_entries(tree, err));
    } else {
        emit_nodes(tree);
    }
    return count(tree, len_before, err);
}

enum zd_status zd_tree_end(struct zd_tree *tree, struct zd_error *err)
{
    struct zd_emit *emit = &tree->emit;
    const size_t len_before = emit->text->len;
    if (tree->ask.format == ZD_TREE_ZARR) {
        zd_emit_object_end(emit);
        zd_emit_object_end(emit);
    } else {
        zd_emit_array_end(emit);
        emit_next(tree, emit);
        zd_emit_member_string(emit, "source", tree->ask.is_stored ? "stored" : "live");
    }
    if (tree->ask.format != ZD_TREE_ZARR && tree->ask.check) {
        emit_check(tree, emit);
    }
    zd_emit_object_end(emit);
    return count(tree, len_before, err);
}

enum zd_status zd_tree_render(struct zd_tree *tree, struct zd_text *text, struct zd_error *err)
{
    ZD_TRY(zd_tree_begin(tree, text, err));
    ZD_TRY(zd_tree_go_on(tree, err));
    return zd_tree_end(tree, err);
}

/* A cursor is the path in hexadecimal: it stays true whatever happens to the nodes around it. */
enum zd_status zd_tree_cursor_add(const char *path, struct zd_text *text)
{
    ZD_TRY(zd_text_add_char(text, CURSOR_MARK));
    for (const char *at = path; *at != '\0'; at++) {
        ZD_TRY(zd_text_addf(text, "%02x", (unsigned)(unsigned char)*at));
    }
    return ZD_OK;
}

static int nibble(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode(struct zd_span hex, char *to)
{
    for (size_t i = 0; i + 1 < hex.len; i += 2) {
        const int high = nibble(hex.ptr[i]);
        const int low = nibble(hex.ptr[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        to[i / 2] = (char)(high * 16 + low);
    }
    to[hex.len / 2] = '\0';
    return true;
}

enum zd_status zd_tree_cursor_parse(struct zd_span cursor, char **ret_path, struct zd_error *err)
{
    const struct zd_span hex = {.ptr = cursor.len == 0 ? NULL : cursor.ptr + 1,
        .len = cursor.len == 0 ? 0 : cursor.len - 1};
    const bool has_mark = cursor.len > 0 && cursor.ptr[0] == CURSOR_MARK;
    ZD_AUTO_TEXT path = zd_alloc(hex.len / 2 + 1);
    if (path == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a cursor");
    }
    if (!has_mark || hex.len % 2 != 0 || !decode(hex, path) ||
        (path[0] != '\0' && !zd_key_is_valid(path)) || strlen(path) != hex.len / 2) {
        return zd_fail_name(err, "cursor", "cursor was not issued by this server");
    }
    *ret_path = ZD_TAKE(path);
    return ZD_OK;
}
