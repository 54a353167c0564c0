/* JSON text to a cJSON tree that keeps its numbers exact.
 *
 * Knows no settings: what a member may be is the reader's. */
#include <string.h>

#include "base/decimal.h"
#include "config/config_internal.h"
#include "config/json_check.h"

/* cJSON reads no number longer than 63 characters; 15 digits and an exponent need far less. */
enum { NUMBER_MAX = 60 };

struct scanner {
    const char *at, *end;
};

/* Moves behind the string that begins at `at`. */
static void skip_string(struct scanner *s) {
    for (s->at++; s->at < s->end && *s->at != '"'; s->at++) {
        if (*s->at == '\\') s->at++;
    }
    s->at++;
}

/* The next number of the text, as it stands there; NULL if there is no more. */
static const char *next_number(struct scanner *s, size_t *len) {
    while (s->at < s->end) {
        if (*s->at == '"') {
            skip_string(s);
        } else if (*s->at == '-' || (*s->at >= '0' && *s->at <= '9')) {
            const char *start = s->at;
            while (s->at < s->end && *s->at && strchr("0123456789+-.eE", *s->at))
                s->at++;
            *len = (size_t)(s->at - start);
            return start;
        } else {
            s->at++;
        }
    }
    return NULL;
}

static int check_numbers(const char *text, size_t len, struct config_refusal *why) {
    struct scanner s = {text, text + len};
    size_t number_len;
    const char *number;
    while ((number = next_number(&s, &number_len))) {
        if (number_len <= NUMBER_MAX) continue;
        return config_refuse(
            why, 422, "",
            "a number must have at most 15 digits and six decimals; got %.*s... of %zu characters",
            NUMBER_MAX / 2, number, number_len);
    }
    return 0;
}

/* A tree and its text hold the numbers in the same order. cJSON frees and copies `valuestring` with the item.
 */
static bool keep_numbers(cJSON *item, struct scanner *s) {
    for (; item; item = item->next) {
        if (item->child && !keep_numbers(item->child, s)) return false;
        if (!cJSON_IsNumber(item)) continue;
        size_t len = 0;
        const char *number = next_number(s, &len);
        item->valuestring = number ? cJSON_malloc(len + 1) : NULL;
        if (!item->valuestring) return false;
        memcpy(item->valuestring, number, len);
        item->valuestring[len] = '\0';
    }
    return true;
}

cJSON *config_tree_parse(const char *text, size_t len, struct config_refusal *why) {
    struct err err = ERR_INIT;
    if (json_check(text, len, &err) < 0) {
        config_refuse(why, 400, "", "not valid JSON: %s", err.text);
        return NULL;
    }
    if (check_numbers(text, len, why) < 0) return NULL;
    cJSON *tree = cJSON_ParseWithLength(text, len);
    struct scanner s = {text, text + len};
    if (tree && keep_numbers(tree, &s)) return tree;
    cJSON_Delete(tree);
    config_refuse(why, 400, "", "the JSON text cannot be read");
    return NULL;
}

bool config_tree_micro(const cJSON *value, int64_t *micro) {
    if (!cJSON_IsNumber(value) || !value->valuestring) return false;
    return decimal_parse(value->valuestring, strlen(value->valuestring), micro) == DECIMAL_OK;
}
