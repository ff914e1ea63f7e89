import { SettingsError } from "./settings";

/** Advice for each error of `listen` that a restart does not fix, by error code. */
const ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: "stop the program that uses the port, or set another port",
  EACCES: "set a port above 1023, or permit the process to use this port",
  EADDRNOTAVAIL: "set an address of this machine",
  ENOTFOUND: "set an address of this machine",
};

/**
 * Awaits the start of a listener. Rejects with a `SettingsError` that names the setting when the system does not permit
 * the address, e.g. because its port is in use.
 *
 * @param setting the name of the setting that contains the address
 */
export async function listening<T>(setting: string, started: PromiseLike<T>): Promise<T> {
  try {
    return await started;
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const advice = ADVICE[code];
    throw advice === undefined
      ? error
      : new SettingsError([`${setting} cannot be used: ${message}: ${advice}`]);
  }
}
