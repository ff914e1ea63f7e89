import type { ChatName, ListenAddresses } from "./start-settings";

/** A chat of which the server and the bridge are running. */
export interface RunningChat {
  readonly name: ChatName;
  /** Name of the chat in texts, e.g. "IRC". */
  readonly label: string;
  readonly at: string;
  /** The room of the game. */
  readonly room: string;
  /** Lines that say how to join the room, with the passwords of the accounts. */
  readonly lines: readonly string[];
}

/** The facts about the service that a start has begun, for `npm start -- --commands`. */
export interface RunningService {
  /** Id of the process that runs the service. */
  readonly pid: number;
  /** The demo workspace. */
  readonly workspace: { readonly id: string; readonly secret: string };
  readonly listen: ListenAddresses;
  /** Whether the demo is running. */
  readonly hasChat: boolean;
  readonly chats: readonly RunningChat[];
}
