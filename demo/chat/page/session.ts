import { createStore } from "../../../dashboard/store";
import type { StreamEvent } from "../shapes";
import { clientFor, followChat, join, type ChatClient } from "./chat-client";
import { applyEvent, type ChatState } from "./chat-state";

/** Who this tab is: each tab is a member of its own, and stays it when it is loaded again. */
export type Session =
  | { readonly is: "out"; readonly name: string; readonly why: string | null }
  | { readonly is: "in"; readonly client: ChatClient };

const KEY = "chat-key";
const NAME = "chat-name";

export const session = createStore<Session>({ is: "out", name: kept(NAME), why: null });
export const chatState = createStore<ChatState | undefined>(undefined);

function kept(name: string): string {
  return sessionStorage.getItem(name) ?? "";
}

let heard: (event: StreamEvent) => void = () => undefined;

/** Says who else hears each event, before it is applied. */
export function onStreamEvent(then: (event: StreamEvent) => void): void {
  heard = then;
}

function enter(key: string): void {
  session.set({ is: "in", client: clientFor(key) });
  const stop = followChat(key, {
    onEvent(event) {
      heard(event);
      chatState.set(applyEvent(chatState.get(), event));
    },
    onAway() {
      const state = chatState.get();
      if (state !== undefined) chatState.set({ ...state, isLive: false });
    },
    onUnknown() {
      stop();
      leave("The chat does not know you any more: join again.");
    },
  });
}

/** The notice was read. */
export function dismissNotice(): void {
  const state = chatState.get();
  if (state !== undefined) chatState.set({ ...state, notice: null });
}

function leave(why: string): void {
  sessionStorage.removeItem(KEY);
  chatState.set(undefined);
  session.set({ is: "out", name: kept(NAME), why });
}

/** Carries on as who this tab was, if anyone. */
export function resume(): void {
  const key = kept(KEY);
  if (key !== "") enter(key);
}

export async function joinAs(name: string): Promise<void> {
  const { member, key } = await join(name);
  sessionStorage.setItem(KEY, key);
  sessionStorage.setItem(NAME, member.name);
  enter(key);
}
