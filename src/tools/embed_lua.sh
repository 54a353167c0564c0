#!/bin/sh
# Writes C source that holds the given Lua files, in that order, as one text.
# Lines stay lines, so that Redis's error messages can be counted back; comment lines become empty, indentation goes.
set -eu

if grep -n -e '--\[=*\[' -e '\[=*\[' "$@" /dev/null >&2; then
    echo "embed_lua.sh: long brackets are not handled: use -- comments and quoted strings" >&2
    exit 1
fi

printf '%s\n\n%s\n' '#include "limit/lua_scripts.h"' 'const char lua_decide_text[] ='
sed -e 's/^[[:blank:]]*//' -e 's/^--.*$//' -e 's/[[:blank:]]*$//' \
    -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/^/    "/' -e 's/$/\\n"/' "$@" </dev/null
printf '    ;\n%s\n' 'const size_t lua_decide_len = sizeof lua_decide_text - 1;'
