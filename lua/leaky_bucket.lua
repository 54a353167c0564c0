-- Leaky bucket: each request adds its cost to a bucket that leaks `rate` a second; what would overflow is refused.
--
-- The mirror image of the token bucket (what is full there is empty here), but for its even leak: each microsecond
-- some, where tokens come back in steps.
-- State: a hash of `level` and `last_leak`. No key means an empty bucket.

local function leaky_bucket(key, capacity, rate)
    -- The level is counted in drops, so small that a whole number of them leaks each microsecond. Of a drop, `drop`
    -- is the size in millionths of a micro-unit.
    local drop, rest = rate, UNIT
    while rest > 0 do drop, rest = rest, drop % rest end  -- Euclid: what divides both
    local drops_a_micro = UNIT / drop
    local drops_a_unit = UNIT * drops_a_micro
    local leak = rate / drop  -- drops a microsecond
    local full = capacity * drops_a_micro
    if not (full <= EXACT / 2) then error("a rate of too many decimals for this capacity") end
    local fields = checked(redis.pcall("HMGET", key, "level", "last_leak"))
    local level, last_leak, found = 0, tonumber(fields[2]), "state"
    local units, decimals = string.match(fields[1] or "", "^(%d+)%.?(%d*)$")  -- "2.5", with up to twelve decimals
    units = tonumber(units)
    if units and units <= EXACT and #decimals <= 12
        and last_leak and last_leak >= 0 and last_leak <= EXACT and last_leak % 1 == 0 then
        decimals = tonumber(decimals .. string.rep("0", 12 - #decimals))
        level = units * drops_a_unit + math.ceil(decimals / drop)
        -- The capacity may have become smaller. Above it are requests that wait for their turn.
        level = math.min(level, full + leak * max_delay, EXACT / 2)
    else
        found = (fields[1] or fields[2] or fields.other_type) and "nonsense" or "nothing"
        last_leak = now
    end

    local elapsed = math.max(0, now - last_leak)  -- 0: the clock went back; nothing leaks twice
    if elapsed >= math.ceil(level / leak)
        or last_leak - now > math.ceil(full / leak) then  -- further ahead than can be true
        level, last_leak = 0, now
    else
        level, last_leak = level - elapsed * leak, last_leak + elapsed
    end

    local function left()
        return math.floor((full - level) / drops_a_micro)
    end

    local function wait(cost)
        local above = level + cost * drops_a_micro - full
        return above <= 0 and 0 or last_leak - now + math.ceil(above / leak)
    end

    local function take(cost)
        level = level + cost * drops_a_micro
        local decimals = string.format(".%012.0f", level % drops_a_unit * drop)
        local text = string.format("%.0f", math.floor(level / drops_a_unit)) .. string.gsub(decimals, "%.?0+$", "")
        redis.call("HSET", key, "level", text, "last_leak", last_leak)
        return left()
    end

    return left(), wait, take, found
end
