-- The token bucket as the Redis guide's tutorials write it, for the rivals that run a script: reads, refills in whole
-- intervals, writes back every time, takes the time from the caller, and sets no expiry.
-- KEYS[1] the bucket; ARGV capacity, refill rate, refill interval (s), now (s). Returns {1 or 0, whole tokens left}.
local capacity = tonumber(ARGV[1])
local refill_rate = tonumber(ARGV[2])
local refill_interval = tonumber(ARGV[3])
local now = tonumber(ARGV[4])

local stored = redis.call("HMGET", KEYS[1], "tokens", "last_refill")
local tokens = tonumber(stored[1]) or capacity
local last_refill = tonumber(stored[2]) or now

local intervals = math.floor(math.max(0, now - last_refill) / refill_interval)
if intervals > 0 then
    tokens = math.min(capacity, tokens + intervals * refill_rate)
    last_refill = last_refill + intervals * refill_interval
end

local allowed = 0
if tokens >= 1 then
    allowed = 1
    tokens = tokens - 1
end

redis.call("HMSET", KEYS[1], "tokens", tokens, "last_refill", last_refill)
return { allowed, tokens }
