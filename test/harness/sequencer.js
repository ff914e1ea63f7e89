const { sep } = require("node:path");
const Sequencer = require("@jest/test-sequencer").default;

/**
 * The slowest files of each suite, slowest first, each identified by a part of its path. The order affects only how
 * long a run takes. At the end, each run prints its ten slowest files.
 */
const SLOWEST = [
  "test/monitoring/alerts",
  "test/e2e/migrate",
  "test/local/start-chats",
  "test/docs/site",
  "kit/test/package/types",
  "kit/game/test/package/types",
  "test/upgrade/upgrade.",
  "test/upgrade/side-by-side",
  "test/odd-answers/template",
  "test/odd-answers/kit",
  "test/odd-answers/demo-chat",
  "test/odd-answers/cli-listen",
  "test/odd-answers/guide",
  "test/docs/game-service-guide",
  "test/cli/cli-re-encrypt",
  "test/local/start.",
  "test/browser/dashboard-away",
  "test/browser/demo-chat-thumb",
  "test/local/sudden-end",
  "test/browser/dashboard-connect",
  "test/setup/proxy",
  "kit/test/check/check-command",
  "kit/test/check/check-pollers",
  "test/browser/demo-chat-page",
  "kit/test/package/template",
  "test/scripts/run-jest",
  "test/browser/api-reference",
  "test/faults/hostile",
  "test/faults/processes",
  "test/faults/failover",
  "bridges/test/odd-answers",
  "irc/test/game",
  "synapse/game",
  "synapse/check",
  "irc/test/check",
  "synapse/rooms",
  "irc/test/stop",
  "test/e2e/operator-events",
  "kit/game/test/e2e/start",
  "kit/game/test/e2e/grpc-link.",
  "test/e2e/test-shares",
  "test/e2e/follow-groups",
  "test/e2e/hostile-connections",
  "test/e2e/full-redis",
  "test/e2e/outage-mail",
  "test/e2e/rolling-restart",
  "test/store/sentinel",
  "test/e2e/inbound-outage",
  "test/e2e/scale",
  "test/e2e/unreadable-secrets",
  "test/e2e/redis-topologies",
  "test/e2e/graceful-stop",
  "test/e2e/crash",
  "kit/test/unit/hostile-text",
  "test/unit/follow-always",
].map((each) => each.replaceAll("/", sep));

/** Starts the slowest files first, so that all workers finish at about the same time. */
module.exports = class SlowestFirst extends Sequencer {
  sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- jest's method, which returns a new array
    return super.sort(tests).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
};

function rankOf({ path }) {
  const index = SLOWEST.findIndex((each) => path.includes(each));
  return index < 0 ? SLOWEST.length : index;
}
