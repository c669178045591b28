/* Entity tags of slices. */
#include "server/slice/slice_tag.h"

#include "core/base/hash.h"
#include "core/base/num.h"

#define STYLES   8  /* of text: NaN, 64-bit integers, indented or not */
#define TAGS_MAX 64 /* of all formats in all styles */

static void add_form(const struct zd_slice_form *form, struct zd_hash *hash)
{
    if (form->format->band != NULL) {
        zd_hash_add_u64(hash, (uint64_t)form->style.nan_null |
                                  (uint64_t)form->style.ints_string << 1 |
                                  (uint64_t)form->pretty << 2);
    }
}

void zd_slice_tag_of(
    const struct zd_slice_view *view, const struct zd_slice_form *form, char to[ZD_TAG_BYTES])
{
    struct zd_hash hash = {0};
    zd_hash_add_u64(&hash, view->node->tag);
    zd_seen_objects_hash(view->touched, &hash);
    zd_selection_hash(view->selection, view->asked, &hash);
    add_form(form, &hash);
    zd_tag_format(to, hash.value, form->format->name);
}

static struct zd_slice_form form_of(const struct zd_format *format, unsigned style)
{
    return (struct zd_slice_form){
        .format = format,
        .style = {.nan_null = (style & 1) != 0, .ints_string = (style & 2) != 0},
        .pretty = (style & 4) != 0,
    };
}

/* Every tag that a GET has given; coded ones are those of the same text. */
enum zd_status zd_slice_tag_judge(const struct zd_slice_view *view, const struct zd_request *req)
{
    char tag[TAGS_MAX][ZD_TAG_BYTES];
    const char *etag[TAGS_MAX];
    size_t n = 0;
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        const bool is_text = zd_formats[i]->band != NULL;
        for (unsigned style = 0; style < (is_text ? STYLES : 1); style++) {
            const struct zd_slice_form form = form_of(zd_formats[i], style);
            assert(n + ZD_CODINGS <= TAGS_MAX);
            zd_slice_tag_of(view, &form, tag[n]);
            n++;
            for (int coding = ZD_PLAIN + 1; is_text && coding < ZD_CODINGS; coding++) {
                zd_tag_code(tag[n], tag[n - (size_t)coding], (enum zd_coding)coding);
                n++;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        etag[i] = tag[i];
    }
    const struct zd_validators now = {.etag = etag, .n_etags = n, .exists = true};
    return zd_conditions_judge_write(&req->conditions, &now);
}
