import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type {
  Exchange,
  LinkState,
  Member,
  Note,
  Post,
  ServicePost,
  StreamEvent,
} from "../../demo/chat/shapes";
import { until } from "./wait";

export type ChatMember = Awaited<ReturnType<typeof joinChat>>;

/** Joins the demo chat as a member without a browser. If `key` is given, rejoins as the member with this key. */
export async function joinChat(url: string, name: string, key?: string) {
  return followAs(url, name, key ?? (await newKey(url, name)));
}

async function newKey(url: string, name: string): Promise<string> {
  const joined = await fetch(`${url}/api/join`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name }),
  });
  return ((await joined.json()) as { key: string }).key;
}

async function followAs(url: string, name: string, key: string) {
  const authorization = `Bearer ${key}`;
  const over = new AbortController();
  const posts = new Map<number, Post>();
  const notes = new Map<number, Note>();
  const versions: Post[] = [];
  const exchanges = new Map<number, Exchange>();
  let link: LinkState | undefined;
  let me: Member = { id: "", name };

  function apply(event: StreamEvent): void {
    if (event.type === "welcome") {
      for (const post of event.posts) posts.set(post.id, post);
      for (const exchange of event.exchanges) exchanges.set(exchange.id, exchange);
      for (const note of event.notes) notes.set(note.about, note);
      ({ link, me } = event);
    }
    if (event.type === "post") {
      posts.set(event.post.id, event.post);
      versions.push(event.post);
    }
    if (event.type === "note") notes.set(event.note.about, event.note);
    if (event.type === "exchange") exchanges.set(event.exchange.id, event.exchange);
    if (event.type === "link") ({ link } = event);
  }
  const stream = await fetch(`${url}/api/stream?key=${key}`, { signal: over.signal });
  const input = Readable.fromWeb(stream.body as ReadableStream);
  input.on("error", () => undefined);
  const lines = createInterface({ input });
  lines.on("line", (line) => {
    if (line.startsWith("data: ")) apply(JSON.parse(line.slice("data: ".length)) as StreamEvent);
  });
  lines.on("error", () => undefined);
  await until("the stream has sent its welcome event", () => link !== undefined);

  async function ask(method: string, path: string, body?: object): Promise<number> {
    const headers = { authorization, ...(body && { "content-type": "application/json" }) };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await fetch(`${url}/api${path}`, init);
    await answer.arrayBuffer();
    return answer.status;
  }
  return {
    me,
    key,
    /** The current posts, by id. */
    posts: posts as ReadonlyMap<number, Post>,
    /** All versions of all posts since this member joined, oldest first. */
    versions: versions as readonly Post[],
    /** The member's newest note on each post, by the post's id. */
    notes: notes as ReadonlyMap<number, Note>,
    /** The current exchanges, by id. */
    exchanges: exchanges as ReadonlyMap<number, Exchange>,
    link() {
      if (link === undefined) throw new Error("the chat has not sent the state of the bridge");
      return link;
    },
    ask,
    say: (text: string, conversation = "general") => ask("POST", "/say", { conversation, text }),
    /** Presses the button whose label contains `label`. */
    press(post: ServicePost, label: string) {
      const button = post.message.buttons.flat().find((each) => each.label.includes(label));
      const action = button !== undefined && "action" in button ? button.action : "";
      return ask("POST", "/press", { post: post.id, action });
    },
    /** Waits for a message from the service whose text contains `words`. */
    sees: (words: string, conversation = "general") =>
      until(`${name} sees “${words}” in ${conversation}`, () =>
        [...posts.values()].find(
          (post): post is ServicePost =>
            post.by === "service" && post.conversation === conversation && post.message.text.includes(words),
        ),
      ),
    leave: () => over.abort(),
  };
}
