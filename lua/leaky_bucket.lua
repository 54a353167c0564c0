-- Leaky bucket: each request adds its cost to a bucket that leaks `rate` a second; what would overflow is refused.
--
-- The mirror image of the token bucket (what is full there is empty here), but for its even leak: each microsecond
-- some, where tokens come back in steps.
-- State: a hash of `level` and `last_leak`. No key means an empty bucket.

function algorithms.leaky_bucket(key, capacity, rate)
    -- The level is counted in drops, so small that a whole number of them leaks each microsecond. Of a drop, `drop`
    -- is the size in millionths of a micro-unit.
    local drop, rest = rate, UNIT
    while rest > 0 do drop, rest = rest, drop % rest end  -- Euclid: what divides both
    local drops_a_micro = UNIT / drop
    local drops_a_unit = UNIT * drops_a_micro
    local leak = rate / drop  -- drops a microsecond
    local full = capacity * drops_a_micro
    if not (full <= EXACT / 2) then error("a rate of too many decimals for this capacity") end
    -- Above `full` are requests that wait for their turn.
    local highest = min(full + leak * max_delay, EXACT / 2)

    -- "2.5", with up to twelve decimals, exactly.
    local function stored_level(text)
        local units, decimals = string.match(text, "^(%d+)%.?(%d*)$")
        units = stored_number(units, 1, 0, EXACT)
        if not units or #decimals > 12 then return nil end
        decimals = tonumber(decimals .. string.rep("0", 12 - #decimals))
        return min(units * drops_a_unit + ceil(decimals / drop), highest)  -- the capacity may have become smaller
    end

    local function level_text(level)
        local decimals = string.format(".%012.0f", level % drops_a_unit * drop)
        return whole(floor(level / drops_a_unit)) .. string.gsub(decimals, "%.?0+$", "")
    end

    local level, last_leak = 0, now

    local level_read, leak_read, broken = read_fields(key, "level", "last_leak")
    local stored = level_read ~= nil
    if stored then
        local before = stored_level(level_read)
        local since = stored_number(leak_read, 1, 0, EXACT)
        broken = not (before and since)
        if not broken and since - now <= ceil(full / leak) then  -- else further ahead than can be true
            local elapsed = max(0, now - since)  -- 0: the clock went back; nothing leaks twice
            if elapsed < ceil(before / leak) then
                level = before - elapsed * leak
                last_leak = max(since, now)
            end
        end
    end

    -- Microseconds until so many drops have leaked.
    local function until_leaked(drops)
        return drops <= 0 and 0 or last_leak - now + ceil(drops / leak)
    end

    return {
        wait = function(cost) return until_leaked(level + cost * drops_a_micro - full) end,
        fits = function() return max(0, floor((full - level) / drops_a_micro)) end,
        take = function(cost)
            level = level + cost * drops_a_micro
            if broken then redis.call("DEL", key) end
            redis.call("HSET", key, "level", level_text(level), "last_leak", whole(last_leak))
            redis.call("PEXPIRE", key, whole(ttl_ms(until_leaked(level))))
        end,
        keep = function() keep_key(key, stored, broken, until_leaked(level)) end,
    }
end
