import { headingsOf } from "./markdown.mjs";

/** The kinds of readers, each with its pages in reading order. A pattern names all pages that match it. */
const READERS = [
  {
    title: "Bridge authors",
    does: "Connect a chat tool",
    details: "Report what members do, and show what games answer. In any language, or with the kit.",
    pages: [
      "docs/bridge-guide.md",
      "docs/answers/bridges.md",
      "docs/events.md",
      "docs/checks.md",
      "kit/README.md",
      "kit/template/README.md",
      /^bridges\/.*README\.md$/,
    ],
  },
  {
    title: "Game developers",
    does: "Write a game",
    details:
      "Follow the events of members, and publish messages with buttons, over gRPC. In any language, or with the kit.",
    pages: [
      "docs/games/typescript.md",
      "kit/game/template/README.md",
      "docs/games/python.md",
      "docs/games/go.md",
      "docs/game-service-guide.md",
      "kit/game/README.md",
      "docs/answers/games.md",
      "docs/fake-core.md",
      /^demo\/.*README\.md$/,
    ],
  },
  {
    title: "Operators",
    does: "Run the service",
    details: "Deploy, configure, watch and scale it. Find out why a bridge does not work.",
    pages: [
      "docs/operator-guide.md",
      "docs/answers/operating.md",
      "docs/install.md",
      "docs/one-machine.md",
      "docs/kubernetes.md",
      "deploy/helm/chat-bridge/README.md",
      "docs/settings.md",
      "docs/redis.md",
      "docs/tokens.md",
      "docs/upgrade.md",
      "docs/backup.md",
      "docs/deliveries.md",
      "docs/operator-events.md",
      "docs/alerts.md",
      "dashboard/README.md",
      "docs/cli.md",
      "docs/doctor.md",
      "docs/metrics.md",
      "docs/tracing.md",
      "docs/scaling.md",
      "docs/security.md",
      "SECURITY.md",
    ],
  },
  {
    title: "Contributors",
    does: "Change the code",
    details: "The layout of the code, its rules and tests, and the reasons for the design.",
    pages: [
      "CONTRIBUTING.md",
      "docs/answers/code.md",
      "CODE_OF_CONDUCT.md",
      "docs/style.md",
      "docs/leases.md",
      "docs/decisions/README.md",
      /^(?:test|bench)\//,
    ],
  },
];
/** Names of the pages whose first heading is unclear in a list of pages. */
const NAMES = {
  "README.md": "Overview",
  "kit/README.md": "The kit",
  "kit/game/README.md": "The game kit",
  "kit/game/template/README.md": "A template for a game",
  "kit/template/README.md": "A template for a bridge",
  "bridges/irc/README.md": "IRC",
  "bridges/matrix/README.md": "Matrix",
  "bridges/xmpp/README.md": "XMPP",
  "deploy/helm/chat-bridge/README.md": "The Helm chart",
  "demo/README.md": "The demo",
  "demo/chat/README.md": "The demo chat",
  "demo/game/README.md": "The demo game",
};
const FIRST = ["README.md", "docs/quick-start.md"];

/**
 * Sorts the pages into sections: one for each kind of reader, one for the decisions, and one for all other pages. Each
 * page is in exactly one section. Throws if a section names a page that does not exist.
 */
export function sectionsOf({ pages }) {
  const left = new Set(pages);
  const take = (pattern) => {
    const found = [...left].filter((path) =>
      pattern instanceof RegExp ? pattern.test(path) : path === pattern,
    );
    if (found.length === 0) throw new Error(`docs/site/sections.mjs names ${pattern}, but no page matches`);
    for (const path of found) left.delete(path);
    return found;
  };
  return {
    readers: READERS.map((reader) => ({ ...reader, pages: reader.pages.flatMap(take) })),
    decisions: { title: "Decisions", pages: take(/^docs\/decisions\/\d/) },
    rest: { title: "All readers", pages: [...FIRST.flatMap(take), ...left] },
  };
}

/** Returns the name of a page in the sidebar. Most pages are named by their first heading. */
export function nameOf(repository, path) {
  return NAMES[path] ?? headingsOf(repository.read(path))[0] ?? path;
}
