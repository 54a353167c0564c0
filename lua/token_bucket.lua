-- Token bucket: a bucket of `capacity` tokens gets `rate` tokens back every `interval`; a request takes its cost.
--
-- It lets a burst of `capacity` through at once, then `rate` per `interval` on average.
-- State: a hash of `tokens` and `last_refill`. No key means a full bucket.

function algorithms.token_bucket(key, capacity, rate, interval)
    local tokens, last_refill
    local empty_to_full = ceil(capacity / rate) * interval
    if not (empty_to_full <= EXACT) then error("a bucket that never fills") end

    local tokens_text, refill_text, broken = read_fields(key, "tokens", "last_refill")
    local stored = tokens_text ~= nil
    if stored then
        -- Below zero are tokens that delayed requests took in advance.
        tokens = stored_number(tokens_text, UNIT, -2e9 * UNIT, 1e9 * UNIT)
        last_refill = stored_number(refill_text, 1, 0, EXACT)
        broken = not (tokens and last_refill)
    end

    -- Tokens were added at the end of each interval since last_refill. A bucket that is full again is as good as new:
    -- its clock stands still until somebody takes from it.
    local function refill()
        tokens = min(tokens, capacity)  -- the capacity may have become smaller
        if last_refill - now > empty_to_full then return false end  -- further ahead than can be true
        local needed = ceil((capacity - tokens) / rate)
        local passed = max(0, floor((now - last_refill) / interval))  -- 0: the clock went back; no refill twice
        if passed >= needed or (needed - passed) * interval > EXACT then return false end
        tokens = tokens + passed * rate
        last_refill = last_refill + passed * interval
        return true
    end

    if not (tokens and last_refill and refill()) then
        tokens, last_refill = capacity, now
    end

    local function wait(cost)
        if cost <= tokens then return 0 end
        return last_refill + ceil((cost - tokens) / rate) * interval - now
    end

    return {
        wait = wait,
        fits = function() return max(0, tokens) end,
        take = function(cost)
            tokens = tokens - cost
            if broken then redis.call("DEL", key) end
            redis.call("HSET", key, "tokens", decimal(tokens), "last_refill", whole(last_refill))
            redis.call("PEXPIRE", key, whole(ttl_ms(wait(capacity))))
        end,
        keep = function() keep_key(key, stored, broken, wait(capacity)) end,
    }
end
