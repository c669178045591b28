/* Runs a fuzz target over the files of its corpus, where there is no libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define PATH_BYTES     4096
#define FILE_BYTES_MAX (1U << 20)

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t len);

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "cannot open %s\n", path);
        return -1;
    }
    unsigned char *bytes = malloc(FILE_BYTES_MAX);
    if (bytes == NULL) {
        fclose(file);
        return -1;
    }
    const size_t len = fread(bytes, 1, FILE_BYTES_MAX, file);
    fclose(file);
    /* A block of exactly that size lets the sanitizers see one byte too many. */
    unsigned char *exact = realloc(bytes, len == 0 ? 1 : len);
    LLVMFuzzerTestOneInput(exact == NULL ? bytes : exact, len);
    free(exact == NULL ? bytes : exact);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (folder == NULL) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return EXIT_FAILURE;
    }
    size_t n_files = 0;
    int failed = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            char path[PATH_BYTES];
            snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
            failed |= run_file(path);
            n_files++;
        }
    }
    closedir(folder);
    printf("%zu files\n", n_files);
    return n_files > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
