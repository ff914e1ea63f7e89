import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EXIT } from "../../cli/exit-code";
import { runCli } from "../harness/cli";
import { SIGNATURE_VECTORS } from "../e2e/vectors";

jest.setTimeout(120_000);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cli-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const SECRET = { SIGNING_SECRET: "secret-one" };
const AT = ["--at", "1700000000"] as const;
const BODY = '{"a":1}';

function run(
  args: readonly string[],
  stdin: string | Buffer = "",
  environment: Record<string, string> = SECRET,
) {
  return runCli(args, { role: "nobody", stdin, environment });
}
const signed = async (raw: string) => (await run(["sign", ...AT], raw)).stdout.trim();

// contract: signature-format, signature-hmac
test.each(SIGNATURE_VECTORS.filter(({ t }) => String(Number(t)) === t))(
  "sign makes the signature that openssl makes: $what",
  async ({ secret, t, raw, mac }) => {
    const { code, stdout } = await run(["sign", "--at", t], raw, { SIGNING_SECRET: secret });
    expect([code, stdout]).toEqual([EXIT.DONE, `t=${t},v1=${mac}\n`]);
  },
);

// contract: signature-hmac
test.each(SIGNATURE_VECTORS)(
  "verify takes what openssl made as right: $what",
  async ({ secret, t, raw, mac }) => {
    const isFarOff = t.length > 15;
    const at = isFarOff ? "1700000000" : String(Number(t));
    const args = ["verify", `t=${t},v1=${mac}`, "--at", at, "--json"];
    const { json } = await run(args, raw, { SIGNING_SECRET: secret });
    expect(json).toMatchObject(isFarOff ? { holds: false, fault: "stale" } : { holds: true });
  },
);

test("sign and verify take bodies from stdin and files, queries from --query, secrets from a file", async () => {
  const body = join(folder, "body");
  const secrets = join(folder, "secrets");
  writeFileSync(body, BODY);
  writeFileSync(secrets, "new\nsecret-one\n");
  const { stdout } = await run(["sign", body, "--secret-file", secrets, ...AT], "", {});
  expect(stdout).toMatch(/^t=1700000000,v1=[0-9a-f]{64},v1=[0-9a-f]{64}\n$/);
  expect((await run(["verify", stdout.trim(), "-", ...AT], BODY)).code).toBe(EXIT.DONE);

  const query = await run(["sign", "--query", "limit=10", ...AT]);
  expect(query.stdout).toBe(`${await signed("limit=10")}\n`);
  const verified = await run(["verify", query.stdout.trim(), "--query", "limit=10", ...AT, "--json"]);
  expect([verified.code, verified.json]).toEqual([EXIT.DONE, { holds: true }]);
});

// contract: signature-bridge-tolerance
test.each<[string, () => Promise<string>, readonly string[], string]>([
  ["malformed", async () => "v1=00", AT, "malformed"],
  ["of another body", () => signed("{}"), AT, "wrong"],
  ["over 5 minutes old", () => signed(BODY), ["--at", "1700000301"], "stale"],
  ["over 5 minutes ahead", () => signed(BODY), ["--at", "1699999699"], "stale"],
])("verify tells why a signature does not hold that is %s", async (_what, header, at, fault) => {
  const { code, json } = await run(["verify", await header(), ...at, "--json"], BODY);
  expect([code, json]).toEqual([EXIT.NO, { holds: false, fault, isRightWithoutNewline: false }]);
});

test("verify finds the newline that an editor has added", async () => {
  const { code, stdout } = await run(["verify", await signed(BODY), ...AT], `${BODY}\n`);
  expect([code, stdout]).toEqual([EXIT.NO, expect.stringContaining("right without the newline") as string]);
});

test("sign asks whether the newline at the end is sent too", async () => {
  expect((await run(["sign", ...AT], `${BODY}\n`)).stderr).toMatch(/ends with a newline/);
  expect((await run(["sign", ...AT], BODY)).stderr).toBe("");
});

test.each([["sign"], ["verify"]])("%s without a secret says where it goes", async (command) => {
  const { code, stderr } = await run(command === "sign" ? ["sign"] : ["verify", "t=1,v1=00"], BODY, {});
  expect([code, stderr]).toEqual([
    EXIT.SETTINGS,
    expect.stringMatching(/SIGNING_SECRET.*--secret-file/) as string,
  ]);
});
