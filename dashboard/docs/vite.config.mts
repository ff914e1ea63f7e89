import { defineConfig } from "vite";
import { compressedCopies } from "../../scripts/compressed-copies.mts";

export default defineConfig({
  root: import.meta.dirname,
  publicDir: "../public",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [compressedCopies()],
  build: {
    outDir: "../../dist/dashboard",
    // The dashboard's build runs before this one, and has already emptied `outDir`.
    emptyOutDir: false,
    copyPublicDir: false,
    license: { fileName: "docs-licenses.md" },
    target: "es2022",
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: `${import.meta.dirname}/docs.html`,
      checks: { pluginTimings: false },
    },
    // Without this limit, Vite would warn about the size of Swagger UI, which is one large file.
    chunkSizeWarningLimit: 2_000,
  },
});
