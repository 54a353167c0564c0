-- What every algorithm shares: the clock, the arguments, numbers as text. It makes no decision.
--
-- This file, one file for each algorithm and decide.lua are joined into one script, which Redis runs as a whole: no
-- other command comes in between, so that two servers never spend the same token.
--
--   KEYS[n]   the key of limit n
--   ARGV[1]   cost of the request
--   ARGV[2]   "take", "now" (take, but only what need not wait), "peek" (take nothing) or "look" (write nothing at all)
--   ARGV[3]   longest delay to hold a request for, 0 for none
--   then for each limit: the name of its algorithm and three parameters (unused ones 0)
--   last      optional: the time, for tests
--
-- Quantities are whole millionths ("micro-units": 1.5 tokens are 1500000) and times are whole microseconds. A Lua
-- number is a double, exact for whole numbers up to 9e15, so nothing is ever rounded by accident.

local UNIT = 1000000  -- micro-units in one unit
local EXACT = 9e15    -- whole numbers up to here are exact

local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

-- name -> function(key, parameter, parameter, parameter). It reads the key, changes nothing, and returns a table of
--   wait(cost)   microseconds until this cost fits; 0 if it fits now
--   fits()       how much fits now
--   take(cost)   takes it and writes the state
--   keep()       what a request that takes nothing may write all the same; when, says decide.lua
local algorithms = {}

-- Argument number i, which must be a whole number that is exact. Everything is checked before anything is written.
local function argument(i)
    local value = tonumber(ARGV[i])
    if not (value and value >= 0 and value <= EXACT and value == floor(value)) then
        error("argument " .. i .. " must be a whole number, got " .. tostring(ARGV[i]))
    end
    return value
end

-- Redis's clock, not the caller's, so that servers whose clocks differ agree. It is read once: two readings in one
-- script differ.
local function read_clock()
    local given = 4 + 4 * #KEYS
    if ARGV[given] then return argument(given) end
    local time = redis.call("TIME")
    return time[1] * 1000000 + time[2]
end
local now = read_clock()

-- What delayed requests took in advance, up to this long, is a promise and is never cut.
local max_delay = argument(3)

-- A whole number as text. tostring() and .. keep only 14 digits.
local function whole(value)
    return string.format("%.0f", value)
end

-- Micro-units as a decimal for people to read in redis-cli: 7000000 is "7", 7500000 is "7.5".
local function decimal(micro)
    if micro % UNIT == 0 then return whole(micro / UNIT) end
    return (string.gsub(string.format("%.6f", micro / UNIT), "0+$", ""))
end

-- A stored number as this script would have written it, or nil: text that is no number, "nan", "inf", out of range.
local function stored_number(text, scale, lowest, highest)
    local value = tonumber(text)
    if not value then return nil end
    value = value * scale
    value = floor(value) + (value % 1 >= 0.5 and 1 or 0)  -- adding 0.5 itself would round above 2^52
    if value >= lowest and value <= highest then return value end  -- never true of nan
    return nil
end

-- Runs a command that reads. The second result tells that the key is of another type: it is of no use to anybody,
-- and take() or keep() must delete it.
local function read(command, key, ...)
    local reply = redis.pcall(command, key, ...)
    if type(reply) ~= "table" or not reply.err then return reply, false end
    -- Any other error (a missing permission, say) is passed on. Taking it for an empty key would let everybody in.
    if string.sub(reply.err, 1, 9) ~= "WRONGTYPE" then error(reply.err, 0) end
    return {}, true
end

-- Reads two fields of a hash as text. The third result tells that the key holds something else than such a hash.
local function read_fields(key, first, second)
    local reply, broken = read("HMGET", key, first, second)
    if reply[1] and reply[2] then return reply[1], reply[2], false end
    return nil, nil, broken or (reply[1] or reply[2]) and true or false
end

-- Milliseconds that a state must be kept for. Redis counts a TTL in milliseconds; rounding down would forget too soon.
local function ttl_ms(microseconds)
    return max(1, ceil(microseconds / 1000))
end

-- For keep(): the key lives at least this long, and what is of no use goes. A key that nobody gave a TTL (PERSIST)
-- gets one.
local function keep_key(key, stored, broken, microseconds)
    if broken then
        redis.call("DEL", key)
    elseif stored then
        local left = redis.call("PTTL", key)
        -- Redis keeps a key until the millisecond after its last is over.
        local enough = left >= 0 and (left + 1) * 1000 - now % 1000 >= microseconds
        if left >= -1 and not enough then redis.call("PEXPIRE", key, whole(ttl_ms(microseconds))) end
    end
end
