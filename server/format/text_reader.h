/* Parse elements of a JSON body that arrives in pieces: nested lists, or the object that GET slices
 * answers with. Holds one value and the place in the lists only. */
#ifndef ZD_FORMAT_TEXT_READER_H
#define ZD_FORMAT_TEXT_READER_H

#include "server/format/format.h"

struct zd_text_reader {
    /* in */
    const struct zd_dtype *dtype;
    uint32_t rank;                  /* of the lists; 0: one element without lists */
    uint64_t shape[ZD_RANK_MAX];    /* that they must have */
    const struct zd_answer *answer; /* of the same elements when they are read: says the names of
                                       their dimensions; NULL: not given; borrowed */
    uint8_t *to;     /* where elements go; changed between calls as the caller likes */
    uint64_t n_room; /* elements that still fit there: counted down */
    /* Elements of variable length get their lengths alone; out: their bytes, one after the other.
     * The caller clears them. */
    struct zd_text bytes;
    /* its own */
    struct zd_text token;          /* a value, or a name, that has arrived in part */
    uint64_t n_items[ZD_RANK_MAX]; /* so far, of each list that is open */
    uint64_t position;             /* bytes of the body so far */
    uint32_t depth;                /* open lists */
    uint32_t n_brackets;           /* open in the token */
    uint8_t place;                 /* enum place of text_reader.c */
    uint8_t member;                /* besides data, that is being read */
    bool in_object;
    bool in_string; /* of the token */
    bool is_escaped;
    bool has_data;
};

/** The caller sets to and n_room before it feeds; elements of variable length need
 * zd_text_reader_allow. @param dtype borrowed */
void zd_text_reader_init(struct zd_text_reader *reader, const struct zd_dtype *dtype, uint32_t rank,
    const uint64_t *shape);
void zd_text_reader_done(struct zd_text_reader *reader); /* accepts a zeroed one */

/** Elements of variable length: how long one may be as text, and all have together. */
void zd_text_reader_allow(struct zd_text_reader *reader, size_t bytes_max);

/** Like read_text of struct zd_format: stops before an element for which there is no room. */
ZD_RESULT zd_text_reader_feed(
    struct zd_text_reader *reader, struct zd_span text, size_t *ret_used, struct zd_error *err);

/** The body has ended. @retval ZD_INVALID it is incomplete */
ZD_RESULT zd_text_reader_end(struct zd_text_reader *reader, struct zd_error *err);

#endif
