import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createHttpClient, type Reply } from "../../kit/check/http-client";
import { RULES } from "../../kit/check/rules";
import { nowSeconds, signatureOf } from "../harness/bridge";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { docBlocks } from "../harness/doc-blocks";
import { startProgram } from "../harness/program";
import { HANG_MS, until } from "../harness/wait";

const ROOT = join(__dirname, "../..");
let demo: DemoChat;
beforeAll(async () => {
  demo = await startDemoChat({}, { CHAT_OBSERVE: "on" });
});
afterAll(() => demo.close());
const observeUrl = () => new URL("/observe", demo.targetUrl);

/**
 * Requests `/observe`, where the bridge lists everything that the chat shows. If `signature` is null, the request has
 * no signature.
 */
async function ask(signature: string | null, query = "", method: "GET" | "POST" = "GET") {
  const ca = readFileSync(demo.certPath, "utf8");
  const client = createHttpClient(observeUrl(), { ca, timeoutMs: HANG_MS });
  const path = `/observe${query === "" ? "" : `?${query}`}`;
  const headers: Record<string, string> = signature === null ? {} : { "Service-Signature": signature };
  const reply: Reply = await client.call({ method, path, headers });
  client.close();
  if ("failed" in reply) throw new Error(reply.failed);
  return reply;
}

const signed = (query: string, t?: number) => signatureOf(demo.workspace.secret, query, t);

/**
 * Options that extend the timeouts, because the check's burst of 40 TLS connections can take 5 seconds on a busy
 * machine.
 */
const PATIENT = `--answer-within ${HANG_MS / 1000} --within ${HANG_MS / 1000}`;

// For the rule `hold-ends`, the check sends an update and, 7 seconds later, the create of the same message. When the
// create arrives, the bridge must already have dropped the update.
// contract: kit-hold-update, kit-unknown-kind, kit-unknown-fields
test("the demo's bridge passes every rule when checked with the command in its README", async () => {
  const command = docBlocks("demo/chat/README.md", "sh").find((block) => block.includes("check-bridge"));
  const here = (command ?? "")
    .replace("export SIGNING_SECRET=…\n", "")
    .replaceAll("http://127.0.0.1:8083", demo.url)
    .replaceAll("https://127.0.0.1:8084", new URL(demo.targetUrl).origin)
    .replace(".data/chat/push.pem", demo.certPath)
    .trimEnd();
  const environment = { SIGNING_SECRET: demo.workspace.secret };
  const check = startProgram(["sh", "-c", `(${here} ${PATIENT}); echo "exit code $?"`], {
    cwd: ROOT,
    environment,
  });
  await until("the check has ended", () => check.output().includes("exit code"));
  const output = check.output();
  expect(output).not.toContain("FAILED");
  for (const { id } of RULES.bridge) expect(output).toMatch(new RegExp(`^  ok +${id} `, "m"));
  expect(output).toContain(`${RULES.bridge.length} passed, 0 failed, 0 partly checked, 0 skipped`);
  expect(output).toContain("exit code 0");
});

test.each<[string, () => string | null, string, number, ("GET" | "POST")?]>([
  ["no signature", () => null, "", 401],
  ["a signature made with another secret", () => signatureOf("another secret", ""), "", 401],
  ["the signature of another query", () => signed("a=1"), "a=2", 401],
  ["a malformed signature", () => "v1=00", "", 401],
  ["a signature that is 6 minutes old", () => signed("", nowSeconds() - 360), "", 409],
  ["a signature of the query exactly as sent", () => signed("a=%20&?"), "a=%20&?", 200],
  ["the method POST", () => signed(""), "", 404, "POST"],
])(
  "`/observe` returns the shown messages only for a GET with a valid signature: %s",
  async (_how, signature, query, status, verb = "GET") => {
    const reply = await ask(signature(), query, verb);
    expect(reply.status).toBe(status);
    expect(reply.body.toString("utf8").includes("messages")).toBe(status === 200);
  },
);
