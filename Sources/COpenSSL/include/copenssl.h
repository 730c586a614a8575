// Typed shims over OpenSSL's macros. Types only, no logic.
#ifndef CRYO_OPENSSL_H
#define CRYO_OPENSSL_H

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

static inline long cryo_context_set_min_version(SSL_CTX *context, int version) { return SSL_CTX_set_min_proto_version(context, version); }
static inline long cryo_context_set_max_version(SSL_CTX *context, int version) { return SSL_CTX_set_max_proto_version(context, version); }
static inline long cryo_context_set_mode(SSL_CTX *context, long mode) { return SSL_CTX_set_mode(context, mode); }
static inline long cryo_context_set_session_cache(SSL_CTX *context, long mode) { return SSL_CTX_set_session_cache_mode(context, mode); }
static inline void cryo_context_read_ahead(SSL_CTX *context, size_t bytes) {
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, bytes);
}
static inline int cryo_bio_pending(BIO *bio) { return (int)BIO_pending(bio); }
/// The unread bytes of a memory BIO, where they lie.
static inline long cryo_bio_contents(BIO *bio, char **bytes) { return BIO_get_mem_data(bio, bytes); }

static const unsigned long CRYO_NAME_RFC2253 = XN_FLAG_RFC2253;
static const uint64_t CRYO_TLS_OPTIONS =
    SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA;
static const long CRYO_TLS_MODES =
    SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY;
static const long CRYO_TLS_NO_SESSION_CACHE = SSL_SESS_CACHE_OFF;

#endif
