#!/bin/sh
# install.sh [--check] SET...: installs what is missing of the sets build, test, lint and bench. It starts no service.
# With --check, or on a system without apt-get, it only names what is missing and fails if anything is.
set -eu

cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/sbin # where some of it is, and not every user looks

# Per line: Debian's package, and what shows that it is there, however it came.
build_set='
gcc                  cmd:cc
libc6-dev            hdr:stdio.h
pkg-config           cmd:pkg-config
libmicrohttpd-dev    pc:libmicrohttpd
libhiredis-dev       pc:hiredis
libcjson-dev         pc:libcjson
libev-dev            hdr:ev.h
libgnutls28-dev      pc:gnutls
redis-server         cmd:redis-server
redis-tools          cmd:redis-cli
'
test_set='
check                pc:check
clang                cmd:clang
libclang-rt-dev      fuzzer:
nodejs               cmd:node
npm                  cmd:npm
curl                 cmd:curl
apache2-utils        cmd:ab
wrk                  cmd:wrk
nghttp2-client       cmd:h2load
chromium             cmd:chromium
prometheus           cmd:promtool
locales              cmd:localedef,/usr/share/i18n/locales/de_DE
lua5.1               cmd:lua5.1
nginx                cmd:nginx
'
lint_set='
gcc                  cmd:gcc
clang                cmd:clang
clang-format         cmd:clang-format
clang-tidy           cmd:clang-tidy
cppcheck             cmd:cppcheck
lua5.1               cmd:luac5.1
shellcheck           cmd:shellcheck
'
bench_set='
nodejs               cmd:node
npm                  cmd:npm
wrk                  cmd:wrk
webdis               cmd:webdis
nginx                cmd:nginx
libnginx-mod-http-lua cmd:nginx,/usr/lib/nginx/modules/ngx_http_lua_module.so
lua-nginx-redis      cmd:nginx,/usr/share/lua/5.1/nginx/redis.lua
valgrind             cmd:valgrind
'

have() {
    case $1 in
    cmd:*,*) have "${1%%,*}" && [ -e "${1#*,}" ] ;;
    cmd:*) command -v "${1#cmd:}" >/dev/null 2>&1 ;;
    pc:*) pkg-config --exists "${1#pc:}" 2>/dev/null ;;
    fuzzer:) ls "$(clang -print-resource-dir)"/lib/*/libclang_rt.fuzzer*.a >/dev/null 2>&1 ;;
    hdr:*) echo "#include <${1#hdr:}>" | cc -E -x c - >/dev/null 2>&1 ;;
    esac
}

missing_of() {
    printf '%s\n' "$1" | while read -r package sign; do
        [ -z "$package" ] || have "$sign" || printf '%s ' "$package"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Debian's redis-server and the like start a daemon when they are installed, unless this file forbids it.
policy=/usr/sbin/policy-rc.d
forbid_services() {
    [ ! -e $policy ] || return 0
    trap 'as_root rm -f $policy' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
    as_root chmod 755 $policy
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 "$@"
}

install_packages() {
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        echo "missing: $*; neither root nor sudo is at hand. As root: apt-get install $*" >&2
        exit 1
    fi
    echo "installing: $*"
    forbid_services
    apt update
    apt install --no-install-recommends "$@"
}

# npm packages of a folder, only when what is there is not what its lock file says.
npm_up_to_date() {
    cmp -s "$1/package-lock.json" "$1/node_modules/.installed-lock"
}
install_npm() {
    echo "installing: npm packages of $1/package.json"
    (cd "$1" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund --ignore-scripts --loglevel=error)
    cp "$1/package-lock.json" "$1/node_modules/.installed-lock"
}

have_locale() {
    locale -a 2>/dev/null | grep -q -i '^de_DE\.utf-\{0,1\}8$'
}

# What is missing, a line for each way to get it. Ends the script.
name_missing() {
    status=0
    if [ -n "$missing" ]; then
        status=1
        echo "missing (by the names of Debian's packages): $missing" >&2
    fi
    if [ -n "$tests" ] && ! have_locale; then
        status=1
        echo "missing: the locale de_DE.UTF-8; as root: localedef -i de_DE -f UTF-8 de_DE.UTF-8" >&2
    fi
    for folder in $npm_folders; do
        npm_up_to_date "$folder" && continue
        status=1
        echo "missing: the npm packages of $folder/package.json, or the copy of the lock file that tells which are there:" \
            "(cd $folder && npm ci --ignore-scripts && cp package-lock.json node_modules/.installed-lock)" >&2
    done
    exit $status
}

check_only=''
if [ "${1:-}" = --check ]; then
    check_only=1
    shift
fi

wanted=''
tests=''
npm_folders=''
for set in "$@"; do
    case $set in
    build) wanted="$wanted$build_set" ;;
    test) wanted="$wanted$test_set" tests=1 npm_folders="$npm_folders tests" ;;
    lint) wanted="$wanted$lint_set" ;;
    bench) wanted="$wanted$bench_set" npm_folders="$npm_folders tests/bench" ;;
    *)
        echo "install.sh: no such set: $set (build, test, lint, bench)" >&2
        exit 2
        ;;
    esac
done

missing=$(missing_of "$wanted")
if [ -n "$check_only" ] || ! command -v apt-get >/dev/null; then
    name_missing
fi

# shellcheck disable=SC2086  # a list of words
[ -z "$missing" ] || install_packages $missing
left=$(missing_of "$wanted")
[ -z "$left" ] || {
    echo "installed, and yet not found: $left" >&2
    exit 1
}
[ -z "$tests" ] || have_locale || as_root localedef -i de_DE -f UTF-8 de_DE.UTF-8
for folder in $npm_folders; do
    npm_up_to_date "$folder" || install_npm "$folder"
done
