#!/bin/sh
# A server of a Redis Cluster. A pod that lost its data joins the cluster again, as a replica.
set -eu
export REDISCLI_AUTH="$PASSWORD"
others="redis-0 redis-1 redis-2 redis-3 redis-4 redis-5"

isMember() { redis-cli cluster info 2> /dev/null | grep -q '^cluster_known_nodes:[^1]'; }

join() {
  until redis-cli ping > /dev/null 2>&1; do sleep 1; done
  until isMember; do
    for other in $others; do
      [ "$other" != "$HOSTNAME" ] || continue
      redis-cli -h "$other.redis" cluster info 2> /dev/null | grep -q '^cluster_state:ok' || continue
      redis-cli --cluster add-node "$POD_IP:6379" "$other.redis:6379" --cluster-slave && return
    done
    sleep 2
  done
}

join &
exec redis-server --port 6379 --bind 0.0.0.0 --dir /data --requirepass "$PASSWORD" --masterauth "$PASSWORD" \
  --appendonly yes --appendfsync always --save "" --maxmemory 256mb --maxmemory-policy noeviction \
  --repl-diskless-sync-delay 0 --cluster-enabled yes --cluster-announce-ip "$POD_IP" \
  --cluster-node-timeout 5000 --cluster-require-full-coverage no --cluster-replica-validity-factor 0
