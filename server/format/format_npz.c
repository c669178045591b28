/* npz: a ZIP archive of npy files, one an array (numpy.lib.format), stored, as numpy.savez writes
 * it. */
#include "server/format/format.h"

#include <string.h>

#include "core/grid/widen.h"
#include "server/format/zip_writer.h"

#define SUFFIX         ".npy"
#define HEAD_BYTES_MAX 16384

/* The state of a body. */
struct npz {
    struct zd_zip_writer zip;
    struct zd_text names;
    struct zd_zip_file file[]; /* one an array */
};

static bool npz_accepts(const struct zd_dtype *dtype, uint32_t rank)
{
    return zd_format_npy.accepts(dtype, rank);
}

static void npz_close(void *state)
{
    struct npz *npz = state;
    zd_text_done(&npz->names);
    zd_free(npz);
}

static const char *name_of(const struct zd_answer *answer)
{
    return answer->name == NULL ? "" : answer->name;
}

/* The members: their lengths, and their names with where they are in `names` for pointers. */
static bool plan(const struct zd_answer *answer, struct npz *npz)
{
    const uint32_t n = zd_format_n_answers(answer);
    npz->zip = (struct zd_zip_writer){.file = npz->file, .n = n};
    for (uint32_t i = 0; i < n; i++) {
        const struct zd_answer *member = zd_format_answer_at(answer, i);
        const size_t at = npz->names.len;
        zd_text_add(&npz->names, name_of(member));
        zd_text_add(&npz->names, SUFFIX);
        npz->file[i].name.len = npz->names.len - at;
        if (!zd_format_npy.size(member, &npz->file[i].bytes)) {
            return false;
        }
    }
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        npz->file[i].name.ptr = (const uint8_t *)npz->names.at + at;
        at += npz->file[i].name.len;
    }
    return npz->names.status == ZD_OK;
}

static enum zd_status npz_open(
    const struct zd_answer *answer, void **ret_state, struct zd_error *err)
{
    const uint32_t n = zd_format_n_answers(answer);
    struct npz *npz = zd_alloc_zero(1, sizeof *npz + n * sizeof *npz->file);
    if (npz == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the members of the archive");
    }
    zd_text_init(&npz->names, SIZE_MAX);
    if (!plan(answer, npz)) {
        npz_close(npz);
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the names of the archive's members");
    }
    *ret_state = npz;
    return ZD_OK;
}

static bool npz_size(const struct zd_answer *answer, uint64_t *ret_bytes)
{
    void *state;
    if (npz_open(answer, &state, NULL) != ZD_OK) {
        return false;
    }
    const bool fits = zd_zip_writer_size(&((struct npz *)state)->zip, ret_bytes);
    npz_close(state);
    return fits;
}

static void npz_head(const struct zd_answer *answer, struct zd_text *text)
{
    struct npz *npz = answer->state;
    ZD_SCOPED_TEXT(head, HEAD_BYTES_MAX);
    zd_format_npy.head(answer, &head);
    zd_zip_writer_begin(&npz->zip, text);
    zd_zip_writer_count(&npz->zip, zd_text_span(&head));
    zd_text_add_bytes(text, head.at, head.len);
    if (text->status == ZD_OK) {
        text->status = head.status;
    }
}

static void npz_band(const struct zd_answer *answer, uint64_t first, uint64_t n_elements,
    const uint8_t *elements, struct zd_text *text)
{
    struct npz *npz = answer->state;
    const size_t from = text->len;
    if (zd_widen_is_needed(&answer->dtype)) {
        zd_format_band(&zd_format_npy, answer, first, n_elements, elements, text);
    } else {
        zd_text_add_bytes(text, elements, n_elements * answer->dtype.bytes);
    }
    const struct zd_span added = {.ptr = (const uint8_t *)text->at + from, .len = text->len - from};
    zd_zip_writer_count(&npz->zip, added);
}

static void npz_tail(const struct zd_answer *answer, struct zd_text *text)
{
    struct npz *npz = answer->state;
    if (text->status != ZD_OK) {
        return;
    }
    zd_zip_writer_end(&npz->zip, text);
    if (npz->zip.n_begun == npz->zip.n) {
        zd_zip_writer_finish(&npz->zip, text);
    }
}

const struct zd_format zd_format_npz = {
    .name = "npz",
    .media_type = "application/x-npz",
    .extension = "npz",
    .takes_several = true,
    .is_binary = true,
    .accepts = npz_accepts,
    .size = npz_size,
    .open = npz_open,
    .close = npz_close,
    .head = npz_head,
    .band = npz_band,
    .tail = npz_tail,
};
