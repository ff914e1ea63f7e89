import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "../../cli/exit-code";
import { signatureOf } from "../harness/bridge";
import { runCli, startCliProcess } from "../harness/cli";
import { testFolder } from "../harness/folder";
import { SIGNATURE_VECTORS } from "../e2e/vectors";

const folder = testFolder();
const SECRET = { SIGNING_SECRET: "secret-one" };
const AT = "--at 1700000000";
const BODY = '{"a":1}';

const run = (args: string, stdin: string | Buffer = "", environment: Record<string, string> = SECRET) =>
  runCli(args, { role: "nobody", stdin, environment });
const signed = async (raw: string) => (await run(`sign ${AT}`, raw)).stdout.trim();

// contract: signature-format, signature-hmac
test.each(SIGNATURE_VECTORS)(
  "`sign` and `verify` agree with openssl: $what",
  async ({ secret, t, raw, mac }) => {
    const environment = { SIGNING_SECRET: secret };
    const isFarOff = t.length > 15;
    const at = isFarOff ? "1700000000" : String(Number(t));
    const { json } = await run(`verify t=${t},v1=${mac} --at ${at} --json`, raw, environment);
    expect(json).toMatchObject(isFarOff ? { holds: false, fault: "stale" } : { holds: true });
    if (t !== at) return;
    const { code, stdout } = await run(`sign --at ${at}`, raw, environment);
    expect([code, stdout]).toEqual([EXIT.DONE, `t=${at},v1=${mac}\n`]);
  },
);

test("`sign` and `verify` read bodies from stdin and files, queries from --query, and secrets from a file", async () => {
  const [body, secrets] = [join(folder, "body"), join(folder, "secrets")];
  writeFileSync(body, BODY);
  writeFileSync(secrets, "new\nsecret-one\n");
  const { stdout } = await run(`sign ${body} --secret-file ${secrets} ${AT}`, "", {});
  expect(stdout).toMatch(/^t=1700000000,v1=[0-9a-f]{64},v1=[0-9a-f]{64}\n$/);
  const options = { role: "nobody", stdin: BODY, environment: SECRET } as const;
  expect((await startCliProcess(`verify ${stdout.trim()} - ${AT}`, options).ended).code).toBe(EXIT.DONE);

  const query = await run(`sign --query limit=10 ${AT}`);
  expect(query.stdout).toBe(`${await signed("limit=10")}\n`);
  const verified = await run(`verify ${query.stdout.trim()} --query limit=10 ${AT} --json`);
  expect([verified.code, verified.json]).toEqual([EXIT.DONE, { holds: true }]);
});

test("a byte order mark and line breaks in a secret file are not part of the secret", async () => {
  const secrets = join(folder, "windows-secrets");
  writeFileSync(secrets, "\uFEFFsecret-one\r\n");
  const { stdout } = await run(`sign --secret-file ${secrets} ${AT}`, BODY, {});
  expect(stdout.trim()).toBe(await signed(BODY));
});

test.each([
  ["a space at its end", "secret-one ", "ends with white space (U+0020)"],
  ["quotation marks around it", "'secret-one'", "begins with a quotation mark (U+0027)"],
])("a secret with %s is rejected, and the error names the character", async (_what, secret, words) => {
  const { code, stderr } = await run(`sign ${AT}`, BODY, { SIGNING_SECRET: secret });
  expect([code, stderr]).toEqual([EXIT.SETTINGS, expect.stringContaining(words)]);
  expect(stderr).not.toContain("secret-one");
});

// time: controlled
// contract: signature-bridge-tolerance
test.each<[string, () => Promise<string>, string, string]>([
  ["malformed", async () => "v1=00", AT, "malformed"],
  ["made for another body", () => signed("{}"), AT, "wrong"],
  ["more than 5 minutes old", () => signed(BODY), "--at 1700000301", "stale"],
  ["more than 5 minutes in the future", () => signed(BODY), "--at 1699999699", "stale"],
])("verify reports a signature that is %s", async (_what, header, at, fault) => {
  const { code, json } = await run(`verify ${await header()} ${at} --json`, BODY);
  expect([code, json]).toEqual([EXIT.NO, { holds: false, fault, isRightWithoutNewline: false }]);
});

// time: controlled
test.each([
  ["--at 1700003960", /: Service-Signature: the signed timestamp is 66 minutes behind the local clock/],
  ["--at 1699996040", /: Service-Signature: the signed timestamp is 66 minutes ahead of the local clock/],
])("`verify` says how far a timestamp is from the clock, and in which direction: %s", async (at, words) => {
  expect((await run(`verify ${await signed(BODY)} ${at}`, BODY)).stdout).toMatch(words);
});

test("`verify` says that a timestamp is in milliseconds", async () => {
  const { stdout } = await run(`verify ${signatureOf("secret-one", BODY, 1_700_000_000_123)} ${AT}`, BODY);
  expect(stdout).toMatch(/milliseconds.*sign with Unix seconds/);
});

test("`sign` warns about a newline at the end of a body, and `verify` detects the newline", async () => {
  const { code, stdout } = await run(`verify ${await signed(BODY)} ${AT}`, `${BODY}\n`);
  expect([code, stdout]).toEqual([EXIT.NO, expect.stringContaining("matches without the newline")]);
  expect((await run(`sign ${AT}`, `${BODY}\n`)).stderr).toMatch(/ends with a newline/);
  expect((await run(`sign ${AT}`, BODY)).stderr).toBe("");
});

test.each([["sign"], ["verify t=1,v1=00"]])(
  "%s fails without a secret, and the error names the settings for secrets",
  async (command) => {
    const { code, stderr } = await run(command, BODY, {});
    expect([code, stderr]).toEqual([EXIT.SETTINGS, expect.stringMatching(/SIGNING_SECRET.*--secret-file/)]);
  },
);
