#!/bin/sh
# embed_lua.sh HEADER NAME FILE...: writes C source that holds the Lua files, in that order, as one text lua_NAME_text.
# Lines stay lines, so that Redis's error messages can be counted back; comment lines become empty, indentation goes.
set -eu

header=$1 name=$2
shift 2

if grep -n -e '--\[=*\[' -e '\[=*\[' "$@" /dev/null >&2; then
    echo "embed_lua.sh: long brackets are not handled: use -- comments and quoted strings" >&2
    exit 1
fi

printf '#include "%s"\n\nconst char lua_%s_text[] =\n' "$header" "$name"
sed -e 's/^[[:blank:]]*//' -e 's/^--.*$//' -e 's/[[:blank:]]*$//' \
    -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/^/    "/' -e 's/$/\\n"/' "$@" </dev/null
printf '    ;\nconst size_t lua_%s_len = sizeof lua_%s_text - 1;\n' "$name" "$name"
