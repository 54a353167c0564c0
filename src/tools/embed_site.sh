#!/bin/sh
# Writes C source that holds the given files of the page: their path, content type and bytes. Comments, indentation, spaces
# and quotes that say nothing stay behind: the page is a quarter smaller without. So a text in CSS may not hold a colon, comma
# or semicolon with a space, nor one in HTML name="word"; for JavaScript see squeeze_js.awk. Also left out are, in CSS, quotes
# round a word to be compared with, a 0 before the point, every other digit of #aabbcc, and the space before ! and in `a + .b`;
# in HTML, the end tags that the standard lets go: of cells, rows, items and options, and of a paragraph before a block.
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

# Between these a line break says nothing.
blocks='section|div|ul|li|dl|form|table|t[rhd]|tbody|thead|h[1-3]|p|header|main|head|body|meta|link|script|fieldset|footer|dialog'

# A paragraph ends by itself where one of these begins or ends.
after_p='(\/?(section|div|ul|dl|form|table|p|h2|header|main|footer))([ >])'

css_rules='s/="([a-z][a-z_-]*)"\]/=\1]/g; s/([: (,-])0\.([0-9])/\1.\2/g; s/#(.)\1(.)\2(.)\3([^0-9a-f])/#\1\2\3\4/g
s/ !important/!important/g; s/ \+ (\.[a-z])/+\1/g'
html_rules='s/<\/(li|t[rhd]|thead|tbody|d[td]|option)>//g; s/<\/p><'"$after_p"'/<\1\3/g'

here=$(dirname "$0")

text_of() {
    case $1 in
    *.js) awk -f "$here/squeeze_js.awk" "$1" ;;
    *.css)
        awk '{ sub(/^[ \t]+/, "") }
             /^\/\*/ { inside = 1 }
             !inside && length {
                 sub(/ \/\* [^*]*\*\/$/, ""); gsub(/: /, ":"); gsub(/, /, ","); gsub(/ \{/, "{"); gsub(/\{ /, "{"); gsub(/; /, ";")
                 gsub(/ > /, ">"); gsub(/;\}/, "}")
                 if (/^\}/) sub(/;$/, "", held)
                 printf "%s", held
                 held = $0
             }
             /\*\/$/ { inside = 0 }
             END { printf "%s", held }' "$1" | sed -E "$css_rules"
        ;;
    *.html)
        sed -E 's/^ *//; s/="([A-Za-z0-9_./#-]+)"/=\1/g' "$1" | sed -zE 's/>\n+<(\/?('"$blocks"'))/><\1/g; '"$html_rules"
        ;;
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
