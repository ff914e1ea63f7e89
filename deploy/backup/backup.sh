#!/bin/sh
# Backs up and restores the data of Redis, or the secrets that docker-compose.yml keeps. docs/backup.md describes the
# commands. Needs Redis 7 or later, or Valkey.
set -eu
umask 077

HELP='Usage: backup.sh <redis|secrets> <command>

  schedule                      writes a backup every BACKUP_EVERY until SIGTERM; keeps the newest BACKUP_KEEP
  now                           writes one backup
  list                          lists the backups, oldest first, with their sizes in bytes
  healthcheck                   fails if the newest backup is older than 2 x BACKUP_EVERY
  restore <name> [--overwrite]  puts a backup in place; <name> is a name of the list, or "latest"

Settings:
  BACKUPS          folder of the backups; default /backups
  BACKUP_EVERY     time between two backups, e.g. 90s, 30m, 6h or 1d; default 6h
  BACKUP_KEEP      number of backups to keep, 1 or more; default 28
  REDIS_ADDRESS    host:port; default redis:6379
  REDIS_AUTH_FILE  file with the password of Redis; default: no password
  REDIS_DATA       data folder of Redis, for restore; default /data
  KEPT_SECRETS     folder of the kept secrets; default /secrets/kept

Exit codes: 0 done, 1 failed, 64 unknown command, 78 invalid setting'

BACKUPS=${BACKUPS:-/backups}
BACKUP_EVERY=${BACKUP_EVERY:-6h}
BACKUP_KEEP=${BACKUP_KEEP:-28}
REDIS_ADDRESS=${REDIS_ADDRESS:-redis:6379}
REDIS_AUTH_FILE=${REDIS_AUTH_FILE:-}
REDIS_DATA=${REDIS_DATA:-/data}
KEPT_SECRETS=${KEPT_SECRETS:-/secrets/kept}

EX_USAGE=64
EX_CONFIG=78
RETRY_SECONDS=60
# Unfinished files of a killed run are removed after this time.
STALE_MINUTES=1440
# Maximum time for storing the time of a backup.
NOTE_SECONDS=10
# Maximum number of shards that core accepts (SHARDS).
SHARDS_MAX=1024

# The log levels are the same as in the other processes.
INFO=info
WARN=warn
ERROR=error

# log LEVEL MESSAGE [FIELD VALUE]... writes one JSON line. Quotes, backslashes and control characters are removed from
# values.
log() {
  line="{\"level\":\"$1\",\"time\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",\"process\":\"backup\",\"of\":\"$what\",\"msg\":\"$2\""
  shift 2
  while [ $# -gt 1 ]; do
    line="$line,\"$1\":\"$(printf %s "$2" | tr '\n\t' '  ' | tr -d '"\\[:cntrl:]' | tail -c 300)\""
    shift 2
  done
  printf '%s}\n' "$line"
}

# fail CODE MESSAGE
fail() {
  echo "backup.sh: $2" >&2
  exit "$1"
}

# Runs a command so that a signal interrupts it. The output of the command is in the file $output.
run() {
  "$@" >"$output" 2>&1 &
  child=$!
  wait "$child" && status=0 || status=$?
  child=
  return "$status"
}

stop() {
  trap - TERM INT
  if [ -n "$child" ]; then
    # SIGKILL, because a SIGTERM is lost if it arrives before the shell's new child has called exec.
    kill -s KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  fi
  if [ -n "$partial" ]; then rm -f "$partial"; fi
  # A signal is the normal end of the command `schedule`, but leaves any other command incomplete.
  if [ "$command" = schedule ]; then exit 0; fi
  exit 1
}

# seconds_of TEXT prints the number of seconds, e.g. 21600 for 6h.
seconds_of() {
  number=${1%[smhd]}
  case $number in '' | 0* | *[!0-9]* | ??????????*) return 1 ;; esac
  case $1 in
    *m) echo $((number * 60)) ;;
    *h) echo $((number * 3600)) ;;
    *d) echo $((number * 86400)) ;;
    *s) echo "$number" ;;
    *) return 1 ;;
  esac
}

newest() {
  found=
  for file in "$BACKUPS/$what"-*."$ending"; do found=$file; done
  [ -f "$found" ] && printf '%s\n' "$found"
}

# Prints the age of the newest backup in seconds; fails if there is no backup.
age_of_newest() {
  file=$(newest) || return 1
  age=$(($(date +%s) - $(stat -c %Y "$file")))
  # The clock may have stepped back since the backup.
  [ "$age" -ge 0 ] || age=0
  echo "$age"
}

