import type { Break, LastCommand, LinkMode, Member, StreamEvent } from "../shapes";

/**
 * Returns functions that send requests as the member with `key`. These functions reject with an Error whose message can
 * be shown to members.
 */
export function clientFor(key: string) {
  /** The answer to the last `say`. Each `say` waits for the answer to the previous `say`, so posts keep their order. */
  let lastSaid: Promise<unknown> = Promise.resolve();
  return {
    say(said: { readonly conversation: string; readonly text: string }) {
      const answer = lastSaid.then(() => request("POST", "/say", said, key, "Your message"));
      lastSaid = answer.catch(() => {});
      return answer;
    },
    press: (post: number, action: string) => request("POST", "/press", { post, action }, key, "Your press"),
    answer: (post: number, text: string) => request("POST", "/answer", { post, text }, key, "Your answer"),
    setMode: (mode: LinkMode) => request("PUT", "/link/mode", { mode }, key),
    /** Breaks the bridge, which first reports `lastCommand`. */
    break: (how: Break, lastCommand: LastCommand) => request("PUT", "/link/break", { how, lastCommand }, key),
    repair: () => request("DELETE", "/link/break", undefined, key),
    /** Resolves to the URL of the workspace's page in the dashboard, or of the page of an event. */
    async dashboardLink(event: string | null): Promise<string> {
      const answer = await request("POST", "/dashboard-link", { event }, key);
      return ((await answer.json()) as { url: string }).url;
    },
  };
}

export type ChatClient = ReturnType<typeof clientFor>;

export async function join(name: string): Promise<{ readonly member: Member; readonly key: string }> {
  const answer = await request("POST", "/join", { name });
  return (await answer.json()) as { member: Member; key: string };
}

/**
 * Sends a request with the member's key. If the server is unreachable, the error message begins with `subject`, such as
 * "Your press".
 */
async function request(
  method: string,
  path: string,
  body: object | undefined,
  key = "",
  subject = "Your request",
): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, ...(body && { "content-type": "application/json" }) };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const answer = await fetch(`/api${path}`, init).catch(() => {
    throw new Error(`${subject} was not sent: the chat's server cannot be reached. Is it still running?`);
  });
  if (answer.ok) return answer;
  const { message } = (await answer.json().catch(() => ({}))) as { message?: string };
  throw new Error(message ?? `The server answered with ${answer.status}.`);
}

export interface StreamListener {
  onEvent(event: StreamEvent): void;
  /** Called when the stream breaks. The browser then reopens the stream. */
  onDisconnect(): void;
  /**
   * Called when the browser does not reopen the stream: the server rejected the key, or the user is leaving the page.
   */
  onUnknown(): void;
}

/** Follows the chat. Returns a function that closes the stream. */
export function followChat(key: string, { onEvent, onDisconnect, onUnknown }: StreamListener): () => void {
  const stream = new EventSource(`/api/stream?key=${encodeURIComponent(key)}`);
  stream.addEventListener("message", ({ data }) => onEvent(JSON.parse(String(data)) as StreamEvent));
  stream.addEventListener("error", () =>
    stream.readyState === EventSource.CLOSED ? onUnknown() : onDisconnect(),
  );
  return () => stream.close();
}
