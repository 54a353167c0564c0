# Who may include whom: design by folder, and which folder may know which library.
# Reads the C files given; prints each include that points the wrong way. It does not resolve anything.

BEGIN {
    below["base"] = " base "
    below["redis"] = " redis base "
    below["limit"] = " limit redis base "
    below["config"] = " config limit redis base "
    below["http"] = " http config limit redis base "
    below["app"] = " app http config limit redis base "
    below["main.c"] = " app http config limit redis base "
    below["lib"] = " lib limit redis base "

    # Header of a library -> the files that may include it, as a regular expression.
    home["hiredis"] = "^src/redis/"
    home["microhttpd.h"] = "^src/(http/(http|linger)[a-z_]*|lib/ratelimit_mhd)[.][ch]$"
    home["cJSON.h"] = "^src/config/"
    home["cjson"] = "^src/config/"
}

function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}

FNR == 1 {
    split(FILENAME, part, "/")
    folder = part[2]
    if (!(folder in below)) complain("src/" folder " has no place among the layers: tests/lint/layers.awk")
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    name = $0
    sub(/^[^"]*"/, "", name)
    sub(/".*/, "", name)
    if (split(name, part, "/") < 2) complain("\"" name "\": name its folder")
    else if (index(below[folder], " " part[1] " ") == 0) complain(folder " must not include \"" name "\"")
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    name = $0
    sub(/^[^<]*</, "", name)
    sub(/>.*/, "", name)
    for (library in home) {
        if ((name == library || index(name, library "/") == 1) && FILENAME !~ home[library])
            complain("<" name "> belongs to " home[library])
    }
}

END { exit bad }
