import { listening } from "../../runtime/listen-fault";
import { SettingsError } from "../../runtime/settings";

test("a port that the process may not use is reported as an invalid setting", async () => {
  const fault = Object.assign(new Error("listen EACCES: permission denied 0.0.0.0:80"), { code: "EACCES" });
  const failed = listening("EDGE_LISTEN", Promise.reject(fault));
  await expect(failed).rejects.toBeInstanceOf(SettingsError);
  await expect(failed).rejects.toThrow(
    /EDGE_LISTEN cannot be used: listen EACCES: .*: set a port above 1023/,
  );
});

test("other errors are rethrown, and the result of a successful start is returned", async () => {
  const fault = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  await expect(listening("EDGE_LISTEN", Promise.reject(fault))).rejects.toBe(fault);
  expect(await listening("EDGE_LISTEN", Promise.resolve(8080))).toBe(8080);
});
