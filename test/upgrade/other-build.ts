import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { THIS_RELEASE } from "../harness/processes";

/** The files and folders in dist that the programs of a build need. */
const PROGRAMS = ["contract", "core", "edge", "proto", "runtime", "kit", "build.json"];

/**
 * Creates a second build of this release, whose function library differs and so has a different name in Redis. Returns
 * the folder of the build, which is deleted after the tests of the file.
 */
export function otherBuild(): string {
  const folder = mkdtempSync(join(tmpdir(), "cb-build-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of PROGRAMS)
    cpSync(join(THIS_RELEASE, "dist", name), join(folder, "dist", name), { recursive: true });
  for (const name of ["node_modules", "package.json"])
    symlinkSync(join(THIS_RELEASE, name), join(folder, name));
  const library = join(folder, "dist/core/store/functions/push.lua");
  appendFileSync(library, "\nlocal function only_in_the_other_build() end\n");
  return folder;
}
