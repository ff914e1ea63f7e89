import { answerWorkspace } from "./answer-workspace";
import { painted, type Line } from "./colour";
import { answer, WORKSPACE_ARGUMENT, type Cli, type CliCommand } from "./cli";
import { asOperator } from "./core";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";
import { addSecretOptions, makeSecret, type SecretOptions } from "./new-secret";

/** `chat-bridge workspace set-operator-events` sets the address for the operator events about a workspace. */
export function addOperatorEventsAddress(workspace: CliCommand, cli: Cli): void {
  addSecretOptions(
    workspace
      .command("set-operator-events")
      .description("send operator events about a workspace to a URL or an email address")
      .argument(...WORKSPACE_ARGUMENT)
      .argument("[address]", "public https URL, or email address")
      .option("--clear", "remove the address"),
  )
    .moreHelp(`
A URL gets a new secret, which signs the requests. To rotate the secret, set the same URL again: the previous
secret stays valid for 24 hours.

Examples:
  $ chat-bridge workspace set-operator-events <workspace> https://ops.example/events --secret-file ops.secret
  $ chat-bridge workspace set-operator-events <workspace> ops@example.org
  $ chat-bridge workspace set-operator-events <workspace> --clear`)
    .action(
      async (
        workspaceId: string,
        address: string | undefined,
        { clear, ...options }: SecretOptions & { clear?: true },
      ) => {
        if ((address === undefined) === (clear === undefined)) {
          throw new CliFailure(EXIT.USAGE, "give either an address or --clear");
        }
        await asOperator(cli, async ({ call, methods }) => {
          const set = () => call(methods.setOperatorEventsAddress, { workspaceId, address: address ?? "" });
          if (!address?.includes("://")) return answerWorkspace(cli, await set());
          const { made, shown } = await makeSecret(options, set);
          answerWorkspace(cli, made, shown);
        });
      },
    );
}

/** `chat-bridge send-test-operator-event` sends a test to the addresses for operator events. */
export function addSendTestOperatorEvent(program: CliCommand, cli: Cli): void {
  program
    .command("send-test-operator-event")
    .description("send a test to an address for operator events")
    .argument("[workspace]", "id of the workspace; without it, the addresses of the whole installation")
    .moreHelp(`
Exit code 1: a receiver did not accept the event.

Examples:
  $ chat-bridge send-test-operator-event
  $ chat-bridge send-test-operator-event 0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11`)
    .action((workspaceId = "") =>
      asOperator(cli, async ({ call, methods }) => {
        const sent = await call(methods.sendTestOperatorEvent, { workspaceId });
        const lines = sent.results.map(({ receiver, accepted, detail }): Line => [
          `${receiver}: `,
          accepted ? painted("good", "accepted") : painted("bad", "not accepted"),
          ` (${detail})`,
        ]);
        answer(cli, sent, lines);
        if (!sent.results.every(({ accepted }) => accepted)) cli.endWith(EXIT.NO);
      }),
    );
}
