-- Fixed window: at most `limit` requests in a window, which opens with the first request and lasts `window`.
--
-- The simplest of all. A burst at the end of one window and another at the beginning of the next may follow each
-- other closely: nearly 2 * limit in a short time.
-- State: a hash of `count` and `window_start`. No key means that no window is open.

function algorithms.fixed_window(key, limit, window)
    local count, window_start = 0, now

    local count_text, start_text, broken = read_fields(key, "count", "window_start")
    local stored = count_text ~= nil
    if stored then
        local stored_count = stored_number(count_text, UNIT, 0, 1e9 * UNIT)
        local stored_start = stored_number(start_text, 1, 0, EXACT)
        broken = not (stored_count and stored_start)
        -- It counts unless it is over, or begins further ahead than can be true.
        if not broken and now - stored_start < window and stored_start - now <= window then
            count = min(stored_count, limit)  -- the limit may have become smaller
            window_start = stored_start
        end
    end

    local function until_over()
        return window_start - now + window
    end

    return {
        wait = function(cost) return count + cost <= limit and 0 or until_over() end,
        fits = function() return limit - count end,
        take = function(cost)
            count = count + cost
            if broken then redis.call("DEL", key) end
            redis.call("HSET", key, "count", decimal(count), "window_start", whole(window_start))
            -- Not renewed: what was left of the window is left of it still.
            redis.call("PEXPIRE", key, whole(ttl_ms(until_over())))
        end,
        keep = function() keep_key(key, stored, broken, count > 0 and until_over() or 0) end,
    }
end
