/* XML as stores answer it: its elements one after the other, within bounds. */
#include "core/store/s3/s3_xml.h"

#include <expat.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct reading {
    XML_Parser parser;
    zd_s3_xml_element element;
    void *context;
    struct zd_text path;
    struct zd_text text;
    uint32_t depth;
    enum zd_status status; /* the first failure */
    struct zd_error *err;
};

static void stop(struct reading *reading, enum zd_status status)
{
    if (reading->status == ZD_OK) {
        reading->status = status;
        (void)XML_StopParser(reading->parser, XML_FALSE);
    }
}

static enum zd_status fail(struct reading *reading, const char *what)
{
    return zd_fail(reading->err, ZD_STORE, "the store's XML %s", what);
}

/* Note a failure of our own while the parser runs. */
static void settle(struct reading *reading, enum zd_status status, const char *what)
{
    if (status == ZD_NO_MEMORY) {
        stop(reading, zd_fail(reading->err, status, "no memory for the store's XML"));
    } else if (status != ZD_OK) {
        stop(reading, fail(reading, what));
    }
}

static void begin_doctype(
    void *data, const char *name, const char *system_id, const char *public_id, int has_subset)
{
    struct reading *reading = data;
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_subset;
    stop(reading, fail(reading, "has a DOCTYPE"));
}

static void begin_element(void *data, const char *name, const char **attributes)
{
    struct reading *reading = data;
    (void)attributes;
    if (reading->status != ZD_OK) {
        return;
    }
    if (++reading->depth > ZD_S3_XML_DEPTH_MAX) {
        stop(reading, fail(reading, "is nested too deeply"));
        return;
    }
    zd_text_add(&reading->path, reading->path.len == 0 ? "" : "/");
    zd_text_add(&reading->path, name);
    zd_text_clear(&reading->text);
    settle(reading, reading->path.status, "has a name that is too long");
}

static void end_element(void *data, const char *name)
{
    struct reading *reading = data;
    if (reading->status != ZD_OK) {
        return;
    }
    const enum zd_status status = reading->element(
        reading->context, reading->path.at, zd_text_span(&reading->text), reading->err);
    if (status != ZD_OK) {
        stop(reading, status);
        return;
    }
    reading->depth--;
    zd_text_cut(&reading->path, reading->path.len - strlen(name) - (reading->depth > 0 ? 1 : 0));
    zd_text_clear(&reading->text);
}

static void add_characters(void *data, const char *bytes, int len)
{
    struct reading *reading = data;
    if (reading->status == ZD_OK) {
        settle(reading, zd_text_add_bytes(&reading->text, bytes, (size_t)len),
            "has a text that is too long");
    }
}

static enum zd_status parse(struct reading *reading, struct zd_span bytes)
{
    XML_SetUserData(reading->parser, reading);
    XML_SetElementHandler(reading->parser, begin_element, end_element);
    XML_SetCharacterDataHandler(reading->parser, add_characters);
    XML_SetStartDoctypeDeclHandler(reading->parser, begin_doctype);
    const enum XML_Status parsed =
        XML_Parse(reading->parser, (const char *)bytes.ptr, (int)bytes.len, 1);
    if (reading->status != ZD_OK || parsed == XML_STATUS_OK) {
        return reading->status;
    }
    const enum XML_Error fault = XML_GetErrorCode(reading->parser);
    if (fault == XML_ERROR_NO_MEMORY) {
        return zd_fail(reading->err, ZD_NO_MEMORY, "no memory for the store's XML");
    }
    return zd_fail(
        reading->err, ZD_STORE, "the store's XML is malformed: %s", XML_ErrorString(fault));
}

enum zd_status zd_s3_xml_read(
    struct zd_span bytes, zd_s3_xml_element element, void *context, struct zd_error *err)
{
    static const XML_Memory_Handling_Suite memory = {zd_alloc, zd_realloc, zd_free};
    struct reading reading = {.element = element, .context = context, .err = err};
    if (bytes.len > INT_MAX) {
        return fail(&reading, "is too long");
    }
    reading.parser = XML_ParserCreate_MM(NULL, &memory, NULL);
    if (reading.parser == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the store's XML");
    }
    zd_text_init(&reading.path, ZD_S3_XML_PATH_BYTES_MAX);
    zd_text_init(&reading.text, ZD_S3_XML_TEXT_BYTES_MAX);
    const enum zd_status status = parse(&reading, bytes);
    zd_text_done(&reading.path);
    zd_text_done(&reading.text);
    XML_ParserFree(reading.parser);
    return status;
}

/* Errors of S3 are documents of their own; those of its token service stand in one. */
static enum zd_status take_code(
    void *context, const char *path, struct zd_span text, struct zd_error *err)
{
    char *code = context;
    (void)err;
    if ((strcmp(path, "Error/Code") == 0 || strcmp(path, "ErrorResponse/Error/Code") == 0) &&
        text.len > 0 && text.len <= ZD_S3_CODE_BYTES_MAX) {
        memcpy(code, text.ptr, text.len);
        code[text.len] = '\0';
    }
    return ZD_OK;
}

void zd_s3_xml_error(struct zd_span bytes, char ret_code[ZD_S3_CODE_BYTES_MAX + 1])
{
    ret_code[0] = '\0';
    const enum zd_status status = zd_s3_xml_read(bytes, take_code, ret_code, NULL);
    if (status != ZD_OK || strspn(ret_code, ZD_S3_CODE_CHARS) != strlen(ret_code)) {
        ret_code[0] = '\0';
    }
}

void zd_s3_xml_add_escaped(struct zd_text *text, const char *bytes)
{
    for (const char *at = bytes; *at != '\0'; at++) {
        if (strchr("&<>\"", *at) != NULL) {
            zd_text_addf(text, "&#%d;", *at);
        } else {
            zd_text_add_char(text, *at);
        }
    }
}
