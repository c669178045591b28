/* Coordinates: which array has the labels of a dimension. */
#include "server/data/coordinates.h"

#include <string.h>

#include "core/store/contract/path.h"

static const char *name_of(const struct zd_coordinate_want *want)
{
    char **names = want->array->meta->dimension_name;
    return names == NULL ? NULL : names[want->dim];
}

static enum zd_next not_found(struct zd_coordinate_want *want)
{
    const char *name = name_of(want);
    if (name == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NOT_FOUND,
            "dimension %u has no name and therefore no coordinate", (unsigned)want->dim);
    } else {
        want->wait.status = zd_fail(&want->wait.err, ZD_NOT_FOUND,
            "dimension '%.100s' has no coordinate: no array of rank 1 with that name is beside "
            "'%.200s' or in a group above it",
            name, want->array->path);
    }
    return ZD_DONE;
}

static enum zd_next step_have_labels(struct zd_coordinate_want *want)
{
    if (want->read.wait.status == ZD_UNSUPPORTED || want->read.wait.status == ZD_INVALID) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NOT_FOUND,
            "values cannot be looked up in the coordinate '%.200s': %s", want->node->path,
            want->read.wait.err.text);
        return ZD_DONE;
    }
    const struct zd_wait *wait = &want->read.wait;
    zd_wait_answer(&want->wait, wait->status, wait->status == ZD_OK ? NULL : &wait->err);
    want->coordinate = ZD_TAKE(want->read.coordinate);
    return ZD_DONE;
}

/* The fault of an array of that name, or NULL. */
static const char *fault_of(const struct zd_node *node)
{
    if (zd_meta_is_refused(node->meta)) {
        return "its metadata is not supported";
    }
    return node->fault == NULL ? NULL : node->fault->text;
}

static bool may_be_it(const struct zd_node *node)
{
    return node->meta->type == ZD_NODE_ARRAY &&
           (zd_meta_is_refused(node->meta) || node->meta->grid.rank == 1);
}

static enum zd_next take(struct zd_coordinate_want *want)
{
    struct zd_node *node = want->node;
    const struct zd_meta *meta = want->array->meta;
    const uint64_t n = meta->grid.shape[want->dim] - meta->view.origin[want->dim];
    const char *fault = fault_of(node);
    if (fault != NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NOT_FOUND,
            "the coordinate '%.200s' cannot be read: %s", node->path, fault);
        return ZD_DONE;
    }
    const uint64_t n_labels = node->meta->grid.shape[0] - node->meta->view.origin[0];
    if (n_labels != n) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NOT_FOUND,
            "the coordinate '%.200s' has %llu elements, but its dimension of '%.200s' has %llu",
            node->path, (unsigned long long)n_labels, want->array->path, (unsigned long long)n);
        return ZD_DONE;
    }
    want->step = step_have_labels;
    want->read.wait.done = zd_machine_wake;
    want->read.wait.context = &want->machine;
    return zd_coordinate_read_want(node, &want->read);
}

static enum zd_next step_look(struct zd_coordinate_want *want);

static enum zd_next step_found(struct zd_coordinate_want *want)
{
    const struct zd_wait *wait = &want->found.wait;
    if (wait->status == ZD_OK && may_be_it(want->found.node)) {
        want->node = ZD_TAKE(want->found.node);
        return take(want);
    }
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        zd_wait_answer(&want->wait, wait->status, &wait->err);
        return ZD_DONE;
    }
    zd_node_unref(ZD_TAKE(want->found.node));
    want->step = step_look;
    return ZD_NEXT;
}

void zd_coordinates_add_path(const struct zd_coordinate_want *want, struct zd_text *path)
{
    zd_text_add_bytes(path, want->array->path, want->len);
    zd_text_add(path, want->len == 0 ? "" : "/");
    zd_text_add(path, name_of(want));
}

static enum zd_next hide(struct zd_coordinate_want *want, const char *path)
{
    want->is_hidden = true;
    want->wait.status = zd_fail(&want->wait.err, ZD_NOT_FOUND,
        "the coordinate of dimension '%.100s' may be at '%.200s', but the credential may not read "
        "that path",
        name_of(want), path);
    return ZD_DONE;
}

/* In the next group above. */
static enum zd_next step_look(struct zd_coordinate_want *want)
{
    char cut[ZD_KEY_BYTES_MAX + 1];
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (want->len == 0) {
        return not_found(want);
    }
    want->len = zd_path_parent_len(zd_path_cut(want->array->path, want->len, cut));
    zd_coordinates_add_path(want, &path);
    if (path.status == ZD_NO_MEMORY) { /* no array further up stands in for this one */
        want->wait.status =
            zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory for the path of a coordinate");
        return ZD_DONE;
    }
    if (path.status != ZD_OK) {
        return ZD_NEXT; /* no store has a key that is longer */
    }
    if (!zd_reader_may(&want->reader, path.at)) {
        return hide(want, path.at);
    }
    want->step = step_found;
    want->found.wait.done = zd_machine_wake;
    want->found.wait.context = &want->machine;
    return zd_catalog_want(want->array->dataset, path.at, &want->found);
}

static enum zd_next step_want(struct zd_machine *machine)
{
    struct zd_coordinate_want *want = ZD_CONTAINER(machine, struct zd_coordinate_want, machine);
    return want->step(want);
}

enum zd_next zd_coordinates_want(struct zd_coordinate_want *want)
{
    const char *name = name_of(want);
    const size_t path_len = strlen(want->array->path);
    const bool may_be_named = name != NULL && zd_key_segment_is_valid(zd_span_of(name));
    want->wait.status = ZD_OK;
    want->is_hidden = false;
    want->len = may_be_named && path_len <= ZD_KEY_BYTES_MAX ? path_len : 0;
    want->step = step_look;
    want->machine = (struct zd_machine){.step = step_want, .wait = &want->wait};
    return zd_machine_call(&want->machine);
}

void zd_coordinates_release(struct zd_coordinate_want *want)
{
    zd_wait_cancel(&want->wait);
    zd_catalog_release(&want->found);
    zd_coordinate_read_release(&want->read);
    zd_coordinate_unref(ZD_TAKE(want->coordinate));
    zd_node_unref(ZD_TAKE(want->node));
}
