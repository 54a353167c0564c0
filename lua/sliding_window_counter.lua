-- Sliding window counter: at most `limit` requests in the `window` that ends now, as estimated from a few counts.
--
-- Time is cut into sub-windows, and each has one count. The window reaches back over `sub_windows` of them and, in
-- part, over one more: that one's count is weighted by the part of it still inside, as if its requests had been spread
-- evenly. With one sub-window this is the usual estimate from the current and the previous window.
-- State: a hash of the start of a sub-window -> its count. No key means that nothing is used.

local function sliding_window_counter(key, limit, window, sub_windows)
    limit, sub_windows = limit / UNIT, sub_windows / UNIT
    local sub = window / sub_windows
    if not (sub >= 1 and sub == math.floor(sub)) then error("a sub-window of parts of a microsecond") end
    -- A weight is a number of ticks of `ticks`, so that comparing stays a matter of whole numbers.
    local tick = math.ceil(sub / 1000000)
    local ticks = math.ceil(sub / tick)

    local fields = checked(redis.pcall("HGETALL", key))
    local found = fields.other_type and "nonsense" or #fields > 0 and "state" or "nothing"
    local counts, newest = {}, -1  -- {field, start, count}
    for i = 1, #fields, 2 do
        local start, count = tonumber(fields[i]), tonumber(fields[i + 1])
        if not (start and start >= 0 and start <= EXACT and start % 1 == 0
            and count and count >= 0 and count <= 1e9 and count % 1 == 0) then
            counts, newest, found = {}, -1, "nonsense"
            break
        end
        start = start - start % sub  -- the settings may have been others: it counts where it began
        newest = math.max(newest, start)
        counts[#counts + 1] = {field = fields[i], start = start, count = count}
    end
    local untrue = newest - now > window  -- further ahead than can be
    if untrue then counts, newest = {}, -1 end

    local base = math.max(now, newest)  -- the clock may have gone back
    local current = base - base % sub
    local current_field = string.format("%.0f", current)
    local passed = math.floor((base - current) / tick)  -- ticks of the current sub-window that are over

    -- What was used, by age in sub-windows: used[0] in the current one.
    local used, outdated = {}, {}
    for age = 0, sub_windows do used[age] = 0 end
    for _, entry in ipairs(counts) do
        local age = (current - entry.start) / sub
        -- The limit may have become smaller.
        if age <= sub_windows then used[age] = math.min(used[age] + entry.count, limit) end
        if age > sub_windows or (age == 0 and entry.field ~= current_field) then
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
        local room = limit - math.ceil(cost / UNIT) - whole_count()
        for ahead = 0, sub_windows do
            local old = used[sub_windows - ahead]
            if room >= 0 then
                local first = ahead == 0 and passed or 0
                if old > 0 then first = math.max(first, ticks - math.floor(room * ticks / old)) end
                if ahead == 0 and first == passed then return 0 end
                if first < ticks then return current + ahead * sub + first * tick - now end
            end
            room = room + (used[sub_windows - 1 - ahead] or 0)  -- the next to be only in part inside
        end
        return current + (sub_windows + 1) * sub - now
    end

    local function left()
        local old = math.ceil(used[sub_windows] * (ticks - passed) / ticks)
        return (limit - whole_count() - old) * UNIT
    end

    local function take(cost)
        used[0] = used[0] + math.ceil(cost / UNIT)
        if untrue then
            redis.call("DEL", key)
        elseif found == "state" and #outdated > 0 then
            redis.call("HDEL", key, unpack(outdated))
        end
        redis.call("HSET", key, current_field, used[0])
        return left()
    end

    return left(), wait, take, found
end
