/* One hexadecimal digit. */
#ifndef RL_BASE_HEX_H
#define RL_BASE_HEX_H

/* 0..15 for 0-9, a-f, A-F; -1 for anything else. */
static inline int hex_value(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    char small = (char)(digit | 0x20);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

#endif
