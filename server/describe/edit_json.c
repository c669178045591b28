/* What became of chunks, as the answers of writes say it. */
#include "server/describe/edit_json.h"

#include "core/base/emit.h"

void zd_edit_counts_emit(const struct zd_edit_counts *counts, struct zd_emit *emit)
{
    zd_emit_key(emit, "chunks");
    zd_emit_object(emit);
    zd_emit_member_u64(emit, "written", counts->n_written);
    zd_emit_member_u64(emit, "erased", counts->n_erased);
    zd_emit_member_u64(emit, "unchanged", counts->n_unchanged);
    zd_emit_object_end(emit);
}

void zd_edit_counts_add(const struct zd_edit_counts *counts, bool pretty, struct zd_text *text)
{
    struct zd_emit emit;
    zd_emit_init(&emit, text, pretty);
    zd_emit_object(&emit);
    zd_edit_counts_emit(counts, &emit);
    zd_emit_object_end(&emit);
}
