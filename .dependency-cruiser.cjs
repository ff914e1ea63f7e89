// The arrows: an import may only point along one of them. `to` lists where a
// folder may import from, besides itself and packages.
const ARROWS = {
  "^core/domain/": [],
  "^core/ports/": ["^core/domain/"],
  "^core/operations/": ["^core/domain/", "^core/ports/"],
  "^core/store/": ["^core/domain/", "^core/ports/"],
  "^core/delivery/": ["^core/domain/", "^core/ports/"],
  "^core/rpc/": ["^core/operations/", "^core/domain/", "^core/ports/", "^proto/gen/"],
  "^edge/": ["^proto/gen/", "^runtime/"],
  "^runtime/": [],
  "^bridge/": [],
  "^proto/gen/": [],
  "^bench/": ["^proto/gen/", "^local/"],
  "^local/": ["^proto/gen/", "^runtime/"],
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
      from: { path: "^core/", pathNot: "^core/(main|core|config)\\.ts$" },
      to: { path: "^runtime/" },
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
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["require", "node", "default"],
      extensions: [".ts", ".js"],
      mainFields: ["main", "types"],
    },
  },
};
