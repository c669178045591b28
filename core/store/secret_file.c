/* Files with secrets. */
#include "core/store/secret_file.h"

#include <sys/stat.h>

#define OTHERS_MODE (S_IROTH | S_IWOTH)
#define ALL_MODE    07777U

enum zd_status zd_secret_file_judge(const char *option, const char *path, struct zd_error *err)
{
    struct stat file;
    if (stat(path, &file) != 0 || (file.st_mode & OTHERS_MODE) == 0) {
        return ZD_OK;
    }
    return zd_fail(err, ZD_INVALID,
        "%s %.200s: others can read or change it (mode %04o); take that away (chmod o-rw)", option,
        path, (unsigned)file.st_mode & ALL_MODE);
}
