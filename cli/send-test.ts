import { toTestOutcome } from "../proto/json/workspace-json";
import { answer, WORKSPACE_ARGUMENT, type Cli, type CliCommand } from "./cli";
import { asOperator } from "./core";
import { EXIT } from "./exit-code";
import { testOutcome } from "./workspace-text";

/** `chat-bridge send-test` sends a ping and prints the outcome. */
export function addSendTest(program: CliCommand, cli: Cli): void {
  program
    .command("send-test")
    .description("send a ping and print the outcome")
    .argument(...WORKSPACE_ARGUMENT)
    .moreHelp(`
For a push workspace, the ping is pushed immediately, and every step is printed. For a poll workspace,
the ping is held, and the test passes if the bridge polled within the last minute. Exit code 1: the test failed.

Example:
  $ chat-bridge send-test 0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11 && echo the bridge works`)
    .action((workspaceId: string) =>
      asOperator(cli, async ({ call, methods }) => {
        const sent = await call(methods.sendTestEvent, { workspaceId });
        const outcome = toTestOutcome(sent);
        const { isGood, lines } = testOutcome(outcome);
        answer(cli, { eventId: sent.eventId, ...outcome }, lines);
        if (!isGood) cli.endWith(EXIT.NO);
      }),
    );
}
