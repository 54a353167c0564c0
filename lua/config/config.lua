-- The configuration that all instances on this Redis share. It decides nothing about limits.
--
--   KEYS[1]  hash {version, nonce, document, forgets}: one document and whose it is. (version, nonce) is its
--            identity: the version counts, the nonce tells two documents of one version apart.
--            An empty document says that it was deleted: every instance uses the settings of its start.
--   ARGV[1]  read:  [2] version, [3] nonce that the caller has; replies with the document if it is another
--            write: [2] version, [3] nonce that must still be there ('0', '' for none),
--                   [4] version, [5] nonce, [6] document to put in their place, [7] channel that tells of it
--   KEYS[1]  sorted set of instances by the time of their last sign of life
--            alive: [2] the instance, [3] ms after which one counts as gone, [4] channel that tells of a new one
--
-- Replies: read {state, version, nonce, forgets, document or ''}; write {'written'}, or as read if something
-- else is there; alive: the number of instances.

local VERSION_DIGITS = 15 -- what a double holds exactly
local NONCE_MAX = 32

-- What is there: 'none', 'whole', or 'damaged' when a field is missing or makes no sense.
local function look(key)
    local found = redis.call('HMGET', key, 'version', 'nonce', 'forgets')
    local version, nonce, forgets = found[1], found[2], found[3] or '0'
    local document = redis.call('HEXISTS', key, 'document') == 1
    if not version and not nonce and not document then
        return 'none', '0', '', forgets
    end
    if not version or not nonce or not document
        or #version > VERSION_DIGITS or not string.find(version, '^[1-9]%d*$')
        or #nonce > NONCE_MAX or not string.find(nonce, '^%x+$') then
        return 'damaged', '0', '', forgets
    end
    return 'whole', version, nonce, forgets
end

local function reply(key, has_version, has_nonce)
    local state, version, nonce, forgets = look(key)
    local document = ''
    if state == 'whole' and not (version == has_version and nonce == has_nonce) then
        document = redis.call('HGET', key, 'document')
    end
    return {state, version, nonce, forgets, document}
end

local function write(key, version, nonce, new_version, new_nonce, document, channel)
    local _, there_version, there_nonce = look(key)
    if there_version ~= version or there_nonce ~= nonce then
        return reply(key, '', '')
    end
    redis.call('HSET', key, 'version', new_version, 'nonce', new_nonce, 'document', document)
    redis.pcall('PUBLISH', channel, new_version) -- who may not, or does not hear it, polls
    return {'written'}
end

local function alive(key, instance, gone_after, channel)
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local new = redis.call('ZADD', key, string.format('%.0f', now), instance)
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('(%.0f', now - gone_after))
    redis.call('ZREMRANGEBYSCORE', key, string.format('(%.0f', now + gone_after), '+inf') -- the clock was set back
    redis.call('PEXPIRE', key, 10 * gone_after)
    if new == 1 then
        redis.pcall('PUBLISH', channel, 'alive')
    end
    return redis.call('ZCARD', key)
end

if ARGV[1] == 'read' then
    return reply(KEYS[1], ARGV[2], ARGV[3])
elseif ARGV[1] == 'write' then
    return write(KEYS[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7])
end
return alive(KEYS[1], ARGV[2], tonumber(ARGV[3]), ARGV[4])
