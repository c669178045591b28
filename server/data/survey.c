/* Asking the store for the state of many objects, some at a time. */
#include "server/data/survey.h"

#include "core/base/num.h"

#define IN_FLIGHT_MAX 128

enum zd_status zd_survey_init(struct zd_survey *survey, struct zd_machine *machine,
    struct zd_node *node, const struct zd_grid *grid, const struct zd_selection *selection,
    struct zd_error *err)
{
    uint64_t n_objects;
    *survey = (struct zd_survey){.gather.machine = machine, .node = node, .checked_ms = UINT64_MAX};
    zd_plan_init(&survey->plan, grid, selection);
    if (zd_plan_overflows(grid, selection, &n_objects)) {
        n_objects = IN_FLIGHT_MAX;
    }
    survey->n_want = (uint32_t)zd_min_u64(n_objects, IN_FLIGHT_MAX);
    survey->want = zd_alloc_zero(survey->n_want, sizeof *survey->want);
    survey->object = zd_alloc_zero(survey->n_want, sizeof *survey->object);
    if (survey->want == NULL || survey->object == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory to look up %u stored objects", survey->n_want);
    }
    return ZD_OK;
}

static void release(struct zd_survey *survey)
{
    for (uint32_t i = 0; i < survey->n_asked; i++) {
        zd_objects_release(&survey->want[i]);
    }
    survey->n_asked = 0;
    zd_gather_cancel(&survey->gather);
}

void zd_survey_done(struct zd_survey *survey)
{
    release(survey);
    zd_free(ZD_TAKE(survey->want));
    zd_free(ZD_TAKE(survey->object));
    survey->n_want = 0;
}

static enum zd_status collect(struct zd_survey *survey, struct zd_error *err)
{
    for (uint32_t i = 0; i < survey->n_asked; i++) {
        const struct zd_object_want *object = &survey->want[i];
        const enum zd_status status = object->wait.status;
        if (status != ZD_OK && status != ZD_NOT_FOUND) {
            *err = object->wait.err;
            return status;
        }
        survey->checked_ms = zd_min_u64(survey->checked_ms, object->checked_ms);
        const struct zd_generation absent = {0};
        const struct zd_generation now = status == ZD_OK ? object->stat.generation : absent;
        if (survey->seen != NULL) {
            survey->has_changed =
                !zd_seen_objects_see(survey->seen, survey->object[i], now) || survey->has_changed;
        } else {
            survey->see(survey, survey->number + i, now);
        }
    }
    survey->number += survey->n_asked;
    release(survey);
    return ZD_OK;
}

static enum zd_status ask(
    struct zd_survey *survey, const struct zd_part *part, struct zd_error *err)
{
    const struct zd_node *node = survey->node;
    struct zd_object_want *want = &survey->want[survey->n_asked];
    char key[ZD_KEY_BYTES_MAX + 1];
    ZD_TRY(zd_object_key_of(node, 0, part->chunk, key, err));
    if (survey->is_fresh) {
        zd_objects_forget(node->dataset, key);
    }
    if (survey->seen != NULL) {
        survey->object[survey->n_asked] = zd_seen_objects_at(survey->seen, part->chunk);
    }
    *want = (struct zd_object_want){.wait = zd_gather_wait(&survey->gather)};
    survey->n_asked++;
    zd_gather_add(&survey->gather, zd_objects_want(node->dataset, key, ZD_OBJECT_STATUS, want));
    return ZD_OK;
}

enum zd_status zd_survey_round(
    struct zd_survey *survey, enum zd_next *ret_next, struct zd_error *err)
{
    ZD_TRY(collect(survey, err));
    struct zd_part part;
    zd_gather_begin(&survey->gather);
    while (survey->n_asked < survey->n_want && zd_plan_next(&survey->plan, &part)) {
        const enum zd_status status = ask(survey, &part, err);
        if (status != ZD_OK) {
            release(survey);
            return status;
        }
    }
    survey->is_done = survey->n_asked == 0;
    *ret_next = zd_gather_end(&survey->gather);
    return ZD_OK;
}
