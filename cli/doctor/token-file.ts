import { stat } from "node:fs/promises";
import { fail, ok, skipped, warn, type Finding } from "./finding";

const ADVICE = { fix: "chmod 600", page: "docs/doctor.md#token-file" } as const;
const OTHERS_WRITE = 0o022;
const ALL_READ = 0o004;

/** Judges whether other users may read the file with this command's token. */
export async function checkTokenFile(path: string | undefined): Promise<Finding> {
  if (path === undefined) return ok("token-file", "the token is in CORE_TOKEN");
  if (process.platform === "win32") return skipped("token-file", "Windows has other permissions");
  const { mode } = await stat(path);
  const advice = { ...ADVICE, fix: `${ADVICE.fix} ${path}` };
  if ((mode & OTHERS_WRITE) !== 0) return fail("token-file", `other users can change ${path}`, advice);
  if ((mode & ALL_READ) !== 0)
    return warn("token-file", `all users of this machine can read ${path}`, advice);
  return ok("token-file", `only its owner and group can read ${path}`);
}
