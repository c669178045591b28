/* netcdf: a netCDF classic file, CDF-2 or, where types or lengths need it, CDF-5: a header with all
 * dimensions, attributes and variables, then the elements of one variable after the other,
 * big-endian. (The NetCDF Classic Format Specification.) */
#include "server/format/format.h"

#include <stdio.h>

#include "core/base/num.h"
#include "server/format/netcdf_attributes.h"
#include "server/format/netcdf_text.h"

#define HEADER_BYTES_MAX   (UINT64_C(1) << 28)
#define LENGTH_MAX         INT32_MAX                          /* of a dimension, in CDF-2 */
#define VARIABLE_BYTES_MAX (UINT32_MAX - ZD_NETCDF_ALIGN + 1) /* in CDF-2 */
#define NO_NAME_BYTES      16                                 /* "dim_31" */

/* A dimension: those of one name and one length are the same. */
struct dimension {
    size_t asked; /* its name as the first of it has it, made legal, in `asked` */
    size_t name;  /* its name in the file, in `dimension_names` */
    uint64_t length;
};

struct variable {
    const struct zd_answer *answer;
    enum zd_netcdf_type type;
    uint32_t dimension[ZD_RANK_MAX];
    size_t name;     /* in `variable_names` */
    uint64_t bytes;  /* without what fills them up */
    size_t begin_at; /* where the header says it */
};

/* The state of a body. */
struct netcdf {
    struct zd_netcdf_text header;
    struct zd_text asked;
    struct zd_text dimension_names;
    struct zd_text variable_names;
    struct dimension *dimension;
    uint32_t n_dimensions;
    uint32_t n_variables;
    uint64_t bytes; /* of the file */
    struct variable variable[];
};

static bool netcdf_accepts(const struct zd_dtype *dtype, uint32_t rank)
{
    (void)rank;
    return zd_netcdf_text_type(dtype) != ZD_NETCDF_NONE;
}

/* A length of 0 marks the one dimension that may grow, and it is the first of its variables. */
static bool netcdf_accepts_shape(uint32_t rank, const uint64_t *shape)
{
    for (uint32_t d = 0; d < rank; d++) {
        if ((d > 0 && shape[d] == 0) || shape[d] > INT64_MAX) {
            return false;
        }
    }
    return true;
}

static void netcdf_close(void *state)
{
    struct netcdf *netcdf = state;
    zd_text_done(&netcdf->header.text);
    zd_text_done(&netcdf->asked);
    zd_text_done(&netcdf->dimension_names);
    zd_text_done(&netcdf->variable_names);
    zd_free(netcdf->dimension);
    zd_free(netcdf);
}

/* ---- dimensions and variables ---- */

static bool has_dimension(const struct variable *variable, uint32_t n, uint32_t dimension)
{
    for (uint32_t d = 0; d < n; d++) {
        if (variable->dimension[d] == dimension) {
            return true;
        }
    }
    return false;
}

/* The name of dimension d, made legal, at the end of `asked`. */
static size_t ask_name(struct netcdf *netcdf, const struct zd_answer *answer, uint32_t d)
{
    const char *name = zd_format_answer_dimension(answer, d);
    char number[NO_NAME_BYTES];
    (void)snprintf(number, sizeof number, "dim_%u", (unsigned)d);
    return zd_netcdf_text_name(
        &netcdf->asked, netcdf->asked.len, zd_span_of(name == NULL ? number : name));
}

/* The dimension d of a variable: one that another variable has already, or a new one. */
static uint32_t find_dimension(struct netcdf *netcdf, const struct variable *variable, uint32_t d)
{
    const uint64_t length = variable->answer->shape[d];
    const size_t asked = ask_name(netcdf, variable->answer, d);
    if (netcdf->asked.status != ZD_OK) {
        return 0;
    }
    const struct zd_span name = zd_span_of(netcdf->asked.at + asked);
    for (uint32_t i = 0; i < netcdf->n_dimensions; i++) {
        const struct dimension *dimension = &netcdf->dimension[i];
        if (dimension->length == length && zd_span_is(name, netcdf->asked.at + dimension->asked) &&
            !has_dimension(variable, d, i)) {
            zd_text_cut(&netcdf->asked, asked);
            return i;
        }
    }
    netcdf->dimension[netcdf->n_dimensions] = (struct dimension){
        .asked = asked,
        .name = zd_netcdf_text_name(&netcdf->dimension_names, 0, name),
        .length = length,
    };
    return netcdf->n_dimensions++;
}

static bool needs_cdf5(const struct variable *variable)
{
    bool needs = variable->type >= ZD_NETCDF_UBYTE || variable->bytes > VARIABLE_BYTES_MAX;
    for (uint32_t d = 0; d < variable->answer->rank; d++) {
        needs = needs || variable->answer->shape[d] > LENGTH_MAX;
    }
    return needs;
}

