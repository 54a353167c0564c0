-- Token bucket: a bucket of `capacity` tokens gets `rate` tokens back every `interval`; a request takes its cost.
--
-- It lets a burst of `capacity` through at once, then `rate` per `interval` on average.
-- State: a hash of `tokens` and `last_refill`. No key means a full bucket.

local function token_bucket(key, capacity, rate, interval)
    local steps = capacity / rate
    local empty_to_full = (steps + -steps % 1) * interval
    if not (empty_to_full <= EXACT) then error("a bucket that never fills") end

    local fields = checked(redis.pcall("HMGET", key, "tokens", "last_refill"))
    local tokens, last_refill, found = tonumber(fields[1]), tonumber(fields[2]), "state"
    -- (Of "nan" no comparison is true.)
    if tokens and tokens >= -2e9 and tokens <= 1e9
        and last_refill and last_refill >= 0 and last_refill <= EXACT and last_refill % 1 == 0 then
        tokens = tokens * UNIT + 0.5
        tokens = tokens - tokens % 1
        if tokens > capacity then tokens = capacity end  -- it may have become smaller
        -- Below zero are tokens that delayed requests took in advance. So may the longest delay have become shorter.
        if tokens < 0 then tokens = math.max(tokens, -math.ceil(max_delay / interval) * rate) end
    else
        found = (fields[1] or fields[2] or fields.other_type) and "nonsense" or "nothing"
        tokens, last_refill = capacity, now
    end

    -- Tokens were added at the end of each interval since last_refill. A bucket that is full again is as good as new:
    -- its clock stands still until somebody takes from it.
    local needed, passed = (capacity - tokens) / rate, (now - last_refill) / interval
    needed, passed = needed + -needed % 1, passed - passed % 1
    if passed < 0 then passed = 0 end  -- the clock went back; no refill twice
    if passed >= needed or (needed - passed) * interval > EXACT
        or last_refill - now > empty_to_full then  -- further ahead than can be true
        tokens, last_refill = capacity, now
    else
        tokens, last_refill = tokens + passed * rate, last_refill + passed * interval
    end

    local function wait(cost)
        if cost <= tokens then return 0 end
        local refills = (cost - tokens) / rate
        return last_refill + (refills + -refills % 1) * interval - now
    end

    local function take(cost)
        tokens = tokens - cost
        local text = tokens / UNIT  -- for people to read in redis-cli: 7000000 is "7", 7500000 is "7.5"
        if text % 1 ~= 0 then text = string.gsub(string.format("%.6f", text), "0+$", "") end
        redis.call("HSET", key, "tokens", text, "last_refill", last_refill)
        return tokens
    end

    return tokens, wait, take, found
end
