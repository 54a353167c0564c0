#!/usr/bin/env bash
# Every check of style and of faults that a reader of the source can see. Called by `make lint`, which sets
# LINT_MAKE and LINT_FLAGS (a compiler's flags for language, definitions and includes). It changes no source file.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

files() { # files FOLDER... -- PATTERN...: all files below the folders with such names, but for what npm brought
    local folders=() names=(-false)
    while [ "$1" != -- ]; do folders+=("$1") && shift; done
    shift
    for pattern in "$@"; do names+=(-o -name "$pattern"); done
    find "${folders[@]}" -name node_modules -prune -o -type f \( "${names[@]}" \) -print | sort
}

mapfile -t c_sources < <(files src -- '*.c')
mapfile -t c_files < <(files src -- '*.[ch]')
mapfile -t test_c_files < <(files tests -- '*.[ch]')
mapfile -t lua_files < <(files lua tests -- '*.lua')
mapfile -t js_files < <(files static tests -- '*.js' '*.mjs')
mapfile -t sh_files < <(files src tests .ci -- '*.sh' run)
read -r -a flags <<<"${LINT_FLAGS//\'/}"

build_with() { # a folder of its own, so that nobody's build is disturbed; a make of its own, with its own jobs
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL "$LINT_MAKE" VARIANT="lint-$1" CC="$1" WERROR=1 all tests >"$scratch/progress"
}

check_format() { clang-format --dry-run --Werror "${c_files[@]}" "${test_c_files[@]}"; }

check_tidy() { # one file a run: with several, clang 14 takes every va_list of the second for uninitialized
    printf '%s\0' "${c_sources[@]}" |
        xargs -0 -n 1 -P "$(nproc)" sh -c \
            'clang-tidy --quiet --warnings-as-errors="*" "$@" -- '"$(printf '%q ' "${flags[@]}")$(pkg-config --cflags libmicrohttpd hiredis libcjson gnutls)"' 2>&1' sh |
        grep -v -E '^[0-9]+ warnings? (generated|treated)|^$'
    [ "${PIPESTATUS[1]}" = 0 ]
}

# It reads no system header, so it is told what their macros stand for. readdir is safe on a DIR of one's own, and
# a text's NUL may be looked at before its length is.
check_cppcheck() {
    cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --library=posix -j "$(nproc)" \
        --enable=warning,performance,portability --suppress=missingIncludeSystem --suppress=readdirCalled --suppress=arrayIndexThenCheck \
        --include=tests/lint/cppcheck.h \
        --include="$(find /usr/include -path '*/sys/queue.h' -print -quit)" \
        "${flags[@]/#-std=*/}" src
}

check_lua() { luac5.1 -p "${lua_files[@]}"; }

check_layers() { awk -f tests/lint/layers.awk "${c_files[@]}"; }

check_lengths() { awk -f tests/lint/lengths.awk "${c_files[@]}" "${test_c_files[@]}"; }

check_js() { # as modules, whatever the extension says to this version of node
    local bad=0
    for file in "${js_files[@]}"; do
        cp "$file" "$scratch/check.mjs"
        node --check "$scratch/check.mjs" || { echo "$file" && bad=1; }
    done
    return $bad
}

check_shell() { shellcheck -x "${sh_files[@]}"; }

# What is true of one machine only, or names a registry, has no place in the tree. (Brackets: not to find itself.)
check_places() {
    ! git grep -n -I -E '/[w]ork/|/[h]ome/[a-z]|/[r]oot/|[r]egistry\.npmjs|[d]eb\.debian\.org|[p]ypi\.org' -- .
}

total=0 failed=()
check() { # check NAME COMMAND...
    local name=$1
    shift
    total=$((total + 1))
    if "$@" >"$scratch/output" 2>&1; then
        echo "ok     $name"
    else
        echo "FAILED $name"
        sed 's/^/    /' "$scratch/output"
        failed+=("$name")
    fi
}

check "gcc warnings" build_with gcc
check "clang warnings" build_with clang
check "format" check_format
check "clang-tidy" check_tidy
check "cppcheck" check_cppcheck
check "lua" check_lua
check "layers" check_layers
check "lengths" check_lengths
check "javascript" check_js
check "shell" check_shell
check "places" check_places

echo "lint: $total checks, ${#failed[@]} failed"
[ ${#failed[@]} = 0 ]
