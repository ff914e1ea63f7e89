import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

/** Minimum length of a file to compress, in bytes. A shorter file fits in one packet even without compression. */
const MIN_BYTES = 1_000;
/** Brotli's highest quality would take 25 times as long, and make the files only 8 percent smaller. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/**
 * Writes a copy of each page, script and stylesheet, compressed with gzip and with Brotli. The server sends the copy
 * that the browser accepts. The copies are made from the written files, because Vite changes scripts that contain
 * `import()` after all plugins have run.
 */
export function compressedCopies(): Plugin {
  let publicFiles: readonly string[] = [];
  return {
    name: "compressed-copies",
    configResolved({ publicDir, build }) {
      if (build.copyPublicDir && publicDir !== "") publicFiles = readdirSync(publicDir);
    },
    writeBundle({ dir = "" }, bundle) {
      const written = Object.values(bundle).map(({ fileName }) => fileName);
      for (const name of [...written, ...publicFiles]) {
        if (/\.(?:js|css|html)$/.test(name)) writeCopies(join(dir, name));
      }
    },
  };
}

function writeCopies(path: string): void {
  const content = readFileSync(path);
  if (content.length < MIN_BYTES) {
    // An earlier build may have left copies of a longer file with the same name.
    for (const ending of [".gz", ".br"]) rmSync(`${path}${ending}`, { force: true });
    return;
  }
  writeFileSync(`${path}.gz`, gzipSync(content));
  writeFileSync(`${path}.br`, brotliCompressSync(content, BROTLI));
}
