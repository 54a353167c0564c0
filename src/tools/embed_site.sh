#!/bin/sh
# Writes C source that holds the given files of the page: their path, content type and bytes. Comments, indentation and
# spaces that say nothing stay behind: the page is a quarter smaller without. So a text in CSS may not hold a colon, comma
# or semicolon with a space; for JavaScript see squeeze_js.awk.
set -eu

type_of() {
    case $1 in
    *.html) echo 'text/html; charset=utf-8' ;;
    *.css) echo 'text/css; charset=utf-8' ;;
    *.js) echo 'text/javascript; charset=utf-8' ;;
    *.json) echo 'application/json' ;;
    *.svg) echo 'image/svg+xml' ;;
    *.png) echo 'image/png' ;;
    *)
        echo "embed_site.sh: $1: no content type is known for that extension" >&2
        return 1
        ;;
    esac
}

here=$(dirname "$0")

text_of() {
    case $1 in
    *.js) awk -f "$here/squeeze_js.awk" "$1" ;;
    *.css)
        awk '{ sub(/^[ \t]+/, "") }
             /^\/\*/ { inside = 1 }
             !inside && length {
                 sub(/ \/\* [^*]*\*\/$/, ""); gsub(/: /, ":"); gsub(/, /, ","); gsub(/ \{/, "{"); gsub(/\{ /, "{"); gsub(/; \}/, "}"); gsub(/; /, ";")
                 printf "%s", $0
             }
             /\*\/$/ { inside = 0 }' "$1"
        ;;
    *.html) sed 's/^ *//' "$1" ;;
    *) cat "$1" ;;
    esac
}

printf '%s\n' '#include "http/site.h"' ''
number=0
for file in "$@"; do
    type_of "$file" >/dev/null
    # The last 0 keeps an empty file valid C and is not counted.
    printf 'static const unsigned char file_%d[] = {\n' "$number"
    text_of "$file" | od -An -v -tx1 | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'
    printf '0};\n'
    number=$((number + 1))
done

printf '%s\n' '' 'const struct site_file site_files[] = {'
number=0
for file in "$@"; do
    name=${file##*/}
    [ "$name" = index.html ] && name=
    printf '    {"/%s", "%s", file_%d, sizeof file_%d - 1},\n' "$name" "$(type_of "$file")" "$number" "$number"
    number=$((number + 1))
done
printf '    {NULL, NULL, NULL, 0},\n};\nconst size_t site_file_count = %d;\n' "$number"
