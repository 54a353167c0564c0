/* Request heads: taken apart in place as libmicrohttpd does, a head that is found in order was in order
 * before. Input: the head as sent. */
#include "fuzz.h"

#include <strings.h>

#include "http/http_head.h"

enum { VERSION_LEN = 8 };

/* Puts NULs over the end of the line at `at`; returns the next line, NULL if the line has no end. */
static char *end_line(char *at, const char *end) {
    char *stop = at;
    while (stop < end && *stop != '\r' && *stop != '\n')
        stop++;
    if (stop == end) return NULL;
    bool both = *stop == '\r' && stop + 1 < end && stop[1] == '\n';
    stop[0] = '\0';
    if (both) stop[1] = '\0';
    return stop + 1 + both;
}

/* METHOD, target, version, at single places; the checker is to find more or other spaces. */
static bool take_first_line(char *line, const char *next, struct http_head *head) {
    char *space = memchr(line, ' ', (size_t)(next - line));
    char *last = memrchr(line, ' ', (size_t)(next - line));
    if (!space || space == last || next - last < VERSION_LEN + 2) return false;
    head->bytes = line;
    head->target = space + 1;
    head->version = last + 1;
    *space = *last = '\0';
    head->target_len = strlen(head->target); /* all that is handed on of it */
    return memcmp(head->version, "HTTP/1.0", VERSION_LEN) == 0 ||
           memcmp(head->version, "HTTP/1.1", VERSION_LEN) == 0;
}

/* False where libmicrohttpd would have refused the head, or wants more of it. */
static bool take_apart(char *bytes, size_t len, struct http_head *head) {
    const char *end = bytes + len;
    char *at = end_line(bytes, end);
    if (!at || !take_first_line(bytes, at, head)) return false;
    for (char *next; (next = end_line(at, end)); at = next) {
        if (*at == '\0') { /* nothing on this line, or nothing that is seen */
            head->size = (size_t)(next - bytes);
            return true;
        }
        if (*at == ' ' || *at == '\t') continue;
        char *colon = memchr(at, ':', strlen(at));
        if (!colon || colon == at) return false;
        *colon = '\0';
        head->fields++;
    }
    return false;
}

static bool ends_line(char c) {
    return c == '\r' || c == '\n' || c == '\0';
}

/* The head as sent, with CR LF for its line ends. All that remains of one are two NULs, so that a NUL in the
 * place of a CR or LF cannot be told from it, and does no harm; anywhere else it would. */
static char *with_line_ends(struct input head) {
    char *text = input_text(head);
    for (size_t i = 0, run; i < head.len; i += run ? run : 1) {
        for (run = 0; i + run < head.len && ends_line(text[i + run]); run++)
            text[i + run] = run % 2 ? '\n' : '\r';
        must(run == 0 || run == 2 || (run == 4 && i + run == head.len));
    }
    return text;
}

static bool is_host(const char *line, size_t len) {
    return len > 5 && strncasecmp(line, "host:", 5) == 0;
}

/* The same head as it was sent. */
static void check_sent(struct input sent) {
    char *raw = with_line_ends(sent);
    size_t len = sent.len;
    size_t hosts = 0, lines = 0;
    must(len > 4 && memcmp(raw + len - 4, "\r\n\r\n", 4) == 0);
    for (const char *at = raw; at < raw + len;) {
        const char *end = memchr(at, '\r', (size_t)(raw + len - at));
        size_t line = (size_t)(end - at);
        must(*at != ' ' && *at != '\t');
        if (lines++ > 0 && line > 0) {
            const char *colon = memchr(at, ':', line);
            must(colon && colon > at && colon[-1] != ' ' && colon[-1] != '\t');
        }
        must(line > 0 || end + 2 == raw + len);
        hosts += is_host(at, line);
        at = end + 2;
    }
    must(hosts <= 1);
    free(raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input whole = input_of(data, size);
    char *bytes = input_text(whole), *exact = NULL;
    struct http_head head = {.fields = 0};
    bool chunked = false;
    if (take_apart(bytes, size, &head)) {
        exact = malloc(head.size); /* a look beyond its end is noticed */
        must(exact);
        memcpy(exact, bytes, head.size);
        head.target = exact + (head.target - head.bytes);
        head.version = exact + (head.version - head.bytes);
        head.bytes = exact;
        const struct http_fault *fault = http_head_check(&head, &chunked);
        if (fault)
            must(fault->status >= 400 && fault->detail[0] != '\0');
        else
            check_sent((struct input){whole.at, head.size});
    }
    free(exact);
    free(bytes);
    return 0;
}
