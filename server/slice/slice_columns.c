/* Names of the positions of a result in a table. */
#include "server/slice/slice_columns.h"

#include "core/grid/scalar.h"
#include "server/format/column.h"
#include "server/request/permission.h"

#define ESCAPED_TIMES 6 /* a byte of a text: "\\u0001" */

static bool has_name(const struct zd_meta *meta, uint32_t dim)
{
    return meta->dimension_name != NULL && meta->dimension_name[dim] != NULL;
}

/* Take the coordinate, if there is one. */
static enum zd_next take(struct zd_slice_columns *columns)
{
    const struct zd_wait *wait = &columns->want.wait;
    struct zd_hash hash = {.value = columns->tag};
    if (wait->status == ZD_OK) {
        columns->of[columns->dim] = zd_coordinate_ref(columns->want.coordinate);
        zd_hash_add_u64(&hash, columns->want.coordinate->tag);
        columns->tag = hash.value;
    } else if (wait->status != ZD_NOT_FOUND) {
        zd_wait_answer(&columns->wait, wait->status, &wait->err);
        return ZD_DONE;
    }
    zd_coordinates_release(&columns->want);
    columns->want = (struct zd_coordinate_want){0};
    columns->dim++;
    return ZD_NEXT;
}

/* Takes the coordinate that was asked for, and asks for the next. */
static enum zd_next step(struct zd_machine *machine)
{
    struct zd_slice_columns *columns = ZD_CONTAINER(machine, struct zd_slice_columns, machine);
    const uint32_t rank = columns->node->meta->grid.rank;
    if (columns->want.array != NULL && take(columns) == ZD_DONE) {
        return ZD_DONE;
    }
    while (columns->dim < rank && !columns->is_wanted[columns->dim]) {
        columns->dim++;
    }
    if (columns->dim == rank) {
        return ZD_DONE;
    }
    columns->want = (struct zd_coordinate_want){
        .wait = zd_machine_wait(machine),
        .array = columns->node,
        .dim = columns->dim,
        .reader = zd_permission_reader(columns->req),
    };
    return zd_coordinates_want(&columns->want);
}

enum zd_next zd_slice_columns_want(struct zd_slice_columns *columns, const struct zd_answer *answer)
{
    columns->machine = (struct zd_machine){.step = step, .wait = &columns->wait};
    for (uint32_t d = 0; d < answer->rank; d++) {
        const uint8_t of = answer->dim[d];
        if (of != ZD_ANSWER_NO_DIM && has_name(columns->node->meta, of)) {
            columns->is_wanted[of] = true;
        }
    }
    return zd_machine_call(&columns->machine);
}

void zd_slice_columns_release(struct zd_slice_columns *columns)
{
    zd_coordinates_release(&columns->want);
    for (uint32_t d = 0; d < ZD_RANK_MAX; d++) {
        zd_coordinate_unref(ZD_TAKE(columns->of[d]));
    }
}

/* ---- columns ---- */

/* The type of the elements in memory: texts are spans. */
static struct zd_dtype dtype_of(const struct zd_labels *labels)
{
    struct zd_dtype dtype = labels->dtype;
    if (labels->kind == ZD_LABELS_TEXTS) {
        const enum zd_status status = zd_dtype_find("string", &dtype);
        assert(status == ZD_OK);
        (void)status;
    }
    return dtype;
}

static void name_positions(struct zd_column *column, const struct zd_coordinate *coordinate)
{
    const struct zd_labels *labels = &coordinate->labels;
    const bool counts = labels->kind == ZD_LABELS_TIMES && !zd_dtype_is_ticks(&labels->dtype);
    column->values = labels->element;
    column->dtype = dtype_of(labels);
    column->time = counts ? &labels->time : NULL;
    column->text_max = labels->kind == ZD_LABELS_TEXTS ? coordinate->text_max * ESCAPED_TIMES
                                                       : zd_scalar_text_max(&labels->dtype);
}

void zd_slice_columns_make(const struct zd_slice_columns *columns, const struct zd_answer *answer,
    struct zd_column ret_column[ZD_RANK_MAX])
{
    for (uint32_t d = 0; d < answer->rank; d++) {
        const uint8_t of = answer->dim[d];
        const struct zd_coordinate *coordinate =
            columns == NULL || of == ZD_ANSWER_NO_DIM ? NULL : columns->of[of];
        ret_column[d] = zd_column_of_indices(answer, d);
        if (coordinate != NULL) {
            name_positions(&ret_column[d], coordinate);
        }
    }
}
