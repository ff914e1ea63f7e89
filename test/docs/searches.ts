/**
 * Queries that newcomers type into the site's search, each with the pages that answer it. The queries were written
 * before the search was tuned. Do not change them to words that the search finds: this would make the test worthless.
 */
export const SEARCHES: readonly (readonly [query: string, answers: readonly string[]])[] = [
  ["getting started", ["README.md"]],
  ["rate limit 429", ["docs/troubleshooting.md"]],
  ["how to write a bot for slack", ["docs/bridge-guide.md", "kit/README.md"]],
  ["signature invalid 401", ["docs/troubleshooting.md"]],
  ["rotate signing secret without downtime", ["docs/bridge-guide.md", "docs/operator-guide.md"]],
  ["run without docker systemd", ["docs/install.md"]],
  [
    "test my game",
    ["docs/game-service-guide.md", "docs/fake-core.md", "docs/games/typescript.md", "kit/game/README.md"],
  ],
  ["lost secrets key", ["docs/operator-guide.md", "docs/security.md", "docs/troubleshooting.md"]],
  ["redis maxmemory full", ["docs/redis.md"]],
  ["upgrade to a new release", ["docs/upgrade.md"]],
  ["order of messages push", ["docs/deliveries.md", "docs/bridge-guide.md"]],
  ["send failed events again", ["docs/deliveries.md", "docs/operator-guide.md"]],
  ["why is my bridge failing", ["docs/troubleshooting.md", "docs/deliveries.md"]],
  ["clock is wrong 409", ["docs/troubleshooting.md"]],
  ["python game example", ["docs/games/python.md"]],
  ["install on kubernetes", ["docs/kubernetes.md"]],
  ["backup and restore", ["docs/backup.md"]],
  ["verify webhook signature python", ["docs/bridge-guide.md"]],
  ["play in irc", ["bridges/irc/README.md"]],
  ["prometheus alerts", ["docs/alerts.md"]],
  ["delete a workspace", ["docs/cli.md", "docs/operator-guide.md"]],
  ["token permissions roles", ["docs/tokens.md"]],
  ["how many users can it handle", ["docs/scaling.md"]],
  ["button click event json", ["docs/events.md"]],
];
/** Minimum number of searches whose first result must be an answer. Four may fail, because pages change. */
export const FOUND_FIRST = 20;
