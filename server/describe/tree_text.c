/* The text of a listing that is sent while it is made, lot by lot. */
#include "server/describe/tree_text.h"

void zd_tree_text_init(struct zd_tree_text *text)
{
    zd_text_init(&text->plain, SIZE_MAX);
    zd_text_init(&text->coded, SIZE_MAX);
}

void zd_tree_text_done(struct zd_tree_text *text)
{
    zd_text_done(&text->plain);
    zd_text_done(&text->coded);
    zd_compress_end(text->compressor);
}

enum zd_status zd_tree_text_code(struct zd_tree_text *text, enum zd_coding coding)
{
    text->coding = coding;
    text->compressor = coding == ZD_PLAIN ? NULL : zd_compress_begin(coding);
    return coding != ZD_PLAIN && text->compressor == NULL ? ZD_NO_MEMORY : ZD_OK;
}

/* Whether only the end is left to be rendered. */
static bool is_at_end(const struct zd_tree *tree, bool is_last)
{
    return !tree->has_entries && (is_last || (tree->has_more && !tree->ask.check));
}

static ZD_RESULT render(struct zd_tree_text *text, struct zd_tree *tree, size_t n_rows,
    bool is_last, struct zd_error *err)
{
    if (!text->has_begun) {
        text->has_begun = true;
        ZD_TRY(zd_tree_begin(tree, &text->plain, err));
    }
    ZD_TRY(zd_tree_go_on(tree, n_rows, err));
    return is_at_end(tree, is_last) ? zd_tree_end(tree, ZD_TREE_TEXT_BYTES, err) : ZD_OK;
}

static ZD_RESULT compress(struct zd_tree_text *text, bool has_ended, struct zd_error *err)
{
    const enum zd_status status =
        zd_compress_piece(text->compressor, zd_text_span(&text->plain), has_ended, &text->coded);
    zd_text_clear(&text->plain);
    return status == ZD_OK ? ZD_OK : zd_fail(err, status, "no memory to compress");
}

enum zd_status zd_tree_text_make(struct zd_tree_text *text, struct zd_tree *tree, size_t n_rows,
    bool is_last, struct zd_error *err)
{
    const enum zd_status status = text->is_made ? ZD_OK : render(text, tree, n_rows, is_last, err);
    text->is_made = false;
    if (status != ZD_OK) {
        /* Some failures have no more to say than what they are. */
        return err->status == status ? status : zd_fail(err, status, "cannot make a listing");
    }
    return text->compressor == NULL ? ZD_OK : compress(text, tree->has_ended, err);
}

struct zd_text *zd_tree_text_piece(struct zd_tree_text *text)
{
    return text->compressor == NULL ? &text->plain : &text->coded;
}
