-- Fixed window: at most `limit` requests in a window, which opens with the first request and lasts `window`.
--
-- The simplest of all. A burst at the end of one window and another at the beginning of the next may follow each
-- other closely: nearly 2 * limit in a short time.
-- State: a hash of `count` and `window_start`. No key means that no window is open.

local function fixed_window(key, limit, window)
    local fields = checked(redis.pcall("HMGET", key, "count", "window_start"))
    local count, window_start, found = tonumber(fields[1]), tonumber(fields[2]), "state"
    if count and count >= 0 and count <= 1e9
        and window_start and window_start >= 0 and window_start <= EXACT and window_start % 1 == 0 then
        count = math.floor(count * UNIT + 0.5)
        if count > limit then count = limit end  -- it may have become smaller
    else
        found = (fields[1] or fields[2] or fields.other_type) and "nonsense" or "nothing"
        count, window_start = 0, now
    end
    -- It is over, or begins further ahead than can be true.
    if now - window_start >= window or window_start - now > window then
        count, window_start = 0, now
    end

    local function wait(cost)
        return count + cost <= limit and 0 or window_start - now + window
    end

    local function take(cost)
        count = count + cost
        local text = count / UNIT
        if text % 1 ~= 0 then text = string.gsub(string.format("%.6f", text), "0+$", "") end
        redis.call("HSET", key, "count", text, "window_start", window_start)
        return limit - count
    end

    return limit - count, wait, take, found
end
