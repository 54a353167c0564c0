-- Decides one request under one limit, by `algorithm`.
--
-- Reply, whole numbers only: the time; microseconds until this cost fits (0: it does; admitted is what need not wait
-- for longer than it may be held); whole units left; microseconds until one more.

local key = KEYS[1]
local cost, size, second, third = whole(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
local left, wait, take, found = algorithm(key, size, second, third)
local due = wait(cost)

if due <= (mode == "now" and 0 or max_delay) and (mode == "take" or mode == "now") then
    -- A limit that keeps its name keeps its key: what another algorithm left there must not be found again later.
    if found ~= "state" then redis.call("DEL", key) end
    left = take(cost)
    local ttl = wait(size) / 1000
    redis.call("PEXPIRE", key, ttl + -ttl % 1)
elseif mode ~= "look" then
    mend(key, found, wait(size))
end

left = (left - left % UNIT) / UNIT
if left < 0 then left = 0 end
return {now, due, left, left < size / UNIT and wait((left + 1) * UNIT) or 0}
