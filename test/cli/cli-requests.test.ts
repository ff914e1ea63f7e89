import { createHmac } from "node:crypto";
import { EXIT } from "../../cli/exit-code";
import { nowSeconds, poll, post, send, signatureOf } from "../harness/bridge";
import { runCli } from "../harness/cli";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const EVENT = JSON.stringify({ type: "command", channel: "c1", user: { id: "u1" }, text: "start" });
const run = (args: string | readonly string[], stdin = "") =>
  runCli(args, { corePort: service.core.port, stdin });

// time: ordering
test("`requests` prints the accepted and refused requests of the last hour, with the reasons in words", async () => {
  const workspace = await service.workspaces.make();
  const none = await run(`requests ${workspace.id}`);
  expect(none.stdout).toContain("No request was refused in the last 24 hours.");

  const body = { method: "POST", body: EVENT };
  await send(service.url, `/hooks/${workspace.id}`, body);
  const digest = createHmac("sha256", workspace.secret).update(EVENT).digest("hex");
  const headers = { "Service-Signature": `t=${nowSeconds()},v1=${digest}` };
  await send(service.url, `/hooks/${workspace.id}`, { ...body, headers });
  await poll(service.url, workspace, "", {
    headers: { "Service-Signature": signatureOf(workspace.secret, "", nowSeconds() - 3_960) },
  });
  await post(service.url, workspace, { type: "command" });
  await until("all refusals are counted", async () => {
    const { json } = await run(`requests ${workspace.id} --json`);
    const { counts } = json as { counts: Record<string, number> };
    return counts["signature"] === 2 && counts["timestamp"] === 1 && counts["invalid"] === 1;
  });
  const { code, stdout } = await run(`requests ${workspace.id}`);
  expect(code).toBe(EXIT.DONE);
  expect(stdout).toMatch(/^STATUS +LAST HOUR +LAST AT +REASON$/m);
  expect(stdout).toMatch(/^401 .*The request has no Service-Signature header\./m);
  expect(stdout).toMatch(/^401 .*The bridge signed the text without the timestamp\. Sign <t>\.<body>/m);
  expect(stdout).toMatch(/^409 +1 .*The bridge's clock is 6[67] minutes behind/m);
  expect(stdout).toMatch(/^400 +1 .*channel is required\. Add channel to the body\.$/m);
  expect(stdout).not.toContain(digest);
});

// time: ordering
test("`check-signature` says whether core would accept a signature, and exits with 1 if not", async () => {
  const { id, secret } = await service.workspaces.make();
  const right = await run(["check-signature", id, signatureOf(secret, EVENT)], EVENT);
  expect([right.code, right.stdout]).toEqual([EXIT.DONE, expect.stringContaining("fits the newest secret")]);
  expect(right.stdout).toContain(EVENT);
  const wrong = await run(["check-signature", id, signatureOf(`${secret}\n`, "a=1"), "--query", "a=1"]);
  expect([wrong.code, wrong.stdout]).toEqual([EXIT.NO, expect.stringContaining("a line break after it")]);
  const stale = await run(
    ["check-signature", id, signatureOf(secret, EVENT, nowSeconds() + 600), "--json"],
    EVENT,
  );
  expect([stale.code, stale.json]).toEqual([
    EXIT.NO,
    expect.objectContaining({ valid: true, secretNumber: 1, stale: true, cause: null }),
  ]);
  const both = await run(["check-signature", id, "t=1,v1=00", "file", "--query", "a"]);
  expect([both.code, both.stderr]).toEqual([
    EXIT.USAGE,
    expect.stringContaining("give a file or --query, not both"),
  ]);
});
