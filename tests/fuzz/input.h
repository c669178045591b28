/* Shared by fuzz targets: checks that hold in every build, and functions that take inputs apart. */
#ifndef ZD_TESTS_FUZZ_INPUT_H
#define ZD_TESTS_FUZZ_INPUT_H

#include <stdbool.h>

#include "core/grid/dtype.h"

/** Every target: `data` is what the fuzzer made. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/** Ends the program unless the fact holds: a bug of ours, which the fuzzer must see in every build.
 */
void zd_fuzz_insist(bool holds);

/** The next line of an input, without its end; the input becomes what follows it. Owned. */
char *zd_fuzz_line(struct zd_span *input);

/** The data type of that name, or of NumPy's type string. @retval not ZD_OK: there is none */
ZD_RESULT zd_fuzz_dtype(const char *name, struct zd_dtype *ret_dtype);

/** The rest of an input, up to its first NUL. Owned. */
char *zd_fuzz_rest(struct zd_span *input);

/** The next byte; 0 at the end. */
uint8_t zd_fuzz_byte(struct zd_span *input);

/** A number from the next eight bytes, little-endian; missing ones are 0. */
uint64_t zd_fuzz_u64(struct zd_span *input);

#endif
