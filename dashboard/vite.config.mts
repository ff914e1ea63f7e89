import { defineConfig, type Plugin } from "vite";
import { compressedCopies } from "../scripts/compressed-copies.mts";
import { guides } from "./guides/guides-plugin.mts";

const { SOURCE_DATE_EPOCH } = process.env;

/** Milliseconds since 1970. A reproducible build sets SOURCE_DATE_EPOCH, in seconds, to the time of its commit. */
const BUILT_MS = SOURCE_DATE_EPOCH === undefined ? Date.now() : Number(SOURCE_DATE_EPOCH) * 1000;

/** Writes the time of the build into the page, so that an open page can tell a newer release from an older one. */
const builtAt: Plugin = {
  name: "built-at",
  transformIndexHtml: () => [
    { tag: "meta", attrs: { name: "built", content: String(BUILT_MS) }, injectTo: "head" },
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
