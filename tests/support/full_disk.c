/* tests/support/full_disk.c: a disk that is full, for a server that loads this before all else (LD_PRELOAD): while the file named by
 * LAKEFLOW_FULL_DISK exists, nothing more can be written to PostgreSQL's temporary files. The rest of the server is its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_full(int fd) {
    const char* mark = getenv("LAKEFLOW_FULL_DISK");
    char link[64], path[512];
    ssize_t size;
    if (mark == NULL || access(mark, F_OK) != 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = '\0';
    return strstr(path, "pgsql_tmp") != NULL;
}

ssize_t pwrite64(int fd, const void* data, size_t size, off_t at) {
    static ssize_t (*next)(int, const void*, size_t, off_t);
    if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "pwrite64");
    if (is_full(fd)) {
        errno = ENOSPC;
        return -1;
    }
    return next(fd, data, size, at);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }

ssize_t pwritev64(int fd, const struct iovec* parts, int count, off_t at) {
    static ssize_t (*next)(int, const struct iovec*, int, off_t);
    if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "pwritev64");
    if (is_full(fd)) {
        errno = ENOSPC;
        return -1;
    }
    return next(fd, parts, count, at);
}

ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t at) { return pwritev64(fd, parts, count, at); }
