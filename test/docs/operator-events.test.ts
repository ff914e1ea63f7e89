import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sign } from "../../kit/signature";
import { renderOperatorEvent, type OperatorChange } from "../../core/domain/operator-event";
import { send } from "../harness/bridge";
import { ROOT } from "../harness/compose-file";
import { docBlocks, docProgram } from "../harness/doc-blocks";
import { testFolder } from "../harness/folder";
import { freePort } from "../harness/processes";
import { until } from "../harness/wait";

const GUIDE = "docs/operator-events.md";
const SECRET = "a secret";
const folder = testFolder();
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

const ID = "0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11";
const EXHAUSTED: OperatorChange = {
  id: `op_${ID}_1767605400000-0`,
  type: "event.retries_exhausted",
  atMs: 1_767_605_400_000,
  workspaceId: ID,
  mode: "push",
  reason: "status",
  status: 503,
  sinceMs: 1_767_605_395_000,
  oldestWaitingAtMs: undefined,
  event: { id: "evt_01KE6R5J7C8V1Q2W3E4R5T6Y7Z", type: "message.create", attempts: 3, count: 1 },
};
const FAILING: OperatorChange = {
  ...EXHAUSTED,
  id: `op_${ID}_1767605460000-0`,
  type: "workspace.failing",
  atMs: 1_767_605_460_000,
  mode: "poll",
  reason: "not-polling",
  status: undefined,
  sinceMs: 1_767_605_460_000,
  oldestWaitingAtMs: 1_767_605_160_000,
  event: undefined,
};

test("the operator events in the guide are events that core sends", () => {
  const sent = [EXHAUSTED, FAILING].map((change) => renderOperatorEvent(change, { name: "Ann's team" }).json);
  expect(docBlocks(GUIDE, "json").map((block) => JSON.parse(block) as object)).toEqual(
    sent.map((json) => JSON.parse(json) as object),
  );
});

test.each([
  ["js", "operator-events.mjs", process.execPath],
  ["py", "operator_events.py", "python3"],
])(
  "the receiver in %s prints an operator event, and rejects an invalid signature",
  async (language, name, command) => {
    // Node finds the kit's package only from a folder in this repository.
    const path = join(language === "js" ? join(ROOT, "dist") : folder, `${process.pid}-${name}`);
    writeFileSync(path, docProgram(GUIDE, language, name));
    const port = await freePort();
    const child = spawn(command, [path], { env: { ...process.env, PORT: String(port), SECRET } });
    children.push(child);
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
    const { json } = renderOperatorEvent(FAILING, { name: "ä" });
    const post = (signature: string) =>
      send(`http://127.0.0.1:${port}`, "/", {
        method: "POST",
        headers: { "Service-Signature": signature },
        body: Buffer.from(json),
      });
    await until("the receiver listens", async () => {
      const answer = await post("t=1,v1=00").catch(() => undefined);
      return answer?.status === 401;
    });
    expect((await post(sign(json, SECRET, Date.now() - 3_600_000))).status).toBe(401);
    expect((await post(sign(json, "another secret"))).status).toBe(401);
    expect((await post(sign(json, ["another secret", SECRET]))).status).toBe(204);
    await until("the event is printed", () => printed.includes("\n"));
    expect(JSON.parse(printed)).toEqual(JSON.parse(json));
  },
);
