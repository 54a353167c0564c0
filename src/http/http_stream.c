/* An answer written piece by piece: a buffer between who writes and microhttpd, which reads from it when the
 * client takes more. With nothing to send its connection is suspended, so that it costs nobody anything.
 *
 * Does not know what is written, nor when. */
#include <stdlib.h>
#include <string.h>

#include "base/xmalloc.h"
#include "http/http_internal.h"

enum { PIECE_MAX = 4096 }; /* of what microhttpd asks for at once; its buffer is smaller anyway */

struct stream {
    struct stream *next, *prev; /* http->streams */
    struct http *http;
    struct http_request *r;
    const struct stream_events *events;
    void *arg;
    struct buf out;
    size_t taken; /* bytes of `out` that microhttpd has */
    bool suspended, ended;
};

/* --- microhttpd's side --- */

static ssize_t read_stream(void *arg, uint64_t position, char *data, size_t max) {
    struct stream *stream = arg;
    size_t left = stream->out.len - stream->taken;

    (void)position;
    http_moved(stream->http);
    stream->http->progress = true; /* there may be more than microhttpd takes at once */
    if (left > 0) {
        if (left > max) left = max;
        memcpy(data, stream->out.data + stream->taken, left);
        stream->taken += left;
        return (ssize_t)left;
    }
    if (stream->ended) return MHD_CONTENT_READER_END_OF_STREAM;
    MHD_suspend_connection(stream->r->connection); /* 0 without it would be asked again at once */
    stream->suspended = true;
    return 0;
}

/* The response is gone: the last that refers to the stream. */
static void free_stream(void *arg) {
    struct stream *stream = arg;

    buf_free(&stream->out);
    free(stream);
}

/* --- the writer's side --- */

static void wake(struct stream *stream) {
    if (!stream->suspended) return;
    stream->suspended = false;
    MHD_resume_connection(stream->r->connection);
    stream->http->dirty = true; /* a resume wakes nobody */
}

struct stream *request_stream_begin(struct request *request, unsigned status, const char *content_type,
                                    size_t waiting_max, const struct stream_events *events, void *arg) {
    struct http_request *r = (struct http_request *)request;
    struct stream *stream = xcalloc(1, sizeof *stream);
    struct MHD_Response *response;

    stream->http = r->http;
    stream->r = r;
    stream->events = events;
    stream->arg = arg;
    stream->out = (struct buf)BUF_INIT(waiting_max);
    stream->next = r->http->streams;
    if (stream->next) stream->next->prev = stream;
    r->http->streams = stream;
    response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE_MAX, read_stream, stream, free_stream);
    if (!response) abort(); /* out of memory */
    r->stream = stream;
    http_request_respond(r, status, content_type, response);
    return stream;
}

/* Moves what has not been taken to the front. */
static void compact(struct stream *stream) {
    size_t left = stream->out.len - stream->taken;

    if (stream->taken == 0) return;
    memmove(stream->out.data, stream->out.data + stream->taken, left);
    stream->out.len = left;
    stream->out.data[left] = '\0';
    stream->taken = 0;
}

bool request_stream_write(struct stream *stream, const void *data, size_t len) {
    compact(stream);
    if (stream->ended || len > stream->out.max - stream->out.len) return false;
    buf_add(&stream->out, data, len);
    wake(stream);
    return true;
}

void request_stream_end(struct stream *stream) {
    stream->ended = true;
    wake(stream);
}

/* --- the end --- */

void http_stream_closed(struct stream *stream) {
    if (stream->prev)
        stream->prev->next = stream->next;
    else
        stream->http->streams = stream->next;
    if (stream->next) stream->next->prev = stream->prev;
    stream->ended = true;
    stream->events->closed(stream->arg);
}

void http_streams_drain(struct http *http) {
    for (struct stream *stream = http->streams; stream; stream = stream->next) {
        if (stream->ended) continue;
        if (stream->events->drain)
            stream->events->drain(stream->arg);
        else
            request_stream_end(stream);
    }
}

void http_streams_end(struct http *http) {
    for (struct stream *stream = http->streams; stream; stream = stream->next)
        request_stream_end(stream);
}
