/* The filters of a stream of LZMA, as Python and numcodecs spell them. */
#include "core/codec/lzma_filters.h"

#include <string.h>

#include "core/base/num.h"

#define NAME     "filters"
#define PRESET   LZMA_PRESET_DEFAULT
#define PRESETS  "0 to 9, plus 2147483648 for the extreme variant"
#define EXPECTED "1 to 4 filters; the last one, and no other, is LZMA1 or LZMA2"

/* A filter of the list while it is read. */
struct reading {
    const struct zd_parameters *parameters;
    const struct zd_json *json; /* an object */
    struct zd_pointer at;
};

/* The filters that change instructions of a processor, and what divides their start_offset. */
static const struct {
    lzma_vli id;
    uint32_t alignment;
} processors[] = {
    {LZMA_FILTER_X86, 1},
    {LZMA_FILTER_POWERPC, 4},
    {LZMA_FILTER_IA64, 16},
    {LZMA_FILTER_ARM, 4},
    {LZMA_FILTER_ARMTHUMB, 2},
    {LZMA_FILTER_SPARC, 4},
};

static void set_preset(lzma_options_lzma *options, uint32_t preset)
{
    const bool is_unknown = lzma_lzma_preset(options, preset);
    assert(!is_unknown);
    (void)is_unknown;
}

bool zd_lzma_filters_preset(int64_t number)
{
    const int64_t level = number & ~(int64_t)LZMA_PRESET_EXTREME;
    return level >= 0 && level <= 9;
}

void zd_lzma_filters_init(struct zd_lzma_filters *filters, lzma_vli id, uint32_t preset)
{
    *filters = (struct zd_lzma_filters){.n = 1, .filter = {{.id = id}}};
    set_preset(&filters->filter[0].options.lzma, preset);
}

static void add_fault(const struct reading *reading, const char *member, const char *code,
    const char *expected, const struct zd_json *found)
{
    const struct zd_pointer at = zd_pointer_member(&reading->at, member);
    zd_parameter_fault(reading->parameters, member, &at, code, expected, found);
}

static void judge_members(const struct reading *reading, const char *const *names)
{
    for (void *iter = zd_json_next(reading->json, NULL); iter != NULL;
        iter = zd_json_next(reading->json, iter)) {
        const char *name = zd_json_iter_name(iter);
        bool is_known = strcmp(name, "id") == 0;
        for (size_t i = 0; names[i] != NULL && !is_known; i++) {
            is_known = strcmp(names[i], name) == 0;
        }
        if (!is_known) {
            add_fault(reading, name, "unknown_member", "a parameter of that filter",
                zd_json_iter_value(iter));
        }
    }
}

/* A member that need not be there, and then stays what it is. */
static void read_number(const struct reading *reading, const char *name, const char *expected,
    int64_t min, int64_t max, uint32_t *value)
{
    const struct zd_json *json = zd_json_member(reading->json, name);
    int64_t number = 0;
    if (json == NULL) {
        return;
    }
    if (!zd_json_is(json, ZD_JSON_INTEGER)) {
        add_fault(reading, name, "wrong_type", expected, json);
    } else if (!zd_json_i64(json, &number) || number < min || number > max) {
        add_fault(reading, name, "out_of_range", expected, json);
    } else {
        *value = (uint32_t)number;
    }
}

static void read_lzma(const struct reading *reading, lzma_options_lzma *ret_options)
{
    static const char *const names[] = {
        "preset", "dict_size", "lc", "lp", "pb", "mode", "nice_len", "mf", "depth", NULL};
    uint32_t preset = PRESET;
    judge_members(reading, names);
    read_number(reading, "preset", PRESETS, 0, UINT32_MAX, &preset);
    if (!zd_lzma_filters_preset(preset)) {
        add_fault(
            reading, "preset", "out_of_range", PRESETS, zd_json_member(reading->json, "preset"));
        preset = PRESET;
    }
    set_preset(ret_options, preset);
    uint32_t mode = ret_options->mode;
    uint32_t finder = ret_options->mf;
    read_number(reading, "dict_size", "an integer from 4096 to 1610612736", LZMA_DICT_SIZE_MIN,
        INT64_C(3) << 29, &ret_options->dict_size);
    read_number(reading, "lc", "an integer from 0 to 4", 0, LZMA_LCLP_MAX, &ret_options->lc);
    read_number(reading, "lp", "an integer from 0 to 4", 0, LZMA_LCLP_MAX, &ret_options->lp);
    read_number(reading, "pb", "an integer from 0 to 4", 0, LZMA_PB_MAX, &ret_options->pb);
    read_number(reading, "mode", "1 or 2", LZMA_MODE_FAST, LZMA_MODE_NORMAL, &mode);
    read_number(reading, "nice_len", "an integer from 2 to 273", 2, 273, &ret_options->nice_len);
    read_number(reading, "mf", "3, 4, 18, 19 or 20", LZMA_MF_HC3, LZMA_MF_BT4, &finder);
    read_number(
        reading, "depth", "an integer from 0 to 4294967295", 0, UINT32_MAX, &ret_options->depth);
    ret_options->mode = (lzma_mode)mode;
    ret_options->mf = (lzma_match_finder)finder;
    if (ret_options->lc + ret_options->lp > LZMA_LCLP_MAX) {
        add_fault(reading, "lp", "out_of_range", "at most 4 together with lc",
            zd_json_member(reading->json, "lp"));
    }
    if (!lzma_mf_is_supported(ret_options->mf)) {
        add_fault(reading, "mf", "out_of_range", "3, 4, 18, 19 or 20",
            zd_json_member(reading->json, "mf"));
    }
}

