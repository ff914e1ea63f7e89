import { spawnSync } from "node:child_process";
import { lchownSync, lstatSync } from "node:fs";
import { EXIT } from "../exit-code";
import { CliFailure } from "../failure";
import type { KnownFiles } from "./known-files";
import { PATHS } from "./paths";

/** Creates the users and folders, and sets the owners and modes of all files. Returns notes for the user. */
export function setOwners(files: KnownFiles): readonly string[] {
  const isHere = files.root === "/";
  const root = isHere ? [] : [`--root=${files.root}`];
  const commands: readonly (readonly string[])[] = [
    ["systemd-sysusers", ...root, files.locate(PATHS.sysusers)],
    ["systemd-tmpfiles", "--create", ...root, files.locate(PATHS.tmpfiles)],
  ];
  for (const [program = "", ...args] of commands) {
    const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
    if (status === 0) continue;
    const reason = error?.message ?? stderr.trim();
    if (isHere) {
      const command = [program, ...args].join(" ");
      throw new CliFailure(EXIT.CANNOT_WRITE, `${command} failed, so root owns the files: ${reason}`);
    }
    return [
      `Users and owners are not set (${reason}). On the machine, run systemd-sysusers and systemd-tmpfiles --create as root.`,
    ];
  }
  chownRedisUsers(files);
  return [];
}

/**
 * Makes Redis the owner of the file that `ACL SAVE` writes. systemd-tmpfiles refuses a file that root owns in a folder
 * that another user owns.
 */
function chownRedisUsers(files: KnownFiles): void {
  const [folder, file] = [files.locate(PATHS.redisData), files.locate(PATHS.redisUsers)];
  const { uid, gid } = lstatSync(folder);
  if (lstatSync(file).uid !== uid) lchownSync(file, uid, gid);
}
