# Lengths: no function above 60 lines, no file above 450. Relies on clang-format: a function's
# last line is the first "}" at the left edge after a line at the left edge that ends its head with "{".

function complain(line, text) {
    printf "%s:%d: %s\n", file, line, text
    bad = 1
}

function end_of_file() {
    if (file != "" && lines > 450) complain(lines, "the file has " lines " lines, 450 are allowed")
}

FNR == 1 {
    end_of_file()
    file = FILENAME
    start = 0
    head = ""
}

{ lines = FNR }

!start {
    if (/^[A-Za-z_]/) {
        head = $0
        begin = FNR
    } else if (/^[ \t]/ && head != "") {
        head = head $0
    } else {
        head = ""
    }
    # Tables and types open a brace too, but have "=" before it or no arguments.
    if (head ~ /\{$/) {
        if (head ~ /\)[ \t]*\{$/ && head !~ /=/) start = begin
        name = head
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        head = ""
    } else if (head ~ /[;}]$/) {
        head = ""
    }
    next
}

/^}/ {
    if (FNR - start + 1 > 60) complain(start, name "() has " FNR - start + 1 " lines, 60 are allowed")
    start = 0
}

END {
    end_of_file()
    exit bad
}
