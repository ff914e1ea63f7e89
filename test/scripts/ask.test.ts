import { spawnSync } from "node:child_process";
import { join } from "node:path";

const ROOT = join(__dirname, "../..");

function ask(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/ask.mjs", ...args], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

test.each([
  ["what stops a push into our private network", /whyNotPublic/],
  ["does a stolen token work again when I restore a backup", /restore-secrets/],
  ["my bridge crashed after a poll: do I get these events again", /a poll removes nothing/],
  ["which metric shows that one customer's bridge is behind", /workspace show/],
  ["how many buttons may a message have", /64 KB/],
  ["how does a game edit its own message", /message_id/],
  ["is there a dead letter queue", /24 hours/],
])("the question %p finds its answer, which uses other words", (question, answer) => {
  const { status, stdout } = ask(question);
  expect(status).toBe(0);
  expect(stdout).toMatch(answer);
});

test("a question about the code also finds comments, with their file and line", () => {
  expect(ask("RETRY_OFFSETS_MS, the fixed backoff of a push").stdout).toMatch(
    /^ {2}contract\/numbers\.ts:\d+ /m,
  );
});

test("unquoted words are one question", () => {
  expect(ask("dead", "letter", "queue").stdout).toBe(ask("dead letter queue").stdout);
});

test("if nothing matches the question, the command says so", () => {
  expect(ask("xyzzyqq")).toEqual({ status: 0, stdout: "nothing fits: use other words\n", stderr: "" });
});

test("without a question, the command prints its usage and exits with code 64", () => {
  expect(ask()).toMatchObject({
    status: 64,
    stdout: "",
    stderr: expect.stringMatching(/^usage: /) as string,
  });
  expect(ask("--help")).toMatchObject({
    status: 0,
    stderr: "",
    stdout: expect.stringMatching(/^usage: /) as string,
  });
});
