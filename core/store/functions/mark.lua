-- Changes the mark of the store (its number of shards and its format). KEYS: the key of the mark. ARGV: the mark that
-- this process last read or stored, the new mark. Returns 1, or 0 if another process has changed the mark meanwhile.
register('change_mark', function(keys, args)
  local stored = redis.call('GET', keys[1])
  if stored ~= args[1] and stored ~= args[2] then return 0 end
  redis.call('SET', keys[1], args[2])
  return 1
end, { 'allow-oom' })
