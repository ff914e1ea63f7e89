import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** Writes a compressed copy of each script and stylesheet. The edge serves the copy to browsers that accept gzip. */
const compressedCopies: Plugin = {
  name: "compressed-copies",
  enforce: "post",
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) {
      if (!/\.(?:js|css)$/.test(file.fileName)) continue;
      const content = file.type === "chunk" ? file.code : file.source;
      this.emitFile({ type: "asset", fileName: `${file.fileName}.gz`, source: gzipSync(content) });
    }
  },
};

export default defineConfig({
  root: import.meta.dirname,
  publicDir: "../public",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [compressedCopies],
  build: {
    outDir: "../../dist/dashboard",
    // The dashboard's build runs first, and has already emptied `outDir`.
    emptyOutDir: false,
    copyPublicDir: false,
    license: { fileName: "docs-licenses.md" },
    target: "es2022",
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: `${import.meta.dirname}/docs.html`,
      checks: { pluginTimings: false },
    },
    // Swagger UI is one large file.
    chunkSizeWarningLimit: 2_000,
  },
});
