import type { FollowGroup } from "../proto/gen/chatbridge/v1/workspace";
import { answer, type Cli, type CliCommand } from "./cli";
import type { Line } from "./colour";
import { asOperator } from "./core";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";
import { tableLines } from "./table";

/** `chat-bridge groups …` lists and deletes the groups of followers. */
export function addGroups(program: CliCommand, cli: Cli): void {
  const groups = program.command("groups").description("list and delete the groups that follow events")
    .moreHelp(`
Core removes a group that has had no stream for 24 hours. There can be 64 groups: 32 of one game token, and 4 of a
token that is limited to some workspaces.

Examples:
  $ chat-bridge groups list
  $ chat-bridge groups delete chat-bridge-tail`);

  groups
    .command("list")
    .description("list all groups, by name")
    .moreHelp("\nExample:\n  $ chat-bridge groups list --json | jq -r '.[] | select(.streams == 0).name'")
    .action(() =>
      asOperator(cli, async ({ call, methods }) => {
        const found = (await call(methods.listGroups, {})).groups;
        const lines = found.length === 0 ? ["There are no groups."] : rowsOf(found);
        answer(cli, found.map(toShape), lines);
      }),
    );

  groups
    .command("delete")
    .description("delete a group that no stream follows, and its position in the log")
    .argument("<group>", "name of the group")
    .option("--yes", "do not ask for confirmation")
    .moreHelp(`
A game that opens the group again gets only the events that arrive from then on.

Examples:
  $ chat-bridge groups delete trivia
  $ chat-bridge groups delete trivia --yes    # in a script`)
    .action((name: string, { yes = false }: { yes?: boolean }) =>
      asOperator(cli, async ({ call, methods }) => {
        const found = (await call(methods.listGroups, {})).groups.find((each) => each.name === name);
        if (found === undefined) {
          throw new CliFailure(
            EXIT.NOT_FOUND,
            `there is no group ${name}; run chat-bridge groups list to see all groups`,
          );
        }
        const question = `Delete the group ${name}, with ${found.unread + found.unacked} events that it has not acked?`;
        if (!yes) await cli.terminal.confirm(question, "nothing was deleted");
        await call(methods.deleteGroup, { name });
        answer(cli, { deleted: name }, [`Deleted ${name}.`]);
      }),
    );
}

/** Returns the JSON of a group. Times are ISO 8601 strings, or null if they are not set. */
function toShape({ oldestAt, lastStreamAt, tokenName, ...rest }: FollowGroup) {
  return {
    ...rest,
    tokenName: tokenName || null,
    oldestAt: oldestAt?.toISOString() ?? null,
    lastStreamAt: lastStreamAt?.toISOString() ?? null,
  };
}

function rowsOf(groups: readonly FollowGroup[]): readonly Line[] {
  return tableLines(
    ["group", "token", "streams", "unread", "unacked", "oldest event", "last stream"],
    groups.map((group) => {
      const { name, tokenName, streams, unread, unacked, oldestAt, lastStreamAt } = toShape(group);
      return [
        name,
        tokenName ?? "-",
        ...[streams, unread, unacked].map(String),
        oldestAt ?? "-",
        lastStreamAt ?? "-",
      ];
    }),
  );
}
