// A library to preload: makes the k-th use of one call fail, as told by a file that the test maps too (TORTURE_FILE).
// Only uses by the program, libcurl, OpenSSL and Swift's thin layer over Glibc count: Dispatch and the Swift runtime, whose own calls may
// not fail, are left alone. Such a call is not made at all, except close, which frees its descriptor whatever it returns.
#define _GNU_SOURCE
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

// Name of the call, and the error it is given unless the test wants another: an errno, or libcurl's code.
#define CALLS(X) \
    X(read, EIO) X(write, EIO) X(readv, EIO) X(writev, EIO) X(pread, EIO) X(pwrite, EIO) \
    X(recv, ECONNRESET) X(send, EPIPE) X(recvmsg, ECONNRESET) X(sendmsg, EPIPE) X(recvfrom, ECONNRESET) X(sendto, EPIPE) \
    X(accept4, EMFILE) X(socket, EMFILE) X(socketpair, EMFILE) X(connect, ENETUNREACH) X(bind, EADDRINUSE) X(listen, EADDRINUSE) \
    X(setsockopt, ENOBUFS) X(getsockopt, ENOBUFS) X(getsockname, ENOBUFS) X(getpeername, ENOTCONN) X(shutdown, ENOTCONN) \
    X(open, EMFILE) X(openat, EMFILE) X(close, EIO) X(fcntl, EINVAL) X(fstat, EIO) X(stat, EACCES) X(fsync, EIO) X(fdatasync, EIO) \
    X(rename, EACCES) X(link, EACCES) X(unlink, EACCES) X(chmod, EPERM) X(fchmod, EPERM) X(ftruncate, EIO) X(mkostemp, ENOSPC) \
    X(fopen, EMFILE) X(fclose, ENOSPC) \
    X(epoll_create1, EMFILE) X(epoll_ctl, ENOSPC) X(epoll_wait, EINTR) X(poll, ENOMEM) X(timerfd_create, EMFILE) \
    X(timerfd_settime, EINVAL) X(eventfd, EMFILE) X(getrandom, ENOSYS) X(getaddrinfo, EAI_MEMORY) X(pthread_create, EAGAIN) \
    X(malloc, ENOMEM) X(calloc, ENOMEM) X(realloc, ENOMEM) X(strdup, ENOMEM) \
    X(curl_global_init, CURLE_OUT_OF_MEMORY) X(curl_easy_init, 0) X(curl_easy_setopt, CURLE_OUT_OF_MEMORY) \
    X(curl_easy_getinfo, CURLE_OUT_OF_MEMORY) X(curl_easy_perform, CURLE_OUT_OF_MEMORY) X(curl_easy_pause, CURLE_OUT_OF_MEMORY) \
    X(curl_easy_send, CURLE_SEND_ERROR) X(curl_easy_recv, CURLE_RECV_ERROR) X(curl_multi_init, 0) \
    X(curl_multi_setopt, CURLM_OUT_OF_MEMORY) X(curl_multi_add_handle, CURLM_OUT_OF_MEMORY) \
    X(curl_multi_remove_handle, CURLM_OUT_OF_MEMORY) X(curl_multi_socket_action, CURLM_OUT_OF_MEMORY) X(curl_slist_append, 0) \
    X(curl_share_init, 0) X(curl_share_setopt, CURLSHE_NOMEM) \
    X(SSL_new, 0) X(SSL_do_handshake, 0) X(SSL_read, 0) X(SSL_write, 0) X(SSL_shutdown, 0) X(BIO_new, 0) X(BIO_read, 0) X(BIO_write, 0) \
    X(SSL_CTX_new, 0) X(SSL_CTX_load_verify_file, 0) X(SSL_CTX_set_cipher_list, 0) X(SSL_CTX_use_certificate_chain_file, 0) \
    X(SSL_CTX_use_PrivateKey_file, 0) X(SSL_CTX_check_private_key, 0)

enum {
#define ENUM(name, code) CALL_##name,
    CALLS(ENUM)
#undef ENUM
    CALLS_COUNT
};

static const struct { const char *name; int code; } calls[] = {
#define ROW(name, code) {#name, code},
    CALLS(ROW)
#undef ROW
};

// For the test, which loads this library as well.
int torture_calls_count(void) { return CALLS_COUNT; }
const char *torture_call_name(int call) { return calls[call].name; }
int torture_call_code(int call) { return calls[call].code; }

struct control {
    int32_t call;      // the call that is to fail; -1: none
    int32_t code;      // its error
    uint32_t first;    // its first use that fails, from 1
    uint32_t times;    // how many uses fail in a row
    uint32_t used;     // uses since the test set `call`
    uint32_t failed;   // uses that failed
    uint32_t totals[]; // uses of every call since the start
};

