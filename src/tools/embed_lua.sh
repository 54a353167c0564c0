#!/bin/sh
# embed_lua.sh HEADER NAME FILE...: writes C source that holds the Lua files, in that order, as one text lua_NAME_text.
set -eu
# shellcheck source=src/tools/lua_text.sh
. "$(dirname "$0")/lua_text.sh"

header=$1 name=$2
shift 2
lua_no_long_brackets "$@"

printf '#include "%s"\n\nconst char lua_%s_text[] =\n' "$header" "$name"
cat "$@" </dev/null | lua_text
printf '    ;\nconst size_t lua_%s_len = sizeof lua_%s_text - 1;\n' "$name" "$name"
