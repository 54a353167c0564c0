/* Writing the text format of Prometheus. Numbers are counts or short decimals, so %.17g is never needed. */
#include "http/exposition.h"

#include <stdio.h>

void exposition_family(struct buf *out, const char *name, const char *type, const char *help) {
    buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_escaped(struct buf *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\n') {
            buf_adds(out, "\\n");
            continue;
        }
        if (*text == '\\' || *text == '"') buf_addc(out, '\\');
        buf_addc(out, *text);
    }
}

/* A locale may write a decimal comma, so decimals are put together from whole numbers. */
static void add_number(struct buf *out, double value) {
    int64_t whole = (int64_t)value;
    int64_t millionths = (int64_t)((value - (double)whole) * 1e6 + 0.5);
    char digits[8];
    int len = snprintf(digits, sizeof digits, "%06d", (int)millionths);

    if (millionths >= 1000000) whole++, millionths = 0;
    buf_add_int(out, whole);
    if (millionths == 0) return;
    while (digits[len - 1] == '0')
        len--;
    buf_addf(out, ".%.*s", len, digits);
}

void exposition_sample(struct buf *out, const char *name, const struct label *labels, size_t count,
                       double value) {
    buf_adds(out, name);
    for (size_t i = 0; i < count; i++) {
        buf_addf(out, "%c%s=\"", i == 0 ? '{' : ',', labels[i].name);
        add_escaped(out, labels[i].value);
        buf_addc(out, '"');
    }
    if (count > 0) buf_addc(out, '}');
    buf_addc(out, ' ');
    add_number(out, value);
    buf_addc(out, '\n');
}

void exposition_single(struct buf *out, const char *name, const char *type, const char *help, double value) {
    exposition_family(out, name, type, help);
    exposition_sample(out, name, NULL, 0, value);
}

void exposition_histogram(struct buf *out, const char *name, const char *help,
                          const struct histogram *histogram, double unit) {
    const struct histogram_scale *scale = histogram->scale;
    uint64_t below = 0;

    exposition_family(out, name, "histogram", help);
    for (size_t i = 0; i <= scale->count; i++) {
        below += histogram->counts[i];
        buf_addf(out, "%s_bucket{le=\"", name);
        if (i < scale->count)
            add_number(out, (double)scale->bounds[i] / unit);
        else
            buf_adds(out, "+Inf");
        buf_adds(out, "\"} ");
        buf_add_int(out, (int64_t)below);
        buf_addc(out, '\n');
    }
    buf_addf(out, "%s_sum ", name);
    add_number(out, (double)histogram->sum / unit);
    buf_addf(out, "\n%s_count %llu\n", name, (unsigned long long)below);
}
