#define _GNU_SOURCE
#include "cepoll.h"
#include <stdlib.h>

int cryo_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

int cryo_open_temporary(char *path_template) { return mkostemp(path_template, O_CLOEXEC); }
