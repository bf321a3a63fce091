/*
 * lakeflow/http.h: "lakeflow.http/1", one HTTP client for all plugins: keep-alive pool, TLS with the system's roots and name
 * check, proxies, gzip, redirects, retries with jittered back-off, Retry-After and rate-limit headers, one pace per origin
 * shared by all partitions, credentials that never leave their origin, and cancellation within 100 ms.
 *
 * An exchange is one request and its answer, all its retries included. start queues it and returns; so the next page can be
 * on its way while this one is decoded. The host's own keys of [connection] (retry, timeout, ca_file, proxy, origins) apply.
 */
#ifndef LAKEFLOW_HTTP_H
#define LAKEFLOW_HTTP_H

#include "lakeflow/abi.h"

LF_EXTERN_C_BEGIN

#define LF_HTTP_ID "lakeflow.http/1"

typedef struct lf_exchange lf_exchange;

/* POST and PATCH are retried only with LF_HTTP_IDEMPOTENT; other methods always are. */
#define LF_HTTP_IDEMPOTENT 1u
/* No retry at all: the first answer counts. */
#define LF_HTTP_NO_RETRY 2u
/* A redirect is given back as it is. */
#define LF_HTTP_NO_REDIRECT 4u

typedef struct lf_http_request {
    uint32_t struct_size;
    uint32_t flags;
    lf_str method;  /* absent: GET */
    lf_str url;     /* absolute, http or https; its fragment is not sent */
    lf_str origin;  /* the service's own address; another origin in url is "source.off_origin" unless the job lists it;
                       absent: url's own */
    lf_str headers; /* JSON object of strings; absent: none */
    /*
     * The credential, as JSON (contract 30): {"type": "none"}, {"type": "bearer", "token"}, {"type": "basic", "user",
     * "password"}, {"type": "header"|"query", "name", "value"}, {"type": "oauth2", ...}. It goes to `origin` alone, is
     * refreshed by the host, and appears in no log. Absent: none.
     */
    lf_str auth;
    lf_str body; /* absent: none */
    lf_str content_type;
    lf_str accept_status;   /* JSON array of the statuses beside 2xx that are answers, not errors: "[304,409]" */
    int64_t max_body_bytes; /* of the decoded body; 0: the host's limit */
} lf_http_request;

typedef struct lf_http_v1 {
    uint32_t struct_size;
    uint32_t reserved;

    /*
     * Queues a request and returns at once.
     * Required.
     * [any].
     * Everything in the request is copied; *out is the caller's until close.
     * LF_RETRY_INVALID for a request that cannot be sent ("config.url"), "source.off_origin"; *out is then NULL.
     */
    lf_status (*start)(lf_context* context, const lf_http_request* request, lf_exchange** out, lf_error* error);

    /*
     * Waits for the head of the final answer: after redirects, retries and waits. *status is 2xx or one of accept_status.
     * Required.
     * [serial].
     * -
     * LF_ERROR: "source.auth" (401, 403), "source.not_found" (404, 410), "source.rate_limited", "source.transient"
     * (retries used up, no connection), "source.protocol", "source.page_cycle" (redirects), cancelled; vendor_code has the
     * status, the message the method, the URL without secrets and the beginning of the body.
     */
    lf_status (*head)(lf_exchange* exchange, int32_t* status, lf_error* error);

    /*
     * Gives a header of the final answer by name, without regard to case; several of one name are joined by ", ".
     * Required.
     * [serial], after head.
     * *out is valid until retry or close; absent if there is none.
     * LF_ERROR before head.
     */
    lf_status (*header)(lf_exchange* exchange, lf_str name, lf_str* out, lf_error* error);

    /*
     * Gives the URL that the final answer came from, after redirects.
     * Required.
     * [serial], after head.
     * *out is valid until retry or close.
     * LF_ERROR before head.
     */
    lf_status (*final_url)(lf_exchange* exchange, lf_str* out, lf_error* error);

    /*
     * Gives the next piece of the decoded body as it arrives.
     * Required.
     * [serial], after head.
     * *data is valid until the next call on the exchange.
     * LF_OK: a piece, not empty. LF_END: the body is complete and its length or checksum was right. LF_ERROR: it broke off
     * ("source.transient"), does not inflate ("source.protocol") or is too long.
     */
    lf_status (*read)(lf_exchange* exchange, lf_str* data, lf_error* error);

    /*
     * Asks for the same again after a body that broke or made no sense, within the exchange's own attempts; head follows.
     * Required.
     * [serial].
     * What header gave is gone.
     * LF_ERROR: no attempt is left; `error` keeps `reason`'s text. reason: what was wrong with the body.
     */
    lf_status (*retry)(lf_exchange* exchange, lf_str reason, lf_error* error);

    /*
     * Ends an exchange in any state and frees it. A connection with an unread body is not used again.
     * Required.
     * [serial]; the last call.
     * -
     * Cannot fail.
     */
    void (*close)(lf_exchange* exchange);
} lf_http_v1;

LF_EXTERN_C_END
#endif
