/* zarrd-demo DIRECTORY: computes a small hierarchy that is worth looking at, and writes it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "deploy/demo_write.h"

#define DIRECTORY_MODE 0777 /* less the process's umask */

static const char root_attributes[] =
    "{\"title\": \"zarrd demo\","
    " \"summary\": \"Sunlight at the top of the atmosphere, a pyramid of images, daylight in some "
    "cities, and every core data type; all of it computed.\"}";

static enum zd_status make_demo(struct zd_demo *demo, const char *directory, struct zd_error *err)
{
    ZD_TRY(zd_demo_open(demo, directory, err));
    ZD_TRY(zd_demo_add_group(demo, "", root_attributes, err));
    ZD_TRY(zd_demo_add_solar(demo, err));
    ZD_TRY(zd_demo_add_pyramid(demo, err));
    ZD_TRY(zd_demo_add_cities(demo, err));
    ZD_TRY(zd_demo_add_types(demo, err));
    return zd_demo_finish(demo, err);
}

int main(int argc, char **argv)
{
    struct zd_demo demo = {0};
    struct zd_error err = {0};
    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: zarrd-demo DIRECTORY\n");
        return 2;
    }
    if (mkdir(argv[1], DIRECTORY_MODE) != 0) {
        fprintf(stderr, "zarrd-demo: cannot make %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    const enum zd_status status = make_demo(&demo, argv[1], &err);
    zd_demo_close(&demo);
    if (status != ZD_OK) {
        fprintf(stderr, "zarrd-demo: %s: %s\n", zd_status_name(status), err.text);
        return 1;
    }
    printf("%s: %" PRIu64 " objects, %" PRIu64 " bytes\n", argv[1], demo.n_objects, demo.n_bytes);
    return 0;
}
