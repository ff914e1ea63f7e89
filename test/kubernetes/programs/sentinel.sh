#!/bin/sh
# A Sentinel that knows all servers by their host names, because a pod that restarts gets another address.
set -eu
[ -f /data/sentinel.conf ] || cat > /data/sentinel.conf <<END
port 26379
bind 0.0.0.0
dir /data
requirepass $SENTINEL_PASSWORD
sentinel sentinel-pass $SENTINEL_PASSWORD
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $HOSTNAME.sentinel.$NAMESPACE.svc.cluster.local
sentinel announce-port 26379
sentinel monitor events redis-0.redis.$NAMESPACE.svc.cluster.local 6379 2
sentinel auth-pass events $PASSWORD
sentinel down-after-milliseconds events 5000
sentinel failover-timeout events 20000
END
exec redis-server /data/sentinel.conf --sentinel
