import { resolve } from "node:path";
import {
  Platform,
  type CreateWorkspaceResponse,
  type Workspace,
  type WorkspaceServiceClient,
} from "../proto/gen/chatbridge/v1/workspace";
import { toHealthShape, toWorkspaceShape } from "../proto/json/workspace-json";
import { answerWorkspace } from "./answer-workspace";
import { answer, DEFAULT_BASE_URL, WORKSPACE_ARGUMENT, type Cli, type CliCommand } from "./cli";
import { asOperator, type Core } from "./core";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";
import { addList } from "./list-workspaces";
import { addSecretOptions, makeSecret, type SecretOptions } from "./new-secret";
import { addOperatorEventsAddress } from "./operator-events";
import { addSecretKeys } from "./secret-keys";
import { healthFacts, workspaceFacts } from "./workspace-text";

type Operator = Core<WorkspaceServiceClient>;

/** `chat-bridge workspace …` creates, shows, changes and deletes workspaces. */
export function addWorkspaceCommands(program: CliCommand, cli: Cli): void {
  const workspace = program.command("workspace").description("create, show, change and delete workspaces")
    .moreHelp(`
Examples:
  $ chat-bridge workspace create "Ann's team" --owner ann@example.org --secret-file ann.secret
  $ chat-bridge workspace list --state failing
  $ chat-bridge workspace list --json | jq -r '.[].id'
  $ chat-bridge workspace show 0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11
  $ chat-bridge workspace set-url 0b8c3a52-6f0e-4c9e-9d53-2f6a3d0c7b11 https://bridge.example/events`);
  addSecretCommands(workspace, cli);
  addList(workspace, cli);
  addQueries(workspace, cli);
  addChanges(workspace, cli);
  addOperatorEventsAddress(workspace, cli);
  addSecretKeys(workspace, cli);
  addRemovals(workspace, cli);
}

/** Adds the command that shows a workspace. */
function addQueries(workspace: CliCommand, cli: Cli): void {
  workspace
    .command("show")
    .description("show a workspace and the health of its delivery")
    .argument(...WORKSPACE_ARGUMENT)
    .moreHelp("\nExample:\n  $ chat-bridge workspace show <workspace> --json | jq .health")
    .action((workspaceId: string) =>
      asOperator(cli, async ({ call, methods }) => {
        const found = await call(methods.getWorkspace, { workspaceId });
        const shape = toWorkspaceShape(found.workspace);
        const health = toHealthShape(found.health);
        answer(cli, { workspace: shape, health }, [...workspaceFacts(shape), ...healthFacts(health)]);
      }),
    );
}

/** Adds the commands that change a workspace. */
function addChanges(workspace: CliCommand, cli: Cli): void {
  workspace
    .command("update")
    .description("change the name or the owner")
    .argument(...WORKSPACE_ARGUMENT)
    .option("--name <name>", "display name")
    .option("--owner <email>", "address to email when the bridge fails; empty for none")
    .moreHelp(
      '\nExample:\n  $ chat-bridge workspace update <workspace> --name "Ann\'s team" --owner ann@example.org',
    )
    .action((workspaceId: string, { name, owner: ownerEmail }: { name?: string; owner?: string }) => {
      if (name === undefined && ownerEmail === undefined) {
        throw new CliFailure(EXIT.USAGE, "there is nothing to change: give --name, --owner or both");
      }
      return change(cli, ({ call, methods }) =>
        call(methods.updateWorkspace, { workspaceId, name, ownerEmail }),
      );
    });

  workspace
    .command("set-url")
    .description("push events to a URL, or let the bridge poll again")
    .argument(...WORKSPACE_ARGUMENT)
    .argument("[url]", "public https URL of the bridge")
    .option("--clear", "remove the URL: events are held for polling")
    .moreHelp(`
Held events are not pushed: let the bridge poll all of them before you set a URL.

Examples:
  $ chat-bridge workspace set-url <workspace> https://bridge.example/events
  $ chat-bridge workspace set-url <workspace> --clear`)
    .action((workspaceId: string, url: string | undefined, { clear }: { clear?: true }) => {
      if ((url === undefined) === (clear === undefined)) {
        throw new CliFailure(EXIT.USAGE, "give either a URL or --clear");
      }
      const targetUrl = url ?? "";
      return change(cli, ({ call, methods }) => call(methods.setTargetUrl, { workspaceId, targetUrl }));
    });
}

