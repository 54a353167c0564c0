-- Decides one request under all of its limits: it passes if every limit lets it, and takes from all or from none.
--
-- Reply, whole numbers only: the time, 1 if admitted, how long to hold the request (or, if denied, how long until it
-- fits), then for each limit: whole units left, microseconds until one more, until this cost fits, until a cost of 1.

local cost, mode = argument(1), ARGV[2]
local limits, due = {}, 0
local longest = mode == "now" and 0 or max_delay  -- nobody could hold it for longer

for n = 1, #KEYS do
    local at = 4 * n
    local algorithm = algorithms[ARGV[at]]
    if not algorithm then error("no algorithm " .. tostring(ARGV[at])) end
    local limit = algorithm(KEYS[n], argument(at + 1), argument(at + 2), argument(at + 3))
    limit.units = argument(at + 1) / UNIT  -- the first parameter is always how much fits at most
    limit.due = limit.wait(cost)
    due = max(due, limit.due)
    limits[n] = limit
end

local admitted = due <= longest
local reply = {now, admitted and 1 or 0, due}

-- From here on things are written. A denial and a peek write nothing, but for two exceptions: a TTL that is shorter
-- than the state now needs (the rate became slower) is lengthened, and a key that holds nonsense is deleted.
for n = 1, #limits do
    local limit = limits[n]
    if admitted and (mode == "take" or mode == "now") then
        limit.take(cost)
    elseif mode ~= "look" then
        limit.keep()
    end
    local remaining = floor(limit.fits() / UNIT)
    local at = 4 * n
    reply[at] = remaining
    reply[at + 1] = remaining < limit.units and limit.wait((remaining + 1) * UNIT) or 0
    reply[at + 2] = admitted and 0 or max(0, limit.due - longest)
    reply[at + 3] = max(0, limit.wait(UNIT) - longest)
end

return reply
