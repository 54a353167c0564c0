-- wrk's requests: GET for the keys k1..kN at random, or for k1 alone. Arguments: the path before and after the key's
-- number, N, a seed.
local before, after, count

function init(args)
    before = "GET " .. args[1]
    after = args[2] .. " HTTP/1.1\r\nHost: " .. wrk.host .. "\r\n\r\n"
    count = tonumber(args[3])
    math.randomseed(tonumber(args[4]))
end

function request()
    return before .. math.random(count) .. after
end
