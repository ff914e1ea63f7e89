import { reachable } from "./listen-addresses";
import type { DemoWorkspace, KeptSettings } from "./settings-file";
import type { ListenAddresses } from "./start-settings";

/** What is to be known of a service that runs. */
export interface Facts {
  readonly workspace: DemoWorkspace;
  readonly listen: ListenAddresses;
  readonly tokens: KeptSettings["tokens"];
  /** Signs one person in to the dashboard, once. */
  readonly signIn: string;
  /** Undefined when it was left out. */
  readonly chat: string | undefined;
  readonly logs: string;
  readonly keptFile: string;
}

const COMMAND = { type: "command", channel: "general", user: { id: "u1", name: "Ada" }, text: "" };

/** The page that `npm start` ends with: where everything is, and commands to paste. */
export function whatNext({ workspace, listen, tokens, signIn, chat, logs, keptFile }: Facts): string {
  const edge = `http://${reachable(listen.EDGE_LISTEN)}`;
  const core = reachable(listen.CORE_LISTEN);
  const hook = `${edge}/hooks/${workspace.id}`;
  const greeting = {
    events: [
      {
        workspaceId: workspace.id,
        messageCreate: {
          channel: "general",
          message: {
            kind: "MESSAGE_KIND_CARD",
            text: "**Who is in?**",
            rows: [{ buttons: [{ label: "Join", action: "join" }] }],
          },
        },
      },
    ],
  };
  const open = { open: { group: "demo", consumer: "me", window: 10 } };
  return `
The service runs. Ctrl-C stops it; what it holds is there at the next start.

${
  chat === undefined
    ? ""
    : `  chat       ${chat}    play here, in several tabs: each is a player
`
}  dashboard  ${signIn}
             (signs you in once, within an hour; after that sign in with the operator token)
  edge       ${edge}    for bridges (HTTP)
  core       ${core}           for games and operators (gRPC)
  probes     http://${reachable(listen.EDGE_HEALTH_LISTEN)}/ready (edge), http://${reachable(listen.CORE_HEALTH_LISTEN)}/ready (core)
  logs       ${logs}/{core,edge,redis${chat === undefined ? "" : ",game,chat"}}.log
  tokens     game ${tokens.game}, operator ${tokens.operator}
  workspace  ${workspace.id}
  secret     ${workspace.secret}
             (all of them are kept in ${keptFile})

1. Be the bridge: a member ran the command (answers 202)

${indented([
  `body='${JSON.stringify(COMMAND)}'`,
  ...signature(workspace.secret, "$body"),
  `curl -i ${hook} -H 'Content-Type: application/json' -H "Service-Signature: t=$t,v1=$v1" --data-binary "$body"`,
])}

2. Be the game: show something in the channel (from this project's folder)

${indented([`npx buf curl ${GRPC} -H "authorization: Bearer ${tokens.game}" -d '${JSON.stringify(greeting)}' http://${core}/chatbridge.v1.GameService/PublishEvents`])}

3. Be the bridge again: poll for it (answers 200 and a page of events)

${indented([
  "query='limit=10'",
  ...signature(workspace.secret, "$query"),
  `curl -i "${hook}/events?$query" -H "Service-Signature: t=$t,v1=$v1"`,
])}

4. Be the game again: follow what members do, then do step 1 once more in another terminal

${indented([`(echo '${JSON.stringify(open)}'; cat) | npx buf curl ${GRPC} -H "authorization: Bearer ${tokens.game}" --data @- http://${core}/chatbridge.v1.GameService/Follow`])}

   Ack a delivery by typing {"ack":{"deliveryIds":["<its deliveryId>"]}}; unacked ones come again. Ctrl-D ends it.

grpcurl does the same: grpcurl -plaintext -H "authorization: Bearer <token>" -d '…' ${core} chatbridge.v1.GameService/PublishEvents
`;
}

const GRPC = "--schema proto --protocol grpc --http2-prior-knowledge";

/** Lines that leave the time in $t and the signature of a variable's text in $v1. */
function signature(secret: string, variable: string): readonly string[] {
  return [
    "t=$(date +%s)",
    `v1=$(printf '%s.%s' "$t" "${variable}" | openssl dgst -sha256 -hmac '${secret}' | sed 's/^.* //')`,
  ];
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join("\n");
}
