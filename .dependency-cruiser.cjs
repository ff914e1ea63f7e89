// The allowed imports ("arrows"). The files of a folder may import each other, packages, and files whose paths are
// listed for that folder. The parser does not support JSX, so lint rules define the allowed imports of dashboard/ and
// demo/chat/page/ instead.
const TRACER = "^runtime/tracing/tracer\\.ts$"; // only types
const OWNER_MAP = "^runtime/owner-map\\.ts$"; // a class without I/O
const SHARES = "^runtime/(certificates|owner-map|shares|refusal-pace|public-address)\\.ts$"; // functions without I/O
/** The files of contract/ that the kit's package contains. */
const CONTRACT_OF_KIT = "^contract/(numbers|forms|messages|timestamps)\\.ts$";
/** The files of the bridge kit that the game kit uses. */
const KIT_OF_GAMES = "^kit/(back-off|display-name|durable-file|message-text-escape|problem)\\.ts$";
/** The files of runtime/ that the game kit's package contains, besides those that they import. */
const RUNTIME_OF_GAMES =
  "^runtime/(core-channel|core-connection|core-credentials|health-listener|logger|metrics|run-process|settings)\\.ts$";
/** The rules of core that the game kit's tests of games apply. They do no I/O. */
const CORE_OF_GAME_TESTS = [
  "^core/domain/",
  "^core/operations/(fence|in-flight|publish-events)\\.ts$",
  "^core/ports/outbound-events\\.ts$", // only types
  "^core/rpc/(outbound-message|struct-problem|wire-fields)\\.ts$",
];
/** The files of runtime/ that the bridges' shared package contains. */
const RUNTIME_OF_BRIDGES =
  "^runtime/(listen-fault|logger|misspelled-settings|prompter|public-address|request-timeouts|run-process|settings)\\.ts$";
