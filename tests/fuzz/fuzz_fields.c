/* Projections: a line of fields, then a document. What is kept of a document is JSON, and to ask
 * for no field at all keeps it whole. */
#include "core/base/num.h"
#include "server/http/fields.h"
#include "tests/fuzz/input.h"

#define TEXT_BYTES_MAX (1U << 20)

static const struct zd_json_limits limits = {
    .bytes_max = TEXT_BYTES_MAX, .nodes_max = 5000, .depth_max = 64};

static const char *const known[] = {"path", "metadata", "array", NULL};

/* {"metadata": the wanted parts}, or {} */
static struct zd_json *project(const struct zd_fields *fields, const struct zd_json *document)
{
    struct zd_json *kept = NULL;
    struct zd_emit emit;
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    zd_emit_init(&emit, &text, false);
    zd_emit_object(&emit);
    zd_fields_emit(fields, "metadata", "metadata", document, &emit);
    zd_emit_object_end(&emit);
    zd_fuzz_insist(text.status == ZD_OK);
    zd_fuzz_insist(zd_json_parse(zd_text_span(&text), &limits, &kept, NULL) == ZD_OK);
    return kept;
}

static void check_whole(const struct zd_json *document)
{
    const struct zd_fields everything = {0};
    ZD_AUTO(zd_json) kept = project(&everything, document);
    zd_fuzz_insist(zd_json_equal(zd_json_member(kept, "metadata"), document));
}

/* Every member that was kept is in the document; what is a scalar there is itself. */
static void check_part(const struct zd_json *kept, const struct zd_json *document)
{
    for (void *i = zd_json_next(kept, NULL); i != NULL; i = zd_json_next(kept, i)) {
        const struct zd_json *origin = zd_json_member(document, zd_json_iter_name(i));
        zd_fuzz_insist(origin != NULL);
        zd_fuzz_insist(
            zd_json_is(origin, ZD_JSON_OBJECT) || zd_json_equal(zd_json_iter_value(i), origin));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    struct zd_fields fields;
    struct zd_error err = {0};
    ZD_AUTO_TEXT text = zd_fuzz_line(&input);
    ZD_AUTO(zd_json) document = NULL;
    if (zd_json_parse(input, &limits, &document, NULL) != ZD_OK) {
        return 0;
    }
    check_whole(document);
    if (zd_fields_parse(zd_span_of(text), known, &fields, &err) != ZD_OK) {
        zd_fuzz_insist(err.status == ZD_INVALID && err.text[0] != '\0');
        return 0;
    }
    zd_fuzz_insist(fields.n <= ZD_FIELDS_MAX);
    ZD_AUTO(zd_json) kept = project(&fields, document);
    check_part(zd_json_member(kept, "metadata"), document);
    zd_fields_done(&fields);
    return 0;
}
