import { reachable } from "./listen-addresses";
import type { RunningChat, RunningService } from "./running-service";
import type { KeptSettings } from "./settings-file";

/** The data about a running service that `npm start -- --commands` prints. */
export interface Facts extends RunningService {
  readonly tokens: KeptSettings["tokens"];
  /** Link to the dashboard, with which one person can sign in once. */
  readonly signIn: string;
  readonly logs: string;
  readonly keptFile: string;
}

const COMMAND = { type: "command", channel: "general", user: { id: "u1", name: "Ada" }, text: "" };

/** Returns a text with the addresses, tokens and secrets of a running service, and with commands to paste. */
export function commandsText({
  pid,
  workspace,
  listen,
  tokens,
  signIn,
  hasChat,
  chats,
  logs,
  keptFile,
}: Facts): string {
  const edge = `http://${reachable(listen.EDGE_LISTEN)}`;
  const core = reachable(listen.CORE_LISTEN);
  const hook = `${edge}/hooks/${workspace.id}`;
  const rows = [{ buttons: [{ label: "Join", action: "join" }] }];
  const message = { kind: "MESSAGE_KIND_CARD", text: "**Who is in?**", rows };
  const event = { workspaceId: workspace.id, messageCreate: { channel: "general", message } };
  const open = { open: { group: "demo", consumer: "me", window: 10 } };
  const chat = `  chat       http://${reachable(listen.CHAT_LISTEN)}    play here, in several tabs: each tab is a player\n`;
  const programs = chats.flatMap(({ name }) => [`${name}-server`, `${name}-bridge`]);
  const logNames = ["core", "edge", "redis", ...(hasChat ? ["game", "chat"] : []), ...programs].join(",");
  return `
The service is running (process ${pid}).

${hasChat ? chat : ""}${chats.length > 0 ? chats.map(joining).join("") : MORE_CHATS}  dashboard  ${signIn}
             (signs you in once, within an hour; after that, sign in with the operator token)
  edge       ${edge}    for bridges (HTTP)
  core       ${core}           for games and operators (gRPC)
  probes     http://${reachable(listen.EDGE_HEALTH_LISTEN)}/ready (edge), http://${reachable(listen.CORE_HEALTH_LISTEN)}/ready (core)
  logs       ${logs}/{${logNames}}.log
  tokens     game ${tokens.game}, operator ${tokens.operator}
  workspace  ${workspace.id}
  secret     ${workspace.secret}
             (tokens, workspace and secret are kept in ${keptFile};
             for your own bridge, do step 5 instead of using this workspace)

1. As the bridge, report that a member sent a command (the answer is 202)

${indented([
  `body='${JSON.stringify(COMMAND)}'`,
  ...signature(workspace.secret, "$body"),
  `curl -i ${hook} -H 'Content-Type: application/json' -H "Service-Signature: t=$t,v1=$v1" --data-binary "$body"`,
])}

2. As the game, show a message in the channel (run this in the project's folder)

${indented([`npx buf curl ${GRPC} -H "authorization: Bearer ${tokens.game}" -d '${JSON.stringify({ events: [event] })}' http://${core}/chatbridge.v1.GameService/PublishEvents`])}

3. As the bridge, poll for the message (the answer is 200 and a page of events)

${indented([
  "query='limit=10'",
  ...signature(workspace.secret, "$query"),
  `curl -i "${hook}/events?$query" -H "Service-Signature: t=$t,v1=$v1"`,
])}

4. As the game, follow the events of members, then repeat step 1 in another terminal

${indented([`(echo '${JSON.stringify(open)}'; cat) | npx buf curl ${GRPC} -H "authorization: Bearer ${tokens.game}" --data @- http://${core}/chatbridge.v1.GameService/Follow`])}

   Ack a delivery by typing {"ack":{"deliveryIds":["<its deliveryId>"]}}; unacked events are redelivered. Ctrl-D closes the stream.

5. For your own bridge, create a separate workspace (run this in the project's folder), and follow docs/bridge-guide.md

${indented([
  `export CORE_ADDRESS=${core} CORE_TOKEN_FILE='${keptFile}' BASE_URL=${edge}`,
  `npx chat-bridge workspace create "My bridge" --secret-file my.secret    # prints the workspace id`,
])}

For step 2, you can also use grpcurl: grpcurl -plaintext -H "authorization: Bearer <token>" -d '…' ${core} chatbridge.v1.GameService/PublishEvents`;
}

const MORE_CHATS =
  "  bridges    bridges/README.md        play in IRC, Matrix or XMPP (npm start -- --with irc)\n";

/** Returns the lines that say how to join a chat. */
function joining({ name, at, lines: [first, ...more] }: RunningChat): string {
  return [`  ${name.padEnd(10)} ${at}    ${first}`, ...more.map((line) => `             ${line}`), ""].join(
    "\n",
  );
}

const GRPC = "--schema proto --protocol grpc --http2-prior-knowledge";

/** Returns shell lines that set $t to the time, and $v1 to the signature of the text in `variable`. */
function signature(secret: string, variable: string): readonly string[] {
  return [
    "t=$(date +%s)",
    `v1=$(printf '%s.%s' "$t" "${variable}" | openssl dgst -sha256 -hmac '${secret}' | sed 's/^.* //')`,
  ];
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join("\n");
}
