// Typed shims over libcurl's variadic functions. Types only, no logic.
#ifndef CRYO_CURL_H
#define CRYO_CURL_H

#include <curl/curl.h>

typedef size_t (*cryo_curl_data_callback)(char *, size_t, size_t, void *);
typedef int (*cryo_curl_seek_callback)(void *, curl_off_t, int);
typedef int (*cryo_curl_prereq_callback)(void *, char *, char *, int, int);
typedef curl_socket_t (*cryo_curl_open_callback)(void *, curlsocktype, struct curl_sockaddr *);
typedef int (*cryo_curl_close_callback)(void *, curl_socket_t);
typedef int (*cryo_curl_socket_callback)(CURL *, curl_socket_t, int, void *, void *);
typedef int (*cryo_curl_timer_callback)(CURLM *, long, void *);
typedef int (*cryo_curl_sockopt_callback)(void *, curl_socket_t, curlsocktype);

static inline CURLcode cryo_easy_long(CURL *easy, CURLoption option, long value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode cryo_easy_offset(CURL *easy, CURLoption option, curl_off_t value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode cryo_easy_string(CURL *easy, CURLoption option, const char *value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode cryo_easy_pointer(CURL *easy, CURLoption option, void *value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode cryo_easy_list(CURL *easy, CURLoption option, struct curl_slist *value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode cryo_easy_data_callback(CURL *easy, CURLoption option, cryo_curl_data_callback value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode cryo_easy_seek_callback(CURL *easy, cryo_curl_seek_callback value) { return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value); }
static inline CURLcode cryo_easy_prereq_callback(CURL *easy, cryo_curl_prereq_callback value) { return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value); }
static inline CURLcode cryo_easy_open_callback(CURL *easy, cryo_curl_open_callback value) { return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value); }
static inline CURLcode cryo_easy_close_callback(CURL *easy, cryo_curl_close_callback value) { return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, value); }
static inline CURLcode cryo_easy_info_long(CURL *easy, CURLINFO info, long *value) { return curl_easy_getinfo(easy, info, value); }
static inline CURLcode cryo_easy_info_offset(CURL *easy, CURLINFO info, curl_off_t *value) { return curl_easy_getinfo(easy, info, value); }
static inline CURLcode cryo_easy_info_string(CURL *easy, CURLINFO info, const char **value) { return curl_easy_getinfo(easy, info, value); }
static inline CURLcode cryo_easy_info_pointer(CURL *easy, CURLINFO info, void **value) { return curl_easy_getinfo(easy, info, value); }
static inline CURLcode cryo_easy_info_socket(CURL *easy, CURLINFO info, curl_socket_t *value) { return curl_easy_getinfo(easy, info, value); }
static inline CURLcode cryo_easy_context_callback(CURL *easy, curl_ssl_ctx_callback value) { return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, value); }
/// OpenSSL's `SSL` of the connection the handle is attached to, which it is from its first curl_easy_recv on; NULL for none, or another library's.
static inline void *cryo_easy_ssl(CURL *easy) {
    struct curl_tlssessioninfo *session = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session) return NULL;
    return session->backend == CURLSSLBACKEND_OPENSSL ? session->internals : NULL;
}
/// `OpenSSL/3.0.2`; NULL without TLS.
static inline const char *cryo_curl_tls_version(void) { return curl_version_info(CURLVERSION_NOW)->ssl_version; }
static inline CURLSHcode cryo_share_connections(CURLSH *share) { return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT); }
static inline CURLMcode cryo_multi_long(CURLM *multi, CURLMoption option, long value) { return curl_multi_setopt(multi, option, value); }
static inline CURLMcode cryo_multi_pointer(CURLM *multi, CURLMoption option, void *value) { return curl_multi_setopt(multi, option, value); }
static inline CURLMcode cryo_multi_socket_callback(CURLM *multi, cryo_curl_socket_callback value) { return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value); }
static inline CURLMcode cryo_multi_timer_callback(CURLM *multi, cryo_curl_timer_callback value) { return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value); }
/// The finished transfer and its result of a CURLMSG_DONE message (a union in C).
static inline CURLcode cryo_message_result(const CURLMsg *message) { return message->data.result; }

enum {
    CRYO_CURL_WRITE_PAUSE = CURL_WRITEFUNC_PAUSE,
    CRYO_CURL_READ_PAUSE = CURL_READFUNC_PAUSE,
    CRYO_CURL_READ_ABORT = CURL_READFUNC_ABORT,
    CRYO_CURL_PAUSE_ALL = CURLPAUSE_ALL,
    CRYO_CURL_PAUSE_RECV = CURLPAUSE_RECV,
    CRYO_CURL_PAUSE_SEND = CURLPAUSE_SEND,
    CRYO_CURL_PAUSE_CONT = CURLPAUSE_CONT,
};
static const curl_socket_t CRYO_CURL_SOCKET_TIMEOUT = CURL_SOCKET_TIMEOUT;
static const long CRYO_CURL_GLOBAL_DEFAULT = CURL_GLOBAL_DEFAULT;

#endif
