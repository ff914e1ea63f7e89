import type { ChatName, ListenAddresses } from "./start-settings";

/** A chat whose server and bridge are running. */
export interface RunningChat {
  readonly name: ChatName;
  /** Name of the chat in texts, such as "IRC". */
  readonly label: string;
  readonly at: string;
  /** The room of the game. */
  readonly room: string;
  /** Lines that say how to join the room; they contain the passwords of the accounts. */
  readonly lines: readonly string[];
}

/** The data about a started service, which `npm start` saves for `npm start -- --commands`. */
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