static void read_delta(const struct reading *reading, lzma_options_delta *ret_options)
{
    static const char *const names[] = {"dist", NULL};
    judge_members(reading, names);
    ret_options->type = LZMA_DELTA_TYPE_BYTE;
    ret_options->dist = LZMA_DELTA_DIST_MIN;
    read_number(reading, "dist", "an integer from 1 to 256", LZMA_DELTA_DIST_MIN,
        LZMA_DELTA_DIST_MAX, &ret_options->dist);
}

static void read_processor(
    const struct reading *reading, uint32_t alignment, lzma_options_bcj *ret_options)
{
    static const char *const names[] = {"start_offset", NULL};
    judge_members(reading, names);
    read_number(reading, "start_offset", "an integer from 0 to 4294967295", 0, UINT32_MAX,
        &ret_options->start_offset);
    if (ret_options->start_offset % alignment != 0) {
        add_fault(reading, "start_offset", "out_of_range",
            "a multiple of the instruction length of that processor",
            zd_json_member(reading->json, "start_offset"));
    }
}

static void read_filter(const struct reading *reading, struct zd_lzma_filter *ret_filter)
{
    const struct zd_json *id = zd_json_member(reading->json, "id");
    if (!zd_json_u64(id, &ret_filter->id)) {
        add_fault(reading, "id", "wrong_type", "the number of a filter", id);
        return;
    }
    if (ret_filter->id == LZMA_FILTER_LZMA1 || ret_filter->id == LZMA_FILTER_LZMA2) {
        read_lzma(reading, &ret_filter->options.lzma);
        return;
    }
    if (ret_filter->id == LZMA_FILTER_DELTA) {
        read_delta(reading, &ret_filter->options.delta);
        return;
    }
    for (size_t i = 0; i < ZD_COUNT_OF(processors); i++) {
        if (processors[i].id == ret_filter->id) {
            read_processor(reading, processors[i].alignment, &ret_filter->options.bcj);
            return;
        }
    }
    add_fault(reading, "id", "out_of_range", "33, 4611686018427387905, or 3 to 9", id);
}

static bool is_lzma(lzma_vli id)
{
    return id == LZMA_FILTER_LZMA1 || id == LZMA_FILTER_LZMA2;
}

/* Compression is what comes last, and once. */
static bool is_chain(const struct zd_lzma_filters *filters, lzma_vli last)
{
    for (uint32_t i = 0; i + 1 < filters->n; i++) {
        if (is_lzma(filters->filter[i].id)) {
            return false;
        }
    }
    const lzma_vli id = filters->filter[filters->n - 1].id;
    const bool is_alone = last != LZMA_FILTER_LZMA1 || filters->n == 1;
    return is_lzma(id) && is_alone && (last == LZMA_VLI_UNKNOWN || id == last);
}

bool zd_lzma_filters_read(
    const struct zd_parameters *parameters, lzma_vli last, struct zd_lzma_filters *ret_filters)
{
    const struct zd_json *list = zd_parameter_array(parameters, NAME);
    const struct zd_pointer at = zd_parameter_at(parameters, NAME);
    const size_t n = zd_json_count(list);
    if (list == NULL || n == 0 || n > LZMA_FILTERS_MAX) {
        if (list != NULL) {
            zd_parameter_fault(parameters, NAME, &at, "out_of_range", EXPECTED, list);
        }
        return false;
    }
    *ret_filters = (struct zd_lzma_filters){.n = (uint32_t)n};
    for (size_t i = 0; i < n; i++) {
        const struct reading reading = {.parameters = parameters,
            .json = zd_json_element(list, i),
            .at = zd_pointer_element(&at, i)};
        read_filter(&reading, &ret_filters->filter[i]);
    }
    if (!is_chain(ret_filters, last)) {
        zd_parameter_fault(parameters, NAME, &at, "out_of_range",
            last == LZMA_FILTER_LZMA1   ? "LZMA1 alone"
            : last == LZMA_FILTER_LZMA2 ? "1 to 4 filters; the last one, and no other, is LZMA2"
                                        : EXPECTED,
            list);
        return false;
    }
    return true;
}

void zd_lzma_filters_trim(struct zd_lzma_filters *filters, uint64_t decoded_bytes)
{
    lzma_options_lzma *options = &filters->filter[filters->n - 1].options.lzma;
    const uint64_t use = zd_max_u64(decoded_bytes, LZMA_DICT_SIZE_MIN);
    options->dict_size = (uint32_t)zd_min_u64(options->dict_size, use);
}

struct zd_lzma_chain zd_lzma_filters_chain(struct zd_lzma_filters *filters)
{
    struct zd_lzma_chain chain = {0};
    for (uint32_t i = 0; i < filters->n; i++) {
        chain.filter[i] =
            (lzma_filter){.id = filters->filter[i].id, .options = &filters->filter[i].options};
    }
    chain.filter[filters->n] = (lzma_filter){.id = LZMA_VLI_UNKNOWN};
    return chain;
}
