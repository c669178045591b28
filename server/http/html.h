/* Shared by the pages that this server writes. Thread: any. */
#ifndef ZD_HTTP_HTML_H
#define ZD_HTTP_HTML_H

#define ZD_HTML_TYPE "text/html; charset=utf-8"

/** Content-Security-Policy of a page that says nothing else: its own style, no script, and no other
 * page may frame it. The hash is that of ZD_HTML_STYLE. */
#define ZD_HTML_POLICY                                                                             \
    "default-src 'none'; style-src 'sha256-XQTLeBdo3yG+qritgIBEKDYF0uvzETztwn/svhOHlJI='; "        \
    "base-uri 'none'; form-action 'none'; "                                                        \
    "frame-ancestors 'none'"

/** The content of a page's element `style`. */
#define ZD_HTML_STYLE                                                                              \
    ":root{color-scheme:light dark}"                                                               \
    "body{font:16px/1.5 sans-serif;max-width:46em;margin:3em auto;padding:0 1em}"                  \
    "pre{overflow:auto;padding:1em;border:1px solid #888}"                                         \
    "td,th{padding:.3em 1em;text-align:left}"

#endif
