/* The elements that a write brings to an array, for extensions that must know them before they are
 * stored.
 */
#include "core/dialect/written.h"

void zd_written_init(struct zd_written *written, const struct zd_meta *meta)
{
    *written = (struct zd_written){0};
    if (!zd_applied_watch_writes(&meta->applied) || !zd_dtype_is_ordered(&meta->dtype)) {
        return;
    }
    const struct zd_summary_config config = {
        .dtype = meta->dtype, .fill = meta->fill, .drops_fill = true};
    written->is_wanted = true;
    zd_summary_init(&written->summary, &config);
}

void zd_written_add(struct zd_written *written, const void *elements, uint64_t n_elements)
{
    if (written->is_wanted) {
        zd_summary_add(&written->summary, elements, n_elements);
    }
}

void zd_written_join(struct zd_written *written, const struct zd_written *other)
{
    if (written->is_wanted) {
        zd_summary_join(&written->summary, &other->summary);
    }
}

enum zd_status zd_written_before(const struct zd_written *written, const struct zd_meta *meta,
    struct zd_json **ret_extensions, struct zd_error *err)
{
    *ret_extensions = NULL;
    if (!written->is_wanted) {
        return ZD_OK;
    }
    const struct zd_subject subject = zd_meta_subject(meta);
    return zd_applied_before_write(&meta->applied, &subject,
        zd_json_member(meta->document, "extensions"), &written->summary, ret_extensions, err);
}
