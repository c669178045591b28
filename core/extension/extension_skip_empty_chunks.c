/* example.skip_empty_chunks: a chunk of nothing but the fill value is never stored. */
#include "core/extension/extension.h"

static void skip_view(const void *state, const struct zd_subject *subject, struct zd_view *view)
{
    (void)state;
    (void)subject;
    view->skips_empty = true;
}

const struct zd_extension zd_extension_skip_empty_chunks = {
    .name = "example.skip_empty_chunks",
    .on_array = true,
    .may_repeat = true,
    .schema = "{\"title\":\"Chunks of nothing but the fill value are not stored\","
              "\"type\":\"object\",\"additionalProperties\":false}",
    .view = skip_view,
};
