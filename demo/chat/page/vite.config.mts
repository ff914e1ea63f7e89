import { defineConfig } from "vite";
import { compressedCopies } from "../../../scripts/compressed-copies.mts";

// eslint-disable-next-line import/no-default-export -- Vite reads the default export
export default defineConfig({
  root: import.meta.dirname,
  publicDir: "../../../dashboard/public",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [compressedCopies()],
  build: {
    outDir: "../../../dist/demo/chat/page",
    // File names are constant, and a build must not delete the files that a running chat serves.
    emptyOutDir: false,
    target: "es2022",
    // The content security policy does not allow data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      checks: { pluginTimings: false },
      output: { entryFileNames: "chat.js", assetFileNames: "chat.[ext]" },
    },
  },
});
