/* Documents that lead to others. */
#include "server/describe/links.h"

#include "core/base/emit.h"

#define DOCUMENT_BYTES_MAX (64U << 10)

enum zd_next zd_links_respond(struct zd_request *req, const struct zd_link *link, size_t n_links,
    struct zd_representation *representation)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_emit_member_string(&emit, "name", "zarrd");
    zd_emit_member_string(&emit, "version", ZD_VERSION);
    zd_emit_key(&emit, "links");
    zd_emit_object(&emit);
    for (size_t i = 0; i < n_links; i++) {
        zd_emit_member_string(&emit, link[i].name, link[i].target);
    }
    zd_emit_object_end(&emit);
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &text, representation);
}
