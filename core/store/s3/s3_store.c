/* Shared by the operations of the store "s3:": tags and generations. */
#include "core/store/s3/s3_store.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"

/* "\"abc\"" and "abc" are one tag: stores spell it differently in different answers. */
static struct zd_span bare(const char *etag)
{
    struct zd_span tag = zd_span_of(etag);
    if (tag.len >= 2 && tag.ptr[0] == 'W' && tag.ptr[1] == '/') {
        tag.ptr += 2;
        tag.len -= 2;
    }
    if (tag.len >= 2 && tag.ptr[0] == '"' && tag.ptr[tag.len - 1] == '"') {
        tag.ptr++;
        tag.len -= 2;
    }
    return tag;
}

struct zd_generation zd_s3_store_generation(const char *etag, uint64_t size)
{
    const struct zd_span tag = bare(etag);
    return (struct zd_generation){
        .word = {zd_hash_of(tag, size) | 1, zd_hash_of(tag, ~size)},
    };
}

static size_t place_of(struct zd_generation generation)
{
    return generation.word[1] % ZD_S3_TAGS;
}

void zd_s3_store_remember(struct zd_s3_store *s3, const struct zd_stat *stat, const char *etag)
{
    const struct zd_span tag = bare(etag);
    if (tag.len == 0 || tag.len > ZD_S3_TAG_BYTES_MAX) {
        return;
    }
    struct zd_s3_tag *to = &s3->tag[place_of(stat->generation)];
    to->stat = *stat;
    memcpy(to->etag, tag.ptr, tag.len);
    to->etag[tag.len] = '\0';
}

const struct zd_s3_tag *zd_s3_store_recall(
    const struct zd_s3_store *s3, struct zd_generation generation)
{
    const struct zd_s3_tag *tag = &s3->tag[place_of(generation)];
    return tag->etag[0] != '\0' && zd_generation_equal(tag->stat.generation, generation) ? tag
                                                                                         : NULL;
}

void zd_s3_store_spell(const struct zd_s3_store *s3, const char *etag, char *ret_value)
{
    const char *quote = s3->able.has_bare_tag ? "" : "\"";
    (void)snprintf(ret_value, ZD_S3_TAG_BYTES_MAX + 3, "%s%s%s", quote, etag, quote);
}
