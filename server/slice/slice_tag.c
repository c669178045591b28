/* Entity tags of slices. */
#include "server/slice/slice_tag.h"

#include <stddef.h>

#include "core/base/hash.h"
#include "core/base/num.h"

/* What clients choose of the looks of text: one bit of the tag each, in this order. */
static const size_t style_bits[] = {
    offsetof(struct zd_slice_form, style.nan_null),
    offsetof(struct zd_slice_form, style.ints_string),
    offsetof(struct zd_slice_form, pretty),
};

static bool *style_bit(struct zd_slice_form *form, size_t i)
{
    return (bool *)((char *)form + style_bits[i]);
}

static uint64_t style_of(struct zd_slice_form form)
{
    uint64_t style = 0;
    for (size_t i = 0; i < ZD_COUNT_OF(style_bits); i++) {
        style |= (uint64_t)*style_bit(&form, i) << i;
    }
    return style;
}

static struct zd_slice_form form_of(const struct zd_format *format, uint64_t style)
{
    struct zd_slice_form form = {.format = format};
    for (size_t i = 0; i < ZD_COUNT_OF(style_bits); i++) {
        *style_bit(&form, i) = (style >> i & 1) != 0;
    }
    return form;
}

/* What all forms of a slice have in common. */
static struct zd_hash hash_of(const struct zd_slice_view *view)
{
    struct zd_hash hash = {0};
    zd_hash_add_u64(&hash, view->node->tag);
    zd_seen_objects_hash(view->seen, &hash);
    zd_selection_hash(view->selection, view->asked, &hash);
    return hash;
}

static void tag_form(struct zd_hash hash, const struct zd_slice_form *form, char to[ZD_TAG_BYTES])
{
    if (form->format->is_text) {
        zd_hash_add_u64(&hash, style_of(*form));
    }
    zd_tag_format(to, hash.value, form->format->name);
}

void zd_slice_tag_of(
    const struct zd_slice_view *view, const struct zd_slice_form *form, char to[ZD_TAG_BYTES])
{
    tag_form(hash_of(view), form, to);
}

/* How the conditions of a request judge the tags of a slice. */
struct verdict {
    const struct zd_conditions *asked;
    bool is_named;    /* If-Match allows one of them */
    bool is_excluded; /* If-None-Match names one of them */
};

static void judge_tag(struct verdict *verdict, const char *tag)
{
    const struct zd_validators now = {.etag = &tag, .n_etags = 1, .exists = true};
    const struct zd_conditions named = {.if_match = verdict->asked->if_match};
    const struct zd_conditions excluded = {.if_none_match = verdict->asked->if_none_match};
    verdict->is_named |= zd_conditions_judge_write(&named, &now) == ZD_OK;
    verdict->is_excluded |= zd_conditions_judge_write(&excluded, &now) != ZD_OK;
}

/* A text is tagged in whatever coding it was sent. */
static void judge_form(
    struct verdict *verdict, struct zd_hash hash, const struct zd_slice_form *form)
{
    char tag[ZD_TAG_BYTES];
    char coded[ZD_TAG_BYTES];
    tag_form(hash, form, tag);
    judge_tag(verdict, tag);
    for (int coding = ZD_PLAIN + 1; form->format->is_text && coding < ZD_CODINGS; coding++) {
        zd_tag_code(coded, tag, (enum zd_coding)coding);
        judge_tag(verdict, coded);
    }
}

enum zd_status zd_slice_tag_judge(const struct zd_slice_view *view, const struct zd_request *req)
{
    const struct zd_hash hash = hash_of(view);
    struct verdict verdict = {.asked = &req->conditions};
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        const uint64_t n_styles = zd_formats[i]->is_text ? 1U << ZD_COUNT_OF(style_bits) : 1;
        for (uint64_t style = 0; style < n_styles; style++) {
            const struct zd_slice_form form = form_of(zd_formats[i], style);
            judge_form(&verdict, hash, &form);
        }
    }
    return verdict.is_named && !verdict.is_excluded ? ZD_OK : ZD_PRECONDITION;
}