redis_host=${REDIS_ADDRESS%:*}
redis_port=${REDIS_ADDRESS##*:}

# Reads the password again each time, because it may have been changed.
read_password() {
  [ -n "$REDIS_AUTH_FILE" ] || return 0
  REDISCLI_AUTH=$(cat "$REDIS_AUTH_FILE") || return 1
  export REDISCLI_AUTH
}

# note NAME SECONDS stores a time in Redis, where core reads it for its metrics: as `cb:NAME`, or, on a master of a
# cluster, as `:NAME` after the prefix of each shard of this master (core/store/keys.ts). A backup is complete without
# this time, so a failure is only logged.
note() {
  [ "$what" = redis ] || return 0
  note_commands "$1" "$2" >"$scratch/commands"
  timeout "$NOTE_SECONDS" redis-cli -h "$redis_host" -p "$redis_port" <"$scratch/commands" >"$output" 2>&1 ||
    echo "redis-cli failed" >>"$output"
  rm -f "$scratch/commands"
  # A master answers MOVED for the shards of other masters, and an empty line for shards that do not exist.
  if reason=$(grep -v -e '^OK$' -e '^[01]$' -e '^MOVED ' -e '^$' "$output"); then
    log "$WARN" "the time of a backup could not be stored, so metrics do not show it" reason "$reason"
  fi
}

# A complete backup also ends the failure of an earlier one.
note_commands() {
  if ! is_cluster; then
    echo "SET cb:$1 $2"
    [ "$1" != backup ] || echo "DEL cb:backupfailed"
    return
  fi
  script="if redis.call('EXISTS', KEYS[1]) == 0 then return end redis.call('SET', KEYS[2], ARGV[1])"
  script="$script if KEYS[3] then redis.call('DEL', KEYS[3]) end return 1"
  shard=0
  while [ "$shard" -lt "$SHARDS_MAX" ]; do
    keys="cb:{s$shard}:statechecks cb:{s$shard}:$1"
    if [ "$1" = backup ]; then keys="3 $keys cb:{s$shard}:backupfailed"; else keys="2 $keys"; fi
    echo "EVAL \"$script\" $keys $2"
    shard=$((shard + 1))
  done
}

is_cluster() {
  timeout "$NOTE_SECONDS" redis-cli -h "$redis_host" -p "$redis_port" info cluster 2>/dev/null |
    grep -q '^cluster_enabled:1'
}

# take FILE writes a copy of the data to FILE.
take() {
  case $what in
    redis)
      read_password || return 1
      # As for a new replica, Redis sends a point-in-time snapshot, which includes its functions.
      run redis-cli -h "$redis_host" -p "$redis_port" --rdb "$1"
      ;;
    secrets) run cp "$KEPT_SECRETS/settings.json" "$1" ;;
  esac
}

# verify FILE fails if the backup is not complete.
verify() {
  case $what in
    redis) run redis-check-rdb "$1" ;;
    secrets) run grep -q '"secretsKey": *"[^"]' "$1" && [ "$(tail -n 1 "$1")" = "}" ] ;;
  esac
}

write_backup() {
  begun=$(date +%s)
  name=$what-$(date -u +%Y%m%dT%H%M%SZ).$ending
  partial=$BACKUPS/.$name.$$.partial
  if take "$partial" && verify "$partial" && sync "$partial" && mv "$partial" "$BACKUPS/$name"; then
    partial=
    sync "$BACKUPS"
    size=$(stat -c %s "$BACKUPS/$name")
    log "$INFO" "a backup was written" file "$name" bytes "$size" seconds $(($(date +%s) - begun))
    # The copy contains what Redis contained when the backup began.
    note backup "$begun"
    prune
  else
    rm -f "$partial"
    partial=
    log "$ERROR" "a backup could not be written" reason "$(cat "$output")"
    # Usually, the time cannot be stored for the reason that is already in the log.
    note backupfailed "$(date +%s)" >/dev/null
    return 1
  fi
}