const ARROWS = {
  "^contract/": [],
  "^core/domain/": ["^contract/", OWNER_MAP],
  "^core/ports/": ["^contract/", "^core/domain/"],
  "^core/operations/": ["^contract/", "^core/domain/", "^core/leases/", "^core/ports/", SHARES],
  "^core/leases/": ["^contract/", "^core/domain/", "^core/ports/"],
  "^core/store/": ["^contract/", "^core/domain/", "^core/ports/"],
  "^core/delivery/": ["^contract/", "^core/domain/", "^core/leases/", "^core/ports/", TRACER, SHARES],
  "^core/rpc/": [
    "^contract/",
    "^core/operations/",
    "^core/domain/",
    "^core/ports/",
    "^proto/",
    TRACER,
    SHARES,
  ],
  "^core/metrics/": [
    "^contract/",
    "^core/rpc/call-counts",
    "^core/delivery/",
    "^core/domain/",
    "^core/ports/",
    "^runtime/",
  ],
  "^edge/": ["^contract/", "^proto/", "^runtime/"],
  "^runtime/": [],
  // The public contract is the only part of the service that the kit imports. The tests of the kit may import more.
  "^kit/(?!game/|test/|template/)": [CONTRACT_OF_KIT],
  // The game kit contains what a game needs of the contract, the proto, the bridge kit and runtime/. Its tests of games
  // also contain rules of core, so that a game gets the same refusals in a test as from a real core.
  "^kit/game/(?!test/|testing/|template/)": [
    "^contract/",
    "^proto/(gen/|codes\\.ts$)",
    "^core/domain/(bounds|shard)\\.ts$",
    KIT_OF_GAMES,
    RUNTIME_OF_GAMES,
  ],
  "^kit/game/testing/": [
    "^contract/",
    "^kit/game/",
    "^proto/(gen/|codes\\.ts$)",
    KIT_OF_GAMES,
    "^kit/(check/inbound-fields|typed-text)\\.ts$",
    ...CORE_OF_GAME_TESTS,
  ],
  // The bridges for chat tools import only the kit's package (its root, or `durable-file`) and the bridges' shared
  // code.
  "^bridges/common/(?!test/)": ["^kit/(index|durable-file|folder-lock|poll)\\.ts$", RUNTIME_OF_BRIDGES],
  "^bridges/irc/(?!test/)": ["^kit/index\\.ts$", "^bridges/common/index\\.ts$"],
  "^bridges/matrix/(?!test/)": ["^kit/(index|durable-file|journal)\\.ts$", "^bridges/common/index\\.ts$"],
  "^bridges/xmpp/(?!test/)": ["^kit/(index|durable-file)\\.ts$", "^bridges/common/index\\.ts$"],
  "^proto/": ["^contract/"],
  "^bench/": ["^contract/", "^kit/game/", "^proto/gen/", "^deploy/local/", "^runtime/core-channel\\.ts$"],
  "^demo/game/": ["^contract/", "^kit/game/(index|names|settings)\\.ts$", "^runtime/"],
  "^demo/game/(rules|view)/": ["^kit/game/index\\.ts$"],
  // The demo chat is a bridge: it may use the bridge kit and runtime/, but no other part of the service.
  "^demo/chat/": [CONTRACT_OF_KIT, "^kit/", "^runtime/"],
  // The command line uses the same JSON as the dashboard's API. It also uses the kit's signatures and event types, and
  // the parts of the kit with which `listen` polls and pushes.
  "^cli/(?!fake-core/)": [
    "^cli/fake-core/run\\.ts$",
    "^contract/",
    "^proto/(gen/|json/|codes\\.ts$)",
    "^runtime/",
    "^kit/(signature|secret-form|events|poll|poller|cursor-store|durable-file|serial-queues|back-off|terminal-colour|check/http-client)\\.ts$",
    "^kit/game/",
  ],
  // The fake core speaks core's protocol, with core's own code for requests, and without its store.
  "^cli/fake-core/": [
    "^cli/(cli|exit-code|failure)\\.ts$",
    "^contract/",
    "^proto/gen/",
    "^runtime/",
    "^kit/game/",
    "^core/domain/bounds\\.ts$",
    "^core/rpc/(follow-requests|game-methods|health-service|reflection|status)\\.ts$",
  ],
  "^deploy/local/": ["^proto/gen/", "^runtime/", "^kit/(folder-lock|terminal-colour)\\.ts$"],
  "^deploy/compose/": ["^deploy/local/(settings-file|operator)\\.ts$", "^runtime/"],
};

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    { name: "resolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    ...Object.entries(ARROWS).map(([from, to]) => ({
      name: `arrows-of-${from.replaceAll(/[\^/]/g, "")}`,
      severity: "error",
      from: { path: from },
      to: { pathNot: [from, "node_modules", ...to], dependencyTypesNot: ["core"] },
    })),
    {
      name: "only-main-and-composition-root-use-runtime",
      severity: "error",
      from: {
        path: "^core/",
        pathNot:
          "^core/((main|core|config|migrate|read-tokens|renewed-files|redis-watch|store-watch)\\.ts$|metrics/)",
      },
      to: { path: "^runtime/", pathNot: [TRACER, SHARES] },
    },
    {
      name: "bridge-needs-one-package",
      severity: "error",
      // The only dependency of the kit is a Markdown parser. Fastify's types are an optional peer dependency.
      from: {
        path: "^kit/",
        pathNot: "^kit/(fastify-receiver\\.ts|parse-message-text\\.ts|game/|template/|test/)",
      },
      to: { path: "node_modules" },
    },
    {
      name: "domain-uses-no-library-that-does-io",
      severity: "error",
      from: { path: "^core/domain/" },
      to: { path: "node_modules/(redis|@grpc|fastify|undici|pino)" },
    },
  ],
  options: {
    parser: "swc",
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(kit/dist|kit/game/dist|bridges/[^/]+/dist|demo/chat/page)/" },
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["require", "node", "default"],
      extensions: [".ts", ".js"],
      mainFields: ["main", "types"],
    },
  },
};
