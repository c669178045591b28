/* zarrd-bench-write FOLDER THREADS SECONDS BYTES: stores objects as a careful server has to, and
 * does nothing else: threads that write a temporary file, sync it, rename it and sync the
 * directory.
 *
 * Prints one line: objects stored, microseconds, and this process's own CPU microseconds. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/scan.h"

#define THREADS_MAX 256
#define BYTES_MAX   (64U << 20)
#define SECONDS_MAX 3600.0
#define KEYS_N      256 /* of all threads, replaced again and again */
#define NAME_BYTES  64

struct loop {
    int dir_fd;
    uint8_t *bytes;
    size_t len;
    uint64_t end_ns;
    atomic_uint_fast64_t n_stored;
};

static void fail(const char *what)
{
    fprintf(stderr, "zarrd-bench-write: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void store_one(const struct loop *loop, uint64_t number)
{
    char temp[NAME_BYTES];
    char name[NAME_BYTES];
    snprintf(temp, sizeof temp, ".temp-%016" PRIx64, number);
    snprintf(name, sizeof name, "%" PRIu64, number % KEYS_N);
    const int fd = openat(loop->dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, loop->bytes, loop->len) != (ssize_t)loop->len || fdatasync(fd) != 0 ||
        close(fd) != 0 || renameat(loop->dir_fd, temp, loop->dir_fd, name) != 0 ||
        fsync(loop->dir_fd) != 0) {
        fail(temp);
    }
}

static void *run(void *argument)
{
    static atomic_uint_fast64_t next;
    struct loop *loop = argument;
    while (clock_ns(CLOCK_MONOTONIC) < loop->end_ns) {
        store_one(loop, atomic_fetch_add(&next, 1));
        atomic_fetch_add(&loop->n_stored, 1);
    }
    return NULL;
}

static void run_threads(struct loop *loop, size_t n_threads)
{
    pthread_t thread[THREADS_MAX];
    for (size_t i = 0; i < n_threads; i++) {
        if (pthread_create(&thread[i], NULL, run, loop) != 0) {
            fail("cannot make a thread");
        }
    }
    for (size_t i = 0; i < n_threads; i++) {
        pthread_join(thread[i], NULL);
    }
}

int main(int argc, char **argv)
{
    static struct loop loop;
    uint64_t n_threads = 0;
    uint64_t len = 0;
    char *end = NULL;
    const double seconds = argc == 5 ? strtod(argv[3], &end) : 0;
    if (argc != 5 || zd_scan_whole_u64(zd_span_of(argv[2]), THREADS_MAX, &n_threads) != ZD_OK ||
        zd_scan_whole_u64(zd_span_of(argv[4]), BYTES_MAX, &len) != ZD_OK || *end != '\0' ||
        !(seconds > 0 && seconds < SECONDS_MAX)) {
        fprintf(stderr, "usage: zarrd-bench-write FOLDER THREADS SECONDS BYTES\n");
        return 2;
    }
    loop.dir_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    loop.bytes = zd_alloc_zero(1, (size_t)len);
    loop.len = (size_t)len;
    if (loop.dir_fd < 0 || loop.bytes == NULL) {
        fail(argv[1]);
    }
    memset(loop.bytes, 'z', loop.len);
    const uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    loop.end_ns = began_ns + (uint64_t)(seconds * 1e9);
    run_threads(&loop, (size_t)n_threads);
    const uint64_t spent_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
    printf("%" PRIuFAST64 " %" PRIu64 " %" PRIu64 "\n", atomic_load(&loop.n_stored),
        spent_ns / 1000, clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000);
    return 0;
}
