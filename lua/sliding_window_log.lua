-- Sliding window log: at most `limit` requests in the `window` that ends now, exactly, because each is remembered.
--
-- State: a sorted set with one member for each request that was let through; its score is the time. A member is
-- "<units>:<cost>": all units so far, this request's included, and its own. So what a stretch of the log holds is a
-- difference of two members, and two requests of one microsecond are two members. No key means that nothing is used.

local function sliding_window_log(key, limit, window)
    limit = limit / UNIT

    -- The entry of a reply of one member with its score; nil if there is none or it is none.
    local function entry_of(reply)
        local units, cost = string.match(reply[1] or "", "^(%d+):(%d+)$")
        local entry = {member = reply[1], units = tonumber(units), cost = tonumber(cost), time = tonumber(reply[2])}
        if entry.cost and entry.cost >= 1 and entry.cost <= entry.units and entry.units <= EXACT
            and entry.time >= 0 and entry.time <= EXACT and entry.time % 1 == 0 then
            return entry
        end
    end

    -- The newest, and the oldest that is still in the window.
    local reply = checked(redis.pcall("ZRANGE", key, -1, -1, "WITHSCORES"))
    local last, first = entry_of(reply), nil
    local found = last and "state" or (reply[1] or reply.other_type) and "nonsense" or "nothing"
    local base = now
    if last and last.time - now <= window then  -- else further ahead than can be true
        base = math.max(now, last.time)  -- the clock may have gone back
        if last.time > base - window then
            local after = string.format("(%.0f", base - window)
            first = entry_of(redis.call("ZRANGEBYSCORE", key, after, "+inf", "WITHSCORES", "LIMIT", 0, 1))
            if not first then found = "nonsense" end
        end
    end
    local used = first and last.units - first.units + first.cost or 0
    if used < 0 then  -- a newest that is not
        first, used, found = nil, 0, "nonsense"
    end

    -- The oldest entry that makes enough room by leaving: then `most` units, or fewer, remain.
    local function leaver(most)
        if most <= 0 then return last end
        if last.units - first.units <= most then return first end
        local low, high = redis.call("ZRANK", key, first.member) + 1, redis.call("ZCARD", key) - 1
        while low < high do
            local middle = math.floor((low + high) / 2)
            local entry = entry_of(redis.call("ZRANGE", key, middle, middle, "WITHSCORES"))
            if entry and last.units - entry.units <= most then high = middle else low = middle + 1 end
        end
        return entry_of(redis.call("ZRANGE", key, low, low, "WITHSCORES")) or last
    end

    local function wait(cost)
        local most = limit - math.ceil(cost / UNIT)
        if used <= most then return 0 end
        if not first then return window end  -- more than ever fits
        return leaver(most).time - now + window
    end

    local function take(cost)
        cost = math.ceil(cost / UNIT)
        local units = (first and last.units or 0) + cost
        local member = string.format("%016.0f:%.0f", units, cost)
        if not first then
            if found == "state" then redis.call("UNLINK", key) end  -- all of it is old
        else
            -- A long log that was left alone is cleared by and by: one call must not hold up all others.
            local old = redis.call("ZRANK", key, first.member)
            if old > 0 then redis.call("ZREMRANGEBYRANK", key, 0, math.min(old, 1000) - 1) end
        end
        redis.call("ZADD", key, base, member)
        last = {member = member, units = units, cost = cost, time = base}
        first = first or last
        used = used + cost
        return (limit - used) * UNIT
    end

    return (limit - used) * UNIT, wait, take, found
end
