-- Decides one request under several limits: it passes if every limit lets it, and takes from all or from none.
--
-- Reply: as in decide_one.lua, the time, and then three numbers for each limit. The limit that lets the request wait
-- longest decides.

local limits, due = {}, 0
for n = 1, #KEYS do
    local name = ARGV[options + 2 + n]
    local algorithm = algorithms[name]
    if not algorithm then error("no algorithm " .. tostring(name)) end
    local limit, cost, second, third = {}
    cost, limit.size, second, third = whole(ARGV[1], ARGV[3 * n - 1], ARGV[3 * n], ARGV[3 * n + 1])
    limit.left, limit.wait, limit.take, limit.found = algorithm(KEYS[n], limit.size, second, third)
    limit.due = limit.wait(cost)
    due = math.max(due, limit.due)
    limits[n] = limit
end

local cost = whole(ARGV[1], 0, 0, 0)
local admitted = due <= (mode == "now" and 0 or max_delay)
local reply = {now}

for n = 1, #KEYS do
    local limit, key = limits[n], KEYS[n]
    if admitted and (mode == "take" or mode == "now") then
        if limit.found ~= "state" then redis.call("DEL", key) end  -- another algorithm may have used it
        limit.left = limit.take(cost)
        redis.call("PEXPIRE", key, math.ceil(limit.wait(limit.size) / 1000))
    elseif mode ~= "look" then
        mend(key, limit.found, limit.wait(limit.size))
    end
    local left = math.max(0, math.floor(limit.left / UNIT))
    reply[#reply + 1] = limit.due
    reply[#reply + 1] = left
    reply[#reply + 1] = left < limit.size / UNIT and limit.wait((left + 1) * UNIT) or 0
end

return reply
