-- Sliding window counter: at most `limit` requests in the `window` that ends now, as estimated from a few counts.
--
-- Time is cut into sub-windows, and each has one count. The window reaches back over `sub_windows` of them and, in
-- part, over one more: that one's count is weighted by the part of it still inside, as if its requests had been spread
-- evenly. With one sub-window this is the usual estimate from the current and the previous window.
-- State: a hash of the start of a sub-window -> its count. No key means that nothing is used.

function algorithms.sliding_window_counter(key, limit, window, sub_windows)
    limit, sub_windows = limit / UNIT, sub_windows / UNIT
    local sub = window / sub_windows
    if not (sub >= 1 and sub == floor(sub)) then error("a sub-window of parts of a microsecond") end
    -- A weight is a number of ticks of `ticks`, so that comparing stays a matter of whole numbers.
    local tick = ceil(sub / 1000000)
    local ticks = ceil(sub / tick)

    local reply, broken = read("HGETALL", key)
    local stored = #reply > 0
    local counts, newest = {}, -1  -- {field, start, count}
    for i = 1, #reply, 2 do
        local start = stored_number(reply[i], 1, 0, EXACT)
        local count = stored_number(reply[i + 1], 1, 0, 1e9)
        if not (start and count) then
            counts, newest, broken = {}, -1, true
            break
        end
        start = start - start % sub  -- the settings may have been others: it counts where it began
        newest = max(newest, start)
        counts[#counts + 1] = {field = reply[i], start = start, count = count}
    end
    local untrue = newest - now > window  -- further ahead than can be
    if untrue then counts, newest = {}, -1 end

    local base = max(now, newest)  -- the clock may have gone back
    local current = base - base % sub
    local passed = floor((base - current) / tick)  -- ticks of the current sub-window that are over

    -- What was used, by age in sub-windows: used[0] in the current one.
    local used, outdated = {}, {}
    for age = 0, sub_windows do used[age] = 0 end
    for _, entry in ipairs(counts) do
        local age = (current - entry.start) / sub
        if age <= sub_windows then used[age] = min(used[age] + entry.count, limit) end  -- it may have become smaller
        if age > sub_windows or (age == 0 and entry.field ~= whole(current)) then
            outdated[#outdated + 1] = entry.field
        end
    end

    local function whole_count()
        local sum = 0
        for age = 0, sub_windows - 1 do sum = sum + used[age] end
        return sum
    end

    -- Walks forward, a sub-window at a time, to the first tick at which
    --   (whole + cost) * ticks + old * (ticks - tick) <= limit * ticks
    local function wait(cost)
        local room = limit - ceil(cost / UNIT) - whole_count()
        for ahead = 0, sub_windows do
            local old = used[sub_windows - ahead]
            if room >= 0 then
                local first = ahead == 0 and passed or 0
                if old > 0 then first = max(first, ticks - floor(room * ticks / old)) end
                if ahead == 0 and first == passed then return 0 end
                if first < ticks then return current + ahead * sub + first * tick - now end
            end
            room = room + (used[sub_windows - 1 - ahead] or 0)  -- the next to be only in part inside
        end
        return current + (sub_windows + 1) * sub - now
    end

    -- Until the newest count has aged out.
    local function until_empty()
        for age = 0, sub_windows do
            if used[age] > 0 then return current + (sub_windows + 1 - age) * sub - now end
        end
        return 0
    end

    return {
        wait = wait,
        fits = function()
            local old = ceil(used[sub_windows] * (ticks - passed) / ticks)
            return max(0, limit - whole_count() - old) * UNIT
        end,
        take = function(cost)
            used[0] = used[0] + ceil(cost / UNIT)
            if broken or untrue then
                redis.call("DEL", key)
            elseif #outdated > 0 then
                redis.call("HDEL", key, unpack(outdated))
            end
            redis.call("HSET", key, whole(current), whole(used[0]))
            redis.call("PEXPIRE", key, whole(ttl_ms(until_empty())))
        end,
        keep = function() keep_key(key, stored, broken, until_empty()) end,
    }
end
