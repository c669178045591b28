/* Changes to an object as it is written. */
#include "core/base/json_edit.h"

#include <assert.h>
#include <string.h>

#include "core/base/emit.h"
#include "core/base/json_token.h"

/** A member on its way. */
struct member {
    struct zd_span before; /* spaces between the comma, or brace, and the name */
    struct zd_span name;   /* with its quotes */
    struct zd_span value;  /* without spaces around it */
};

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct zd_span between(struct zd_span text, size_t from, size_t to)
{
    return (struct zd_span){.ptr = text.ptr + from, .len = to - from};
}

static size_t skip_spaces(struct zd_span text, size_t at)
{
    while (at < text.len && is_space(text.ptr[at])) {
        at++;
    }
    return at;
}

/* The member after a brace or a comma; *at moves behind it. False at the closing brace. */
static bool next_member(struct zd_span object, size_t *at, struct member *ret_member)
{
    const size_t first = *at;
    const size_t name = skip_spaces(object, first);
    if (name >= object.len || object.ptr[name] != '"') {
        return false;
    }
    const size_t name_end = zd_json_value_end(object, name);
    const size_t colon = skip_spaces(object, name_end);
    const size_t value = skip_spaces(object, colon + 1);
    const size_t end = zd_json_value_end(object, value);
    ret_member->before = between(object, first, name);
    ret_member->name = between(object, name, name_end);
    ret_member->value = between(object, value, end);
    const size_t next = skip_spaces(object, end);
    const bool is_last = next >= object.len || object.ptr[next] != ',';
    *at = is_last ? end : next + 1;
    return true;
}

/* Decode the text of a name. */
static void decode_name(struct zd_span token, struct zd_text *name)
{
    zd_text_clear(name);
    if (memchr(token.ptr, '\\', token.len) == NULL) {
        zd_text_add_bytes(name, token.ptr + 1, token.len - 2);
        return;
    }
    const struct zd_json_limits limits = {.bytes_max = token.len, .nodes_max = 1};
    ZD_AUTO(zd_json) json = NULL;
    if (zd_json_parse(token, &limits, &json, NULL) != ZD_OK) {
        name->status = ZD_NO_MEMORY;
        return;
    }
    const struct zd_span text = zd_json_string_span(json);
    zd_text_add_bytes(name, text.ptr, text.len);
}

/** An object being written again. */
struct rewriting {
    const struct zd_json_edit *edit;
    struct zd_text *out;
    struct zd_text name;   /* of the member at hand */
    struct zd_span indent; /* spaces before the first member */
    bool has_member;
};

static void begin_member(struct rewriting *rewriting, struct zd_span before)
{
    if (rewriting->has_member) {
        zd_text_add_char(rewriting->out, ',');
    }
    rewriting->has_member = true;
    zd_text_add_bytes(rewriting->out, before.ptr, before.len);
}

static void write_member(struct rewriting *rewriting, const struct member *member)
{
    const struct zd_json_edit *edit = rewriting->edit;
    struct zd_text *out = rewriting->out;
    decode_name(member->name, &rewriting->name);
    if (rewriting->name.status != ZD_OK) {
        out->status = rewriting->name.status;
        return;
    }
    const enum zd_json_fate fate = edit->judge(edit->context, rewriting->name.at);
    if (fate == ZD_JSON_GOES) {
        return;
    }
    begin_member(rewriting, member->before);
    const struct zd_span head = {
        .ptr = member->name.ptr, .len = (size_t)(member->value.ptr - member->name.ptr)};
    zd_text_add_bytes(out, head.ptr, head.len);
    if (fate == ZD_JSON_CHANGES) {
        edit->change(edit->context, rewriting->name.at, member->value, out);
    } else {
        zd_text_add_bytes(out, member->value.ptr, member->value.len);
    }
}

