/* A server and a change of its hierarchy under test: every step fails in turn. */
#include "tests/support/scene.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/store_fault.h"
#include "tests/support/unit.h"

#define FAULTS_MAX 3000

#define CONFIG "{\"datasets\": {\"w\": {\"location\": \"mem:\", \"writable\": true}}}"

void zd_test_scene_open(struct zd_test_scene *scene)
{
    ck_assert_int_eq(zd_test_serve_open(&scene->serve, CONFIG), ZD_OK);
    zd_store_break(zd_test_hierarchy_store(&scene->serve));
}

void zd_test_scene_close(struct zd_test_scene *scene)
{
    zd_test_serve_close(&scene->serve);
}

void zd_test_scene_ask(struct zd_test_scene *scene, const struct zd_test_change *change,
    struct zd_test_answer *ret_answer)
{
    snprintf(scene->request, sizeof scene->request,
        "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        "%sContent-Type: application/%s\r\nContent-Length: %zu\r\n\r\n%s",
        change->method, change->target, change->header == NULL ? "" : change->header, change->type,
        strlen(change->body), change->body);
    zd_test_serve_ask(&scene->serve, scene->request, ret_answer);
}

static void reset(struct zd_test_scene *scene)
{
    zd_test_hierarchy_reset(&scene->serve, scene->initial, scene->n_initial);
}

static void check(struct zd_test_scene *scene, const struct zd_test_answer *answer)
{
    char now[ZD_HIERARCHY_TEXT_BYTES];
    zd_test_hierarchy_text(&scene->serve, now);
    const bool is_allowed = scene->judge != NULL && scene->judge(scene, answer, now);
    const bool is_before = strcmp(now, scene->before) == 0;
    const bool is_after = strcmp(now, scene->after) == 0;
    const bool is_good = answer->is_whole && answer->status < 300;
    const bool is_refused = answer->is_whole && answer->status >= 300;
    /* Without memory there may be no answer to what was done, or only that one. */
    const bool is_lost = !answer->is_whole || (scene->status == ZD_OK && answer->status >= 500);
    ck_assert_msg(is_allowed || (is_good && is_after) || (is_refused && is_before) ||
                      (is_lost && (is_before || is_after)),
        "%.60s, fault %llu (%s): %s\nleaves:\n%s", scene->request, (unsigned long long)scene->n,
        zd_status_name(scene->status),
        answer->body.ptr == NULL ? "" : (const char *)answer->body.ptr, now);
}

/* Whether the fault was met. */
static bool run(struct zd_test_scene *scene)
{
    struct zd_test_answer answer;
    reset(scene);
    const struct zd_test_fault fault = {
        .n = scene->n, .status = scene->status, .is_slow = scene->is_slow};
    const bool was_met = zd_test_hierarchy_ask(&scene->serve, scene->request, &fault, &answer);
    check(scene, &answer);
    zd_test_answer_done(&answer);
    return was_met;
}

static void prepare(struct zd_test_scene *scene, const struct zd_test_change *change)
{
    struct zd_test_answer answer;
    reset(scene);
    zd_test_hierarchy_text(&scene->serve, scene->before);
    zd_test_scene_ask(scene, change, &answer);
    ck_assert_msg(answer.status < 300, "%s: %s", scene->request, answer.bytes);
    zd_test_answer_done(&answer);
    zd_test_hierarchy_text(&scene->serve, scene->after);
}

void zd_test_scene_fail_each(struct zd_test_scene *scene, const struct zd_test_change *change)
{
    prepare(scene, change);
    scene->n = 1;
    while (run(scene)) {
        ck_assert_uint_lt(scene->n, FAULTS_MAX);
        scene->n++;
    }
}
