/* The text of a listing that is sent while it is made, lot by lot: rendered, and compressed on the
 * way. */
#ifndef ZD_DESCRIBE_TREE_TEXT_H
#define ZD_DESCRIBE_TREE_TEXT_H

#include "server/describe/tree.h"
#include "server/http/compress.h"

#define ZD_TREE_TEXT_BYTES (UINT64_C(4) << 20) /* of a lot, estimated */

struct zd_tree_text {
    struct zd_text plain;
    struct zd_text coded;                  /* the text of the lot, compressed */
    struct zd_compress_stream *compressor; /* NULL: the text stays plain */
    enum zd_coding coding;
    bool has_begun;
    bool is_made; /* the plain text is there, and only has to be compressed */
};

void zd_tree_text_init(struct zd_tree_text *text);
void zd_tree_text_done(struct zd_tree_text *text);

/** From here on the text is compressed. @retval ZD_NO_MEMORY */
ZD_RESULT zd_tree_text_code(struct zd_tree_text *text, enum zd_coding coding);

/**
 * Make the text of the live rows that are there, or of about n_rows stored ones.
 *
 * @param is_last no live row follows
 * Thread: any (worker). Failures are those of zd_tree_render.
 */
ZD_RESULT zd_tree_text_make(struct zd_tree_text *text, struct zd_tree *tree, size_t n_rows,
    bool is_last, struct zd_error *err);

/** The text of the lot, as it is to be sent; the caller clears it. */
struct zd_text *zd_tree_text_piece(struct zd_tree_text *text);

#endif
