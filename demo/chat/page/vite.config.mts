import { defineConfig } from "vite";

// eslint-disable-next-line import/no-default-export -- it is how Vite reads it
export default defineConfig({
  root: import.meta.dirname,
  publicDir: "../../../dashboard/public",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../../../dist/demo/chat/page",
    // Names stay, so a chat that is being served is not pulled away from under its pages.
    emptyOutDir: false,
    target: "es2022",
    // A data: URL is nothing that the content security policy lets in.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: { entryFileNames: "chat.js", assetFileNames: "chat.[ext]" },
    },
  },
});
