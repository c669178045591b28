/* Text in pages of HTML. */
#include "server/http/html.h"

void zd_html_add(struct zd_text *page, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        switch (*at) {
        case '&':
            zd_text_add(page, "&amp;");
            break;
        case '<':
            zd_text_add(page, "&lt;");
            break;
        case '>':
            zd_text_add(page, "&gt;");
            break;
        case '"':
            zd_text_add(page, "&quot;");
            break;
        default:
            zd_text_add_char(page, *at);
            break;
        }
    }
}
