/* The chunk grid of a v3 document: judged, taken into the model, written back. */
#ifndef ZD_CORE_DIALECT_V3_V3_GRID_H
#define ZD_CORE_DIALECT_V3_V3_GRID_H

#include "core/dialect/v3/v3_judge.h"

/**
 * Judge chunk_grid, after the shape; meta->grid gets the chunks: `regular`, `rectilinear`
 * (registry), or, on reading, `rectangular`, its draft. Counts are not expanded. Thread: any.
 */
void zd_v3_grid_judge(struct zd_v3_judge *judge);

/** Put chunk_grid into a document, in its canonical form. @retval ZD_NO_MEMORY Thread: any. */
ZD_RESULT zd_v3_grid_render(const struct zd_meta *meta, struct zd_json *document);

/** The chunks of a rectilinear grid as its document has them: `chunk_shapes`, in runs. Owned.
 * @retval ZD_NO_MEMORY Thread: any. */
ZD_RESULT zd_v3_grid_shapes(const struct zd_meta *meta, struct zd_json **ret_shapes);

#endif
