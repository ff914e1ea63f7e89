#!/bin/sh
# A Redis server that Sentinels monitor. The first start makes redis-0 the master; later, the Sentinels name the master.
set -eu
export REDISCLI_AUTH="$SENTINEL_PASSWORD"
me="$HOSTNAME.redis.$NAMESPACE.svc.cluster.local"

masterBySentinels() {
  timeout 2 redis-cli -h sentinel -p 26379 --no-auth-warning sentinel get-master-addr-by-name events 2> /dev/null | head -n 1
}

master=$(masterBySentinels || true)
# An empty server must never be the master: the replicas would copy its emptiness. So it waits for the failover.
if [ ! -d /data/appendonlydir ]; then
  while [ "$master" = "$me" ]; do
    echo "waiting until the Sentinels replace $me, whose data is lost"
    sleep 1
    master=$(masterBySentinels || true)
  done
fi
case "$master" in *.*) ;; *) master="redis-0.redis.$NAMESPACE.svc.cluster.local" ;; esac
set -- --port 6379 --bind 0.0.0.0 --dir /data --requirepass "$PASSWORD" --masterauth "$PASSWORD" \
  --appendonly yes --appendfsync always --save "" --maxmemory 256mb --maxmemory-policy noeviction \
  --min-replicas-to-write 1 --min-replicas-max-lag 5 --repl-diskless-sync-delay 0 \
  --replica-announce-ip "$me"
[ "$master" = "$me" ] || set -- "$@" --replicaof "$master" 6379
exec redis-server "$@"
