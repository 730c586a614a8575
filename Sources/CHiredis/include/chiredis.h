// What Swift can't read of hiredis: the text inside a struct. Types only, no logic.
#ifndef CRYO_HIREDIS_H
#define CRYO_HIREDIS_H

#include <hiredis/hiredis.h>

static inline const char *cryo_redis_error_text(const redisContext *context) { return context->errstr; }

#endif