prune() {
  find "$BACKUPS" -name ".$what-*.partial" -mmin "+$STALE_MINUTES" -exec rm -f {} +
  set -- "$BACKUPS/$what"-*."$ending"
  while [ $# -gt "$BACKUP_KEEP" ]; do
    rm -f "$1"
    log "$INFO" "an old backup was removed" file "${1##*/}"
    shift
  done
}

schedule() {
  log "$INFO" "backups are scheduled" every "$BACKUP_EVERY" keep "$BACKUP_KEEP"
  while :; do
    # The time of the next backup does not depend on restarts.
    if age=$(age_of_newest) && [ "$age" -lt "$every" ]; then
      pause=$((every - age))
    elif write_backup; then
      pause=$every
    else
      pause=$RETRY_SECONDS
      [ "$pause" -lt "$every" ] || pause=$every
    fi
    run sleep "$pause"
  done
}

list() {
  for file in "$BACKUPS/$what"-*."$ending"; do
    if [ -f "$file" ]; then echo "${file##*/} $(stat -c %s "$file")"; fi
  done
}

healthcheck() {
  age=$(age_of_newest) || fail 1 "there is no backup in $BACKUPS"
  [ "$age" -le $((every * 2)) ] || fail 1 "the newest backup is $age seconds old"
}

restore() {
  [ $# -ge 1 ] || fail "$EX_USAGE" "restore needs the name of a backup, or \"latest\""
  case ${2:-} in '' | --overwrite) ;; *) fail "$EX_USAGE" "unknown option $2" ;; esac
  if [ "$1" = latest ]; then
    file=$(newest) || fail 1 "there is no backup in $BACKUPS"
  else
    file=$BACKUPS/${1##*/}
  fi
  [ -f "$file" ] || fail 1 "there is no backup $file; \"list\" prints the names"
  [ -r "$file" ] || fail 1 "user $(id -un) may not read $file: change its owner"
  verify "$file" || fail 1 "$file is damaged: $(tail -n 3 "$output")"
  "restore_$what" "$file" "${2:-}"
  log "$INFO" "a backup was restored" file "${file##*/}"
}

# When Redis starts, it reads the append-only files that its manifest lists. The first of these files can be an RDB
# file. Renaming the manifest replaces the old data in one step.
restore_redis() {
  if redis-cli -h "$redis_host" -p "$redis_port" ping >/dev/null 2>&1; then
    fail 1 "Redis is running; stop the cores and Redis first"
  fi
  folder=$REDIS_DATA/appendonlydir
  if [ -e "$folder" ] || [ -e "$REDIS_DATA/dump.rdb" ]; then
    [ "$2" = --overwrite ] || fail 1 "$REDIS_DATA has data of Redis; to delete the data, add --overwrite"
  fi
  manifest=$folder/appendonly.aof.manifest
  sequence=$(date +%s)
  base=appendonly.aof.$sequence.base.rdb
  mkdir -p "$folder"
  cp "$1" "$folder/$base"
  printf 'file %s seq %s type b\n' "$base" "$sequence" >"$manifest.next"
  sync "$folder/$base" "$manifest.next"
  mv "$manifest.next" "$manifest"
  sync "$folder" "$REDIS_DATA"
  find "$folder" -type f ! -name "$base" ! -name "${manifest##*/}" -exec rm -f {} +
  rm -f "$REDIS_DATA/dump.rdb"
}

restore_secrets() {
  settings=$KEPT_SECRETS/settings.json
  if [ -f "$settings" ] && ! cmp -s "$1" "$settings" && [ "$2" != --overwrite ]; then
    fail 1 "$settings has other secrets; to delete these secrets, add --overwrite"
  fi
  cp "$1" "$settings.next"
  sync "$settings.next"
  mv "$settings.next" "$settings"
  sync "$KEPT_SECRETS"
}

case ${1:-} in
  redis) ending=rdb ;;
  secrets) ending=json ;;
  -h | --help)
    echo "$HELP"
    exit 0
    ;;
  *) fail "$EX_USAGE" "name redis or secrets; --help lists the commands" ;;
esac
what=$1
command=${2:-}
case $command in
  schedule | now | list | healthcheck | restore) shift 2 ;;
  *) fail "$EX_USAGE" "unknown command; --help lists the commands" ;;
esac
every=$(seconds_of "$BACKUP_EVERY") || fail "$EX_CONFIG" "invalid BACKUP_EVERY; give a time, e.g. 30m or 6h"
case $BACKUP_KEEP in
  '' | 0* | *[!0-9]* | ??????????*) fail "$EX_CONFIG" "invalid BACKUP_KEEP; give a number of 1 or more" ;;
esac
child=
partial=
scratch=$(mktemp -d)
output=$scratch/output
trap 'rm -rf "$scratch"' EXIT
trap stop TERM INT
case $command in now) write_backup ;; *) "$command" "$@" ;; esac
