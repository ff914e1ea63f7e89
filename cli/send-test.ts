import type { Command } from "commander";
import { SendTestEventRequest } from "../proto/gen/chatbridge/v1/workspace";
import { toTestOutcome } from "../edge/dashboard/workspace-json";
import { answer, asOperator, WORKSPACE_ARGUMENT, type Cli } from "./cli";
import { EXIT, type ExitCode } from "./exit-code";
import { testOutcome } from "./workspace-text";

/** `chat-bridge send-test`: sends a ping and says how it went. */
export function addSendTest(program: Command, cli: Cli, endWith: (code: ExitCode) => void): void {
  program
    .command("send-test")
    .description("send a ping and say how it went (token of the role operator)")
    .argument(...WORKSPACE_ARGUMENT)
    .addHelpText(
      "after",
      `
On a push workspace the ping is pushed at once, and every step is told of. On a poll workspace it is
held, and the answer is whether the bridge polled within the last minute. Exit code 1: it does not work.

Example:
  $ chat-bridge send-test 0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11 && echo the bridge is there`,
    )
    .action(async (workspaceId: string, _options: object, command: Command) => {
      await asOperator(cli, command, async ({ call, methods }) => {
        const sent = await call(methods.sendTestEvent, SendTestEventRequest.create({ workspaceId }));
        const outcome = toTestOutcome(sent);
        const { isGood, lines } = testOutcome(outcome);
        answer(cli, command, { eventId: sent.eventId, ...outcome }, lines);
        if (!isGood) endWith(EXIT.NO);
      });
    });
}