static void add_more(struct rewriting *rewriting)
{
    const struct zd_json_edit *edit = rewriting->edit;
    if (edit->more == NULL) {
        return;
    }
    for (const char *name = edit->more(edit->context);
        name != NULL && rewriting->out->status == ZD_OK; name = edit->more(edit->context)) {
        struct zd_emit emit;
        begin_member(rewriting, rewriting->indent);
        zd_emit_init(&emit, rewriting->out, false);
        zd_emit_string(&emit, name);
        zd_text_add(rewriting->out, rewriting->indent.len == 0 ? ":" : ": ");
        edit->change(edit->context, name, (struct zd_span){0}, rewriting->out);
    }
}

void zd_json_edit(struct zd_span object, const struct zd_json_edit *edit, struct zd_text *out)
{
    struct rewriting rewriting = {.edit = edit, .out = out};
    struct member member;
    size_t at = skip_spaces(object, 0) + 1; /* past the brace */
    assert(at <= object.len && object.ptr[at - 1] == '{');
    zd_text_init(&rewriting.name, object.len);
    zd_text_add_char(out, '{');
    for (bool is_first = true; out->status == ZD_OK && next_member(object, &at, &member);
        is_first = false) {
        if (is_first) {
            rewriting.indent = member.before;
        }
        write_member(&rewriting, &member);
    }
    add_more(&rewriting);
    const size_t end = skip_spaces(object, at);
    if (rewriting.has_member) {
        zd_text_add_bytes(out, object.ptr + at, end - at);
    }
    zd_text_add_char(out, '}');
    zd_text_done(&rewriting.name);
}

/* RFC 7396. */

/** A patch of one object. */
struct merging {
    const struct zd_json *patch;
    struct zd_json *left; /* what was not met in the object; owned */
    void *iter;           /* in left */
};

/* The patch of nothing: members that are null are left out at every depth. */
static void emit_patch(struct zd_emit *emit, const struct zd_json *patch)
{
    if (!zd_json_is(patch, ZD_JSON_OBJECT)) {
        zd_emit_json(emit, patch);
        return;
    }
    zd_emit_object(emit);
    for (void *iter = zd_json_next(patch, NULL); iter != NULL; iter = zd_json_next(patch, iter)) {
        if (!zd_json_is(zd_json_iter_value(iter), ZD_JSON_NULL)) {
            zd_emit_key(emit, zd_json_iter_name(iter));
            emit_patch(emit, zd_json_iter_value(iter));
        }
    }
    zd_emit_object_end(emit);
}

static enum zd_json_fate judge_member(void *context, const char *name)
{
    struct merging *merging = context;
    const struct zd_json *value = zd_json_member(merging->patch, name);
    if (value == NULL || zd_json_remove(merging->left, name) != ZD_OK) {
        return ZD_JSON_STAYS;
    }
    return zd_json_is(value, ZD_JSON_NULL) ? ZD_JSON_GOES : ZD_JSON_CHANGES;
}

static void change_member(
    void *context, const char *name, struct zd_span value, struct zd_text *out)
{
    const struct merging *merging = context;
    zd_json_merge(value, zd_json_member(merging->patch, name), out);
}

static const char *more_members(void *context)
{
    struct merging *merging = context;
    do {
        merging->iter = zd_json_next(merging->left, merging->iter);
    } while (merging->iter != NULL && zd_json_is(zd_json_iter_value(merging->iter), ZD_JSON_NULL));
    return merging->iter == NULL ? NULL : zd_json_iter_name(merging->iter);
}

/* Goes down as deep as the parser's limit lets a tree be. */
void zd_json_merge(struct zd_span target, const struct zd_json *patch, struct zd_text *out)
{
    const size_t at = skip_spaces(target, 0);
    if (!zd_json_is(patch, ZD_JSON_OBJECT) || at >= target.len || target.ptr[at] != '{') {
        struct zd_emit emit;
        zd_emit_init(&emit, out, false);
        emit_patch(&emit, patch);
        return;
    }
    ZD_AUTO(zd_json) left = zd_json_copy(patch);
    if (left == NULL) {
        out->status = ZD_NO_MEMORY;
        return;
    }
    struct merging merging = {.patch = patch, .left = left};
    const struct zd_json_edit edit = {
        .judge = judge_member,
        .change = change_member,
        .more = more_members,
        .context = &merging,
    };
    zd_json_edit(target, &edit, out);
}
