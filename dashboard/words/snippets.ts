import type { Mode } from "../../proto/json/shapes";

/** The settings that a bridge needs. */
export interface BridgeFacts {
  readonly publicUrl: string;
  readonly workspaceId: string;
  readonly secret: string;
}

const SNIPPETS = [
  { name: "settings", label: "Settings" },
  { name: "command", label: "Send a command" },
  { name: "poll", label: "Poll" },
] as const;
export type SnippetName = (typeof SNIPPETS)[number]["name"];

/** Returns the snippets for a mode. For push mode, the snippet for polling is omitted. */
export function snippetsFor(mode: Mode): readonly (typeof SNIPPETS)[number][] {
  return SNIPPETS.filter(({ name }) => name !== "poll" || mode !== "push");
}

/** Returns the settings for the bridge, or shell commands that try the workspace. */
export function snippetFor(name: SnippetName, facts: BridgeFacts): string {
  switch (name) {
    case "settings":
      return [
        `BASE_URL=${facts.publicUrl}`,
        `WORKSPACE_ID=${facts.workspaceId}`,
        `SIGNING_SECRET=${facts.secret}`,
      ].join("\n");
    case "command":
      return [
        `body='{"type":"command","channel":"general","user":{"id":"u1","name":"Ada"},"text":"help"}'`,
        ...signed("$body", facts.secret),
        `curl -i '${hook(facts)}' -H "Service-Signature: t=$t,v1=$v1" \\`,
        `  -H 'Content-Type: application/json' --data-binary "$body"`,
      ].join("\n");
    case "poll":
      return [
        `query='limit=10'`,
        ...signed("$query", facts.secret),
        `curl -i "${hook(facts)}/events?$query" -H "Service-Signature: t=$t,v1=$v1"`,
      ].join("\n");
  }
}

function hook({ publicUrl, workspaceId }: BridgeFacts): string {
  return `${publicUrl}/hooks/${workspaceId}`;
}

/** Returns shell commands that set `$t` to the time, and `$v1` to the signature of a variable's value. */
function signed(variable: string, secret: string): readonly string[] {
  return [
    "t=$(date +%s)",
    `v1=$(printf '%s.%s' "$t" "${variable}" | openssl dgst -sha256 -hmac '${secret}' | sed 's/^.* //')`,
  ];
}
