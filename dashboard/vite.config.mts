import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../dist/dashboard",
    emptyOutDir: true,
    target: "es2022",
    // A data: URL is nothing that the content security policy lets in.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
