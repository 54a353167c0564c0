-- What every algorithm shares: the arguments, the clock, reading a hash. It makes no decision.
--
-- Each algorithm has a script of its own, for requests under one limit: this file, the algorithm's and decide_one.lua.
-- One more script, of this file, all algorithms and decide_several.lua, is for requests under several limits. Redis
-- runs a script as a whole: no other command comes in between, so that two servers never spend the same token.
--
--   KEYS[n]   the key of limit n
--   ARGV      cost of the request; three parameters of each limit (unused ones 0); then, if need be,
--             "take" (the default), "now" (take, but only what need not wait), "peek" (take nothing) or "look" (write
--             nothing at all); longest delay to hold a request for, 0 (the default) for none; the time, for tests
--             ("": Redis's); and for several limits the name of each one's algorithm
--
-- Quantities are whole millionths ("micro-units": 1.5 tokens are 1500000) and times are whole microseconds. A Lua
-- number is a double, exact for whole numbers up to 9e15, so nothing is ever rounded by accident. Redis writes a number
-- that is an argument of a command with all its digits; tostring() and .. keep only 14.
--
-- Redis runs all of this text for each request, and each function and each local that a function uses is made anew for
-- it, so there are few of either: see "The scripts" in docs/performance.md. Calls cost, too: x - x % 1 is math.floor(x)
-- and x + -x % 1 is math.ceil(x), for negative numbers as well.

local UNIT = 1000000  -- micro-units in one unit
local EXACT = 9e15    -- whole numbers up to here are exact

-- Arguments as numbers. They must be whole, and exact; everything is checked before anything is written.
local function whole(a, b, c, d)
    a, b, c, d = a + 0, b + 0, c + 0, d + 0
    if a >= 0 and b >= 0 and c >= 0 and d >= 0 and a <= EXACT and b <= EXACT and c <= EXACT and d <= EXACT
        and a % 1 + b % 1 + c % 1 + d % 1 == 0 then
        return a, b, c, d
    end
    error("arguments must be whole numbers up to 9e15, got " .. table.concat(ARGV, " "))
end

local mode, max_delay, now = "take", 0, ""
local options = 3 * #KEYS + 2
if ARGV[options] then
    mode, max_delay, now = ARGV[options], whole(ARGV[options + 1], 0, 0, 0), ARGV[options + 2] or ""
end

-- Redis's clock, not the caller's, so that servers whose clocks differ agree. It is read once: two readings in one
-- script differ.
if now == "" then
    local time = redis.call("TIME")
    now = time[1] * 1000000 + time[2]
else
    now = whole(now, 0, 0, 0)
end

-- An algorithm is a function of a key and three parameters, of which the first is how much fits at most. It reads the
-- key, changes nothing, and returns
--   left         how much fits now
--   wait(cost)   microseconds until this cost fits; 0 if it fits now
--   take(cost)   takes it, writes the state, and returns what is left then
--   found        what the key holds: "nothing", "state", or "nonsense": something of no use to anybody
-- When all of the limit fits again, the state is that of a client who was never seen. So long the key lives.

-- The reply of a command that reads. Of a key of another type it is nothing but `other_type`.
local function checked(reply)
    if not reply.err then return reply end
    -- Any other error (a missing permission, say) is passed on. Taking it for an empty key would let everybody in.
    if string.sub(reply.err, 1, 9) ~= "WRONGTYPE" then error(reply.err, 0) end
    return {other_type = true}
end

-- A denial and a peek write nothing, but for two exceptions: a TTL that is missing, or shorter than the state now needs
-- (the rate became slower), is mended, and a key that holds nonsense is deleted.
local function mend(key, found, needed)
    if found == "nonsense" then
        redis.call("DEL", key)
    elseif found == "state" then
        local ttl = redis.call("PTTL", key)
        -- Redis keeps a key until the millisecond after its last is over.
        if ttl == -1 or ttl >= 0 and (ttl + 1) * 1000 - now % 1000 < needed then
            redis.call("PEXPIRE", key, math.max(1, math.ceil(needed / 1000)))
        end
    end
end
