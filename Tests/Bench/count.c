// Counts what a process asks of the allocator, of memcpy and of the kernel. Preloaded into the gateway by scripts/bench; the counters lie
// in a file that both sides map. Not part of the product.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

// The order is the one of counts.py.
enum { ALLOCATIONS, ALLOCATED_BYTES, COPIES, COPIED_BYTES, READS, WRITES, WAITS, CONTROLS, TIMERS, OTHERS, COUNTERS };

static _Atomic unsigned long private_counters[COUNTERS];
static _Atomic unsigned long *counters = private_counters;

static inline void add(int counter, unsigned long amount) { atomic_fetch_add_explicit(&counters[counter], amount, memory_order_relaxed); }

__attribute__((constructor)) static void map_counters(void) {
    const char *path = getenv("CRYONET_COUNTS");
    int descriptor = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (page != MAP_FAILED) counters = page;
    close(descriptor);
}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) { add(ALLOCATIONS, 1); add(ALLOCATED_BYTES, size); return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { add(ALLOCATIONS, 1); add(ALLOCATED_BYTES, count * size); return __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { add(ALLOCATIONS, 1); add(ALLOCATED_BYTES, size); return __libc_realloc(old, size); }
void *aligned_alloc(size_t align, size_t size) { add(ALLOCATIONS, 1); add(ALLOCATED_BYTES, size); return __libc_memalign(align, size); }
int posix_memalign(void **out, size_t align, size_t size) {
    add(ALLOCATIONS, 1);
    add(ALLOCATED_BYTES, size);
    *out = __libc_memalign(align, size);
    return *out ? 0 : 12;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    add(COPIES, 1);
    add(COPIED_BYTES, size);
    void *end = to;
    __asm__ volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(size) : : "memory");
    return to;
}

void *memmove(void *to, const void *from, size_t size) {
    static void *(*next)(void *, const void *, size_t);
    if (!next) next = (void *(*)(void *, const void *, size_t))dlsym(RTLD_NEXT, "memmove");
    add(COPIES, 1);
    add(COPIED_BYTES, size);
    return next(to, from, size);
}

#define PASS(counter, type, name, parameters, arguments)                        \
    type name parameters {                                                      \
        static type(*next) parameters;                                          \
        if (!next) next = (type(*) parameters)dlsym(RTLD_NEXT, #name);          \
        add(counter, 1);                                                        \
        return next arguments;                                                  \
    }

PASS(READS, ssize_t, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))
PASS(READS, ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size))
PASS(WRITES, ssize_t, send, (int fd, const void *bytes, size_t size, int flags), (fd, bytes, size, flags))
PASS(WRITES, ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
PASS(WRITES, ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
PASS(WRITES, ssize_t, writev, (int fd, const struct iovec *vectors, int count), (fd, vectors, count))
PASS(WAITS, int, epoll_wait, (int fd, struct epoll_event *events, int max, int timeout), (fd, events, max, timeout))
PASS(CONTROLS, int, epoll_ctl, (int fd, int what, int other, struct epoll_event *event), (fd, what, other, event))
PASS(TIMERS, int, timerfd_settime, (int fd, int flags, const struct itimerspec *new, struct itimerspec *old), (fd, flags, new, old))
PASS(OTHERS, int, getsockopt, (int fd, int level, int name, void *value, socklen_t *size), (fd, level, name, value, size))
PASS(OTHERS, int, setsockopt, (int fd, int level, int name, const void *value, socklen_t size), (fd, level, name, value, size))
