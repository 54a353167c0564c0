#!/bin/sh
# run.sh BINARY [OPTION...]: starts the server on the Redis of this machine if one answers, else on one of its own.
set -eu

binary=$1
shift

# Whoever names a Redis, by option or by environment, gets that one and no other.
named=${REDIS_URL:-}${RATELIMITD_REDIS_HOST:-}${RATELIMITD_REDIS_PORT:-}${RATELIMITD_REDIS_SOCKET:-}${RATELIMITD_WITH_REDIS:-}
for option in "$@"; do
    case $option in
    --redis-host* | --redis-port* | --redis-socket* | --with-redis* | --help | --version) named=$option ;;
    esac
done

if [ -z "$named" ] && [ "$(timeout 2 redis-cli -h localhost -p 6379 PING 2>/dev/null)" != PONG ]; then
    set -- --with-redis "$@"
fi
exec "$binary" "$@"