static enum zd_status plan_variable(
    struct netcdf *netcdf, const struct zd_answer *answer, struct zd_error *err)
{
    struct variable *variable = &netcdf->variable[netcdf->n_variables++];
    *variable = (struct variable){.answer = answer, .type = zd_netcdf_text_type(&answer->dtype)};
    for (uint32_t d = 0; d < answer->rank; d++) {
        variable->dimension[d] = find_dimension(netcdf, variable, d);
    }
    const char *name = answer->name == NULL ? "" : answer->name;
    variable->name = zd_netcdf_text_name(&netcdf->variable_names, 0, zd_span_of(name));
    const uint64_t each = zd_netcdf_text_type_bytes(variable->type);
    if (ckd_mul(&variable->bytes, answer->n_elements, each) ||
        variable->bytes > INT64_MAX - ZD_NETCDF_ALIGN) {
        return zd_fail(err, ZD_TOO_LARGE, "the variable does not fit a netCDF file");
    }
    netcdf->header.is_cdf5 = netcdf->header.is_cdf5 || needs_cdf5(variable);
    return ZD_OK;
}

static enum zd_status check_records(const struct netcdf *netcdf, struct zd_error *err)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < netcdf->n_dimensions; i++) {
        n += netcdf->dimension[i].length == 0 ? 1 : 0;
    }
    return n <= 1 ? ZD_OK
                  : zd_fail(err, ZD_UNSUPPORTED,
                        "a netCDF file has at most one dimension of length 0; the answer has %u",
                        (unsigned)n);
}

/* ---- the header ---- */

static bool has_records(const struct variable *variable)
{
    return variable->answer->rank > 0 && variable->answer->shape[0] == 0;
}

/* Bytes of a variable, or of a record of it; filled up. */
static uint64_t listed_bytes(const struct variable *variable)
{
    const struct zd_answer *answer = variable->answer;
    uint64_t bytes = variable->bytes;
    if (has_records(variable) &&
        (zd_product_overflows(&bytes, answer->shape + 1, answer->rank - 1) ||
            ckd_mul(&bytes, bytes, (uint64_t)zd_netcdf_text_type_bytes(variable->type)) ||
            bytes > INT64_MAX - ZD_NETCDF_ALIGN)) {
        return INT64_MAX - ZD_NETCDF_ALIGN + 1; /* readers compute it themselves */
    }
    return zd_div_up(bytes, ZD_NETCDF_ALIGN) * ZD_NETCDF_ALIGN;
}

static void add_dimensions(struct netcdf *netcdf)
{
    struct zd_netcdf_text *to = &netcdf->header;
    zd_netcdf_text_add_list(to, ZD_NETCDF_DIMENSION, netcdf->n_dimensions);
    for (uint32_t i = 0; i < netcdf->n_dimensions; i++) {
        const struct dimension *dimension = &netcdf->dimension[i];
        zd_netcdf_text_add_name(to, netcdf->dimension_names.at + dimension->name);
        zd_netcdf_text_add_count(to, dimension->length);
    }
}

static void add_variable(struct netcdf *netcdf, struct variable *variable)
{
    struct zd_netcdf_text *to = &netcdf->header;
    zd_netcdf_text_add_name(to, netcdf->variable_names.at + variable->name);
    zd_netcdf_text_add_count(to, variable->answer->rank);
    for (uint32_t d = 0; d < variable->answer->rank; d++) {
        zd_netcdf_text_add_count(to, variable->dimension[d]);
    }
    zd_netcdf_attributes_add(to, variable->answer);
    zd_netcdf_text_add_u32(to, variable->type);
    zd_netcdf_text_add_count(to, listed_bytes(variable));
    variable->begin_at = to->text.len;
    zd_netcdf_text_add_u64(to, 0);
}

static enum zd_status check_end(uint64_t at, struct zd_error *err)
{
    return at <= INT64_MAX ? ZD_OK
                           : zd_fail(err, ZD_TOO_LARGE, "the variables do not fit a netCDF file");
}

/* Variables one behind the other. @param at where the first of them begins; moved behind the last
 */
static enum zd_status place(
    struct netcdf *netcdf, bool with_records, uint64_t *at, struct zd_error *err)
{
    for (uint32_t i = 0; i < netcdf->n_variables; i++) {
        const struct variable *variable = &netcdf->variable[i];
        if (has_records(variable) != with_records) {
            continue;
        }
        ZD_TRY(check_end(*at, err));
        const uint64_t begin = __builtin_bswap64(*at);
        memcpy(netcdf->header.text.at + variable->begin_at, &begin, sizeof begin);
        *at += listed_bytes(variable); /* two of INT64_MAX at most */
    }
    return ZD_OK;
}

/* Behind the header, in their order. Those with records come last: they have none, but readers want
 * to see where the first ones would be. */
