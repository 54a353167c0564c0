# shellcheck shell=sh
# lua_text: a function for the scripts beside it. Writes Lua from standard input as the lines of a C string.
# Lines stay lines, so that Redis's error messages can be counted back; comment lines become empty, indentation goes.

lua_text() {
    sed -e 's/^[[:blank:]]*//' -e 's/^--.*$//' -e 's/[[:blank:]]*$//' \
        -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/^/    "/' -e 's/$/\\n"/'
}

lua_no_long_brackets() {
    if grep -n -e '--\[=*\[' -e '\[=*\[' "$@" /dev/null >&2; then
        echo "lua_text.sh: long brackets are not handled: use -- comments and quoted strings" >&2
        exit 1
    fi
}

# Numbers in place of the names of constants ("local UNIT = 1000000"): each function that uses a local takes hold of it
# anew at each run.
lua_inline_constants() {
    text=$(cat)
    values=$(printf '%s\n' "$text" | sed -n 's/^local \([A-Z]\{1,\}\) = \([0-9.e]\{1,\}\).*/s,\\b\1\\b,\2,g/p')
    printf '%s\n' "$text" | sed -e 's/^local [A-Z]\{1,\} = [0-9].*//' -e "$values"
}
