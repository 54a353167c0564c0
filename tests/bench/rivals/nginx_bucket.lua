-- nginx with its Lua module: bucket.lua by EVALSHA over lua-resty-redis, from a pool of kept connections.
local redis = require "nginx.redis"

local bucket = {}

-- One decision for the request's ?key=. `prefix` of keys; capacity, rate and interval of the limit.
function bucket.decide(port, sha, prefix, capacity, rate, interval)
    local client = redis:new()
    client:set_timeout(1000)
    local ok, err = client:connect("127.0.0.1", port)
    local reply
    if ok then
        reply, err = client:evalsha(sha, 1, prefix .. ngx.var.arg_key, capacity, rate, interval, ngx.now())
    end
    if not reply then
        ngx.status = 500
        return ngx.print(err)
    end
    client:set_keepalive(60000, 128)
    local allowed = reply[1] == 1
    if not allowed then ngx.status = 429 end
    ngx.header.content_type = "application/json"
    ngx.header["X-RateLimit-Remaining"] = reply[2]
    return ngx.print(allowed and '{"allowed":true}' or '{"allowed":false}')
end

return bucket
