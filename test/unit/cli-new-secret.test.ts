import fs, { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { EXIT } from "../../cli/exit-code";
import { CliFailure } from "../../cli/failure";
import { addSecretOptions, makeSecret } from "../../cli/new-secret";
import { Workspace } from "../../proto/gen/chatbridge/v1/workspace";

const SECRET = "the-signing-secret-that-is-answered-once";
const made = { signingSecret: SECRET, workspace: Workspace.create({ id: "the-workspace" }) };

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "cli-secret-"))));
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

function make(file: string, answer: () => Promise<typeof made>) {
  const command = addSecretOptions(new Command()).parse(["--secret-file", file], { from: "user" });
  return makeSecret(command, answer);
}

test("the file has the secret alone", async () => {
  const file = join(folder, "secret");
  expect((await make(file, async () => made)).shown).toBeUndefined();
  expect(readFileSync(file, "utf8")).toBe(`${SECRET}\n`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test.each(["writeSync", "fsyncSync", "closeSync"] as const)(
  "a secret that is made and then cannot be written is told of, as it is never answered again: %s fails",
  async (call) => {
    const file = join(folder, "secret");
    const failure = await make(file, async () => {
      jest.spyOn(fs, call).mockImplementation(() => {
        throw new Error("ENOSPC: no space left on device");
      });
      return made;
    }).catch((error: unknown) => error as CliFailure);
    expect(failure).toBeInstanceOf(CliFailure);
    expect(failure).toMatchObject({ exitCode: EXIT.CANNOT_WRITE });
    const { message } = failure as CliFailure;
    expect(message.split("\n").at(-1)).toBe(SECRET);
    expect(message).toMatch(/the-workspace .*ENOSPC.*never shown again/s);
    // Part of a secret in a file would be taken for all of it.
    expect(() => statSync(file)).toThrow("ENOENT");
  },
);

test("a secret that cannot be written is told of where its file cannot be taken away either", async () => {
  const failed = make(join(folder, "secret"), async () => {
    for (const call of ["writeSync", "unlinkSync"] as const) {
      jest.spyOn(fs, call).mockImplementation(() => {
        throw new Error("EROFS: read-only file system");
      });
    }
    return made;
  });
  await expect(failed).rejects.toMatchObject({ message: expect.stringContaining(SECRET) as string });
});

test("a disk that cannot take the secret is found out before there is one", async () => {
  let calls = 0;
  jest.spyOn(fs, "fsyncSync").mockImplementation(() => {
    throw new Error("EIO: i/o error");
  });
  const failed = make(join(folder, "secret"), async () => {
    calls++;
    return made;
  });
  await expect(failed).rejects.toMatchObject({
    exitCode: EXIT.CANNOT_WRITE,
    message: expect.stringContaining("nothing was changed") as string,
  });
  expect(calls).toBe(0);
  expect(() => statSync(join(folder, "secret"))).toThrow("ENOENT");
});