static struct control *control;

// Code of the program and of the libraries whose calls count.
static struct { uintptr_t from, to; } counted[16];
static int counted_count;

static int note_object(struct dl_phdr_info *object, size_t size, void *is_first) {
    (void)size;
    static const char *const names[] = {"/libcurl", "/libssl", "/libcrypto", "/libswiftGlibc"};
    int counts = *(int *)is_first;
    *(int *)is_first = 0;
    for (unsigned index = 0; index < sizeof names / sizeof *names; index++) counts |= strstr(object->dlpi_name, names[index]) != NULL;
    for (int index = 0; counts && index < object->dlpi_phnum && counted_count < 16; index++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[index];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        counted[counted_count].from = object->dlpi_addr + part->p_vaddr;
        counted[counted_count++].to = object->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TORTURE_FILE");
    if (!path) return;
    int is_first = 1;
    dl_iterate_phdr(note_object, &is_first);
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) abort();
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    syscall(SYS_close, descriptor);
    if (map == MAP_FAILED) abort();
    __atomic_store_n(&control, map, __ATOMIC_RELEASE);
}

// True when this use is to fail; *code is the error then.
static int is_to_fail(int call, void *caller, int *code) {
    struct control *told = __atomic_load_n(&control, __ATOMIC_ACQUIRE);
    if (!told) return 0;
    uintptr_t address = (uintptr_t)caller;
    int counts = 0;
    for (int index = 0; index < counted_count; index++) counts |= address >= counted[index].from && address < counted[index].to;
    if (!counts) return 0;
    __atomic_fetch_add(&told->totals[call], 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&told->call, __ATOMIC_ACQUIRE) != call) return 0;
    uint32_t use = __atomic_add_fetch(&told->used, 1, __ATOMIC_ACQ_REL);
    if (use < told->first || use - told->first >= told->times) return 0;
    *code = told->code;
    __atomic_fetch_add(&told->failed, 1, __ATOMIC_ACQ_REL);
    return 1;
}

static void *next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

#define NEXT(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))next(#name)

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

