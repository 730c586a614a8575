#define _GNU_SOURCE
#include "cepoll.h"
#include <stdlib.h>

int cryo_peer_uid(int fd, uint32_t *uid) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) return -1;
    *uid = credentials.uid;
    return 0;
}

int cryo_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

int cryo_open_temporary(char *path_template) { return mkostemp(path_template, O_CLOEXEC); }
