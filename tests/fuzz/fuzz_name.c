/* Names: of extensions, of nodes, of keys. What is a good name is what the specification's own
 * expressions say, and a key is good when all of its segments are. */
#include <regex.h>
#include <string.h>

#include "core/base/scan.h"
#include "core/dialect/dialect.h"
#include "core/dialect/node_name.h"
#include "core/extension/name.h"
#include "core/store/contract/store.h"
#include "tests/fuzz/input.h"

#define REGISTERED "^[a-z][a-z0-9_.-]+$"
#define URI        "^[a-z][a-z0-9+.-]*:[^[:space:]?#]+$"

static bool is_like(regex_t *compiled, const char *expression, const char *name)
{
    if (compiled->re_nsub == 0 && compiled->buffer == NULL) {
        zd_fuzz_insist(regcomp(compiled, expression, REG_EXTENDED | REG_NOSUB) == 0);
    }
    return regexec(compiled, name, 0, NULL, 0) == 0;
}

static bool has_control(const char *name)
{
    for (; *name != '\0'; name++) {
        if ((unsigned char)*name < 0x20 || *name == 0x7f) {
            return true;
        }
    }
    return false;
}

static void check_extension(const char *name)
{
    static regex_t registered;
    static regex_t uri;
    const enum zd_name_class class = zd_name_classify(zd_span_of(name));
    const bool is_registered = is_like(&registered, REGISTERED, name);
    zd_fuzz_insist((class == ZD_NAME_REGISTERED) == is_registered);
    if (!has_control(name) && !is_registered) {
        zd_fuzz_insist((class == ZD_NAME_URI) == is_like(&uri, URI, name));
    }
}

static void check_key(const char *key)
{
    const size_t len = strlen(key);
    bool all_good = len >= 1 && len <= ZD_KEY_BYTES_MAX;
    for (const char *at = key;; at++) {
        const struct zd_span segment = {.ptr = (const uint8_t *)at, .len = strcspn(at, "/")};
        const bool is_good = zd_key_segment_is_valid(segment);
        zd_fuzz_insist(!is_good || (segment.len >= 1 && zd_scan_is_utf8(segment)));
        zd_fuzz_insist(!is_good || (!zd_span_is(segment, ".") && !zd_span_is(segment, "..")));
        all_good = all_good && is_good;
        at += segment.len;
        if (*at == '\0') {
            break;
        }
    }
    zd_fuzz_insist(zd_key_is_valid(key) == all_good);
    zd_fuzz_insist(!all_good || !has_control(key));
}

static void check_node(const char *name)
{
    if (zd_node_name_is_valid(zd_span_of(name))) {
        zd_fuzz_insist(name[0] != '\0' && strchr(name, '/') == NULL);
        zd_fuzz_insist(strspn(name, ".") < strlen(name) && strncmp(name, "__", 2) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    ZD_AUTO_TEXT name = zd_fuzz_rest(&input);
    check_extension(name);
    check_key(name);
    check_node(name);
    return 0;
}
