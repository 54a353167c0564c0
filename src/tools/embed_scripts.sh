#!/bin/sh
# embed_scripts.sh DIR ALGORITHM...: writes C source of the scripts that decide (src/limit/lua_scripts.h), made of the
# Lua files in DIR: one for each algorithm, and one of all of them for requests under several limits.
set -eu
# shellcheck source=src/tools/lua_text.sh
. "$(dirname "$0")/lua_text.sh"

dir=$1
shift
lua_no_long_brackets "$dir"/*.lua

one() {
    cat "$dir/prelude.lua" "$dir/$1.lua"
    echo "local algorithm = $1"
    cat "$dir/decide_one.lua"
}

several() {
    cat "$dir/prelude.lua"
    for name in "$@"; do cat "$dir/$name.lua"; done
    echo "local algorithms = {$(for name in "$@"; do printf '%s = %s, ' "$name" "$name"; done)}"
    cat "$dir/decide_several.lua"
}

printf '#include "limit/lua_scripts.h"\n\nconst struct lua_script lua_scripts[] = {\n'
for name in "$@"; do
    printf '  {"%s",\n' "$name"
    one "$name" | lua_inline_constants | lua_text
    printf '  },\n'
done
printf '  {NULL,\n'
several "$@" | lua_inline_constants | lua_text
printf '  },\n};\nconst size_t lua_script_count = sizeof lua_scripts / sizeof lua_scripts[0];\n'
