/* Pairs of a key as the algorithm's fields. Reads no meaning into them: the algorithm does. */
#include "limit/key_read.h"

#include <string.h>

static void add(const struct key_state *key, const struct key_pair *pair, struct algorithm_field *fields,
                size_t *count) {
    fields[(*count)++] = (struct algorithm_field){key->text.data + pair->name, key->text.data + pair->value,
                                                  pair->name_len, pair->value_len};
}

/* Both ends of a sorted set as one row, oldest first. */
static bool join(const struct key_state *key, struct algorithm_field *fields, size_t *count) {
    size_t members = (size_t)key->members, old = key->oldest.count;
    size_t rest = members > old ? members - old : 0;

    if (rest > key->newest.count || old + rest > KEY_PAIRS_MAX) return false;
    for (size_t i = 0; i < old && i < members; i++)
        add(key, &key->oldest.pairs[i], fields, count);
    for (size_t i = key->newest.count - rest; i < key->newest.count; i++)
        add(key, &key->newest.pairs[i], fields, count);
    return true;
}

bool key_read(const struct key_state *key, const struct algorithm *algorithm, struct algorithm_state *state) {
    struct algorithm_field fields[KEY_PAIRS_MAX];
    size_t count = 0;

    if (strcmp(key->type, "none") == 0) {
        algorithm_state_free(state);
        return true;
    }
    if (strcmp(key->type, "zset") == 0) {
        if (!join(key, fields, &count)) return false;
    } else {
        for (size_t i = 0; i < key->fields.count; i++)
            add(key, &key->fields.pairs[i], fields, &count);
    }
    return count > 0 && algorithm->read(fields, count, state);
}
