-- Sliding window log: at most `limit` requests in the `window` that ends now, exactly, because each is remembered.
--
-- State: a sorted set with one member for each request that was let through; its score is the time. A member is
-- "<units>:<cost>": all units so far, this request's included, and its own. So what a stretch of the log holds is a
-- difference of two members, and two requests of one microsecond are two members. No key means that nothing is used.

function algorithms.sliding_window_log(key, limit, window)
    limit = limit / UNIT

    -- Runs a command that gives one member with its score. Second result: the key is of no use.
    local function read_entry(command, ...)
        local reply, broken = read(command, key, ...)
        if not reply[1] then return nil, broken end
        local units, cost = string.match(reply[1], "^(%d+):(%d+)$")
        local entry = {
            member = reply[1],
            units = stored_number(units, 1, 1, EXACT),
            cost = stored_number(cost, 1, 1, EXACT),
            time = stored_number(reply[2], 1, 0, EXACT),
        }
        if entry.units and entry.cost and entry.time and entry.cost <= entry.units then return entry, false end
        return nil, true
    end

    -- The newest, and the oldest that is still in the window.
    local first
    local last, broken = read_entry("ZRANGE", -1, -1, "WITHSCORES")
    local stored = last ~= nil
    local base = now
    if last and last.time - now <= window then  -- else further ahead than can be true
        base = max(now, last.time)  -- the clock may have gone back
        if last.time > base - window then
            first, broken = read_entry("ZRANGEBYSCORE", "(" .. whole(base - window), "+inf", "WITHSCORES", "LIMIT", 0, 1)
        end
    end
    local used = first and last.units - first.units + first.cost or 0
    if used < 0 then  -- a newest that is not
        first, used, broken = nil, 0, true
    end

    -- The oldest entry that makes enough room by leaving: then `most` units, or fewer, remain.
    local function leaver(most)
        if last.units - first.units <= most then return first end
        local low, high = redis.call("ZRANK", key, first.member) + 1, redis.call("ZCARD", key) - 1
        while low < high do
            local middle = floor((low + high) / 2)
            local entry = read_entry("ZRANGE", middle, middle, "WITHSCORES")
            if entry and last.units - entry.units <= most then high = middle else low = middle + 1 end
        end
        return read_entry("ZRANGE", low, low, "WITHSCORES") or last
    end

    local function wait(cost)
        local most = limit - ceil(cost / UNIT)
        if used <= most then return 0 end
        if not first then return window end  -- more than ever fits
        return leaver(most).time - now + window
    end

    local function until_empty()
        return first and last.time - now + window or 0
    end

    return {
        wait = wait,
        fits = function() return max(0, limit - used) * UNIT end,
        take = function(cost)
            cost = ceil(cost / UNIT)
            local units = (first and last.units or 0) + cost
            local member = string.format("%016.0f:%.0f", units, cost)
            if not first then
                if stored or broken then redis.call("UNLINK", key) end  -- all of it is old
            else
                -- A long log that was left alone is cleared by and by: one call must not hold up all others.
                local old = redis.call("ZRANK", key, first.member)
                if old > 0 then redis.call("ZREMRANGEBYRANK", key, 0, min(old, 1000) - 1) end
            end
            redis.call("ZADD", key, whole(base), member)
            last = {member = member, units = units, cost = cost, time = base}
            first = first or last
            used = used + cost
            redis.call("PEXPIRE", key, whole(ttl_ms(until_empty())))
        end,
        keep = function() keep_key(key, stored, broken, until_empty()) end,
    }
end
