// Typed shims over Linux calls that Swift cannot import: variadic functions and macros. No logic here.
#ifndef CRYO_EPOLL_H
#define CRYO_EPOLL_H

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

static inline int cryo_epoll_control(int epfd, int operation, int fd, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data = {.u64 = data}};
    return epoll_ctl(epfd, operation, fd, &event);
}
static inline uint64_t cryo_epoll_event_data(struct epoll_event event) { return event.data.u64; }
/// accept4 with non-blocking and close-on-exec. Not inline: its declaration needs _GNU_SOURCE, which changes types of Glibc's module.
int cryo_accept(int fd);
/// mkostemp with close-on-exec; not inline for the same reason.
int cryo_open_temporary(char *path_template);
/// The user at the other end of a UNIX socket, as it was when it connected; not inline for the same reason.
int cryo_peer_uid(int fd, uint32_t *uid);
/// pipe2 with close-on-exec; not inline for the same reason.
int cryo_pipe(int ends[2]);
/// The started process has no descriptor from `first` on; not inline for the same reason.
int cryo_spawn_close_from(posix_spawn_file_actions_t *actions, int first);
/// A descriptor that is readable once the process has ended; -1 on kernels without pidfd_open.
int cryo_process_descriptor(int pid);
static inline int cryo_open(const char *path, int flags, unsigned mode) { return open(path, flags | O_CLOEXEC, mode); }
static inline int cryo_set_nonblocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}
static inline int cryo_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
static inline int cryo_timerfd(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); }
/// Arms the timer at an absolute CLOCK_MONOTONIC time in nanoseconds; 0 disarms it.
static inline int cryo_timerfd_arm(int fd, uint64_t nanoseconds) {
    struct itimerspec spec = {{0, 0}, {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)}};
    return timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

enum {
    CRYO_EPOLL_CLOEXEC = EPOLL_CLOEXEC,
    CRYO_EPOLLIN = EPOLLIN,
    CRYO_EPOLLOUT = EPOLLOUT,
    CRYO_EPOLLERR = EPOLLERR,
    CRYO_EPOLLHUP = EPOLLHUP,
    CRYO_EPOLLRDHUP = EPOLLRDHUP,
    CRYO_SOCK_STREAM = SOCK_STREAM,
    CRYO_SOCK_FLAGS = SOCK_NONBLOCK | SOCK_CLOEXEC,
};
static const uint32_t CRYO_EPOLLET = EPOLLET;

#endif
