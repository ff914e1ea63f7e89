#!/usr/bin/env bash
# Replaces the containers of docker-compose.yml with those of a new release, without losing a request. See --help.
set -euo pipefail

help() {
  cat <<'HELP'
usage: deploy/compose/roll.sh [--no-build]

Upgrades a running installation. For each core, then for each edge, the script starts an additional container, waits until
it is healthy and the proxy uses it, and stops the old container. Then the script replaces the dashboard, the game and the
chat, each of which is unavailable for some seconds. Containers that are up to date stay.

  --no-build   use the image CHAT_BRIDGE_IMAGE as it is, e.g. a published image that was pulled before

Old and new cores run at the same time. If the new release stores its data in another format, all cores must stop first: the
script then changes nothing, and names the page with the commands. Read the upgrade notes in CHANGELOG.md first.

The script does not replace Redis, the proxy and the mail catcher. After an interruption or a failure, run it again.
COMPOSE_PROJECT_NAME, COMPOSE_FILE and .env apply as for docker compose. Exit codes: 0 done, 1 failed, 64 wrong usage.
HELP
}

# Maximum seconds until a new container is healthy, and until the proxy uses the container.
readonly HEALTHY_WITHIN=180 PROXIED_WITHIN=30
# Seconds until all edges have looked up core's addresses again, which each edge does every 30 seconds.
readonly KNOWN_WITHIN=40

say() { printf '%s roll: %s\n' "$(date -u +%H:%M:%S)" "$*"; }
fail() { say "$*" >&2; exit 1; }

containers() { docker compose ps --quiet --no-trunc "$1"; }
health() { docker inspect --format '{{.State.Health.Status}}' "$1" 2>/dev/null || echo removed; }
healthy() { local id; for id in "$@"; do [ "$(health "$id")" != healthy ] || echo "$id"; done; }

# Prints the containers of a service that were not created from the current image and settings ("old"), or the rest
# ("new").
which_are() {
  local state=$1 service=$2 hash id is
  hash=$(docker compose config --hash "$service" | cut -d ' ' -f 2)
  for id in $(containers "$service"); do
    is=$(docker inspect --format '{{.Image}} {{index .Config.Labels "com.docker.compose.config-hash"}}' "$id")
    if [ "$is" = "$image_id $hash" ]; then is=new; else is=old; fi
    [ "$is" != "$state" ] || echo "$id"
  done
}

# Prints the number of containers to which the proxy sends requests for a service.
proxied() {
  docker compose exec -T proxy bash -c \
    'exec 3<>/dev/tcp/127.0.0.1/8081 && printf "GET /ready HTTP/1.0\r\n\r\n" >&3 && tail -n 1 <&3' \
    | grep -o "$1 [0-9]*" | cut -d ' ' -f 2
}

wait_for() { # seconds, then a command
  local until=$((SECONDS + $1)); shift
  until "$@"; do [ $SECONDS -lt $until ] || return 1; sleep 0.5; done
}
all_healthy() { [ "$(healthy "$@" | wc -l)" -eq $# ]; }
proxy_has() { [ "$(proxied "$1")" -ge "$2" ]; }

# Fails if cores of the new image cannot use the data in Redis: they would exit, one after another.
check_format() {
  local found status=0
  found=$(docker compose run --rm --no-deps -T core --env-file=/secrets/core/core.env dist/core/main.js migrate --check 2>&1) || status=$?
  case $status in
    0) ;;
    78) fail "the new release stores its data in another format: follow docs/upgrade.md#between-formats; nothing was changed" ;;
    *) fail "cannot read the format of the data: $found" ;;
  esac
}

# Replaces all old containers of a service behind the proxy. New containers start before the old containers stop.
double() {
  local service=$1 old new serving wanted id
  mapfile -t old < <(which_are old "$service")
  mapfile -t new < <(which_are new "$service")
  if [ ${#old[@]} -eq 0 ]; then
    [ ${#new[@]} -gt 0 ] || fail "no container of $service runs: start it with docker compose up --detach"
    return 0
  fi
  # If an earlier run was interrupted, some old containers may be gone, and some new containers may already exist.
  serving=$(healthy "${old[@]}" | wc -l)
  wanted=$((serving > ${#new[@]} ? serving : ${#new[@]}))
  wanted=$((wanted > 0 ? wanted : 1))
  say "$service: starts $((wanted - ${#new[@]})) containers beside ${#old[@]} old containers"
  docker compose up --detach --no-deps --no-recreate --no-build --scale "$service=$((${#old[@]} + wanted))" "$service" 2>&1 \
    | sed 's/^/  /'
  mapfile -t new < <(which_are new "$service")
  [ ${#new[@]} -ge "$wanted" ] || fail "$service: ${#new[@]} of $wanted new containers run; the old containers still run"
  wait_for "$HEALTHY_WITHIN" all_healthy "${new[@]}" || give_up "$service" "are not healthy" "${new[@]}"
  wait_for "$PROXIED_WITHIN" proxy_has "$service" $((serving + wanted)) || give_up "$service" "are not used by the proxy" "${new[@]}"
  if [ "$service" = core ]; then
    say "core: waits $KNOWN_WITHIN seconds, until the edges use the new containers"
    sleep "$KNOWN_WITHIN"
  fi
  for id in "${old[@]}"; do
    say "$service: stops ${id:0:12}"
    docker stop "$id" >/dev/null
    docker rm "$id" >/dev/null
  done
  say "$service: $wanted new containers run"
}

give_up() {
  local service=$1 why=$2
  shift 2
  docker logs --tail 5 "$1" >&2 || true
  docker rm --force "$@" >/dev/null
  fail "$service: the new containers $why, and were removed; the old containers still run"
}

# Replaces the only container of a service.
replace() {
  local service=$1 old new
  mapfile -t old < <(which_are old "$service")
  if [ ${#old[@]} -eq 0 ]; then return 0; fi
  say "$service: replaces the container"
  docker compose up --detach --no-deps --no-build "$service" 2>&1 | sed 's/^/  /'
  mapfile -t new < <(containers "$service")
  wait_for "$HEALTHY_WITHIN" all_healthy "${new[@]}" || fail "$service: the new container is not healthy: see docker compose logs $service"
}

build=yes
for argument in "$@"; do
  case $argument in
    --help) help; exit 0 ;;
    --no-build) build=no ;;
    *) help >&2; exit 64 ;;
  esac
done

cd "$(dirname "$0")/../.."
proxy_has edge 1 || fail "the proxy uses no edge: start the service with docker compose up --detach"
if [ $build = yes ]; then
  say "builds the image"
  docker compose build secrets
fi
image=$(docker compose config --images secrets)
image_id=$(docker image inspect --format '{{.Id}}' "$image") || fail "there is no image $image: pull it, or leave out --no-build"
docker compose run --rm --no-deps -T secrets
check_format
double core
double edge
for service in dashboard game chat; do replace "$service"; done
say "done: all containers run $image"