/** Adds the commands that disconnect or delete a workspace. */
function addRemovals(workspace: CliCommand, cli: Cli): void {
  workspace
    .command("disconnect")
    .description("disable the /hooks endpoints of a workspace and delete its secrets")
    .argument(...WORKSPACE_ARGUMENT)
    .moreHelp("\nExample:\n  $ chat-bridge workspace disconnect <workspace>")
    .action((workspaceId: string) =>
      change(cli, ({ call, methods }) => call(methods.disconnectWorkspace, { workspaceId })),
    );

  workspace
    .command("delete")
    .description(
      "delete a workspace, its secrets, its held and failed events, and its logs of deliveries and changes",
    )
    .argument(...WORKSPACE_ARGUMENT)
    .option("--yes", "do not ask for confirmation")
    .moreHelp(
      "\nExamples:\n  $ chat-bridge workspace delete <workspace>\n  $ chat-bridge workspace delete <workspace> --yes    # in a script",
    )
    .action((workspaceId: string, { yes = false }: { yes?: boolean }) =>
      asOperator(cli, async ({ call, methods }) => {
        const found = await call(methods.getWorkspace, { workspaceId });
        const { id, name } = toWorkspaceShape(found.workspace);
        const question = `Delete ${id} "${name}", its secrets, its held and failed events, and its logs of deliveries and changes?`;
        if (!yes) await cli.terminal.confirm(question, "nothing was deleted");
        await call(methods.deleteWorkspace, { workspaceId: id });
        answer(cli, { deleted: id }, [`Deleted ${id}.`]);
      }),
    );
}

/** Calls core, and prints the changed workspace. */
function change(
  cli: Cli,
  call: (operator: Operator) => Promise<{ readonly workspace?: Workspace | undefined }>,
): Promise<void> {
  return asOperator(cli, async (operator) => answerWorkspace(cli, await call(operator)));
}

/** Adds the commands that create a signing secret. */
function addSecretCommands(workspace: CliCommand, cli: Cli): void {
  const answerNew = async (options: SecretOptions, make: () => Promise<CreateWorkspaceResponse>) => {
    const { made, shown } = await makeSecret(options, make);
    answerWorkspace(cli, made, shown, bridgeSettings(cli, made.workspace?.id ?? "", options, shown));
  };
  const addRenewal = (
    name: string,
    description: string,
    renew: (operator: Operator, workspaceId: string) => Promise<CreateWorkspaceResponse>,
  ) =>
    addSecretOptions(
      workspace
        .command(name)
        .description(description)
        .argument(...WORKSPACE_ARGUMENT),
    )
      .moreHelp(`\nExample:\n  $ chat-bridge workspace ${name} <workspace> --secret-file new.secret`)
      .action((workspaceId: string, options: SecretOptions) =>
        asOperator(cli, (operator) => answerNew(options, () => renew(operator, workspaceId))),
      );

  addSecretOptions(
    workspace.command("create").description("create a workspace").argument("<name>", "display name"),
  )
    .option("--owner <email>", "address to email when the bridge fails")
    .option("--target-url <url>", "push events to this https URL; without it, the bridge polls")
    .option("--native", "a native chat tool: no bridge, no /hooks endpoints, no secret")
    .moreHelp(`
Examples:
  $ chat-bridge workspace create Demo --show-secret
  $ chat-bridge workspace create Demo --target-url https://bridge.example/events --secret-file demo.secret`)
    .action((name: string, options: SecretOptions & { owner?: string; targetUrl?: string; native?: true }) =>
      asOperator(cli, async ({ call, methods }) => {
        const { owner: ownerEmail = "", targetUrl = "", native = false } = options;
        const platform = native ? Platform.NATIVE : Platform.CUSTOM;
        const make = () => call(methods.createWorkspace, { name, ownerEmail, platform, targetUrl });
        if (native) answerWorkspace(cli, await make());
        else await answerNew(options, make);
      }),
    );
  addRenewal(
    "rotate",
    "create a new signing secret; the previous one stays valid for 24 hours",
    ({ call, methods }, workspaceId) => call(methods.rotateSigningSecret, { workspaceId }),
  );
  addRenewal(
    "connect",
    "reconnect a workspace that is disconnected or has an unreadable secret, with a new signing secret",
    ({ call, methods }, workspaceId) => call(methods.connectWorkspace, { workspaceId }),
  );
}

/** Returns the lines for a bridge's settings file. */
function bridgeSettings(
  { environment }: Cli,
  workspaceId: string,
  { secretFile }: SecretOptions,
  secret: string | undefined,
): readonly string[] {
  const baseUrl = environment["PUBLIC_URL"] || environment["BASE_URL"] || DEFAULT_BASE_URL;
  return [
    "",
    "For the settings of the bridge:",
    `BASE_URL=${baseUrl}`,
    `WORKSPACE_ID=${workspaceId}`,
    secret === undefined
      ? `SIGNING_SECRET_FILE=${quoted(resolve(secretFile ?? ""))}`
      : `SIGNING_SECRET=${secret}`,
  ];
}

/** Returns a path, quoted if necessary for a settings file and a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
