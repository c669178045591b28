/* The selection of a slice, once its array is known. */
#include "server/slice/slice_select.h"

#include "core/grid/label_select.h"
#include "server/data/object_cache.h"
#include "server/request/permission.h"
#include "server/request/respond.h"

#define DIM_BYTES_MAX 24 /* of a dimension as a number */

static enum zd_next fail(struct zd_slice_select *select, const char *code)
{
    select->code = code;
    return ZD_DONE;
}

/* A dimension with its name, or number, for messages. */
static void name_dim(struct zd_slice_select *select, uint32_t dim)
{
    const char *const *names = (const char *const *)select->node->meta->dimension_name;
    ZD_SCOPED_TEXT(number, DIM_BYTES_MAX);
    zd_text_add_u64(&number, dim);
    zd_object_key_in_error(&select->wait.err, "dimension",
        names == NULL || names[dim] == NULL ? number.at : names[dim]);
    zd_fact_dim(&select->wait.err, dim);
}

/* The labels of the dimension are there. */
static enum zd_next take(struct zd_slice_select *select)
{
    const uint32_t dim = select->picked.dim;
    const struct zd_meta *meta = select->node->meta;
    const struct zd_labels *labels = &select->coordinate.coordinate->labels;
    const bool is_number = select->ask->picks.pick[select->n_done].is_number;
    struct zd_axis axis = {0};
    if (is_number && labels->kind == ZD_LABELS_TIMES) {
        select->wait.status = zd_fail_expected(&select->wait.err, ZD_INVALID, "a date or time",
            "a number", "expected a date or time, such as \"2001-02-03T04:05\", found a number");
    } else {
        select->wait.status =
            zd_label_select(labels, select->picked.text, &axis, &select->wait.err);
    }
    if (select->wait.status != ZD_OK) {
        const enum zd_status status = select->wait.status;
        name_dim(select, dim);
        return fail(select, status == ZD_INVALID       ? "bad_parameter"
                            : status == ZD_NOT_FOUND   ? "value_not_found"
                            : status == ZD_UNSUPPORTED ? "not_monotonic"
                                                       : NULL);
    }
    select->asked.axis[dim] = axis;
    select->stored.axis[dim] = axis;
    select->stored.axis[dim].start += axis.count == 0 ? 0 : meta->view.origin[dim];
    select->asked.axis[dim].start =
        select->ask->is_of_stored ? select->stored.axis[dim].start : select->asked.axis[dim].start;
    zd_coordinates_release(&select->coordinate);
    select->n_done++;
    return ZD_NEXT;
}

static enum zd_next have_coordinate(struct zd_slice_select *select)
{
    const struct zd_wait *wait = &select->coordinate.wait;
    if (wait->status != ZD_OK) {
        zd_wait_answer(&select->wait, wait->status, &wait->err);
        zd_fact_dim(&select->wait.err, select->picked.dim);
        return fail(select, wait->status == ZD_NOT_FOUND ? "no_coordinate" : NULL);
    }
    return take(select);
}

/* Takes the labels that were asked for, and asks for the next. */
static enum zd_next step(struct zd_machine *machine)
{
    struct zd_slice_select *select = ZD_CONTAINER(machine, struct zd_slice_select, machine);
    const struct zd_selectors *picks = &select->ask->picks;
    if (select->coordinate.array != NULL && have_coordinate(select) == ZD_DONE) {
        return ZD_DONE;
    }
    while (select->n_done < picks->n && !picks->pick[select->n_done].by_value) {
        select->n_done++;
    }
    if (select->n_done == picks->n) {
        return ZD_DONE;
    }
    select->wait.status = zd_selectors_find(
        picks, select->n_done, select->node->meta, &select->picked, &select->wait.err);
    if (select->wait.status != ZD_OK) {
        return fail(select, "bad_parameter");
    }
    struct zd_coordinate_want *want = &select->coordinate; /* large: it is not zeroed again */
    want->wait.done = zd_machine_wake;
    want->wait.context = machine;
    want->array = select->node;
    want->dim = select->picked.dim;
    want->reader = zd_permission_reader(select->req);
    return zd_coordinates_want(want);
}

/* Whether all dimensions that are named exist. */
static enum zd_status check_dims(const struct zd_slice_select *select, struct zd_error *err)
{
    const struct zd_selectors *picks = &select->ask->picks;
    struct zd_selector_match picked;
    for (uint32_t i = 0; i < picks->n; i++) {
        ZD_TRY(zd_selectors_find(picks, i, select->node->meta, &picked, err));
    }
    return ZD_OK;
}

enum zd_next zd_slice_select_want(struct zd_slice_select *select)
{
    struct zd_wait *wait = &select->wait;
    select->machine = (struct zd_machine){.step = step, .wait = wait};
    wait->status = check_dims(select, &wait->err);
    if (wait->status != ZD_OK) {
        select->code = "bad_parameter";
        return ZD_NEXT;
    }
    wait->status = zd_slice_params_select(
        select->ask, select->node->meta, &select->asked, &select->stored, &wait->err);
    if (wait->status != ZD_OK) {
        select->code = zd_slice_params_code(wait->status);
        return ZD_NEXT;
    }
    return zd_machine_call(&select->machine);
}

/* The names of the dimensions, or their numbers. */
static void list_dims(const struct zd_meta *meta, char number[ZD_RANK_MAX][DIM_BYTES_MAX],
    const char *ret_names[ZD_RANK_MAX + 1])
{
    for (uint32_t d = 0; d < meta->grid.rank; d++) {
        const char *name = meta->dimension_name == NULL ? NULL : meta->dimension_name[d];
        (void)snprintf(number[d], DIM_BYTES_MAX, "%u", (unsigned)d);
        ret_names[d] = name == NULL ? number[d] : name;
    }
    ret_names[meta->grid.rank] = NULL;
}

bool zd_slice_select_is_hidden(const struct zd_slice_select *select)
{
    return select->wait.status == ZD_NOT_FOUND && select->coordinate.is_hidden;
}

enum zd_next zd_slice_select_refuse(const struct zd_slice_select *select)
{
    struct zd_error err = {0};
    char number[ZD_RANK_MAX][DIM_BYTES_MAX];
    const char *allowed[ZD_RANK_MAX + 1];
    if (zd_slice_select_is_hidden(select)) {
        ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
        zd_coordinates_add_path(&select->coordinate, &path);
        return zd_permission_refuse_reading(select->req, path.at);
    }
    if (check_dims(select, &err) == ZD_OK) {
        return zd_respond_error(select->req, select->code, &select->wait.err);
    }
    list_dims(select->node->meta, number, allowed);
    const struct zd_problem problem = {.code = "bad_parameter", .err = &err, .allowed = allowed};
    return zd_respond_problem(select->req, &problem);
}

void zd_slice_select_release(struct zd_slice_select *select)
{
    zd_coordinates_release(&select->coordinate);
}
