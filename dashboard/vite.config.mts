import { defineConfig, type Plugin } from "vite";
import { compressedCopies } from "../scripts/compressed-copies.mts";
import { guides } from "./guides/guides-plugin.mts";

/** Writes the time of the build into the page, so that an open page can tell a newer release from an older one. */
const builtAt: Plugin = {
  name: "built-at",
  transformIndexHtml: () => [
    { tag: "meta", attrs: { name: "built", content: String(Date.now()) }, injectTo: "head" },
  ],
};

export default defineConfig({
  root: import.meta.dirname,
  plugins: [guides, builtAt, compressedCopies()],
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