static enum zd_status place_variables(struct netcdf *netcdf, struct zd_error *err)
{
    uint64_t at = netcdf->header.text.len;
    ZD_TRY(place(netcdf, false, &at, err));
    ZD_TRY(check_end(at, err));
    netcdf->bytes = at;
    return place(netcdf, true, &at, err);
}

static enum zd_status make_header(
    struct netcdf *netcdf, const struct zd_answer *answer, struct zd_error *err)
{
    struct zd_netcdf_text *to = &netcdf->header;
    zd_text_add(&to->text, "CDF");
    zd_text_add_char(&to->text, to->is_cdf5 ? 5 : 2);
    zd_netcdf_text_add_count(to, 0); /* records */
    add_dimensions(netcdf);
    zd_netcdf_attributes_add_global(to, answer->all == NULL ? NULL : answer->all->attributes);
    zd_netcdf_text_add_list(to, ZD_NETCDF_VARIABLE, netcdf->n_variables);
    for (uint32_t i = 0; i < netcdf->n_variables; i++) {
        add_variable(netcdf, &netcdf->variable[i]);
    }
    if (to->text.status != ZD_OK) {
        return zd_fail(err, to->text.status, "the header of the netCDF file is too long");
    }
    return place_variables(netcdf, err);
}

static enum zd_status make(
    struct netcdf *netcdf, const struct zd_answer *answer, struct zd_error *err)
{
    const uint32_t n = zd_format_n_answers(answer);
    uint64_t n_dimensions = 1;
    for (uint32_t i = 0; i < n; i++) {
        n_dimensions += zd_format_answer_at(answer, i)->rank;
    }
    netcdf->dimension = zd_alloc_zero(n_dimensions, sizeof *netcdf->dimension);
    if (netcdf->dimension == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the dimensions of the netCDF file");
    }
    for (uint32_t i = 0; i < n; i++) {
        ZD_TRY(plan_variable(netcdf, zd_format_answer_at(answer, i), err));
    }
    if (netcdf->asked.status != ZD_OK || netcdf->dimension_names.status != ZD_OK ||
        netcdf->variable_names.status != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the names of the netCDF file");
    }
    ZD_TRY(check_records(netcdf, err));
    return make_header(netcdf, answer, err);
}

static enum zd_status netcdf_open(
    const struct zd_answer *answer, void **ret_state, struct zd_error *err)
{
    const uint32_t n = zd_format_n_answers(answer);
    struct netcdf *netcdf = zd_alloc_zero(1, sizeof *netcdf + n * sizeof *netcdf->variable);
    if (netcdf == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the header of the netCDF file");
    }
    zd_text_init(&netcdf->header.text, HEADER_BYTES_MAX);
    zd_text_init(&netcdf->asked, HEADER_BYTES_MAX);
    zd_text_init(&netcdf->dimension_names, HEADER_BYTES_MAX);
    zd_text_init(&netcdf->variable_names, HEADER_BYTES_MAX);
    const enum zd_status status = make(netcdf, answer, err);
    if (status != ZD_OK) {
        netcdf_close(netcdf);
        return status;
    }
    *ret_state = netcdf;
    return ZD_OK;
}

static bool netcdf_size(const struct zd_answer *answer, uint64_t *ret_bytes)
{
    void *state;
    if (netcdf_open(answer, &state, NULL) != ZD_OK) {
        return false;
    }
    *ret_bytes = ((const struct netcdf *)state)->bytes;
    netcdf_close(state);
    return true;
}

/* ---- the body ---- */

static void netcdf_head(const struct zd_answer *answer, struct zd_text *text)
{
    const struct netcdf *netcdf = answer->state;
    if (answer == zd_format_answer_at(answer, 0)) {
        zd_text_add_bytes(text, netcdf->header.text.at, netcdf->header.text.len);
    }
}

static void netcdf_band(const struct zd_answer *answer, uint64_t first, uint64_t n_elements,
    const uint8_t *elements, struct zd_text *text)
{
    (void)first;
    zd_netcdf_text_add_elements(text, &answer->dtype, elements, n_elements);
}

static void netcdf_tail(const struct zd_answer *answer, struct zd_text *text)
{
    const uint64_t each = zd_netcdf_text_type_bytes(zd_netcdf_text_type(&answer->dtype));
    zd_netcdf_text_pad(text, answer->n_elements * each);
}

const struct zd_format zd_format_netcdf = {
    .name = "netcdf",
    .media_type = "application/x-netcdf",
    .extension = "nc",
    .takes_several = true,
    .has_dimensions = true,
    .is_binary = true,
    .accepts = netcdf_accepts,
    .accepts_shape = netcdf_accepts_shape,
    .size = netcdf_size,
    .open = netcdf_open,
    .close = netcdf_close,
    .head = netcdf_head,
    .band = netcdf_band,
    .tail = netcdf_tail,
};
