import { defineConfig } from "vite";
import { compressedCopies } from "../scripts/compressed-copies.mts";
import { guides } from "./guides/guides-plugin.mts";

export default defineConfig({
  root: import.meta.dirname,
  plugins: [guides, compressedCopies],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../dist/dashboard",
    emptyOutDir: true,
    target: "es2022",
    // The content security policy does not allow data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { checks: { pluginTimings: false } },
  },
});
