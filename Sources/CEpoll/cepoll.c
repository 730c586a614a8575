#define _GNU_SOURCE
#include "cepoll.h"
#include <stdlib.h>
#include <sys/syscall.h>

int cryo_peer_uid(int fd, uint32_t *uid) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) return -1;
    /* A socket that is not a UNIX one has nobody at its other end, and says so by no user. */
    if (credentials.uid == (uid_t)-1) return -1;
    *uid = credentials.uid;
    return 0;
}

int cryo_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

int cryo_open_temporary(char *path_template) { return mkostemp(path_template, O_CLOEXEC); }

int cryo_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int cryo_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int cryo_process_descriptor(int pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
