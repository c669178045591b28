/* Codecs that are known, and not supported on purpose. */
#ifndef ZD_CORE_CODEC_REFUSAL_H
#define ZD_CORE_CODEC_REFUSAL_H

/**
 * Why there is no codec of that name.
 *
 * @param codec in any spelling: "numcodecs.pickle", "pickle"
 * @return static, a sentence without its end; NULL: the name is not known
 * Thread: any.
 */
const char *zd_refusal_find(const char *codec);

#endif
