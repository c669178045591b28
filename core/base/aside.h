/* Asides: parts of an error's text for the operator alone, such as the host of a store.
 *
 *     zd_fail(err, ZD_STORE, "the store redirects (%u)" ZD_ASIDE(" to %s"), code, url);
 *
 * The log tells an aside; answers to clients drop it. Control characters mark it, which no text of
 * ours has, and no path of a client. Thread: any. */
#ifndef ZD_CORE_BASE_ASIDE_H
#define ZD_CORE_BASE_ASIDE_H

#define ZD_ASIDE_BEGIN '\x0e'
#define ZD_ASIDE_END   '\x0f'

/** Literal words, part of a format, that are an aside. */
#define ZD_ASIDE(words) "\x0e" words "\x0f"

/** For the operator: the marks go, in place. */
void zd_aside_tell(char *text);

/** For a client: the marks go, and all between them; of an aside that was cut off, up to the end.
 */
void zd_aside_drop(char *text);

#endif
