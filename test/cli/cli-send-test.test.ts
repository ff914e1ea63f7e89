import { EXIT } from "../../cli/exit-code";
import { status } from "../harness/behaviours";
import { runCli } from "../harness/cli";
import { sharedPush } from "../harness/push";

jest.setTimeout(120_000);

const push = sharedPush();

const sendTest = (workspaceId: string) =>
  runCli(["send-test", workspaceId], { corePort: push.service.core.port });

// contract: test-event-push
test("send-test on a push workspace tells of every step, and of the answer", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(207));
  const { code, stdout } = await sendTest(bridge.workspaceId);
  expect(code).toBe(EXIT.DONE);
  for (const step of ["name", "address", "connect", "tls", "send", "status"]) {
    expect(stdout).toMatch(new RegExp(`^\\d+ ms +${step} `, "m"));
  }
  expect(stdout).toMatch(/The bridge accepted the ping: 207 after \d+ ms\./);
});

test("send-test on a push workspace tells of the step that failed, in its exit code too", async () => {
  const bridge = await push.bridge();
  bridge.behave(status(500));
  const { code, stdout } = await sendTest(bridge.workspaceId);
  expect(code).toBe(EXIT.NO);
  expect(stdout).toMatch(/The push failed at the step status: .*500/);
});

test("show tells how the pushes of a workspace went", async () => {
  const bridge = await push.bridge();
  await sendTest(bridge.workspaceId);
  const { json } = await runCli(["workspace", "show", bridge.workspaceId, "--json"], {
    corePort: push.service.core.port,
  });
  expect(json).toMatchObject({
    health: {
      mode: "push",
      attempts: 1,
      lastSuccess: { attempt: 1, result: "success", address: "127.0.0.1" },
    },
  });
});
