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
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cli-secret-"));
  file = join(folder, "secret");
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

function breakCalls(...calls: readonly ("writeSync" | "fsyncSync" | "closeSync" | "unlinkSync")[]): void {
  for (const call of calls) {
    jest.spyOn(fs, call).mockImplementation(() => {
      throw new Error("ENOSPC: no space left on device");
    });
  }
}

const make = (answer: () => typeof made) => {
  const command = addSecretOptions(new Command()).parse(["--secret-file", file], { from: "user" });
  return makeSecret(command.opts(), async () => answer());
};

test("the file contains only the secret, and is readable only by its owner", async () => {
  expect((await make(() => made)).shown).toBeUndefined();
  expect(readFileSync(file, "utf8")).toBe(`${SECRET}\n`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test.each([[["writeSync"]], [["fsyncSync"]], [["closeSync"]], [["writeSync", "unlinkSync"]]] as const)(
  "if %j fails, the secret is printed, because core never returns the secret again",
  async (calls) => {
    const failure = await make(() => {
      breakCalls(...calls);
      return made;
    }).catch((error: unknown) => error as CliFailure);
    expect(failure).toBeInstanceOf(CliFailure);
    expect(failure).toMatchObject({ exitCode: EXIT.CANNOT_WRITE });
    const { message } = failure as CliFailure;
    expect(message.split("\n").at(-1)).toBe(SECRET);
    expect(message).toMatch(/the-workspace .*ENOSPC.*never shown again/s);
    // The file is removed if possible, because a partly written secret could be mistaken for the whole secret.
    if (calls.length === 1) expect(() => statSync(file)).toThrow("ENOENT");
  },
);

test("the CLI does not create a secret when the disk is full", async () => {
  const answer = jest.fn(() => made);
  breakCalls("fsyncSync");
  const message = expect.stringContaining("nothing was changed") as string;
  await expect(make(answer)).rejects.toMatchObject({ exitCode: EXIT.CANNOT_WRITE, message });
  expect(answer).not.toHaveBeenCalled();
  expect(() => statSync(file)).toThrow("ENOENT");
});