// A call that says -1 and errno.
#define SYSTEM_AS(call, name, result, parameters, arguments) \
    result name parameters { \
        NEXT(name); \
        int code; \
        if (is_to_fail(CALL_##call, CALLER, &code)) { errno = code; return -1; } \
        return real arguments; \
    }
#define SYSTEM(name, result, parameters, arguments) SYSTEM_AS(name, name, result, parameters, arguments)
// A call that returns its error.
#define CODED(name, result, parameters, arguments) \
    result name parameters { \
        NEXT(name); \
        int code; \
        if (is_to_fail(CALL_##name, CALLER, &code)) return code; \
        return real arguments; \
    }
// A call that returns NULL.
#define MADE_AS(call, name, result, parameters, arguments) \
    result name parameters { \
        NEXT(name); \
        int code; \
        if (is_to_fail(CALL_##call, CALLER, &code)) { errno = code; return NULL; } \
        return real arguments; \
    }
#define MADE(name, result, parameters, arguments) MADE_AS(name, name, result, parameters, arguments)

SYSTEM(read, ssize_t, (int fd, void *bytes, size_t count), (fd, bytes, count))
SYSTEM(write, ssize_t, (int fd, const void *bytes, size_t count), (fd, bytes, count))
SYSTEM(readv, ssize_t, (int fd, const struct iovec *parts, int count), (fd, parts, count))
SYSTEM(writev, ssize_t, (int fd, const struct iovec *parts, int count), (fd, parts, count))
SYSTEM(pread, ssize_t, (int fd, void *bytes, size_t count, off_t offset), (fd, bytes, count, offset))
SYSTEM_AS(pread, pread64, ssize_t, (int fd, void *bytes, size_t count, off64_t offset), (fd, bytes, count, offset))
SYSTEM(pwrite, ssize_t, (int fd, const void *bytes, size_t count, off_t offset), (fd, bytes, count, offset))
SYSTEM(recv, ssize_t, (int fd, void *bytes, size_t count, int flags), (fd, bytes, count, flags))
SYSTEM(send, ssize_t, (int fd, const void *bytes, size_t count, int flags), (fd, bytes, count, flags))
SYSTEM(recvmsg, ssize_t, (int fd, struct msghdr *message, int flags), (fd, message, flags))
SYSTEM(sendmsg, ssize_t, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
SYSTEM(recvfrom, ssize_t, (int fd, void *bytes, size_t count, int flags, struct sockaddr *from, socklen_t *length),
       (fd, bytes, count, flags, from, length))
SYSTEM(sendto, ssize_t, (int fd, const void *bytes, size_t count, int flags, const struct sockaddr *to, socklen_t length),
       (fd, bytes, count, flags, to, length))
SYSTEM(accept4, int, (int fd, struct sockaddr *address, socklen_t *length, int flags), (fd, address, length, flags))
SYSTEM(socket, int, (int family, int type, int protocol), (family, type, protocol))
SYSTEM(socketpair, int, (int family, int type, int protocol, int pair[2]), (family, type, protocol, pair))
SYSTEM(connect, int, (int fd, const struct sockaddr *address, socklen_t length), (fd, address, length))
SYSTEM(bind, int, (int fd, const struct sockaddr *address, socklen_t length), (fd, address, length))
SYSTEM(listen, int, (int fd, int backlog), (fd, backlog))
SYSTEM(setsockopt, int, (int fd, int level, int name, const void *value, socklen_t length), (fd, level, name, value, length))
SYSTEM(getsockopt, int, (int fd, int level, int name, void *value, socklen_t *length), (fd, level, name, value, length))
SYSTEM(getsockname, int, (int fd, struct sockaddr *address, socklen_t *length), (fd, address, length))
SYSTEM(getpeername, int, (int fd, struct sockaddr *address, socklen_t *length), (fd, address, length))
SYSTEM(shutdown, int, (int fd, int how), (fd, how))
SYSTEM(fstat, int, (int fd, struct stat *status), (fd, status))
SYSTEM(stat, int, (const char *path, struct stat *status), (path, status))
SYSTEM(fsync, int, (int fd), (fd))
SYSTEM(fdatasync, int, (int fd), (fd))
SYSTEM(rename, int, (const char *from, const char *to), (from, to))
SYSTEM(link, int, (const char *from, const char *to), (from, to))
SYSTEM(unlink, int, (const char *path), (path))
SYSTEM(chmod, int, (const char *path, mode_t mode), (path, mode))
SYSTEM(fchmod, int, (int fd, mode_t mode), (fd, mode))
SYSTEM(ftruncate, int, (int fd, off_t length), (fd, length))
SYSTEM_AS(ftruncate, ftruncate64, int, (int fd, off64_t length), (fd, length))
SYSTEM(mkostemp, int, (char *path, int flags), (path, flags))
SYSTEM_AS(mkostemp, mkostemp64, int, (char *path, int flags), (path, flags))
SYSTEM(epoll_create1, int, (int flags), (flags))
SYSTEM(epoll_ctl, int, (int epoll, int operation, int fd, struct epoll_event *event), (epoll, operation, fd, event))
SYSTEM(epoll_wait, int, (int epoll, struct epoll_event *events, int count, int timeout), (epoll, events, count, timeout))
SYSTEM(poll, int, (struct pollfd *files, nfds_t count, int timeout), (files, count, timeout))
SYSTEM(timerfd_create, int, (int clock, int flags), (clock, flags))
SYSTEM(timerfd_settime, int, (int fd, int flags, const struct itimerspec *new, struct itimerspec *old), (fd, flags, new, old))
SYSTEM(eventfd, int, (unsigned value, int flags), (value, flags))
SYSTEM(getrandom, ssize_t, (void *bytes, size_t count, unsigned flags), (bytes, count, flags))

int close(int fd) {
    NEXT(close);
    int code;
    int result = real(fd);
    if (is_to_fail(CALL_close, CALLER, &code)) { errno = code; return -1; }
    return result;
}

int fclose(FILE *file) {
    NEXT(fclose);
    int code;
    int result = real(file);
    if (is_to_fail(CALL_fclose, CALLER, &code)) { errno = code; return EOF; }
    return result;
}

#define OPENING(call, name, parameters, last, arguments) \
    int name parameters { \
        NEXT(name); \
        va_list list; \
        va_start(list, last); \
        mode_t mode = va_arg(list, mode_t); \
        va_end(list); \
        int code; \
        if (is_to_fail(CALL_##call, CALLER, &code)) { errno = code; return -1; } \
        return real arguments; \
    }
OPENING(open, open, (const char *path, int flags, ...), flags, (path, flags, mode))
OPENING(open, open64, (const char *path, int flags, ...), flags, (path, flags, mode))
OPENING(openat, openat, (int folder, const char *path, int flags, ...), flags, (folder, path, flags, mode))

#define CONTROLLING(name) \
    int name(int fd, int command, ...) { \
        NEXT(name); \
        va_list list; \
        va_start(list, command); \
        void *value = va_arg(list, void *); \
        va_end(list); \
        int code; \
        if (is_to_fail(CALL_fcntl, CALLER, &code)) { errno = code; return -1; } \
        return real(fd, command, value); \
    }
CONTROLLING(fcntl)
CONTROLLING(fcntl64)

CODED(getaddrinfo, int, (const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found),
      (host, service, hints, found))
CODED(pthread_create, int, (pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument),
      (thread, attributes, body, argument))
MADE(fopen, FILE *, (const char *path, const char *mode), (path, mode))
MADE_AS(fopen, fopen64, FILE *, (const char *path, const char *mode), (path, mode))

// dlsym allocates, so the real ones are found without it.
#define ALLOCATING(name, parameters, arguments) \
    extern void *__libc_##name parameters; \
    void *name parameters { \
        int code; \
        if (is_to_fail(CALL_##name, CALLER, &code)) { errno = code; return NULL; } \
        return __libc_##name arguments; \
    }
ALLOCATING(malloc, (size_t size), (size))
ALLOCATING(calloc, (size_t count, size_t size), (count, size))
ALLOCATING(realloc, (void *old, size_t size), (old, size))
MADE(strdup, char *, (const char *text), (text))

CODED(curl_global_init, CURLcode, (long flags), (flags))
MADE(curl_easy_init, CURL *, (void), ())
CODED(curl_easy_perform, CURLcode, (CURL *easy), (easy))
CODED(curl_easy_pause, CURLcode, (CURL *easy, int mask), (easy, mask))
CODED(curl_easy_send, CURLcode, (CURL *easy, const void *bytes, size_t count, size_t *sent), (easy, bytes, count, sent))
CODED(curl_easy_recv, CURLcode, (CURL *easy, void *bytes, size_t count, size_t *received), (easy, bytes, count, received))
MADE(curl_multi_init, CURLM *, (void), ())
CODED(curl_multi_add_handle, CURLMcode, (CURLM *multi, CURL *easy), (multi, easy))
CODED(curl_multi_remove_handle, CURLMcode, (CURLM *multi, CURL *easy), (multi, easy))
CODED(curl_multi_socket_action, CURLMcode, (CURLM *multi, curl_socket_t fd, int mask, int *running), (multi, fd, mask, running))
MADE(curl_share_init, CURLSH *, (void), ())
MADE(curl_slist_append, struct curl_slist *, (struct curl_slist *list, const char *line), (list, line))

// OpenSSL's, by hand: its headers are not needed for more.
SYSTEM(SSL_do_handshake, int, (void *stream), (stream))
SYSTEM(SSL_read, int, (void *stream, void *bytes, int count), (stream, bytes, count))
SYSTEM(SSL_write, int, (void *stream, const void *bytes, int count), (stream, bytes, count))
SYSTEM(SSL_shutdown, int, (void *stream), (stream))
SYSTEM(BIO_read, int, (void *pipe, void *bytes, int count), (pipe, bytes, count))
SYSTEM(BIO_write, int, (void *pipe, const void *bytes, int count), (pipe, bytes, count))
MADE(SSL_new, void *, (void *context), (context))
MADE(SSL_CTX_new, void *, (const void *method), (method))
MADE(BIO_new, void *, (const void *kind), (kind))
CODED(SSL_CTX_load_verify_file, int, (void *context, const char *path), (context, path))
CODED(SSL_CTX_set_cipher_list, int, (void *context, const char *list), (context, list))
CODED(SSL_CTX_use_certificate_chain_file, int, (void *context, const char *path), (context, path))
CODED(SSL_CTX_use_PrivateKey_file, int, (void *context, const char *path, int kind), (context, path, kind))
CODED(SSL_CTX_check_private_key, int, (const void *context), (context))

// Their last parameter is a long, a pointer or a curl_off_t: one register in each case.
#define OPTION(name, result, handle, option) \
    result(name)(handle *target, option which, ...) { \
        NEXT(name); \
        va_list list; \
        va_start(list, which); \
        void *value = va_arg(list, void *); \
        va_end(list); \
        int code; \
        if (is_to_fail(CALL_##name, CALLER, &code)) return code; \
        return real(target, which, value); \
    }
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#undef curl_share_setopt
OPTION(curl_easy_setopt, CURLcode, CURL, CURLoption)
OPTION(curl_easy_getinfo, CURLcode, CURL, CURLINFO)
OPTION(curl_multi_setopt, CURLMcode, CURLM, CURLMoption)
OPTION(curl_share_setopt, CURLSHcode, CURLSH, CURLSHoption)
