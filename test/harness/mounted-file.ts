import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface MountedFile {
  readonly path: string;
  /** Replaces the content as kubelet does: afterwards, the link `..data` points to another folder. */
  swap(text: string): void;
  /** Replaces the content as an editor does: a new file is renamed to the file's name. */
  replace(text: string, mode?: number): void;
  remove(): void;
}

/** Creates a file as Kubernetes mounts it: `name` is a link to `..data/name`, and `..data` is a link to a folder. */
export function mountFile(text: string, name = "file"): MountedFile {
  const folder = mkdtempSync(join(tmpdir(), "cb-mounted-"));
  const path = join(folder, name);
  let version = 0;

  function swap(next: string): void {
    const data = `..data_${version++}`;
    mkdirSync(join(folder, data));
    writeFileSync(join(folder, data, name), next, { mode: 0o600 });
    symlinkSync(data, join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
  }

  swap(text);
  symlinkSync(join("..data", name), path);
  return {
    path,
    swap,
    replace(next, mode = 0o600) {
      writeFileSync(`${path}.new`, next, { mode });
      renameSync(`${path}.new`, path);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
