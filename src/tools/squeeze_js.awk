# Takes out of the page's JavaScript what only people read: comments, indentation, spaces around punctuation, semicolons
# before a closing brace, a 0 before the point; and `const` becomes `let`, as that nothing is assigned twice was checked when
# it was read. What stands in quotes, templates and regular expressions stays.
#
# It knows no grammar, so the page keeps to what it can read: a block comment begins a line and ends one, a text in `...`
# stays on its line, a regular expression follows punctuation or `return`, and no loop has an empty body.

function last() { return substr(out, length(out)) }

# Copies from position i to the end of a piece that `close` ends, and returns the position behind it.
function copy(i, close_with,    c, class) {
    for (out = out substr($0, i++, 1); i <= length($0); i++) {
        c = substr($0, i, 1)
        out = out c
        if (c == "\\") out = out substr($0, ++i, 1)
        else if (close_with == "/" && c == "[") class = 1
        else if (close_with == "/" && c == "]") class = 0
        else if (close_with == "`" && c == "$" && substr($0, i + 1, 1) == "{") {
            out = out "{"
            i = code(i + 2, 1) - 1
            out = out "}"
        } else if (c == close_with && !class) return i + 1
    }
    return i
}

# Copies code from position i to the end of the line or, within a template, to the bracket that ends it.
function code(i, nested,    c, depth, ahead) {
    for (; i <= length($0); ) {
        c = substr($0, i, 1)
        if (c == "{") depth++
        if (c == "}" && depth-- == 0 && nested) return i + 1
        if (c ~ /['"`]/ || (c == "/" && out ~ /(^|[(,=:[!&|?{};>]|return )$/ && substr($0, i + 1, 1) != "/")) {
            i = copy(i, c)
            continue
        }
        if (c == "/" && substr($0, i + 1, 1) == "/") return length($0) + 1
        if (c == " ") {
            match(substr($0, i), /[^ ]|$/)
            i += RSTART - 1
            ahead = substr($0, i, 1)
            if (ahead != "" && (last() ~ /[-+]/ && ahead ~ /[-+]/ || (last() !~ mark && ahead !~ mark))) out = out " "
            continue
        }
        if (out !~ /[A-Za-z0-9_$.]$/) {
            if (substr($0, i, 6) == "const ") {
                out = out "let"
                i += 5
                continue
            }
            if (substr($0, i, 3) ~ /^0\.[0-9]/) {
                i++
                continue
            }
        }
        if (c == "}" && last() == ";") out = substr(out, 1, length(out) - 1)
        out = out c
        i++
    }
    return i
}

BEGIN { mark = "[]=+*<>!&|?:,;(){}[-]" }
{
    sub(/^[ \t]+/, "")
    if (/^\/\*/) inside = 1
    if (!inside && length) {
        out = ""
        code(1, 0)
        if (out != "") {
            if (out ~ /^}/) sub(/;$/, "", held)
            printf "%s", held
            held = out (out ~ /[[,;{(?:=&|]$/ ? "" : "\n")
        }
    }
    if (/\*\/$/) inside = 0
}
END { printf "%s", held }
