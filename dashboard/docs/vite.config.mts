import { defineConfig } from "vite";
import { compressedCopies } from "../../scripts/compressed-copies.mts";

export default defineConfig({
  root: import.meta.dirname,
  publicDir: "../public",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [compressedCopies()],
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
    // Swagger UI is one large file, and Vite warns about large files by default.
    chunkSizeWarningLimit: 2_000,
  },
});
