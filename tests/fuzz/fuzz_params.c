/* Queries: after an "s" only what slices take is known, after another byte anything goes. What was
 * read is UTF-8 without NUL, and written again it reads the same. */
#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "server/http/escape.h"
#include "server/http/params.h"
#include "server/slice/slice_params.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX   4096
#define ENCODED_BYTES_MAX (4 * INPUT_BYTES_MAX)

static void check_text(struct zd_span text)
{
    zd_fuzz_insist(zd_scan_is_utf8(text) && text.ptr[text.len] == '\0');
    zd_fuzz_insist(strlen((const char *)text.ptr) == text.len);
}

static void check_names(const struct zd_params *params, const char *const *allowed)
{
    for (uint32_t i = 0; i < params->n; i++) {
        struct zd_span found;
        check_text(zd_span_of(params->name[i]));
        check_text(params->value[i]);
        zd_fuzz_insist(zd_params_find(params, params->name[i], &found));
        /* The first of a name is found; where names are judged there is no other. */
        zd_fuzz_insist(allowed == NULL || found.ptr == params->value[i].ptr);
    }
}

static void check_again(const struct zd_params *params, const char *const *allowed)
{
    ZD_SCOPED_TEXT(query, ENCODED_BYTES_MAX);
    for (uint32_t i = 0; i < params->n; i++) {
        zd_text_add(&query, i == 0 ? "" : "&");
        (void)zd_escape_percent_encode(zd_span_of(params->name[i]), &query);
        zd_text_add(&query, "=");
        (void)zd_escape_percent_encode(params->value[i], &query);
    }
    struct zd_params again;
    zd_fuzz_insist(query.status == ZD_OK);
    zd_fuzz_insist(zd_params_parse(zd_text_span(&query), allowed, NULL, &again, NULL) == ZD_OK);
    zd_fuzz_insist(again.n == params->n);
    for (uint32_t i = 0; i < params->n; i++) {
        zd_fuzz_insist(strcmp(again.name[i], params->name[i]) == 0);
        zd_fuzz_insist(zd_span_equal(again.value[i], params->value[i]));
    }
    zd_params_done(&again);
}

static void check_readings(const struct zd_params *params)
{
    static const char *const choices[] = {"1", "true", "number", NULL};
    for (uint32_t i = 0; i < params->n; i++) {
        bool flag = false;
        uint64_t number = 0;
        uint32_t choice = 0;
        struct zd_error err = {0};
        if (zd_params_flag(params, params->name[i], false, &flag, &err) != ZD_OK) {
            zd_fuzz_insist(err.status == ZD_INVALID && (err.facts.set & ZD_FACT_NAME) != 0);
        }
        if (zd_params_u64(params, params->name[i], (struct zd_params_range){5, 3, 1000}, &number,
                &err) == ZD_OK) {
            zd_fuzz_insist(number >= 3 && number <= 1000);
        }
        if (zd_params_choice(params, params->name[i], choices, &choice, &err) == ZD_OK) {
            struct zd_span value;
            zd_fuzz_insist(choice < ZD_COUNT_OF(choices) - 1);
            zd_fuzz_insist(zd_params_find(params, params->name[i], &value));
            zd_fuzz_insist(zd_span_is(value, choices[choice]));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    if (len > INPUT_BYTES_MAX) {
        return 0;
    }
    const char *const *allowed = zd_fuzz_byte(&input) == 's' ? zd_slice_params_of_slices : NULL;
    struct zd_params params;
    struct zd_error err = {0};
    ZD_AUTO_TEXT text = zd_fuzz_rest(&input);
    const enum zd_status status = zd_params_parse(zd_span_of(text), allowed, NULL, &params, &err);
    if (status != ZD_OK) {
        zd_fuzz_insist(status == ZD_INVALID && allowed != NULL && err.text[0] != '\0');
        return 0;
    }
    check_names(&params, allowed);
    check_again(&params, allowed);
    check_readings(&params);
    zd_params_done(&params);
    return 0;
}
