/**
 * Returns Node's flags that write a CPU profile of a process. The name of the process becomes a part of the file's
 * name.
 *
 * @param folder the folder for the profile; undefined for no profile
 */
export function profileFlags(folder: string | undefined, name: string): readonly string[] {
  if (folder === undefined) return [];
  return ["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}-${Date.now()}.cpuprofile`];
}
