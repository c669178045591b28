/* Codecs that are known, and not supported on purpose (reference 2.4 and 5.3). */
#include "core/codec/refusal.h"

#include <stddef.h>
#include <string.h>

#include "core/base/num.h"

#define PCODEC "this build does not include it"

static const struct {
    const char
        *name; /* of numcodecs without its prefix; with a dot at the end: all of such names */
    const char *why;
} refusals[] = {
    {"pickle", "decoding would run a program from the stored bytes"},
    {"pcodec", PCODEC},
    {"https://codec.zarrs.dev/array_to_bytes/pcodec", PCODEC},
    {"zarrs.", "it is experimental, and its format may change"},
};

static bool is_named(const char *codec, const char *name)
{
    const size_t len = strlen(name);
    return name[len - 1] == '.' ? strncmp(codec, name, len) == 0 : strcmp(codec, name) == 0;
}

const char *zd_refusal_find(const char *codec)
{
    static const char prefix[] = "numcodecs.";
    const size_t len = sizeof prefix - 1;
    const char *name = strncmp(codec, prefix, len) == 0 ? codec + len : codec;
    for (size_t i = 0; i < ZD_COUNT_OF(refusals); i++) {
        if (is_named(name, refusals[i].name)) {
            return refusals[i].why;
        }
    }
    return NULL;
}
